"""The page of endpoints."""

import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from attrs import evolve
from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from ingress.admin.contract.page_sources import PageSources, Workers
from ingress.admin.port.site import admin_site
from ingress.model.observability.endpoint_states import (
    Ejection,
    EndpointsSeen,
    EndpointStage,
    PoolRow,
    RotationRow,
    Row,
)
from ingress.model.observability.workers import WorkerStage, WorkerState
from ingress.model.shared_map import SharedMap
from ingress.model.stepwise import Stepwise, finished
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.process.timestamps import rfc3339
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from ingress.translate.endpoints.unready import Unready
from ingress.translate.snapshot import Snapshot
from tests.admin.listed import NOW
from tests.admin.site_case import SiteCase

WEB, CART = BackendReference("shop", "web", 80), BackendReference("shop", "cart", 80)
BLOG = BackendReference("blog", "web", "http")
ONE, TWO, THREE = (Endpoint(f"10.0.0.{number}", 8080) for number in (1, 2, 3))


class EndpointsTests(SiteCase):
    """``/api/v1/endpoints``."""

    def setUp(self) -> None:
        self.seen = EndpointsSeen()
        self.unready: Unready = {}
        self.asked = 0
        super().setUp()
        routes = (
            Route(f"{one.namespace}.test", f"/{one.name}", Match.PREFIX, None, one)
            for one in (WEB, CART, BLOG)
        )
        backends = {
            WEB: BackendState((ONE, TWO)),
            CART: BackendState((THREE,)),
            BLOG: BackendState((ONE,)),
        }
        self.snapshot = Snapshot(RouteTable(routes), SharedMap(backends))

    def look(self) -> Deferred[EndpointsSeen]:
        self.asked += 1
        return succeed(self.seen)

    def find(self) -> Stepwise[Unready]:
        yield
        return self.unready

    def known(self) -> PageSources:
        return evolve(super().known(), endpoints=self.look, unready=self.find)

    def tell(self, *rows: Row) -> None:
        """Have one process tell *rows*."""
        finished(self.seen.take(rows))

    def page(self, **query: str) -> dict[str, Any]:
        """Return the page of *query*."""
        status, _, body = self.ask(f"/api/v1/endpoints?{urlencode(query)}")
        self.assertEqual(status, 200, body)
        read: dict[str, Any] = json.loads(body)
        return read

    def shown(self, **query: str) -> list[tuple[str, str]]:
        """Return backends and endpoints of the page of *query*."""
        return [(one["backend"], one["endpoint"]) for one in self.page(**query)["endpoints"]]

    def test_at_rest(self) -> None:
        """Every endpoint of every backend is there, in order, and in rotation as long as nobody says anything else."""
        found = self.page()
        self.assertEqual(
            self.shown(),
            [
                ("blog/web:http", "10.0.0.1:8080"),
                ("shop/cart:80", "10.0.0.3:8080"),
                ("shop/web:80", "10.0.0.1:8080"),
                ("shop/web:80", "10.0.0.2:8080"),
            ],
        )
        self.assertEqual(
            found["endpoints"][0],
            {
                "endpoint": "10.0.0.1:8080",
                "backend": "blog/web:http",
                "state": "in-rotation",
                "until": None,
                "why": "",
                "connections": 0,
                "requests": 0,
                "latencySeconds": None,
            },
        )
        self.assertEqual(
            {name: found[name] for name in ("next", "snapshot", "leftOut", "whole")},
            {"next": None, "snapshot": 1, "leftOut": [], "whole": True},
        )

    def test_states(self) -> None:
        """An ejected one says until when and why; a new one, until when its share grows; what is measured is shown."""
        self.tell(
            RotationRow("shop/web:80", str(ONE), EndpointStage.EJECTED, 20.0, Ejection.UNREACHABLE),
            RotationRow("shop/web:80", str(TWO), EndpointStage.SLOW_START, 30.0, latency=0.25),
            RotationRow("shop/cart:80", str(THREE), EndpointStage.IN_ROTATION, ejection=Ejection.SILENT),
            PoolRow(str(ONE), 4, 2),
        )
        blog, cart, one, two = self.page()["endpoints"]
        self.assertEqual((one["state"], one["why"]), ("ejected", "3 connections to it failed"))
        self.assertEqual(one["until"], rfc3339(NOW + timedelta(seconds=20)))
        self.assertEqual((two["state"], two["latencySeconds"]), ("slow-start", 0.25))
        self.assertEqual(two["until"], rfc3339(NOW + timedelta(seconds=30)))
        self.assertEqual((cart["state"], cart["until"]), ("in-rotation", None))
        self.assertIn("on trial", cart["why"])
        # Connections are those of the address, whichever backend they are for.
        self.assertEqual([(each["connections"], each["requests"]) for each in (one, blog)], [(4, 2)] * 2)
        self.assertEqual(blog["state"], "in-rotation")

    def test_several_workers(self) -> None:
        """With workers it says how many of them eject an endpoint, and who is not in it."""
        states = tuple(WorkerState(slot, WorkerStage.SERVING, NOW) for slot in range(3))
        self.site = admin_site(evolve(self.known(), workers=Workers(lambda: states)), self.clock)
        self.tell(RotationRow("shop/web:80", str(ONE), EndpointStage.EJECTED, 1.0, Ejection.UNREACHABLE))
        self.seen.left_out.append(2)
        found = self.page(state="ejected")
        self.assertEqual(found["endpoints"][0]["why"], "3 connections to it failed (by 1 of 3 workers)")
        self.assertEqual(found["leftOut"], [2])

    def test_unready(self) -> None:
        """Pods that are not ready, or end, are there besides, in their place; and so is who serves although it ends."""
        self.unready = {
            ("shop/web:80", "10.0.0.15:8080"): EndpointStage.NOT_READY,
            ("shop/web:80", "10.0.0.2:8080"): EndpointStage.TERMINATING,
        }
        found = self.page(backend="shop/web")["endpoints"]
        self.assertEqual(
            [(one["endpoint"], one["state"]) for one in found],
            [
                ("10.0.0.15:8080", "not-ready"),
                ("10.0.0.1:8080", "in-rotation"),
                ("10.0.0.2:8080", "terminating"),
            ],
        )
        self.assertTrue(all(one["why"] for one in found if one["state"] != "in-rotation"))

    def test_left_over(self) -> None:
        """An endpoint that no backend has any more is there as long as there are connections to it."""
        self.tell(PoolRow("10.0.0.9:8080", 1, 1), PoolRow(str(ONE), 1, 0))
        first = self.page()["endpoints"][0]
        self.assertEqual(
            (first["endpoint"], first["backend"], first["state"], first["requests"]),
            ("10.0.0.9:8080", "", "terminating", 1),
        )
        self.assertEqual(len(self.page()["endpoints"]), 5)

    def test_filters(self) -> None:
        """By namespace, by host, by backend with and without port, and by state."""
        self.tell(RotationRow("shop/web:80", str(TWO), EndpointStage.EJECTED, 1.0, Ejection.SILENT))
        web = [("shop/web:80", "10.0.0.1:8080"), ("shop/web:80", "10.0.0.2:8080")]
        self.assertEqual(self.shown(namespace="blog"), [("blog/web:http", "10.0.0.1:8080")])
        self.assertEqual(self.shown(host="Blog.test"), [("blog/web:http", "10.0.0.1:8080")])
        self.assertEqual(self.shown(host="none.test"), [])
        self.assertEqual(self.shown(backend="shop/web"), web)
        self.assertEqual(self.shown(backend="shop/web:80"), web)
        self.assertEqual(self.shown(backend="shop/we"), [])
        self.assertEqual(self.shown(state="ejected"), web[1:])
        self.assertEqual(self.shown(state="ejected", namespace="blog"), [])

    def test_page_by_page(self) -> None:
        """Pages follow each other across what the snapshot has and what is there besides."""
        self.unready = {("shop/cart:80", f"10.0.1.{n}:80"): EndpointStage.NOT_READY for n in range(3)}
        whole = self.shown()
        found = self.page(limit="2")
        seen = []
        while True:
            seen += [(one["backend"], one["endpoint"]) for one in found["endpoints"]]
            if found["next"] is None:
                break
            found = self.page(limit="2", after=found["next"])
        self.assertEqual((seen, len(seen)), (whole, 7))

    def test_nobody_is_asked_in_vain(self) -> None:
        """A query that cannot be, or HEAD of another page, has nobody asked."""
        for query in ("state=well", "limit=0", "after=x", "hots=a"):
            self.assertEqual(self.ask(f"/api/v1/endpoints?{query}")[0], 400, query)
        self.assertEqual(self.ask("/api/v1/routes")[0], 200)
        self.assertEqual(self.asked, 0)

    def test_failure(self) -> None:
        """Where those who serve cannot be asked, which is a bug, the page says so, and the log why."""
        failing: Deferred[EndpointsSeen] = Deferred()
        self.site = admin_site(evolve(self.known(), endpoints=lambda: failing), self.clock)
        failing.errback(ZeroDivisionError())
        status, _, body = self.ask("/api/v1/endpoints")
        self.assertEqual((status, body), (500, "a bug, which the log tells of\n"))
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_leaves(self) -> None:
        """Who leaves waits for nobody any more."""
        waiting: Deferred[EndpointsSeen] = Deferred()
        self.site = admin_site(evolve(self.known(), endpoints=lambda: waiting), self.clock)
        transport = StringTransport()
        connection: Any = self.site.buildProtocol(transport.getPeer())
        connection.makeConnection(transport)
        connection.dataReceived(b"GET /api/v1/endpoints HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.clock.advance(0)
        connection.connectionLost(Failure(ConnectionDone()))
        self.assertTrue(waiting.called)
        self.assertEqual(transport.value(), b"")
