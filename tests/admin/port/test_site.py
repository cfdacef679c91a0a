"""The pages of the admin port, asked over HTTP without a socket."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from attrs import evolve
from treq.testing import StubTreq
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs
from twisted.python.failure import Failure

from ingress.admin.contract.page_sources import Workers
from ingress.admin.port.site import admin_site
from ingress.metrics.text import PROMETHEUS
from ingress.model.observability.workers import WorkerEnd, WorkerStage, WorkerState
from ingress.model.upstream.backends import BackendReference
from ingress.process.timestamps import rfc3339
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from ingress.translate.snapshot import Snapshot
from tests.admin.listed import NOW
from tests.admin.site_case import SiteCase
from tests.fakes.records import record_of

PROBES = ("/", "/healthz", "/readyz", "/metrics")
LISTS = ("routes", "streams", "problems", "certificates", "workers")
NEW_LISTS = ("endpoints", "watches")
PATHS = (
    *PROBES,
    *(f"/api/{name}" for name in LISTS),
    *(f"/api/v1/{name}" for name in (*LISTS, *NEW_LISTS)),
    "/api/v1/status",
)
INDEX = {*PATHS, "/api/v1/changes", "/api/v1/failures", "/api/v1/explain", "/api/v1/openapi.json"}

BACKEND = BackendReference("web", "shop", 80)


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
        self.metrics.exchanges.ended(record_of(None, 200, 0.01, 5))
        status, fields, body = self.ask("/metrics")
        self.assertEqual((status, fields["content-type"]), (200, PROMETHEUS.content_type))
        self.assertIn('ingress_requests_total{ingress="",namespace="",service="",status="2xx"} 1.0\n', body)

    def test_current_snapshot(self) -> None:
        """The JSON pages show the snapshot that is current when they are asked for."""
        self.assertEqual(json.loads(self.ask("/api/routes")[2]), {"routes": []})
        route = Route("a.test", "/", Match.PREFIX, None, BACKEND)
        self.snapshot = Snapshot(RouteTable([route]))
        status, fields, body = self.ask("/api/routes")
        self.assertEqual((status, fields["content-type"]), (200, "application/json"))
        self.assertEqual([entry["host"] for entry in json.loads(body)["routes"]], ["a.test"])

    def test_empty_pages(self) -> None:
        """Problems and certificates are lists, too, when there are none."""
        self.assertEqual(json.loads(self.ask("/api/problems")[2]), {"problems": []})
        self.assertEqual(json.loads(self.ask("/api/certificates")[2]), {"certificates": []})

    def test_no_workers(self) -> None:
        """``/api/workers`` is an empty list where one process serves by itself."""
        self.assertEqual(json.loads(self.ask("/api/workers")[2]), {"workers": []})

    def test_workers(self) -> None:
        """``/api/workers`` has an entry for each slot, with what is known of it."""
        then = datetime(2026, 11, 22, 18, 30, tzinfo=UTC)
        states = (
            WorkerState(0, WorkerStage.SERVING, then, 41, 7, 0.002, 12, 0.0, 1),
            WorkerState(1, WorkerStage.ENDED, then, starts=2, ends={WorkerEnd.HUNG: 2}, last_end="hung"),
        )
        self.site = self.site_of(Workers(lambda: states))
        status, fields, body = self.ask("/api/workers")
        self.assertEqual((status, fields["content-type"]), (200, "application/json"))
        serving, ended = json.loads(body)["workers"]
        self.assertEqual(
            serving,
            {
                "slot": 0,
                "pid": 41,
                "state": "serving",
                "since": "2026-11-22T18:30:00.000Z",
                "connections": 7,
                "latenessSeconds": 0.002,
                "snapshot": 12,
                "behindSeconds": 0.0,
                "starts": 1,
                "ends": {"killed": 0, "exit": 0, "hung": 0, "stopped": 0},
                "lastEnd": "",
            },
        )
        self.assertEqual((ended["pid"], ended["state"], ended["ends"]["hung"]), (None, "ended", 2))
        # Probes need none of it, and pids are nobody's business there.
        self.site = self.site_of(Workers(lambda: states), only_probes=True)
        self.assertEqual(self.ask("/api/workers")[0], 404)

    def test_ready_without_some(self) -> None:
        """``/readyz`` that answers ok says which workers do not serve all the same."""
        then = datetime(2026, 11, 22, tzinfo=UTC)
        states = (WorkerState(0, WorkerStage.SERVING, then), WorkerState(1, WorkerStage.STARTING, then))
        self.site = self.site_of(Workers(lambda: states))
        self.assertEqual(self.ask("/readyz")[::2], (200, "ok\nworker 1 is starting\n"))

    def test_metrics_when_told(self) -> None:
        """``/metrics`` is answered once workers have told their numbers, and shows these; nothing else waits for that."""
        told: list[Deferred[None]] = []

        def ask_workers() -> Deferred[None]:
            told.append(Deferred())
            return told[-1]

        self.site = self.site_of(Workers(told=ask_workers))
        client: Any = StubTreq(self.site.resource)
        asked = client.get("http://10.0.0.7:10254/metrics")
        self.clock.advance(0)
        client.flush()
        self.assertNoResult(asked)
        self.assertEqual(self.ask("/healthz")[0], 200)
        self.metrics.attempt_repeated("stale")
        told.pop().callback(None)
        self.clock.advance(0)
        client.flush()
        body = self.successResultOf(client.content(self.successResultOf(asked)))
        self.assertIn(b'\ningress_attempts_repeated_total{reason="stale"} 1.0\n', body)
        self.assertEqual(told, [])

    def test_leaves_while_asked(self) -> None:
        """Who leaves while workers are asked is waited for by nobody, and others get their page."""
        told: list[Deferred[None]] = []

        def ask_workers() -> Deferred[None]:
            told.append(Deferred())
            return told[-1]

        self.site = self.site_of(Workers(told=ask_workers))
        connections = []
        for _ in range(2):
            connection: Any = self.site.buildProtocol(IPv4Address("TCP", "127.0.0.1", 4000))
            transport = StringTransport()
            connection.makeConnection(transport)
            connection.dataReceived(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connections.append((connection, transport))
        self.clock.advance(0)
        leaves, stays = told
        connections[0][0].connectionLost(Failure(ConnectionDone()))
        self.assertTrue(leaves.called)
        stays.callback(None)
        self.clock.advance(0)
        self.assertEqual(connections[0][1].value(), b"")
        self.assertIn(b"ingress_requests_total", connections[1][1].value())

    def test_leader(self) -> None:
        """``/api/leader`` shows the election where there is one, and is no page elsewhere."""
        self.assertEqual(self.ask("/api/leader")[0], 404)
        picture = {"leading": True, "leader": "us"}
        self.site = admin_site(evolve(self.known(), leader=lambda: picture), self.clock)
        status, fields, body = self.ask("/api/leader")
        self.assertEqual(
            (status, fields["content-type"], json.loads(body)), (200, "application/json", picture)
        )
        self.assertIn("/api/leader", self.ask("/")[2])

    def test_status(self) -> None:
        """``/api/v1/status`` has how it is in short: what is missing, what is served, and who leads."""
        self.missing = ("the first list of Secrets",)
        self.snapshot = Snapshot(RouteTable([Route("a.test", "/", Match.PREFIX, None, BACKEND)]))
        self.number = 7
        known = evolve(self.known(), version="1.2", code="plain", pod="txingress-x", started=NOW)
        self.site = admin_site(known, self.clock)
        self.assertEqual(
            json.loads(self.ask("/api/v1/status")[2]),
            {
                "version": "1.2",
                "code": "plain",
                "started": rfc3339(NOW),
                "pod": "txingress-x",
                "ready": False,
                "missing": ["the first list of Secrets"],
                "snapshot": {
                    "number": 7,
                    "published": rfc3339(NOW),
                    "routes": 1,
                    "hosts": 1,
                    "problems": 0,
                    "certificates": 0,
                },
                "leader": None,
                "workers": None,
            },
        )

    def test_watches(self) -> None:
        """``/api/v1/watches`` says of each kind when the API server last said anything, and since when it refuses."""
        counts = self.metrics.watch.reflector("Secret", "", lambda: 100.0)
        counts.objects, counts.last_contact, counts.relists["expired"] = 3, 90.0, 2
        refused = self.metrics.watch.reflector("Ingress", "shop", lambda: 100.0)
        refused.refused_since = 40.0
        ingresses, secrets = json.loads(self.ask("/api/v1/watches")[2])["watches"]
        self.assertEqual(
            (secrets["kind"], secrets["objects"], secrets["relists"]["expired"]), ("Secret", 3, 2)
        )
        self.assertEqual(secrets["lastContact"], rfc3339(NOW - timedelta(seconds=10)))
        self.assertEqual(
            (ingresses["namespace"], ingresses["lastContact"], ingresses["refusedSince"]),
            ("shop", None, rfc3339(NOW - timedelta(seconds=60))),
        )
        self.assertEqual(len(json.loads(self.ask("/api/v1/watches?namespace=shop")[2])["watches"]), 1)
        self.assertEqual(len(json.loads(self.ask("/api/v1/watches?kind=Secret")[2])["watches"]), 1)

    def test_refused_queries(self) -> None:
        """Below ``/api/v1/`` whatever a page does not know is refused with 400, by name; the paths of before take anything."""
        for path in INDEX:
            status, fields, body = self.ask(f"{path}?nonsense=1")
            if path.startswith("/api/v1/"):
                self.assertEqual((status, fields["content-type"]), (400, "application/json"), path)
                self.assertIn("'nonsense'", json.loads(body)["error"])
            else:
                self.assertEqual(status, 200, path)
        self.assertIn("limit is '0'", json.loads(self.ask("/api/v1/routes?limit=0")[2])["error"])
        self.assertIn("after is no token", json.loads(self.ask("/api/v1/routes?after=x")[2])["error"])

    def test_aliases(self) -> None:
        """Today's paths answer as they did, whatever their query says: with all entries, and nothing besides."""
        self.snapshot = Snapshot(
            RouteTable(Route(f"{name}.test", "/", Match.PREFIX, None, BACKEND) for name in "abc")
        )
        for query in ("", "?limit=1", "?limit=no"):
            found = json.loads(self.ask(f"/api/routes{query}")[2])
            self.assertEqual((list(found), len(found["routes"])), (["routes"], 3))
        self.assertEqual(len(json.loads(self.ask("/api/v1/routes?limit=1")[2])["routes"]), 1)

    def test_nothing_new(self) -> None:
        """Pages of the snapshot need not be read again until there is another one."""
        for path in ("/api/v1/routes", "/api/v1/streams?limit=3", "/api/v1/problems"):
            status, fields, _ = self.ask(path)
            self.assertEqual((status, fields["cache-control"]), (200, "private, no-cache"))
            again = self.ask(path, if_none_match=fields["etag"])
            self.assertEqual((again[0], again[2], again[1]["etag"]), (304, "", fields["etag"]))
            self.number += 1
            self.assertEqual(self.ask(path, if_none_match=fields["etag"])[0], 200)
        self.assertNotIn("etag", self.ask("/api/v1/status")[1])

    def test_index(self) -> None:
        """The root page lists every page."""
        listed = [line.split()[0] for line in self.ask("/")[2].splitlines()]
        self.assertEqual(len(listed), len(set(listed)))
        self.assertEqual(set(listed), INDEX)

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
        self.site = admin_site(self.known(), self.clock, names=("ingress.internal",))
        for host in ("Ingress.Internal:10254", "ingress.internal.", "localhost", "127.0.0.1:1"):
            self.assertEqual(self.ask("/api/routes", host=host)[0], 200, host)
        self.assertEqual(self.ask("/api/routes", host="other.internal")[0], 421)

    def test_probes(self) -> None:
        """Where probes alone are shown there is no page that names routes, problems or certificates."""
        known = evolve(self.known(), leader=lambda: {"leader": "us"})
        self.site = admin_site(known, self.clock, only_probes=True)
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
