"""Tests of the addresses of Gateways."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.state import Derived
from ingress.translate.readers.gateway.objects.gateways import Gateway, GatewayAddress
from ingress.translate.readers.gateway.objects.names import GATEWAY
from ingress.translate.readers.gateway.topology.topology_making import topology_of
from tests.translate.readers.gateway.gateway_values import gateway, options_of, state_of, topology

_POOL = ("10.0.0.1", "10.0.0.2", "fd00::3")


class AddressesTests(SynchronousTestCase):
    """Which Gateway is reached where."""

    def _of(self, *gateways: Gateway, pool: tuple[str, ...] = _POOL) -> dict[str, tuple[str, ...]]:
        self.found = topology(*gateways, options=options_of(pool)).gateways
        return {key.name: one.addresses for key, one in self.found.items()}

    def _told(self, name: str) -> list[tuple[Reason, str]]:
        return [(one.reason, one.field) for one in self.found[ObjectKey("infra", name)].problems]

    def test_one_each(self) -> None:
        """Each Gateway gets the first free address, the oldest first, and its tables are called after it."""
        found = self._of(gateway("b", created="2"), gateway("a", created="3"), gateway("c", created="1"))
        self.assertEqual(found, {"c": ("10.0.0.1",), "b": ("10.0.0.2",), "a": ("fd00::3",)})
        self.assertEqual(
            [one.listeners[0].table for one in self.found.values()],
            ["gateway 10.0.0.1:80", "gateway 10.0.0.2:80", "gateway fd00::3:80"],
        )

    def test_kept(self) -> None:
        """What a Gateway had it keeps, however spelled, though an older one came back or others went."""
        found = self._of(
            gateway("a", created="1"),
            gateway("b", created="2", given=["fd00:0::3"]),
            gateway("c", created="3", given=["10.0.0.1"]),
        )
        self.assertEqual(found, {"a": ("10.0.0.2",), "b": ("fd00::3",), "c": ("10.0.0.1",)})

    def test_had_by_two(self) -> None:
        """Of two that claim to have had an address the older one has it."""
        found = self._of(
            gateway("a", created="2", given=["10.0.0.2"]), gateway("b", created="1", given=["10.0.0.2"])
        )
        self.assertEqual(found, {"b": ("10.0.0.2",), "a": ("10.0.0.1",)})

    def test_stays_before_its_status_is_seen(self) -> None:
        """What a Gateway was given stays, though one that goes before it comes, and whatever statuses say meanwhile."""
        derived = Derived()
        young, old = gateway("x-3", created="2"), gateway("x-1", created="2", given=["10.0.0.1"])
        found = []
        for some in ([young], [young, old], [evolve(young, given=("fd00::3",)), old], [old]):
            derived.changed(GATEWAY)
            state = evolve(state_of(*some), derived=derived)
            found.append(
                {
                    key.name: one.addresses
                    for key, one in topology_of(state, options_of(_POOL)).gateways.items()
                }
            )
        self.assertEqual(
            found,
            [
                {"x-3": ("10.0.0.1",)},
                {"x-1": ("10.0.0.2",), "x-3": ("10.0.0.1",)},
                {"x-1": ("10.0.0.2",), "x-3": ("10.0.0.1",)},
                {"x-1": ("10.0.0.2",)},
            ],
        )

    def test_exhausted(self) -> None:
        """Without an address a Gateway is accepted, told, and not served."""
        found = self._of(gateway("a"), gateway("b"), pool=("10.0.0.1",))
        self.assertEqual(found["b"], ())
        self.assertEqual(self._told("b"), [(Reason.ADDRESS_NOT_ASSIGNED, "spec.addresses")])
        state = self.found[ObjectKey("infra", "b")]
        self.assertTrue(state.is_accepted)
        self.assertFalse(state.listeners[0].is_served)

    def test_asked_for(self) -> None:
        """An address that a Gateway names is its own if the operator has it and no other Gateway; the others are told."""
        static = GatewayAddress("IPAddress", "10.0.0.2")
        found = self._of(
            gateway("dynamic", created="1"),
            gateway("static", created="2", addresses=[static]),
            gateway("late", created="3", addresses=[static, GatewayAddress("IPAddress", "192.0.2.1")]),
        )
        self.assertEqual(found, {"dynamic": ("10.0.0.1",), "static": ("10.0.0.2",), "late": ()})
        self.assertEqual(
            self._told("late"),
            [
                (Reason.ADDRESS_NOT_USABLE, "spec.addresses[0].value"),
                (Reason.ADDRESS_NOT_USABLE, "spec.addresses[1].value"),
            ],
        )

    def test_asked_for_and_had_by_another(self) -> None:
        """An address that another Gateway has already stays with that one."""
        found = self._of(
            gateway("static", created="1", addresses=[GatewayAddress("IPAddress", "10.0.0.2")]),
            gateway("dynamic", created="2", given=["10.0.0.2"]),
        )
        self.assertEqual(found, {"static": (), "dynamic": ("10.0.0.2",)})

    def test_some_usable(self) -> None:
        """Beside an address that cannot be had a usable one is had."""
        found = self._of(
            gateway(
                "a",
                addresses=[GatewayAddress("IPAddress", "192.0.2.1"), GatewayAddress("IPAddress", "10.0.0.1")],
            )
        )
        self.assertEqual(found, {"a": ("10.0.0.1",)})
        self.assertEqual(self._told("a"), [(Reason.ADDRESS_NOT_USABLE, "spec.addresses[0].value")])
        self.assertTrue(self.found[ObjectKey("infra", "a")].is_accepted)

    def test_empty_value(self) -> None:
        """An entry without value gets any address; two get two."""
        some = [GatewayAddress("IPAddress", ""), GatewayAddress("IPAddress", "")]
        self.assertEqual(self._of(gateway("a", addresses=some)), {"a": ("10.0.0.1", "10.0.0.2")})
        self.assertEqual(self._of(gateway("a", addresses=some[:1]), pool=()), {"a": ()})
        self.assertTrue(self.found[ObjectKey("infra", "a")].is_shared)
        self.assertEqual(self._told("a"), [])

    def test_unknown_type(self) -> None:
        """A type that nobody knows here keeps the Gateway from being accepted."""
        for kind in ("Hostname", "test/fake-invalid-type"):
            self._of(
                gateway("a", addresses=[GatewayAddress(kind, "x"), GatewayAddress("IPAddress", "10.0.0.1")])
            )
            self.assertEqual(self._told("a"), [(Reason.UNSUPPORTED_ADDRESS, "spec.addresses[0].type")])
            self.assertFalse(self.found[ObjectKey("infra", "a")].is_accepted)

    def test_named_without_pool(self) -> None:
        """Where all share the addresses of the process, none can be asked for, and nothing is served at others."""
        self._of(gateway("a", addresses=[GatewayAddress("IPAddress", "10.0.0.1")]), pool=())
        self.assertEqual(self._told("a"), [(Reason.ADDRESS_NOT_USABLE, "spec.addresses[0].value")])
        self.assertFalse(self.found[ObjectKey("infra", "a")].listeners[0].is_served)

    def test_published(self) -> None:
        """An address that is published of the process may be asked for; it is that of all who share it."""
        published = GatewayAddress("IPAddress", "203.0.113.5")
        other = GatewayAddress("IPAddress", "203.0.113.6")
        options = options_of(published=["203.0.113.5"])
        for asked, is_served, reasons in (
            ([published], True, []),
            ([published, other], True, ["spec.addresses[1].value"]),
            ([other], False, ["spec.addresses[0].value"]),
        ):
            with self.subTest(asked=asked):
                (state,) = topology(gateway("a", addresses=asked), options=options).gateways.values()
                self.assertIs(state.listeners[0].is_served, is_served)
                self.assertEqual([one.field for one in state.problems], reasons)
