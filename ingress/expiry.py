"""Certificates that end soon: told in the log once a day, from two weeks ahead.

The admin view and the metric say of each certificate when it ends; this says it without being asked.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from ingress.identity.certificates import Certificate
from ingress.model.cluster.objects import Kind
from ingress.model.observability.happenings import ChangeSort, Mark

LOOK_SECONDS = 3600.0
_TOLD_AGAIN_SECONDS = 86_400.0 - LOOK_SECONDS / 2
"""A day, give or take what a look comes early."""
MOST_LINES = 100
"""How many certificates are named at a time."""


Shown = Iterable[tuple[str, Certificate]]
"""Each host with each of its certificates; an empty host for the default.  One that is in a file has no namespace, and is called after it."""


class ExpiryWatch:
    """Looks at the certificates that are shown every hour.

    *now* returns the time with its zone, by which certificates are judged.  *clock* says when to look, and how
    long ago something was told, whoever sets the other one meanwhile.
    """

    log = Logger()

    def __init__(
        self,
        certificates: Callable[[], Shown],
        now: Callable[[], datetime],
        clock: IReactorTime,
    ) -> None:
        self._certificates = certificates
        self._now = now
        self._clock = clock
        self._told: dict[str, float] = {}
        """By fingerprint, when, in seconds of the clock."""
        self._loop = LoopingCall(self.look)
        self._loop.clock = clock

    def start(self) -> None:
        """Look now, and every hour from now on."""
        if not self._loop.running:
            self._loop.start(LOOK_SECONDS)

    def stop(self) -> None:
        """Look no more."""
        if self._loop.running:
            self._loop.stop()

    def look(self) -> None:
        """Tell of the certificates that end soon and were not told of within a day."""
        now, seconds = self._now(), self._clock.seconds()
        ending: dict[Certificate, str] = {}
        for host, certificate in self._certificates():
            if certificate.ends_soon(now):
                ending.setdefault(certificate, host)
        told = {
            one.fingerprint: self._told[one.fingerprint] for one in ending if one.fingerprint in self._told
        }
        news = [
            one
            for one in ending
            if one.fingerprint not in told or seconds - told[one.fingerprint] >= _TOLD_AGAIN_SECONDS
        ]
        news.sort(key=lambda one: (one.not_after, one.secret))
        for certificate in news[:MOST_LINES]:
            self.log.warn(
                "The certificate of {whose} {secret}, shown for {host}, {ends} at {when}",
                whose="Secret" if certificate.secret.namespace else "file",
                secret=str(certificate.secret),
                host=ending[certificate] or "names without a certificate of their own",
                ends="ends" if certificate.not_after > now else "ended",
                when=f"{certificate.not_after:%Y-%m-%dT%H:%M:%SZ}",
                change=Mark(
                    ChangeSort.CERTIFICATE,
                    "ends soon" if certificate.not_after > now else "ended",
                    Kind.SECRET if certificate.secret.namespace else Kind.PROCESS,
                    str(certificate.secret),
                    (ending[certificate],) if ending[certificate] else (),
                    is_trouble=True,
                ),
            )
        if len(news) > MOST_LINES:
            self.log.warn(
                "There are {more} more certificates that end soon; /api/v1/certificates shows them all",
                more=len(news) - MOST_LINES,
            )
        self._told = told | {one.fingerprint: seconds for one in news}


def expiries(certificates: Shown) -> Iterator[tuple[str, str, str, str, float]]:
    """Yield what the metric shows of *certificates*: namespace and name of the Secret, host, type of the key, and the end."""
    for host, certificate in certificates:
        secret = certificate.secret
        yield secret.namespace, secret.name, host, certificate.key_type, certificate.not_after.timestamp()
