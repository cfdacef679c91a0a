"""Endpoints near by are used where hints of EndpointSlices say so."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.locality import Hints, Locality
from ingress.model.cluster.objects import EndpointSlice, ObjectKey, Service, ServicePort, SlicePort
from ingress.model.stepwise import finished
from ingress.model.upstream.backends import BackendState
from ingress.translate.endpoints.endpoint_rules import EndpointRules
from ingress.translate.endpoints.slices import finding_endpoints
from tests.fakes.counting import calls
from tests.fakes.plain_code import need_plain_code

KEY = ObjectKey("shop", "web")
PORT = ServicePort("http", 80)
A, B = Hints(("a",)), Hints(("b",))


def slice_of(
    ready: dict[str, Hints], draining: tuple[str, ...] = (), family: str = "IPv4", port: str = "http"
) -> EndpointSlice:
    """Return an EndpointSlice with endpoints that are ready, each with its hints."""
    hints = tuple(ready.values()) if any(one != Hints() for one in ready.values()) else ()
    return EndpointSlice(
        KEY, KEY, family, (SlicePort(port, 8080),), tuple(ready), draining=draining, hints=hints
    )


class LocalityTests(SynchronousTestCase):
    """``finding_endpoints`` with a locality."""

    def state(self, *slices: EndpointSlice, zone: str = "a", cluster_ip: str = "10.96.0.1") -> BackendState:
        service = Service(KEY, cluster_ip=cluster_ip, ports=(PORT,))
        locality = Locality(zone) if zone else None
        return finished(finding_endpoints(service, PORT, slices, EndpointRules(), (), locality))

    def addresses(self, *slices: EndpointSlice, zone: str = "a", cluster_ip: str = "10.96.0.1") -> set[str]:
        """Return the addresses in use in *zone*; hints do not count without one."""
        return {one.address for one in self.state(*slices, zone=zone, cluster_ip=cluster_ip).endpoints}

    def test_zone(self) -> None:
        """The endpoints for our zone are used, of all slices; without a zone all are."""
        slices = slice_of({"10.0.0.1": A, "10.0.0.2": B}), slice_of({"10.0.0.3": A, "10.0.0.4": B})
        self.assertEqual(self.addresses(*slices), {"10.0.0.1", "10.0.0.3"})
        self.assertEqual(self.addresses(*slices, zone="b"), {"10.0.0.2", "10.0.0.4"})
        self.assertEqual(len(self.addresses(*slices, zone="c")), 4)
        self.assertEqual(len(self.addresses(*slices, zone="")), 4)

    def test_elsewhere(self) -> None:
        """The others stand by, each once and in order; nobody does where hints do not count."""
        slices = (
            slice_of({"10.0.0.1": A, "10.0.0.9": B, "10.0.0.3": B}),
            slice_of({"10.0.0.3": A, "10.0.0.4": B, "127.0.0.1": B}, draining=("10.0.0.8",)),
        )
        found = self.state(*slices)
        self.assertEqual([one.address for one in found.elsewhere], ["10.0.0.4", "10.0.0.9"])
        for zone in ("c", ""):
            self.assertEqual(self.state(*slices, zone=zone).elsewhere, ())

    def test_elsewhere_on_other_ports(self) -> None:
        """They have the ports of their own slices."""
        near, other = slice_of({"10.0.0.1": A}), slice_of({"10.0.0.1": B, "10.0.0.2": B})
        found = self.state(near, evolve(other, ports=(SlicePort("http", 9090),)))
        self.assertEqual([str(one) for one in found.endpoints], ["10.0.0.1:8080"])
        self.assertEqual([str(one) for one in found.elsewhere], ["10.0.0.1:9090", "10.0.0.2:9090"])

    def test_without_hints(self) -> None:
        """A slice with an endpoint that has none makes all count; one without endpoints, or without the port, does not."""
        hinted, plain = slice_of({"10.0.0.1": A, "10.0.0.2": B}), slice_of({"10.0.0.3": Hints()})
        self.assertEqual(len(self.addresses(hinted, plain)), 3)
        self.assertEqual(self.addresses(hinted, slice_of({}, ("10.0.0.9",))), {"10.0.0.1"})
        self.assertEqual(
            self.addresses(hinted, slice_of({"10.0.0.3": Hints()}, port="metrics")), {"10.0.0.1"}
        )

    def test_families(self) -> None:
        """Each family is looked at by itself, in any spelling of its addresses."""
        slices = (
            slice_of({"10.0.0.1": B}),
            slice_of({"fd00:0::1": A, "fd00:0::2": B}, family="IPv6"),
        )
        self.assertEqual(self.addresses(*slices), {"10.0.0.1"})
        self.assertEqual(self.addresses(*slices, cluster_ip="fd00::9"), {"fd00::1"})

    def test_refused(self) -> None:
        """Where none of those for our zone may be connected to, others are used; what is wrong is told wherever we are."""
        one = slice_of({"127.0.0.1": A, "10.0.0.2": B})
        self.assertEqual(self.addresses(one), {"10.0.0.2"})
        self.assertEqual(self.state(one, zone="b").problems, self.state(one).problems)
        self.assertEqual(len(self.state(one).problems), 1)

    def test_draining(self) -> None:
        """Where no endpoint is ready, those that end are used, wherever they are."""
        self.assertEqual(self.addresses(slice_of({}, ("10.0.0.1", "10.0.0.2"))), {"10.0.0.1", "10.0.0.2"})

    def test_many(self) -> None:
        """Thousands of endpoints in one Service take a few calls each, hints or not: they are found in one turn."""
        zones = (A, B, Hints(("c",)))
        slices = [
            slice_of({f"10.0.{high}.{low}": zones[low % 3] for low in range(100)}) for high in range(20)
        ]
        need_plain_code("calls of compiled functions are not seen")
        for zone, count, most in (("a", 680, 4), ("", 2000, 2)):
            found: list[BackendState] = []

            def find(zone: str = zone, found: list[BackendState] = found) -> None:
                found.append(self.state(*slices, zone=zone))

            self.assertLess(calls(find), 2000 * most)
            self.assertEqual(len(found[0].endpoints), count)
