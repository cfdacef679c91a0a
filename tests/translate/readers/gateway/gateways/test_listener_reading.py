"""Gateways and ListenerSets in translation: their listeners, tables and problems, all at once and change by change."""

from typing import NoReturn

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.store import Store
from ingress.model.cluster.objects import Batch, ClusterObject, Kind, ObjectKey, Projection
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.secrets import TLS_KEYS
from ingress.model.network.listeners import Listener
from ingress.model.stepwise import finished
from ingress.translate.incremental import Translation
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.gateways.gateway_reader import GatewayReader
from ingress.translate.readers.gateway.gateways.listener_set_reader import ListenerSetReader
from ingress.translate.readers.gateway.objects.gateways import GatewayAddress
from ingress.translate.readers.gateway.objects.names import GATEWAY, GATEWAY_CLASS, GROUP, LISTENER_SET
from ingress.translate.readers.reader import KindRead, RouteKind
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.translate.golden import NOW
from tests.translate.readers.gateway.gateway_values import (
    ANY,
    CLASS,
    gateway,
    listener,
    listener_set,
    options_of,
)


def _project(*_: object) -> NoReturn:
    raise AssertionError("nothing is projected here")


def _read(kind: Kind) -> KindRead:
    return KindRead(kind, GROUP, "v1", f"{kind.lower()}s", _project)


_JUDGES = tuple(map(_read, (GATEWAY_CLASS, GATEWAY, LISTENER_SET)))
KINDS = (
    RouteKind(_read(GATEWAY), GatewayReader, _JUDGES),
    RouteKind(_read(LISTENER_SET), ListenerSetReader, _JUDGES),
)


def _kind(value: ClusterObject) -> Kind:
    return {"Gateway": GATEWAY, "ListenerSet": LISTENER_SET}.get(type(value).__name__, GATEWAY_CLASS)


def batch(*values: ClusterObject) -> Batch:
    """Return what a source hands over that has just read *values*."""
    return {(_kind(value), value.key): Projection(value) for value in values}


class ListenersAskedForTests(SynchronousTestCase):
    """What is open, and by which table it is served."""

    def start(self, *values: ClusterObject, options: TranslateOptions | None = None) -> Snapshot:
        """Translate *values* at once, and begin to follow them."""
        self.options = options or options_of()
        self.store = Store()
        self.store.changed(batch(CLASS, *values))
        self.translation = Translation(self.options, KINDS)
        self.translation.mark_everything(self.store.state())
        return self.work()

    def change(self, changed: Batch) -> Snapshot:
        """Follow a change."""
        self.translation.mark(self.store.changed(changed).objects)
        return self.work()

    def work(self, refused: dict[Listener, str] | None = None) -> Snapshot:
        """Bring the snapshot up to date, which must be what a full translation makes."""
        self.translation.refuse(refused or {})
        for _ in self.translation.round(self.store.state(), NOW):
            pass
        assert self.translation.snapshot is not None
        full = translate(self.store.state(), self.options, NOW, KINDS, refused or {})
        self.assertEqual(differences(self.translation.snapshot, full), ())
        return self.translation.snapshot

    def told(self, snapshot: Snapshot) -> list[tuple[str, Reason, str]]:
        """Return whom *snapshot* tells something, why, and about which field."""
        return [(one.name, one.reason, one.field) for one in snapshot.problems]

    def test_address_of_process(self) -> None:
        """Without addresses of their own Gateways share listeners, one for each port."""
        found = self.start(
            gateway("a", listener("x", hostname="x.io"), listener("t", 9000, "TCP")),
            gateway("b", listener("y", hostname="y.io")),
        )
        self.assertEqual(
            set(found.listeners),
            {
                Listener("tcp:80", table="gateway *:80"),
                Listener("tcp:9000", table="gateway *:9000", is_stream=True),
            },
        )
        self.assertEqual(set(found.others), {"gateway *:80", "gateway *:9000"})

    def test_beside_command_line(self) -> None:
        """Where the command line listens already nothing is opened; other ports are opened at the same addresses."""
        given = (
            Listener("tcp6:80:interface=fd00\\:\\:1", is_required=True),
            Listener("tcp:443:interface=10.0.0.9", is_secure=True, is_required=True),
        )
        found = self.start(
            gateway(
                "a", listener(), listener("s", 443, "HTTPS"), listener("t", 8443, "HTTPS"), listener("u", 81)
            ),
            options=options_of(listeners=given),
        )
        self.assertEqual(
            found.listeners,
            (
                *given,
                Listener("tcp:8443:interface=10.0.0.9", True, "gateway *:8443"),
                Listener("tcp6:81:interface=fd00\\:\\:1", False, "gateway *:81"),
            ),
        )
        self.assertEqual(len(found.others), 4)

    def test_address_of_its_own(self) -> None:
        """With addresses each Gateway has sockets of its own; a Gateway with two has both by one table."""
        two = [GatewayAddress("IPAddress", "fd00::2"), GatewayAddress("IPAddress", "10.0.0.1")]
        found = self.start(
            gateway("a", addresses=two), gateway("b"), options=options_of(["10.0.0.1", "fd00::2", "10.0.0.3"])
        )
        self.assertEqual(
            found.listeners,
            (
                Listener("tcp:80:interface=fd00\\:\\:2", False, "gateway fd00::2:80"),
                Listener("tcp:80:interface=10.0.0.1", False, "gateway fd00::2:80"),
                Listener("tcp:80:interface=10.0.0.3", False, "gateway 10.0.0.3:80"),
            ),
        )

    def test_come_and_go(self) -> None:
        """Listeners and tables come and go with objects, and with whatever lets them be."""
        first = gateway("a", created="1", listener_sets=ANY)
        second = gateway("b", listener(port=81), created="2")
        one = listener_set("s", "a", listener(port=82))
        self.assertEqual([each.description for each in self.start(first).listeners], ["tcp:80"])
        self.assertEqual(len(self.change(batch(second, one)).listeners), 3)
        self.assertEqual(
            self.change({(GATEWAY, second.key): None}).others.keys(), {"gateway *:80", "gateway *:82"}
        )
        self.assertEqual(
            len(self.change(batch(evolve(first, listener_sets=gateway("a").listener_sets))).listeners), 1
        )
        none = self.change(batch(evolve(CLASS, controller="example.com/other")))
        self.assertEqual((none.listeners, dict(none.others), self.told(none)), ((), {}, []))
        self.assertEqual(len(self.change(batch(CLASS, first)).listeners), 2)

    def test_one_has_place_for_the_next(self) -> None:
        """When the older Gateway goes the younger one has the hostname, though it did not change itself."""
        old, young = gateway("old", created="1"), gateway("young", created="2")
        found = self.start(old, young)
        self.assertEqual(
            self.told(found), [("young", Reason.HOSTNAME_CONFLICT, "spec.listeners[0].hostname")]
        )
        found = self.change({(GATEWAY, old.key): None})
        self.assertEqual((self.told(found), len(found.listeners)), ([], 1))

    def test_cannot_be_opened(self) -> None:
        """All who ask for a port that cannot be had are told at their listeners, as long as that is so."""
        found = self.start(
            gateway("a", listener(hostname="a.io"), listener("b", hostname="b.io"), listener_sets=ANY),
            listener_set("s", "a", listener("x", 81), listener(hostname="s.io")),
        )
        self.assertEqual(self.told(found), [])
        refused = Listener("tcp:80", table="gateway *:80")
        found = self.work({refused: "cannot listen on tcp:80: taken"})
        self.assertEqual(
            self.told(found),
            [
                ("a", Reason.PORT_UNAVAILABLE, "spec.listeners[0].port"),
                ("a", Reason.PORT_UNAVAILABLE, "spec.listeners[1].port"),
                ("s", Reason.PORT_UNAVAILABLE, "spec.listeners[1].port"),
            ],
        )
        self.assertIn(refused, found.listeners)
        self.assertEqual(self.told(self.work()), [])

    def test_hosts_are_kept(self) -> None:
        """A hostname of a listener keeps its host in the table, with routes or without any."""
        found = self.start(
            gateway("a", listener(), listener("b", hostname="b.io"), listener("c", hostname="*.c.io"))
        )
        table = found.others["gateway *:80"].routes
        self.assertEqual({host for host, _ in table.by_host()}, {"b.io", "*.c.io"})

    def test_needs(self) -> None:
        """The certificates that listeners name are needed; what is no Secret is not."""
        reader, kind = GatewayReader(options_of()), Kind.SECRET
        value = gateway("a", listener(protocol="HTTPS"), listener("h", 81))
        self.assertEqual(reader.needs(value, kind), {ObjectKey("infra", "certificate"): TLS_KEYS})
        self.assertEqual(reader.needs(value, Kind.CONFIG_MAP), {})

    def test_why_nothing(self) -> None:
        """The log says what keeps Gateways from being served, where there are some."""
        reader = GatewayReader(options_of())
        for values, expected in (
            ([], ""),
            (
                [gateway("a", class_name="x")],
                "no Gateway has a class of the controller txingress.dev/gateway",
            ),
            ([gateway("a", listener(protocol="SCTP"))], "no Gateway is accepted"),
            ([gateway("a")], "there is no HTTPRoute, nor any other route for Gateways"),
        ):
            with self.subTest(values=values):
                self.start(*values)
                self.assertEqual(finished(reader.why_nothing(self.store.state())), expected)
