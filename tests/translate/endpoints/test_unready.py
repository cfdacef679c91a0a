"""Tests for ``ingress.translate.endpoints.unready``."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.locality import Hints, Locality
from ingress.model.cluster.objects import EndpointSlice, ObjectKey, Service, ServicePort, SlicePort
from ingress.model.cluster.state import ClusterState
from ingress.model.observability.endpoint_states import EndpointStage
from ingress.model.stepwise import finished
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.translate.endpoints.backends import resolve_backends
from ingress.translate.endpoints.slices import passed_over
from ingress.translate.endpoints.unready import MOST, Unready, unready_endpoints
from ingress.translate.options import TranslateOptions
from tests.fakes.counting import longest_step

KEY = ObjectKey("shop", "web")
WEB = BackendReference("shop", "web", 80)
SERVICE = Service(KEY, ports=(ServicePort("http", 80),))


def slice_of(
    number: int = 8080, family: str = "IPv4", hints: tuple[Hints, ...] = (), **addresses: tuple[str, ...]
) -> EndpointSlice:
    """Return an EndpointSlice of the Service."""
    return EndpointSlice(KEY, KEY, family, (SlicePort("http", number),), hints=hints, **addresses)


def unready(
    *slices: EndpointSlice, options: TranslateOptions | None = None, service: Service = SERVICE
) -> Unready:
    """Return what is not ready of *service* with *slices*."""
    state = ClusterState(services={KEY: service}, slices={KEY: slices})
    options = options or TranslateOptions()
    references = (WEB, BackendReference("shop", "other", 80), BackendReference("shop", "web", 81))
    return finished(unready_endpoints(resolve_backends(references, state, options), state, options))


class UnreadyTests(SynchronousTestCase):
    """``unready_endpoints``."""

    def test_all_ready(self) -> None:
        """Where all are ready there is nothing to say."""
        self.assertEqual(unready(slice_of(ready=("10.0.0.1",))), {})

    def test_not_ready(self) -> None:
        """Those that are not ready, and those that end, are named with the port of their slice."""
        found = unready(
            slice_of(ready=("10.0.0.1",), unready=("10.0.0.2",), draining=("10.0.0.3",)),
            slice_of(9090, "IPv6", unready=("fd00:0::1",)),
        )
        self.assertEqual(
            dict(found),
            {
                ("shop/web:80", "10.0.0.2:8080"): EndpointStage.NOT_READY,
                ("shop/web:80", "10.0.0.3:8080"): EndpointStage.TERMINATING,
                ("shop/web:80", "[fd00::1]:9090"): EndpointStage.NOT_READY,
            },
        )

    def test_no_addresses(self) -> None:
        """What is no address, or has no port, is left out."""
        broken = EndpointSlice(KEY, KEY, "IPv4", (), unready=("10.0.0.2",))
        self.assertEqual(
            unready(slice_of(unready=("<b>",)), slice_of(family="FQDN", unready=("a",)), broken), {}
        )

    def test_by_cluster_ip(self) -> None:
        """A Service that is asked as a whole has one endpoint, whatever its pods are."""
        options = TranslateOptions(service_upstream=True)
        some = slice_of(unready=("10.0.0.2",))
        with_ip = evolve(SERVICE, cluster_ip="10.96.0.1")
        self.assertEqual(unready(some, options=options, service=with_ip), {})
        self.assertEqual(len(unready(some, service=with_ip)), 1)
        self.assertEqual(len(unready(some, options=options)), 1)

    def test_elsewhere(self) -> None:
        """Those that are for other zones are named, if hints count; those of a family that nobody asks for are not."""
        given = (
            slice_of(ready=("10.0.0.1", "10.0.0.2"), hints=(Hints(("a",)), Hints(("b",)))),
            slice_of(family="IPv6", ready=("fd00::1",), hints=(Hints(("b",)),)),
        )
        service = evolve(SERVICE, cluster_ip="10.96.0.1")
        near = TranslateOptions(locality=Locality("a"))
        self.assertEqual(
            unready(*given, options=near, service=service),
            {("shop/web:80", "10.0.0.2:8080"): EndpointStage.ELSEWHERE},
        )
        self.assertEqual(unready(*given, service=service), {})
        nowhere = TranslateOptions(locality=Locality("c"))
        self.assertEqual(unready(*given, options=nowhere, service=service), {})

    def test_other_connections(self) -> None:
        """Those in use, where those for our zone may not be connected to, are known by their addresses, whatever connections to them are."""
        some = slice_of(ready=("10.0.0.1", "10.0.0.2"), hints=(Hints(("b",)), Hints(("a",))))
        used = (Endpoint("10.0.0.1", 8080, LinkSettings(is_http2=True)),)
        found = passed_over(SERVICE.ports[0], (some,), used, Locality("a"))
        self.assertEqual([one for one in found if one is not None], [])

    def test_refused(self) -> None:
        """One that may not be connected to is not told as one for another zone: hints do not count, or it is for ours."""
        here, there = Hints(("a",)), Hints(("b",))
        for hints, locality in (
            ((here, there, Hints()), Locality("a")),
            ((here, there, there), None),
            ((here, there, there), Locality("a")),
        ):
            some = slice_of(ready=("127.0.0.1", "10.0.0.2", "10.0.0.3"), unready=("10.0.0.4",), hints=hints)
            found = unready(some, options=TranslateOptions(locality=locality))
            self.assertEqual(dict(found), {("shop/web:80", "10.0.0.4:8080"): EndpointStage.NOT_READY})

    def test_steps(self) -> None:
        """Of a Service with thousands of endpoints some are looked at in a step, be they used, not ready or elsewhere."""
        here, there = Hints(("a",)), Hints(("b",))
        texts = tuple(f"10.0.{n >> 8}.{n & 255}" for n in range(9_000))
        for given, locality in (
            (slice_of(ready=texts[:-1], unready=texts[-1:]), None),
            (slice_of(unready=texts), None),
            (slice_of(ready=texts, hints=tuple((here, there)[n % 2] for n in range(9_000))), Locality("a")),
        ):
            options = TranslateOptions(locality=locality)
            state = ClusterState(services={KEY: SERVICE}, slices={KEY: (given,)})
            found = resolve_backends((WEB,), state, options)
            self.assertLess(longest_step(unready_endpoints(found, state, options)), 6_000)

    def test_bounded(self) -> None:
        """Of very many, some are named."""
        some = (f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(MOST + 500))
        self.assertEqual(len(unready(slice_of(unready=tuple(some)))), MOST)
