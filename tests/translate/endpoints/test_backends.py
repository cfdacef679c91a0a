"""Resolving backends by themselves, as after a change of an EndpointSlice."""

from collections.abc import Iterator
from itertools import pairwise

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import EndpointSlice, ObjectKey, Service, ServicePort, SlicePort
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.network.listeners import Listener
from ingress.model.stepwise import finished
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint, ManualEndpoint
from ingress.model.upstream.upstream_tls import DATAGRAMS, UpstreamProtocol
from ingress.translate.endpoints.backends import (
    LOOKED_AT_ONCE,
    backend_fault,
    resolve_backends,
    services_without_endpoints,
    unused_endpoints,
)
from ingress.translate.endpoints.endpoint_rules import EndpointRules
from ingress.translate.options import TranslateOptions

WEB = ObjectKey("demo", "web")
REFERENCE = BackendReference("demo", "web", 80)
SERVICE = Service(WEB, ports=(ServicePort("http", 80), ServicePort("dns", 53, protocol="UDP")))
MANIFESTS = TranslateOptions(from_manifests=True)


def slice_of(*addresses: str) -> EndpointSlice:
    """Return a slice of ``demo/web`` with *addresses*, all ready."""
    return EndpointSlice(ObjectKey("demo", "web-1"), WEB, "IPv4", (SlicePort("http", 8080),), addresses)


def cluster(*addresses: str) -> ClusterState:
    """Return a state of ``demo/web`` alone, with a slice of *addresses*."""
    return ClusterState(services={WEB: SERVICE}, slices={WEB: (slice_of(*addresses),)})


class DatagramTests(SynchronousTestCase):
    """Ports of UDP, which may have the number of one of TCP."""

    def setUp(self) -> None:
        ports = (ServicePort("dns", 53, protocol="UDP"), ServicePort("dns-tcp", 53), ServicePort("web", 80))
        of_slice = (
            # A name says of which port it is, together with the protocol.
            SlicePort("dns", 3053, "TCP"),
            SlicePort("dns", 1053, "UDP"),
            SlicePort("dns-tcp", 4053, "UDP"),
            SlicePort("dns-tcp", 2053, "TCP"),
        )
        one = EndpointSlice(ObjectKey("demo", "web-1"), WEB, "IPv4", of_slice, ("10.0.0.1",))
        self.state = ClusterState(services={WEB: Service(WEB, ports=ports)}, slices={WEB: (one,)})

    def ports_of(self, port: int | str, protocol: UpstreamProtocol) -> list[int]:
        """Return the ports of the endpoints of a backend."""
        reference = BackendReference("demo", "web", port, protocol=protocol)
        state = resolve_backends([reference], self.state, TranslateOptions())[reference]
        self.assertEqual(bool(state.endpoints), not state.reason)
        return [one.port for one in state.endpoints]

    def test_ports(self) -> None:
        """A reference by number or name means the port of its own protocol, in Services and in slices."""
        for port, udp, tcp in (
            (53, [1053], [2053]),
            ("dns", [1053], []),
            ("dns-tcp", [], [2053]),
            (80, [], []),
        ):
            self.assertEqual((self.ports_of(port, DATAGRAMS), self.ports_of(port, None)), (udp, tcp), port)

    def test_faults(self) -> None:
        """What is there for the other protocol alone is told."""
        for port, told in ((80, "port 80 of Service demo/web is not a UDP port"), (81, "has no port 81")):
            reference = BackendReference("demo", "web", port, protocol=DATAGRAMS)
            fault = backend_fault(reference, self.state, TranslateOptions())
            assert fault is not None
            self.assertEqual(fault.reason, Reason.SERVICE_PORT_NOT_FOUND)
            self.assertIn(told, fault.message)

    def test_shown(self) -> None:
        """A backend of UDP is told from that of TCP by its text."""
        self.assertEqual(str(BackendReference("demo", "web", 53, protocol=DATAGRAMS)), "demo/web:53 (UDP)")

    def test_external_name(self) -> None:
        """An ExternalName Service is one of either protocol; a number stands for itself where it lists no ports."""
        for ports, found in (
            ((), [53]),
            ((ServicePort("dns", 53, protocol="UDP"),), [53]),
            ((ServicePort("dns", 53),), []),
        ):
            self.state = ClusterState(
                services={WEB: Service(WEB, type="ExternalName", external_name="dns.test", ports=ports)}
            )
            reference = BackendReference("demo", "web", 53, protocol=DATAGRAMS)
            options = TranslateOptions(allow_external_name=True)
            state = resolve_backends([reference], self.state, options)[reference]
            self.assertEqual([one.port for one in state.endpoints], found)

    def test_own_ports(self) -> None:
        """No endpoint may be a port of UDP of ours; where we listen on TCP there may be anybody, and the other way round."""
        bound = {"tcp:2053": ("", 2053), "udp:1053": ("", 1053)}
        own = EndpointRules(is_own=lambda address: address == "10.0.0.1", bound_to=bound.get)
        for listeners, udp, tcp in (
            ((), [1053], [2053]),
            ((Listener("udp:1053", is_udp=True),), [], [2053]),
            ((Listener("tcp:2053"),), [1053], []),
        ):
            rules = own.beside(listeners)
            for protocol, expected in ((DATAGRAMS, udp), (None, tcp)):
                reference = BackendReference("demo", "web", 53, protocol=protocol)
                options = TranslateOptions(endpoint_rules=rules)
                state = resolve_backends([reference], self.state, options)[reference]
                self.assertEqual([one.port for one in state.endpoints], expected, listeners)
        self.assertIs(rules.beside((Listener("tcp:2053"),)), rules)


class ResolveBackendsTests(SynchronousTestCase):
    """References are resolved one by one, each on the present state alone."""

    def test_only_what_is_asked_for_is_resolved(self) -> None:
        """The answer holds the references asked for, and no other."""
        found = resolve_backends([REFERENCE], cluster("10.0.0.2", "10.0.0.1"), TranslateOptions())
        endpoints = (Endpoint("10.0.0.1", 8080), Endpoint("10.0.0.2", 8080))
        self.assertEqual(found, {REFERENCE: BackendState(endpoints)})
        self.assertEqual(resolve_backends([], cluster("10.0.0.1"), TranslateOptions()), {})

    def test_order_of_slices_and_endpoints_does_not_matter(self) -> None:
        """Equal sets of addresses give equal states, so that a rewritten slice changes nothing."""
        one, two = cluster("10.0.0.1", "10.0.0.2"), cluster("10.0.0.2", "10.0.0.1", "10.0.0.1")
        self.assertEqual(
            resolve_backends([REFERENCE], one, TranslateOptions()),
            resolve_backends([REFERENCE], two, TranslateOptions()),
        )

    def test_order_of_many(self) -> None:
        """Endpoints of several ports are sorted by address, then by port, and not one is compared with another as a whole."""

        def slices(count: int) -> tuple[EndpointSlice, ...]:
            addresses = [f"10.0.{number % 7}.{number % 250}" for number in range(count)]
            return tuple(
                evolve(slice_of(*addresses), ports=(SlicePort("http", number),)) for number in (9090, 8080)
            )

        state = ClusterState(services={WEB: SERVICE}, slices={WEB: slices(500)})
        compared = []
        self.patch(Endpoint, "__lt__", lambda one, other: compared.append(one))
        found = resolve_backends([REFERENCE], state, TranslateOptions())[REFERENCE].endpoints
        self.assertEqual(compared, [])
        self.assertEqual([tuple(one) for one in found], sorted(map(tuple, found)))
        self.assertEqual(len(found), 1000)

    def test_endpoints_never_make_a_fault(self) -> None:
        """Whether there are endpoints changes the state, never what is wrong with the reference."""
        for state in (cluster(), cluster("10.0.0.1"), ClusterState(services={WEB: SERVICE})):
            self.assertIsNone(backend_fault(REFERENCE, state, TranslateOptions()))

    def test_faults_name_the_part_of_the_backend(self) -> None:
        """A missing Service and a missing port are faults, each of its part of the backend."""
        gone, dns = BackendReference("demo", "gone", 80), BackendReference("demo", "web", 53)
        faults = {
            reference: backend_fault(reference, cluster("10.0.0.1"), TranslateOptions())
            for reference in (REFERENCE, gone, dns)
        }
        self.assertEqual(
            {reference: (fault.reason, fault.field) for reference, fault in faults.items() if fault},
            {
                gone: (Reason.SERVICE_NOT_FOUND, "service.name"),
                dns: (Reason.SERVICE_PORT_NOT_FOUND, "service.port"),
            },
        )

    def test_ports_that_cannot_be_dialed_are_no_ports(self) -> None:
        """A Service or slice port outside 1 to 65535 leads nowhere."""
        service = evolve(SERVICE, ports=(ServicePort("http", 70000),))
        reference = BackendReference("demo", "web", "http")
        state = evolve(cluster("10.0.0.1"), services={WEB: service})
        self.assertFalse(resolve_backends([reference], state, TranslateOptions())[reference].endpoints)
        slices = (evolve(slice_of("10.0.0.1"), ports=(SlicePort("http", 0),)),)
        state = ClusterState(services={WEB: SERVICE}, slices={WEB: slices})
        self.assertFalse(resolve_backends([REFERENCE], state, TranslateOptions())[REFERENCE].endpoints)

    def test_addresses_that_are_not_of_the_slices_type_are_ignored(self) -> None:
        """A name, or an address of the other family, in an IPv4 slice leads nowhere."""
        state = cluster("localhost", "fd00::1", "", "10.0.0.1")
        found = resolve_backends([REFERENCE], state, TranslateOptions())[REFERENCE]
        self.assertEqual(found.endpoints, (Endpoint("10.0.0.1", 8080),))

    def test_cluster_ip_that_is_no_address_is_not_dialed(self) -> None:
        """With ``--service-upstream`` only an address counts as cluster IP."""
        options = TranslateOptions(service_upstream=True)
        state = evolve(cluster("10.0.0.1"), services={WEB: evolve(SERVICE, cluster_ip="localhost")})
        found = resolve_backends([REFERENCE], state, options)[REFERENCE]
        self.assertEqual(found.endpoints, (Endpoint("10.0.0.1", 8080),))

    def test_every_state_has_endpoints_or_a_reason(self) -> None:
        """A reference that leads nowhere says why."""
        references = [
            BackendReference("demo", "gone", 80),
            BackendReference("demo", "x", kind="Bucket.example.com"),
            BackendReference("demo", "", kind="Invalid"),
            BackendReference("demo", "web", 53),
        ]
        for options in (TranslateOptions(), MANIFESTS):
            for reference, found in resolve_backends(references, cluster(), options).items():
                self.assertTrue(found.reason, reference)
                self.assertEqual(found.endpoints, ())


class ServicesWithoutEndpointsTests(SynchronousTestCase):
    """The Services that ``--endpoint`` would help, for the line at start-up."""

    def named(self, state: ClusterState, options: TranslateOptions) -> list[str]:
        """Return what is named for references to ``demo/web``, ``demo/gone`` and a resource."""
        references = [
            BackendReference("demo", "web", 80),
            BackendReference("demo", "gone", 80),
            BackendReference("demo", "gone", 81),
            BackendReference("demo", "static", kind="Bucket.example.com"),
            BackendReference("demo", "", kind="Invalid"),
        ]
        return [str(key) for key in finished(services_without_endpoints(references, state, options))]

    def test_services_without_slices_and_missing_ones_are_named_once(self) -> None:
        """A Service without slices and one that is not in the manifests are named, each once, sorted."""
        self.assertEqual(
            self.named(ClusterState(services={WEB: SERVICE}), MANIFESTS), ["demo/gone", "demo/web"]
        )

    def test_services_with_slices_are_not_named(self) -> None:
        """A slice is an answer, even one without a ready endpoint."""
        self.assertEqual(self.named(cluster(), MANIFESTS), ["demo/gone"])

    def test_services_with_manual_endpoints_are_not_named(self) -> None:
        """What ``--endpoint`` names already needs no telling."""
        manual = ManualEndpoint(None, "", Endpoint("127.0.0.1", 9000))
        options = evolve(MANIFESTS, manual_endpoints=(manual,))
        self.assertEqual(self.named(ClusterState(), options), [])
        options = evolve(MANIFESTS, manual_endpoints=(evolve(manual, service=WEB),))
        self.assertEqual(self.named(ClusterState(), options), ["demo/gone"])

    def test_services_that_say_where_they_are_are_not_named(self) -> None:
        """An allowed external name, and a cluster IP with ``--service-upstream``, are answers too."""
        external = evolve(SERVICE, type="ExternalName", external_name="www.example.com")
        state = ClusterState(services={WEB: external})
        self.assertEqual(self.named(state, MANIFESTS), ["demo/gone", "demo/web"])
        self.assertEqual(self.named(state, evolve(MANIFESTS, allow_external_name=True)), ["demo/gone"])
        state = ClusterState(services={WEB: evolve(SERVICE, cluster_ip="10.96.0.1")})
        self.assertEqual(self.named(state, evolve(MANIFESTS, service_upstream=True)), ["demo/gone"])

    def test_ports_that_a_service_lacks_are_no_reason_to_name_it(self) -> None:
        """No address helps a reference to a port that the Service does not have."""
        reference = BackendReference("demo", "web", 81)
        state = ClusterState(services={WEB: SERVICE})
        self.assertEqual(finished(services_without_endpoints([reference], state, MANIFESTS)), ())

    def test_unused_options_are_told_with_the_reason(self) -> None:
        """An option that gives no Service an endpoint is told, each with what keeps it from that."""
        here = Endpoint("127.0.0.1", 9000)
        references = [BackendReference("demo", "web", 80), BackendReference("demo", "gone", 80)]
        options = evolve(
            MANIFESTS,
            manual_endpoints=(
                ManualEndpoint(ObjectKey("demo", "gone"), 80, here),
                ManualEndpoint(ObjectKey("demo", "gone"), 8080, here),
                ManualEndpoint(ObjectKey("demo", "typo"), "", here),
                ManualEndpoint(WEB, "", here),
                ManualEndpoint(None, "", here),
            ),
        )
        self.assertEqual(
            [
                one.partition(" gives no Service an endpoint: ")[::2]
                for one in finished(unused_endpoints(references, cluster(), options))
            ],
            [
                (
                    "--endpoint demo/gone:8080=127.0.0.1:9000",
                    "nothing that is served names port 8080 of it",
                ),
                ("--endpoint demo/typo=127.0.0.1:9000", "nothing that is served names Service demo/typo"),
                (
                    "--endpoint demo/web=127.0.0.1:9000",
                    "the manifests have an EndpointSlice of Service demo/web",
                ),
                (
                    "--endpoint *=127.0.0.1:9000",
                    "those that are named have an EndpointSlice, or an --endpoint of their own",
                ),
            ],
        )

    def test_steps(self) -> None:
        """Of thousands of backends few are looked at in one step, and none where no option is to be looked for."""
        manual = ManualEndpoint(None, "", Endpoint("127.0.0.1", 9000))
        seen: list[str] = []

        def references() -> Iterator[BackendReference]:
            for number in range(20 * LOOKED_AT_ONCE):
                seen.append("one")
                yield BackendReference("demo", f"web{number}", 80)

        for options, kinds in ((MANIFESTS, 1), (evolve(MANIFESTS, manual_endpoints=(manual,)), 2)):
            for find in (services_without_endpoints, unused_endpoints)[:kinds]:
                counts = [len(seen)]
                counts += [len(seen) for _ in find(references(), ClusterState(), options)]
                self.assertEqual([b - a for a, b in pairwise(counts)], [LOOKED_AT_ONCE] * 20)
        before = len(seen)
        self.assertEqual(finished(unused_endpoints(references(), ClusterState(), MANIFESTS)), ())
        self.assertEqual(len(seen), before)

    def test_an_api_server_is_never_helped(self) -> None:
        """With an API server there is no such option, so nothing is named."""
        self.assertEqual(self.named(ClusterState(), TranslateOptions()), [])
