"""``ingressctl top``, asking a controller of its own; and the screen, on a terminal of its own."""

from __future__ import annotations

import json
import os
import pty
import struct
import termios
from collections.abc import Callable, Iterator
from fcntl import ioctl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event as Flag
from threading import Thread
from typing import Any, ClassVar

from click.testing import Result
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.admin_port import Unreachable
from ingress.ctl.commands import top
from ingress.ctl.errors import Mistake
from ingress.ctl.top.feed import Event
from ingress.ctl.top.main_loop import MainLoop
from ingress.ctl.top.screen import Screen
from tests.ctl.ctl_case import CtlCase
from tests.ctl.top.test_board import CHANGE, NUMBERS, ROUTES, STATUS
from tests.fakes.peers.dripping import Dripping

EJECTED = {
    "endpoint": "10.0.0.7:80",
    "backend": "shop/cart:80",
    "state": "ejected",
    "why": "refused",
}


def events(*told: tuple[str, object]) -> bytes:
    """Return a stream that tells this."""
    return b"".join(
        f"event: {name}\ndata: {json.dumps(data)}\n\n".encode() if name else b": here\n\n"
        for name, data in told
    )


STREAM = events(
    ("status", STATUS),
    ("numbers", {**NUMBERS, "history": []}),
    ("routes", ROUTES),
    ("endpoints", {"endpoints": [EJECTED], "more": 0}),
    ("numbers", NUMBERS),
    ("", None),
)


class _Page(BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, tuple[int, bytes]]] = {}
    fields: ClassVar[dict[str, str]] = {}
    asked: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Authorization", "")))
        status, body = self.answers.get(self.path, (404, b"no such page\n"))
        self.send_response(status)
        for field in self.fields.items():
            self.send_header(*field)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


class TopTests(CtlCase):
    """What the command prints where there is no terminal."""

    def setUp(self) -> None:
        super().setUp()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
        thread = Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        _Page.answers.clear()
        _Page.asked.clear()
        _Page.fields.clear()
        _Page.answers["/api/v1/live"] = (200, STREAM)

    def top(self, *arguments: str) -> Result:
        """Run the command."""
        return self.run_command("top", "--admin", f"127.0.0.1:{self.server.server_address[1]}", *arguments)

    def test_once(self) -> None:
        """It prints the numbers of a whole second, and all else that was told, in plain text."""
        for arguments in (("--once",), ()):
            result = self.top(*arguments)
            self.assertEqual((result.exit_code, result.stderr), (0, ""))
            self.assertRegex(result.stdout, r"(?m)^txingress 0\.1\.0   txingress-1   ready")
            self.assertRegex(
                result.stdout, r"(?m)^shop/shop/cart +20 +50\.0% +1\.20 s 10:11:12 502 bad-gateway$"
            )
            self.assertRegex(result.stdout, r"(?m)^10\.0\.0\.7:80 +ejected +shop/cart:80 +refused$")
            self.assertNotIn("\x1b", result.stdout)
        self.assertIn("\x1b[31m", self.top("--once", "--color=always").stdout)

    def test_json(self) -> None:
        """For programs it is what the controller said, as JSON, and asks for ``--once``."""
        data = json.loads(self.top("--once", "-o", "json").stdout)
        self.assertEqual((data["status"], data["routes"]), (STATUS, ROUTES))
        self.assertEqual(data["numbers"]["perSecond"], 120.4)
        result = self.top("-o", "json")
        self.assertEqual((result.exit_code, "--once" in result.stderr), (2, True))

    def test_no_end(self) -> None:
        """A stream that never tells what there is is not followed for ever."""
        self.patch(top, "SILENT_SECONDS", 0.3)
        with Dripping(b"HTTP/1.1 200 OK\r\n\r\n", events(("", None))) as peer:
            result = self.run_command("top", "--once", "--admin", f"127.0.0.1:{peer.port}")
        self.assertEqual(result.exit_code, 2, result.output)
        self.assertIn("its answer takes longer than 0.3 s", result.stderr)

    def test_token(self) -> None:
        """The first token of a file goes to the admin port, and to nobody's eyes."""
        path = self.manifest("# of the pod\n\ns3cret\nanother\n", "token")
        result = self.top("--once", "--token-file", path)
        self.assertEqual(_Page.asked[0], ("/api/v1/live", "Bearer s3cret"))
        self.assertNotIn("s3cret", result.output)
        for text, word in (
            ("", "has no token"),
            ("a\x1bb", "has no token"),
            ("# x\n", "has no token"),
            ("x" * 5000, "has no token"),
        ):
            result = self.top("--token-file", self.manifest(text, "bad"))
            self.assertEqual((result.exit_code, word in result.stderr), (2, True), text)
        result = self.top("--token-file", "/nowhere/token")
        self.assertIn("--token-file /nowhere/token: No such file", result.stderr)

    def test_mistakes(self) -> None:
        """What is no stream of a controller is said in one line, and no traceback."""
        for status, body, word in (
            (404, b"", "has no page /api/v1/live"),
            (401, b"", "--token-file"),
            (421, b"", "--admin-host"),
            (503, b"20 look already\x1b\n", "answers 503: 20 look already\\x1b"),
            (200, b"", "has ended its stream"),
            (200, b"<html>", "has ended its stream"),
            (200, events(("end", {"why": "draining\x1b"})), "draining\\x1b"),
            (200, b"data: " + b"x" * 5_000_000, "more than"),
        ):
            _Page.answers["/api/v1/live"] = (status, body)
            result = self.top("--once")
            self.assertEqual((result.exit_code, result.stdout), (2, ""), word)
            self.assertIn(word, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_a_controller_that_is_killed_has_ended_its_stream(self) -> None:
        """Its chunks have no end then; nobody is told the words of a library."""
        _Page.fields["Transfer-Encoding"] = "chunked"
        _Page.answers["/api/v1/live"] = (200, b"7\r\n: here\n\r\n")
        result = self.top("--once")
        port = self.server.server_address[1]
        self.assertEqual(
            (result.exit_code, result.stderr), (2, f"Error: 127.0.0.1:{port} has ended its stream\n")
        )


class LookingTests(SynchronousTestCase):
    """The screen, drawn on a terminal, with keys from there."""

    def setUp(self) -> None:
        self.ours, theirs = pty.openpty()
        self.addCleanup(os.close, self.ours)
        self.addCleanup(os.close, theirs)
        self.theirs = theirs
        self.resize(100, 30)
        self.modes = termios.tcgetattr(theirs)
        self.seen = b""
        self.then: list[Callable[[], object]] = []
        """What to do when the first of what is waited for was seen, and so on."""
        self.ends = Flag()
        self.addCleanup(self.ends.set)

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def look(self, follow: Callable[[str], Iterator[Event]], until: tuple[bytes, ...]) -> None:
        """Look at what *follow* tells, and press q once everything of *until* was seen, one after the other; press nothing if that is nothing."""

        def watch() -> None:
            at = 0
            for wanted in until:
                while wanted not in self.seen[at:]:
                    self.seen += os.read(self.ours, 65536)
                at = self.seen.index(wanted, at)
                if self.then:
                    self.then.pop(0)()
            if until:
                os.write(self.ours, b"q")
            while b"\x1b[?1049l" not in self.seen:
                self.seen += os.read(self.ours, 65536)

        thread = Thread(target=watch, daemon=True)
        thread.start()
        try:
            looking = MainLoop(follow, Screen(self.theirs, self.theirs), 0.01, has_colour=True, has_bars=True)
            looking.run(self.theirs)
        finally:
            thread.join(20)
        self.assertFalse(thread.is_alive(), self.seen)

    def told(self, *told: tuple[str, object]) -> Iterator[Event]:
        """Tell this, and then nothing until the end of the test."""
        for name, data in told:
            yield Event(name, data)
        self.ends.wait(20)

    def test_screen(self) -> None:
        """What the stream tells is drawn, in colours; a key chooses another table; another size has all drawn anew; the terminal is as it was at the end."""
        self.then = [lambda: os.write(self.ours, b"2"), lambda: self.resize(60, 24)]
        self.look(
            lambda last_id: self.told(("status", STATUS), ("numbers", NUMBERS), ("routes", ROUTES)),
            (b"shop/shop/cart", b"\x1b[7m 2 failures", b"\x1b[2J\x1b[1;1H"),
        )
        self.assertTrue(self.seen.startswith(b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"), self.seen[:80])
        self.assertIn(b"\x1b[32mready\x1b[0m", self.seen)
        self.assertTrue(self.seen.endswith(b"\x1b[?7h\x1b[?25h\x1b[?1049l"), self.seen[-80:])
        self.assertEqual(termios.tcgetattr(self.theirs), self.modes)

    def test_connection_that_ends(self) -> None:
        """When the stream ends that is said, and what was known stays to be seen."""

        def follow(last_id: str) -> Iterator[Event]:
            yield from (Event("status", STATUS), Event("numbers", NUMBERS), Event("", None))
            yield Event("end", {"why": "the controller stops"})
            raise Unreachable("it has ended its stream")

        self.look(follow, (b"the controller stops; it has ended its stream; it is asked again every 2 s",))
        self.assertIn(b"120 requests/s", self.seen)

    def test_nothing_to_see(self) -> None:
        """What will not come by waiting ends it with a line, and a terminal as it was."""

        def follow(last_id: str) -> Iterator[Event]:
            raise Mistake("it has no page /api/v1/live")
            yield Event()

        with self.assertRaises(Mistake):
            self.look(follow, ())
        self.assertEqual(termios.tcgetattr(self.theirs), self.modes)

    def test_controller_that_is_started_anew(self) -> None:
        """What it tells is seen, though it counts from 1 again."""
        is_seen = Flag()

        def follow(last_id: str) -> Iterator[Event]:
            yield from (Event("status", STATUS), Event("numbers", NUMBERS), Event("", None))
            yield Event("changes", [{**CHANGE, "text": "of the first"}], "a1.1.0")
            is_seen.wait(20)
            yield Event("changes", [{**CHANGE, "text": "of the second"}], "b2.1.0")
            yield from self.told(("status", {**STATUS, "pod": "txingress-2"}))

        self.then = [lambda: os.write(self.ours, b"3"), is_seen.set]
        self.look(follow, (b"txingress-1", b"of the first", b"txingress-2"))
        self.assertIn(b"of the second", self.seen)
