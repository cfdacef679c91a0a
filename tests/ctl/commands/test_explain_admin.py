"""``ingressctl explain --admin``: what becomes of answers that a controller would not give."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, ClassVar

from ingress.ctl import admin_port
from tests.ctl.ctl_case import CtlCase
from tests.fakes.peers.dripping import Dripping

EXPLANATION: dict[str, Any] = {
    "request": {
        "url": "http://a.test/",
        "method": "GET",
        "host": "a.test",
        "path": "/",
        "client": "192.0.2.1",
        "clientSeen": "192.0.2.1",
        "fields": [],
        "notes": [],
    },
    "outcome": {"end": "answered", "status": 308, "sentence": "answered \u001b[31m308", "isTaken": True},
    "backends": [],
}

BACKEND: dict[str, Any] = {
    "backend": "shop/cart:80",
    "kind": "Service",
    "namespace": "shop",
    "name": "cart",
    "port": "80",
    "share": 100,
    "standsInFor": "",
    "endpoints": [],
    "unknown": "",
    "reason": "gone",
}


class _Page(BaseHTTPRequestHandler):
    answers: ClassVar[list[tuple[int, bytes]]] = []
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        status, body = self.answers.pop(0)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


class AdminTests(CtlCase):
    def setUp(self) -> None:
        super().setUp()
        self.server = HTTPServer(("127.0.0.1", 0), _Page)
        thread = Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        _Page.answers.clear()
        _Page.asked.clear()

    def asked(self, status: int, body: object, *arguments: str) -> Any:
        """Ask for an explanation that is answered with *status* and *body*."""
        octets = body if isinstance(body, bytes) else json.dumps(body).encode()
        _Page.answers.append((status, octets))
        address = f"127.0.0.1:{self.server.server_address[1]}"
        return self.run_command("explain", "a.test/x y", "--admin", address, *arguments)

    def test_what_it_says_is_shown_as_if_it_were_found_here(self) -> None:
        """The question goes as it was written; control characters of the answer are not done."""
        result = self.asked(200, EXPLANATION, "-H", "X: 1", "-H", "Y: 2")
        self.assertEqual(result.exit_code, 0, result.output)
        self.assertIn("answered \\x1b[31m308", result.stdout)
        self.assertEqual(
            _Page.asked,
            ["/api/v1/explain?url=a.test%2Fx+y&method=GET&client=192.0.2.1&header=X%3A+1&header=Y%3A+2"],
        )

    def test_what_is_no_explanation_is_a_mistake_and_no_traceback(self) -> None:
        """Whatever it is."""
        without_request = {name: value for name, value in EXPLANATION.items() if name != "request"}
        for status, body, word in (
            (400, {"error": "the URL \u001b is odd"}, "the URL \\x1b is odd"),
            (404, b"no such page\n", "has no page /api/v1/explain"),
            (421, b"known?", "does not know"),
            (503, b"too many pages", "answers 503"),
            (302, b"", "answers 302"),
            (200, b"<html>", "no explanation"),
            (200, [1], "no explanation"),
            (200, {"outcome": 1}, "no explanation"),
            (200, {**EXPLANATION, "backends": [1]}, "no explanation"),
            (200, {**EXPLANATION, "backends": [{**BACKEND, "backend": 1}]}, "no explanation"),
            (200, without_request, "another version"),
            (200, {**EXPLANATION, "filters": 7}, "another version"),
            (200, {**EXPLANATION, "handshake": ["x"]}, "another version"),
        ):
            result = self.asked(status, body, "--expect-service=shop/cart")
            self.assertEqual(result.exit_code, 2, body)
            self.assertIn(word, result.stderr)

    def test_share_without_end(self) -> None:
        """A number that no float holds is of no explanation that is understood."""
        result = self.asked(200, {**EXPLANATION, "backends": [{**BACKEND, "share": 10**400}]})
        self.assertEqual((result.exit_code, "another version" in result.stderr), (2, True), result.output)

    def test_no_end(self) -> None:
        """Who says something now and then, and never all, is not waited for beyond the deadline."""
        self.patch(admin_port, "SECONDS", 0.3)
        for began, more in (
            (b"", b"H"),
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
            (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
        ):
            with Dripping(began, more) as peer:
                result = self.run_command("explain", "a.test/", "--admin", f"127.0.0.1:{peer.port}")
            self.assertEqual(result.exit_code, 2, result.output)
            self.assertIn("its answer takes longer than 0.3 s", result.stderr)
