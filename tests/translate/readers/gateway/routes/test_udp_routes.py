"""UDPRoutes from manifests to where datagrams lead, after the official suite's tests of them."""

from __future__ import annotations

from typing import Any, ClassVar

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.port_services import PortService, PortServices
from ingress.model.network.listeners import Listener
from ingress.model.network.streams import StreamSort
from ingress.model.upstream.backends import BackendState
from ingress.model.upstream.upstream_tls import DATAGRAMS
from ingress.translate.gateway_options import GatewayOptions
from ingress.translate.readers.gateway.statuses.routes import route_document
from ingress.translate.reports import ReportFacts
from ingress.translate.snapshot import Snapshot
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    INFRA,
    GatewayCluster,
    attached,
    gateway,
    grant,
    listener,
    route,
    rule,
    service,
)

UDP, TCP = "gateway *:53/udp", "gateway *:53"
YES, RESOLVED = ("True", "Accepted"), ("True", "ResolvedRefs")
ON_53 = Listener("udp:53", table=UDP, is_udp=True)


def udp(name: str, port: int = 53, **more: Any) -> dict[str, Any]:
    """Return a listener of UDP."""
    return listener(name, port=port, **{"protocol": "UDP", **more})


def tcp(name: str, port: int = 53) -> dict[str, Any]:
    """Return a listener of TCP."""
    return listener(name, port=port, protocol="TCP")


def udp_route(name: str, to: Any, **more: Any) -> dict[str, Any]:
    """Return a UDPRoute that leads to port 53 of a Service, or to a list of backends."""
    backends = [{"name": to, "port": 53}] if isinstance(to, str) else to
    return route(name, rule(backends), kind="UDPRoute", **more)


def dns(name: str, namespace: str = INFRA, address: str = "10.1.0.1") -> str:
    """Return a Service with port 53 of UDP."""
    return service(name, namespace, address, port=53, protocol="UDP")


class UDPCase(SynchronousTestCase):
    """A cluster with the Services ``one``, ``two`` and ``three``, which have port 53 of UDP."""

    options: ClassVar[dict[str, Any]] = {}

    def setUp(self) -> None:
        self.cluster = GatewayCluster(**self.options)
        self.cluster.translation.mark_everything(self.cluster.store.state())
        services = [dns(name, address=f"10.1.0.{at}") for at, name in enumerate(("one", "two", "three"), 1)]
        self.cluster.write("base", GATEWAY_CLASS, *services)

    def leads(self, snapshot: Snapshot, table: str = UDP) -> str:
        """Say which Services have the datagrams of *table*, each with its weight and whether it has endpoints."""
        found = snapshot.others[table].streams.get("")
        if found is None or found.owner is None:
            return "nobody"
        shown = []
        for one in found.weighted:
            state = snapshot.backends.get(one.backend, BackendState())
            shown.append(f"{one.backend.name if state.endpoints else 'dropped'}:{one.weight}")
        return " ".join(shown)

    def conditions(self, name: str) -> dict[str, tuple[str, str]]:
        """Return the conditions of a UDPRoute under its first parent: status and reason by type."""
        snapshot = self.cluster.translation.snapshot
        assert snapshot is not None
        told = [one for one in snapshot.problems if (one.kind, one.name) == ("UDPRoute", name)]
        facts = ReportFacts(ObjectKey(INFRA, name), self.cluster.store.state(), self.cluster.options, told)
        found = route_document(Kind("UDPRoute"), facts).lists["parents"][0].conditions
        return {one.type: (one.status, one.reason) for one in found}


class UDPRouteTests(UDPCase):
    """Routes of listeners of UDP."""

    def test_one_port(self) -> None:
        """A listener of UDP is a socket of its own, whose datagrams lead where its route says, or nowhere."""
        found = self.cluster.write("gateway", gateway("main", udp("dns")))
        self.assertIn(ON_53, found.listeners)
        self.assertEqual(self.leads(found), "nobody")
        found = self.cluster.write("route", udp_route("r", "one"))
        self.assertEqual(self.leads(found), "one:1")
        stream = found.others[UDP].streams.get("")
        assert stream is not None
        self.assertEqual((stream.sort, stream.backend.protocol), (StreamSort.UDP, DATAGRAMS))
        self.assertEqual([str(one) for one in found.backends[stream.backend].endpoints], ["10.1.0.1:3000"])
        self.assertEqual(attached(found, "main"), {"dns": 1})
        self.assertEqual(self.conditions("r"), {"Accepted": YES, "ResolvedRefs": RESOLVED})
        self.assertEqual(found.problems, ())
        found = self.cluster.write("route")
        self.assertEqual((self.leads(found), attached(found, "main")), ("nobody", {}))
        found = self.cluster.write("gateway")
        self.assertNotIn(ON_53, found.listeners)
        self.assertEqual(dict(found.others), {})

    def test_listener_set(self) -> None:
        """A ListenerSet has ports of UDP, too, and a route attaches to it."""
        own = gateway("main", listener("http"))
        own["spec"]["allowedListeners"] = {"namespaces": {"from": "All"}}
        parent = {"kind": "ListenerSet", "name": "more", "namespace": INFRA}
        more = {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "ListenerSet",
            "metadata": {"name": "more", "namespace": INFRA},
            "spec": {"parentRef": {"name": "main"}, "listeners": [udp("dns")]},
        }
        found = self.cluster.write("x", own, more, udp_route("r", "one", parents=[parent]))
        self.assertEqual(self.leads(found), "one:1")
        self.assertEqual((attached(found, "more"), self.conditions("r")["Accepted"]), ({"dns": 1}, YES))

    def test_same_number_of_tcp(self) -> None:
        """A port of UDP and one of TCP with the same number are two ports, each with routes of its own kind."""
        found = self.cluster.write(
            "x",
            gateway("main", udp("u"), tcp("t")),
            service("web", address="10.1.0.9", port=53),
            udp_route("r", "one"),
            route("t", rule([{"name": "web", "port": 53}]), kind="TCPRoute"),
        )
        self.assertEqual((self.leads(found), self.leads(found, TCP)), ("one:1", "web:1"))
        self.assertEqual(attached(found, "main"), {"u": 1, "t": 1})
        self.assertEqual(found.problems, ())

    def test_two_of_one_gateway(self) -> None:
        """Two listeners of one port of UDP cannot be told apart: neither is served."""
        found = self.cluster.write("x", gateway("main", udp("a"), udp("b"), tcp("t")))
        told = [one for one in self.cluster.told("Gateway") if one[1] == "ProtocolConflict"]
        self.assertEqual([one[2] for one in told], [f"spec.listeners[{at}].protocol" for at in (0, 1)])
        self.assertEqual(
            {one.message for one in found.problems},
            {"port 53 of UDP is to carry UDP of several listeners; none of these is served"},
        )
        self.assertEqual([*found.others], [TCP])

    def test_two_gateways(self) -> None:
        """Of two Gateways that share their addresses the older one has a port of UDP."""
        old, young = gateway("old", udp("u")), gateway("young", udp("u"))
        old["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        young["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
        parents = [{"name": name, "namespace": INFRA} for name in ("young", "old")]
        found = self.cluster.write("x", old, young, udp_route("r", "one", parents=parents))
        told = self.cluster.told("Gateway")
        self.assertEqual(told, [("young", "ProtocolConflict", "spec.listeners[0].protocol")])
        self.assertEqual(self.leads(found), "one:1")

    def test_first_route(self) -> None:
        """Of several routes of a port the oldest has it; the others are attached, and told."""
        young = udp_route("a", "two", created="2026-01-02T00:00:00Z")
        old = udp_route("b", "one", created="2026-01-01T00:00:00Z")
        found = self.cluster.write("x", gateway("main", udp("dns")), young, old)
        self.assertEqual((self.leads(found), attached(found, "main")), ("one:1", {"dns": 2}))
        self.assertEqual(self.cluster.told("UDPRoute"), [("a", "ListenerConflict", "spec.parentRefs[0]")])

    def test_other_listeners(self) -> None:
        """Listeners of other protocols take no UDPRoute, and those of UDP no others; no other kind may be allowed there."""
        kinds = {"namespaces": {"from": "All"}, "kinds": [{"kind": "TCPRoute"}, {"kind": "UDPRoute"}]}
        self.cluster.write(
            "x",
            gateway("main", tcp("t", 54), udp("u", allowedRoutes=kinds)),
            udp_route("r", "one", parents=[{"name": "main", "namespace": INFRA, "sectionName": "t"}]),
            route("t", kind="TCPRoute", parents=[{"name": "main", "namespace": INFRA, "sectionName": "u"}]),
        )
        self.assertEqual(self.conditions("r")["Accepted"], ("False", "NotAllowedByListeners"))
        self.assertIn(("t", "NotAllowedByListeners", "spec.parentRefs[0]"), self.cluster.told("TCPRoute"))
        self.assertEqual(
            self.cluster.told("Gateway"),
            [("main", "InvalidRouteKinds", "spec.listeners[1].allowedRoutes.kinds")],
        )

    def test_fields_of_others(self) -> None:
        """Hostname and TLS mean nothing to a listener of UDP, which is then not served."""
        for more, field in (({"hostname": "a.test"}, "hostname"), ({"tls": {"mode": "Passthrough"}}, "tls")):
            found = self.cluster.write("x", gateway("main", udp("u", **more)))
            told = self.cluster.told("Gateway")
            self.assertEqual(told, [("main", "UnsupportedValue", f"spec.listeners[0].{field}")])
            self.assertEqual(dict(found.others), {})

    def test_weights(self) -> None:
        """Backends share sessions, one of weight 0 gets none, and one that is missing keeps its share."""
        backends = [
            {"name": "one", "port": 53, "weight": 7},
            {"name": "two", "port": 53, "weight": 0},
            {"name": "gone", "port": 53, "weight": 2},
        ]
        found = self.cluster.write("x", gateway("main", udp("dns")), udp_route("r", backends))
        self.assertEqual(self.leads(found), "one:7 dropped:2")
        self.assertEqual(self.conditions("r")["ResolvedRefs"], ("False", "BackendNotFound"))
        nothing = [{"name": "one", "port": 53, "weight": 0}]
        found = self.cluster.write("x", gateway("main", udp("dns")), udp_route("r", nothing))
        self.assertEqual(self.leads(found), "dropped:1")
        self.assertEqual(self.conditions("r"), {"Accepted": YES, "ResolvedRefs": RESOLVED})
        found = self.cluster.write("x", gateway("main", udp("dns")), udp_route("r", []))
        self.assertEqual(self.leads(found), "dropped:1")

    def test_service_of_tcp_alone(self) -> None:
        """A port of TCP is none of UDP: it is told, and datagrams are dropped."""
        found = self.cluster.write(
            "x", gateway("main", udp("dns")), service("web", port=53), udp_route("r", "web")
        )
        self.assertEqual(self.leads(found), "dropped:1")
        self.assertEqual(self.conditions("r")["ResolvedRefs"], ("False", "BackendNotFound"))
        (told,) = [one for one in found.problems if one.kind == "UDPRoute"]
        self.assertEqual(
            (told.reason, told.field), ("ServicePortNotFound", "spec.rules[0].backendRefs[0].port")
        )
        self.assertIn("UDP", told.message)

    def test_grant(self) -> None:
        """Another namespace takes a ReferenceGrant for UDPRoutes, and what is withdrawn ends."""
        backends = [{"name": "far", "namespace": "web", "port": 53}]
        self.cluster.write("web", dns("far", "web", "10.1.0.8"))
        found = self.cluster.write("x", gateway("main", udp("dns")), udp_route("r", backends))
        self.assertEqual(
            (self.leads(found), self.conditions("r")["ResolvedRefs"]),
            ("dropped:1", ("False", "RefNotPermitted")),
        )
        self.assertEqual(
            self.leads(self.cluster.write("g", grant("g", INFRA, "web", kind="TCPRoute"))), "dropped:1"
        )
        self.assertEqual(
            self.leads(self.cluster.write("g", grant("g", INFRA, "web", kind="UDPRoute"))), "far:1"
        )
        self.assertEqual(self.leads(self.cluster.write("g")), "dropped:1")

    def test_one_rule(self) -> None:
        """A route has one rule, and few enough backends."""
        many = [{"name": "one", "port": 53}] * 1025
        found = self.cluster.write(
            "x",
            gateway("main", udp("a", 53), udp("b", 54)),
            route(
                "two",
                rule([{"name": "one", "port": 53}]),
                rule([{"name": "two", "port": 53}]),
                kind="UDPRoute",
                parents=[{"name": "main", "namespace": INFRA, "sectionName": "a"}],
            ),
            udp_route("many", many, parents=[{"name": "main", "namespace": INFRA, "sectionName": "b"}]),
        )
        self.assertEqual(self.leads(found), "one:1")
        self.assertEqual(
            self.cluster.told("UDPRoute"),
            [
                ("many", "UnsupportedValue", "spec.rules[0].backendRefs"),
                ("two", "UnsupportedValue", "spec.rules[1]"),
            ],
        )

    def test_old_version(self) -> None:
        """Manifests may have it as v1alpha2, as older clusters do."""
        old = {**udp_route("r", "one"), "apiVersion": "gateway.networking.k8s.io/v1alpha2"}
        found = self.cluster.write("x", gateway("main", udp("dns")), old)
        self.assertEqual(self.leads(found), "one:1")


class PlacesTests(UDPCase):
    """Where ports of UDP are open."""

    options: ClassVar[dict[str, Any]] = {
        "listeners": (
            Listener("tcp:53", is_required=True),
            Listener("tcp:443", is_secure=True, is_required=True),
            Listener("tcp6:53:interface=fd00\\:\\:1", is_required=True),
        ),
        "gateway": GatewayOptions(own_ports=(10254,)),
    }

    def test_as_the_command_line(self) -> None:
        """At each family and address of ``--http``, whatever of TCP has the number there, that of the pages included."""
        found = self.cluster.write("x", gateway("main", udp("a", 53), udp("b", 10254)))
        of_udp = [(one.description, one.table) for one in found.listeners if one.is_udp]
        self.assertEqual(
            of_udp,
            [
                (f"udp{form.format(port)}", f"gateway *:{port}/udp")
                for port in (53, 10254)
                for form in (":{}", "6:{}:interface=fd00\\:\\:1")
            ],
        )
        self.assertEqual(found.problems, ())


class OwnAddressTests(UDPCase):
    """Gateways with addresses of their own."""

    options: ClassVar[dict[str, Any]] = {
        "gateway": GatewayOptions(addresses=("10.0.0.1", "fd00::2"), ports=(53,))
    }

    def test_own_address(self) -> None:
        """Each has its ports of UDP at its own address; ports that are none of Gateways are refused."""
        old, young = gateway("a", udp("u")), gateway("b", udp("u"), udp("v", 54))
        found = self.cluster.write("x", old, young)
        self.assertEqual(
            [one.description for one in found.listeners if one.is_udp],
            ["udp:53:interface=10.0.0.1", "udp:53:interface=fd00\\:\\:2"],
        )
        self.assertEqual(self.cluster.told("Gateway"), [("b", "PortUnavailable", "spec.listeners[1].port")])


class BesideTheOperatorTests(UDPCase):
    """UDP services of the operator."""

    key = ObjectKey("infra", "udp")
    options: ClassVar[dict[str, Any]] = {
        "udp_services": PortServices(
            key, (PortService(53, ObjectKey(INFRA, "two"), 53, "data[53]"),), is_udp=True
        )
    }

    def test_the_operator_is_first(self) -> None:
        """A port that the operator's ConfigMap lists is the operator's, and the Gateway is told."""
        wanting = gateway("main", udp("dns"))
        wanting["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        found = self.cluster.write("x", wanting, udp_route("r", "one"))
        (of_udp,) = [one for one in found.listeners if one.is_udp]
        self.assertEqual((of_udp.description, self.leads(found, of_udp.table)), ("udp:53", "two:1"))
        self.assertEqual(
            self.cluster.told("Gateway"), [("main", "ListenerConflict", "spec.listeners[0].port")]
        )
        stream = found.others["udp 53"].streams.get("")
        assert stream is not None
        self.assertEqual(stream.owner, Owner(Kind.CONFIG_MAP, self.key))
