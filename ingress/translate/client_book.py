"""What Ingresses ask of the clients of their hosts, kept up to date.  Part of incremental translation.

A Secret is read when somebody asks for it, and again when it changes.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from ingress.model.objects import ObjectKey
from ingress.model.problems import Problem
from ingress.model.state import ClusterState
from ingress.policy.annotations import AnnotationReader
from ingress.policy.client_certificates import secret_asked
from ingress.translate.absent_secrets import secret_in
from ingress.translate.bookkeeping import Index, ProblemLedger
from ingress.translate.client_authentication import ClientDemand, read_demand
from ingress.translate.rules import IngressReading


class ClientAuthenticationBook:
    """Keeps the demand of each Ingress that has one; tells the problems to *ledger*."""

    def __init__(self, annotations: AnnotationReader, ledger: ProblemLedger) -> None:
        self._annotations = annotations
        self._ledger = ledger
        self._demands: dict[ObjectKey, ClientDemand] = {}
        self._users: Index[ObjectKey, ObjectKey] = Index()
        self._stale: dict[ObjectKey, None] = {}

    def demand_of(self, reading: IngressReading) -> ClientDemand | None:
        """Return what *reading* asks of clients, None for nothing."""
        return self._demands.get(reading.ingress.key)

    def ingress_changed(
        self, key: ObjectKey, before: IngressReading | None, after: IngressReading | None
    ) -> None:
        """Note that the Ingress *key* was read anew; None where it is not served."""
        named_before, named_after = _secrets(before), _secrets(after)
        self._users.replace(key, named_before, named_after)
        self._stale[key] = None

    def secret_changed(self, secret: ObjectKey) -> None:
        """Note that *secret* has to be read again, if anybody asks for it."""
        self._stale.update(dict.fromkeys(self._users.get(secret)))

    def read(
        self, readings: Mapping[ObjectKey, IngressReading], state: ClusterState
    ) -> Iterator[ObjectKey | None]:
        """Read the demands that may be different, one a step; yield each Ingress whose demand is."""
        while self._stale:
            key, _ = self._stale.popitem()
            reading = readings.get(key)
            demand: ClientDemand | None = None
            problems: tuple[Problem, ...] = ()
            if reading is not None:
                demand, problems = read_demand(reading, partial(secret_in, state), self._annotations)
            self._ledger.put(("client authentication", key), problems)
            before = self._demands.pop(key, None)
            if demand is not None:
                self._demands[key] = demand
            yield None if demand == before else key
        # A dictionary that was emptied keeps the room that it had.
        self._stale = {}


def _secrets(reading: IngressReading | None) -> tuple[ObjectKey, ...]:
    if reading is None:
        return ()
    secret = secret_asked(reading.ingress.key, reading.settings.client_certificates)
    return () if secret is None else (secret,)
