"""The pages of the admin port, asked over HTTP without a socket."""

import json

from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs

from ingress.admin.site import admin_site
from ingress.metrics.metrics import CONTENT_TYPE
from ingress.model.backends import BackendReference
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from ingress.translate.snapshot import Snapshot
from tests.admin.site_case import SiteCase
from tests.fakes.records import record_of

PATHS = (
    "/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/api/routes",
    "/api/streams",
    "/api/problems",
    "/api/certificates",
)
INDEX = (*PATHS, "/api/v1/explain")


class AdminSiteTests(SiteCase):
    """What each path answers."""

    def test_healthy(self) -> None:
        """``/healthz`` answers ok, whether or not anything is missing."""
        self.missing = ("the first list of Secrets",)
        status, fields, body = self.ask("/healthz")
        self.assertEqual((status, fields["content-type"], body), (200, "text/plain; charset=utf-8", "ok\n"))

    def test_ready(self) -> None:
        """``/readyz`` answers ok when nothing is missing."""
        self.assertEqual(self.ask("/readyz")[::2], (200, "ok\n"))

    def test_not_ready(self) -> None:
        """``/readyz`` answers 503 with one line for each thing that is missing."""
        self.missing = ("the first list of Secrets", "tcp:443 is not listening")
        self.assertEqual(
            self.ask("/readyz")[::2], (503, "the first list of Secrets\ntcp:443 is not listening\n")
        )

    def test_metrics(self) -> None:
        """``/metrics`` shows the counters as they are now, in the Prometheus text format."""
        self.metrics.exchange_ended(record_of(None, 200, 0.01, 5))
        status, fields, body = self.ask("/metrics")
        self.assertEqual((status, fields["content-type"]), (200, CONTENT_TYPE))
        self.assertIn('ingress_requests_total{ingress="",namespace="",status="2xx"} 1.0\n', body)

    def test_current_snapshot(self) -> None:
        """The JSON pages show the snapshot that is current when they are asked for."""
        self.assertEqual(json.loads(self.ask("/api/routes")[2]), {"routes": []})
        route = Route("a.test", "/", Match.PREFIX, None, BackendReference("web", "shop", 80))
        self.snapshot = Snapshot(RouteTable([route]))
        status, fields, body = self.ask("/api/routes")
        self.assertEqual((status, fields["content-type"]), (200, "application/json"))
        self.assertEqual([entry["host"] for entry in json.loads(body)["routes"]], ["a.test"])

    def test_empty_pages(self) -> None:
        """Problems and certificates are lists, too, when there are none."""
        self.assertEqual(json.loads(self.ask("/api/problems")[2]), {"problems": []})
        self.assertEqual(json.loads(self.ask("/api/certificates")[2]), {"certificates": []})

    def test_leader(self) -> None:
        """``/api/leader`` shows the election where there is one, and is no page elsewhere."""
        self.assertEqual(self.ask("/api/leader")[0], 404)
        picture = {"leading": True, "leader": "us"}
        self.site = admin_site(tuple, lambda: self.snapshot, self.metrics, self.clock, lambda: picture)
        status, fields, body = self.ask("/api/leader")
        self.assertEqual(
            (status, fields["content-type"], json.loads(body)), (200, "application/json", picture)
        )
        self.assertIn("/api/leader", self.ask("/")[2])

    def test_index(self) -> None:
        """The root page lists every page."""
        self.assertEqual([line.split()[0] for line in self.ask("/")[2].splitlines()], list(INDEX))

    def test_query(self) -> None:
        """A query string changes nothing."""
        self.assertEqual(self.ask("/healthz?verbose")[::2], (200, "ok\n"))

    def test_head(self) -> None:
        """HEAD answers as GET does, without the body and with its length."""
        for path in PATHS[:3] + PATHS[4:]:
            got, asked = self.ask(path), self.ask(path, "HEAD")
            self.assertEqual(asked[0], got[0])
            self.assertEqual(asked[1]["content-length"], str(len(got[2].encode())))
            self.assertEqual(asked[2], "")

    def test_other_methods(self) -> None:
        """Any other method is refused with 405, in plain text."""
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            for path in PATHS:
                status, fields, body = self.ask(path, method)
                self.assertEqual((status, fields["allow"]), (405, "GET, HEAD"))
                self.assertEqual(body, "only GET and HEAD\n")

    def test_names(self) -> None:
        """Asked by a name that is not known every page is 421, whatever the method, with a sentence that says what helps."""
        for path in (*PATHS, "/nothing"):
            for method in ("GET", "POST"):
                status, fields, body = self.ask(path, method, "rebound.example:10254")
                self.assertEqual((status, fields["content-type"]), (421, "text/plain; charset=utf-8"))
                self.assertIn("--admin-host=NAME", body)

    def test_known_names(self) -> None:
        """Names that the operator gave are fine, in any case, with and without a port."""
        self.site = admin_site(
            tuple, lambda: self.snapshot, self.metrics, self.clock, names=("ingress.internal",)
        )
        for host in ("Ingress.Internal:10254", "ingress.internal.", "localhost", "127.0.0.1:1"):
            self.assertEqual(self.ask("/api/routes", host=host)[0], 200, host)
        self.assertEqual(self.ask("/api/routes", host="other.internal")[0], 421)

    def test_probes(self) -> None:
        """Where probes alone are shown there is no page that names routes, problems or certificates."""
        self.site = admin_site(
            lambda: self.missing,
            lambda: self.snapshot,
            self.metrics,
            self.clock,
            lambda: {"leader": "us"},
            only_probes=True,
        )
        for path in ("/healthz", "/readyz", "/metrics"):
            self.assertEqual(self.ask(path)[0], 200)
        for path in ("/api/routes", "/api/problems", "/api/certificates", "/api/leader"):
            self.assertEqual(self.ask(path)[::2], (404, "no such page\n"))
        self.assertEqual(len(self.ask("/")[2].splitlines()), 4)
        self.assertEqual(self.ask("/metrics", host="rebound.example")[0], 421)

    def test_unknown(self) -> None:
        """Any other path is not found, in plain text, also one below a page."""
        for path in ("/nothing", "/healthz/", "/api", "/api/routes/1"):
            self.assertEqual(self.ask(path)[::2], (404, "no such page\n"))

    def test_quiet(self) -> None:
        """Being asked writes nothing to the log."""
        transport = StringTransport()
        with capturedLogs() as events:
            self.site.startFactory()
            self.addCleanup(self.site.stopFactory)
            protocol = self.site.buildProtocol(transport.getPeer())
            assert protocol is not None
            protocol.makeConnection(transport)
            protocol.dataReceived(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            self.clock.advance(0)
        self.assertTrue(transport.value().endswith(b"\r\n\r\nok\n"))
        self.assertEqual(events, [])
