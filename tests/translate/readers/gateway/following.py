"""Follows a cluster with Gateways change by change, and compares each snapshot with a full translation."""

from collections.abc import Iterable
from datetime import datetime
from typing import NoReturn

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.store import Store
from ingress.model.cluster.objects import (
    ClusterObject,
    ConfigMap,
    Kind,
    ObjectId,
    Projection,
    Secret,
    Service,
)
from ingress.translate.incremental import Translation
from ingress.translate.readers.gateway.gateways.gateway_reader import GatewayReader
from ingress.translate.readers.gateway.gateways.listener_set_reader import ListenerSetReader
from ingress.translate.readers.gateway.objects.gateways import Gateway, GatewayClass, ListenerSet
from ingress.translate.readers.gateway.objects.grants import Namespace, ReferenceGrant
from ingress.translate.readers.gateway.objects.names import (
    GATEWAY,
    GATEWAY_CLASS,
    GROUP,
    LISTENER_SET,
    NAMESPACE,
    REFERENCE_GRANT,
)
from ingress.translate.readers.reader import KindRead, RouteKind
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.translate.golden import NOW
from tests.translate.readers.gateway.gateway_values import CLASS, options_of

_KINDS: dict[type, Kind] = {
    GatewayClass: GATEWAY_CLASS,
    Gateway: GATEWAY,
    ListenerSet: LISTENER_SET,
    Namespace: NAMESPACE,
    ReferenceGrant: REFERENCE_GRANT,
    Secret: Kind.SECRET,
    ConfigMap: Kind.CONFIG_MAP,
    Service: Kind.SERVICE,
}


def _project(*_: object) -> NoReturn:
    raise AssertionError("nothing is projected here")


def read_of(kind: Kind) -> KindRead:
    """How objects of *kind* are read, by nobody here."""
    return KindRead(kind, GROUP, "v1", f"{kind.lower()}s", _project)


JUDGES = tuple(map(read_of, (GATEWAY_CLASS, GATEWAY, LISTENER_SET, NAMESPACE, REFERENCE_GRANT)))
GATEWAY_KINDS = (
    RouteKind(read_of(GATEWAY), GatewayReader, JUDGES),
    RouteKind(read_of(LISTENER_SET), ListenerSetReader, JUDGES),
)


def id_of(value: ClusterObject) -> ObjectId:
    """What *value* is kept under."""
    return _KINDS[type(value)], value.key


class Following:
    """A translation that follows what is put and taken away."""

    def __init__(self, case: SynchronousTestCase, kinds: Iterable[RouteKind] = GATEWAY_KINDS) -> None:
        self._case = case
        self._kinds = tuple(kinds)
        self.options = options_of()
        self.store = Store()
        self.translation = Translation(self.options, self._kinds)
        self.put(CLASS)

    def put(self, *values: ClusterObject, now: datetime = NOW) -> Snapshot:
        """Let *values* come, or be others."""
        return self._change({id_of(one): Projection(one) for one in values}, now)

    def drop(self, *values: ClusterObject, now: datetime = NOW) -> Snapshot:
        """Let *values* go."""
        return self._change({id_of(one): None for one in values}, now)

    def _change(self, changed: dict[ObjectId, Projection | None], now: datetime) -> Snapshot:
        changes = self.store.changed(changed)
        self.translation.mark(changes.objects)
        state = self.store.state()
        for _ in self.translation.round(state, now):
            pass
        assert self.translation.snapshot is not None
        full = translate(state, self.options, now, self._kinds)
        self._case.assertEqual(differences(self.translation.snapshot, full), ())
        self._case.assertEqual(
            self.translation.certificates, len({one for _, one in full.shown()}), "certificates"
        )
        return self.translation.snapshot
