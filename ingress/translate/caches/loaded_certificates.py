"""The certificates in Secrets, each read once until it changes, and the moments at which time alone makes them others.

Part of incremental translation.
"""

import math
from collections.abc import Iterator
from datetime import datetime

from ingress.identity.certificates import Certificate, CertificateError
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.translate.caches.bookkeeping import Timetable
from ingress.translate.options import TranslateOptions
from ingress.translate.tls.certificates import find


class LoadedCertificates:
    """Keeps what was found in each Secret that somebody names."""

    def __init__(self, options: TranslateOptions) -> None:
        self._options = options
        self._loaded: dict[ObjectKey, Certificate | CertificateError | None] = {}
        self._timetable: Timetable[ObjectKey] = Timetable()
        self._looked_at: datetime | None = None

    def begin(self, now: datetime) -> Iterator[ObjectKey]:
        """Yield the Secrets whose certificates began or ended since this was last asked, whichever way the clock went."""
        before, self._looked_at = self._looked_at, now
        return iter(()) if before is None else self._timetable.between(before, now)

    def seconds_to_next(self, now: datetime) -> float | None:
        """Return in how many seconds somebody has to look again: 0 for at once, None for never.

        It is infinite where only a clock that is set back asks for that.
        """
        if self._looked_at is None or not self._timetable:
            return None
        if any(True for _ in self._timetable.between(self._looked_at, now)):
            return 0.0
        moment = self._timetable.after(now)
        return math.inf if moment is None else (moment - now).total_seconds()

    def load(self, secret: ObjectKey, state: ClusterState) -> Certificate | CertificateError | None:
        """Return the certificate in *secret*, or why there is none, or None where there is no Secret."""
        if secret in self._loaded:
            return self._loaded[secret]
        found = self._loaded[secret] = find(secret, state, self._options)
        if isinstance(found, Certificate):
            self._timetable.add(found.not_before, secret)
            self._timetable.add(found.not_after, secret)
        return found

    def forget(self, secret: ObjectKey) -> None:
        """Read *secret* again when it is asked for."""
        found = self._loaded.pop(secret, None)
        if isinstance(found, Certificate):
            self._timetable.discard(found.not_before, secret)
            self._timetable.discard(found.not_after, secret)
