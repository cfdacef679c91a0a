"""Endpoints, which the controller finds apart from rounds."""

from attrs import evolve
from twisted.logger import LogLevel, capturedLogs

from ingress.history.publication_log import REPORT_SECONDS
from ingress.model.cluster.objects import (
    Kind,
    Projection,
)
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint, ManualEndpoint
from ingress.translate.endpoints.endpoint_rules import API_SERVER
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from tests.controller.controller_case import (
    BLOG,
    SHOP,
    ControllerTestCase,
    batch,
    endpoint_slice,
    gone,
    ingress,
    key,
    service,
)


class EndpointTests(ControllerTestCase):
    """Changes of EndpointSlices alone."""

    def test_next_turn(self) -> None:
        """New endpoints are published in the next turn; table, certificates and problems are the same objects."""
        first = self.start_shop()
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.assertEqual(self.published, [])
        self.clock.advance(0)
        self.assertEqual(len(self.published), 1)
        self.assertEqual(self.addresses(), ["10.0.0.2"])
        self.assertIs(self.published[0].table, first.table)
        self.assertIs(self.published[0].certificates, first.certificates)
        self.assertIs(self.published[0].problems, first.problems)
        self.assertEqual(first.backends[SHOP].endpoints, (Endpoint("10.0.0.1", 8080),))

    def test_one_turn(self) -> None:
        """Changes of many Services in one turn are published together; other backends keep their state."""
        self.start(
            ingress("shop", "shop.test"),
            ingress("blog", "blog.test", "blog"),
            ingress("idle", "idle.test", "idle"),
            *map(service, ("shop", "blog", "idle")),
            endpoint_slice("idle-1", "idle", "10.0.0.9"),
        )
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.1")))
        self.controller.changed(batch(endpoint_slice("blog-1", "blog", "10.0.0.2")))
        self.clock.advance(0)
        self.assertEqual(len(self.published), 1)
        self.assertEqual((self.addresses(SHOP), self.addresses(BLOG)), (["10.0.0.1"], ["10.0.0.2"]))
        self.assertEqual(self.addresses(BackendReference("web", "idle", 80)), ["10.0.0.9"])

    def test_refused(self) -> None:
        """An endpoint that is refused is out at once; a round tells the problem, and takes it back."""
        self.start_shop()
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "127.0.0.1")))
        self.clock.advance(0)
        self.assertEqual(self.addresses(), [])
        self.clock.advance(1)
        (problem,) = self.published[-1].problems
        self.assertEqual((problem.kind, problem.reason), ("EndpointSlice", Reason.ENDPOINT_FORBIDDEN))
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.advance(0)
        self.assertEqual(self.addresses(), ["10.0.0.2"])
        self.clock.advance(1)
        self.assertEqual(self.published[-1].problems, ())
        self.assertEqual(self.controller.verify(), ())

    def test_api_server_moves(self) -> None:
        """When the API server says that it is elsewhere, endpoints there are refused, and others are not any more."""
        self.start_shop()
        moved = evolve(
            endpoint_slice("kubernetes", "kubernetes", "10.0.0.1"), key=API_SERVER, service=API_SERVER
        )
        self.controller.changed(batch(moved))
        self.clock.advance(1)
        self.assertEqual(self.addresses(), [])
        self.controller.changed(batch(evolve(moved, ready=("10.0.0.7",))))
        self.clock.advance(1)
        self.assertEqual(self.addresses(), ["10.0.0.1"])
        self.assertEqual(self.controller.verify(), ())

    def test_later_changes(self) -> None:
        """Each later change builds on the one before."""
        self.start_shop()
        for address in ("10.0.0.2", "10.0.0.3"):
            self.controller.changed(batch(endpoint_slice("shop-1", "shop", address)))
            self.clock.advance(0)
            self.assertEqual(self.addresses(), [address])

    def test_slice_deleted(self) -> None:
        """An EndpointSlice that is gone takes its endpoints along."""
        self.start_shop()
        self.controller.changed(batch(endpoint_slice("shop-2", "shop", "10.0.0.2")))
        self.controller.changed(gone(Kind.ENDPOINT_SLICE, "shop-1"))
        self.clock.advance(0)
        self.assertEqual(self.addresses(), ["10.0.0.2"])

    def test_slice_moved(self) -> None:
        """An EndpointSlice that changes hands is taken from one Service and given to the other."""
        self.start(
            ingress("shop", "shop.test"),
            ingress("blog", "blog.test", "blog"),
            service("shop"),
            service("blog"),
            endpoint_slice("any-1", "shop", "10.0.0.1"),
        )
        self.controller.changed(batch(endpoint_slice("any-1", "blog", "10.0.0.1")))
        self.clock.advance(0)
        self.assertEqual((self.addresses(SHOP), self.addresses(BLOG)), ([], ["10.0.0.1"]))

    def test_same_endpoints(self) -> None:
        """Nothing is published when no backend got other endpoints."""
        self.start_shop()
        self.controller.changed(batch(endpoint_slice("shop-2", "shop", "10.0.0.1")))
        self.controller.changed(batch(endpoint_slice("nobody-1", "nobody", "10.0.0.1")))
        self.clock.advance(1)
        self.assertEqual(self.published, [])

    def test_all_ports(self) -> None:
        """Every backend of the Service follows, whatever the port and spelling."""
        by_name = IngressBackend("shop", ServicePortReference(name="http"))
        other = Ingress(
            key("other"),
            class_name="nginx",
            rules=(IngressRule("other.test", (IngressPath("/", "Prefix", by_name),)),),
        )
        self.start(ingress("shop", "shop.test"), other, service("shop"))
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.1")))
        self.clock.advance(0)
        self.assertEqual(self.addresses(SHOP), ["10.0.0.1"])
        self.assertEqual(self.addresses(BackendReference("web", "shop", "http")), ["10.0.0.1"])

    def test_with_other_changes(self) -> None:
        """Endpoints and a round may come in the same turn."""
        self.start_shop()
        self.clock.advance(REPORT_SECONDS)
        self.controller.changed(batch(ingress("other", "other.test")))
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.advance(0)
        self.assertEqual((self.hosts(), self.addresses()), (["other.test", "shop.test"], ["10.0.0.2"]))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_unreadable_slice(self) -> None:
        """An EndpointSlice that becomes unreadable loses its endpoints, and its problem is published."""
        self.start_shop()
        problem = Problem("EndpointSlice", "web", "shop-1", Reason.MALFORMED_OBJECT, "no endpoints")
        self.controller.changed({(Kind.ENDPOINT_SLICE, key("shop-1")): Projection(None, (problem,))})
        self.clock.advance(0)
        self.assertEqual(self.addresses(), [])
        self.assertEqual(self.published[-1].problems, (problem,))


class ManualEndpointTests(ControllerTestCase):
    """Objects from manifests, with ``--endpoint``."""

    options = TranslateOptions(
        from_manifests=True, manual_endpoints=(ManualEndpoint(None, "", Endpoint("127.0.0.1", 9000)),)
    )

    def test_slice_comes_and_goes(self) -> None:
        """The option counts while the Service has no EndpointSlice."""
        self.start(ingress("a", "a.test"), service("shop"))
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.1")))
        self.clock.advance(0)
        self.assertEqual(self.addresses(), ["10.0.0.1"])
        self.controller.changed(gone(Kind.ENDPOINT_SLICE, "shop-1"))
        self.clock.advance(0)
        self.assertEqual(self.published[-1].backends[SHOP], BackendState((Endpoint("127.0.0.1", 9000),)))


class UnusedEndpointTests(ControllerTestCase):
    """An ``--endpoint`` that gives nobody an endpoint."""

    options = TranslateOptions(
        from_manifests=True, manual_endpoints=(ManualEndpoint(key("typo"), "", Endpoint("127.0.0.1", 9000)),)
    )

    def test_told_once(self) -> None:
        """It is told once, when there are backends that it could have been for."""
        with capturedLogs() as events:
            self.start()
            self.controller.changed(batch(ingress("a", "a.test"), service("shop")))
            self.clock.pump([0.0, 1.0])
            self.controller.changed(batch(ingress("b", "b.test")))
            self.clock.pump([0.0, 1.0])
        told = [event for event in events if "--endpoint web/typo" in str(event.get("unused", ""))]
        self.assertEqual([event["log_level"] for event in told], [LogLevel.warn])
