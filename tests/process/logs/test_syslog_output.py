"""Lines of the access log to a collector that speaks syslog."""

from __future__ import annotations

import re
import socket
from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.serving.log_destinations import SyslogAddress, SyslogTransport
from ingress.options.log_destinations import read_access_log
from ingress.process.logs.file_output import LinesLostError
from ingress.process.logs.syslog_output import (
    FIRST_PAUSE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    SyslogOutput,
    connected,
)
from tests.proxy.exchange.access_log.test_log_lines import NOW

HEADER = re.compile(rb"<190>1 2026-09-21T14:13:20\.250Z [!-~]+ ingress [0-9]+ access - ")
"""That of RFC 5424: priority, version, time, host, program, process, message, no structured data."""


def address(text: str = "syslog:tcp:logs.test:514") -> SyslogAddress:
    """Return the collector of an option."""
    found = read_access_log(text)
    assert isinstance(found, SyslogAddress)
    return found


class SyslogCase(SynchronousTestCase):
    """An output whose connections end in this test."""

    kind = socket.SOCK_STREAM

    def setUp(self) -> None:
        self.clock = Clock()
        self.collectors: list[socket.socket] = []
        self.is_away = False

    def connect(self, where: SyslogAddress) -> socket.socket:
        """Return one end of a pair."""
        if self.is_away:
            raise ConnectionRefusedError(111, "Connection refused")
        ours, theirs = socket.socketpair(socket.AF_UNIX, self.kind)
        ours.setblocking(False)
        theirs.setblocking(False)
        self.collectors.append(theirs)
        self.addCleanup(theirs.close)
        return ours

    def output(self, text: str) -> SyslogOutput:
        """Return an output to the collector of this option."""
        output = SyslogOutput(
            address(text),
            self.connect,
            wall_clock=lambda: NOW,
            steady=self.clock.seconds,
            stall_seconds=0.01,
        )
        self.addCleanup(output.close)
        return output

    def lost(self, output: SyslogOutput, *lines: bytes) -> int:
        """Have *lines* sent, and return how many are lost."""
        try:
            output.write(b"".join(line + b"\n" for line in lines))
        except LinesLostError as error:
            return error.lines
        return 0


class StreamTests(SyslogCase):
    """TCP."""

    def setUp(self) -> None:
        super().setUp()
        self.out = self.output("syslog:tcp:logs.test:514")

    def taken(self, collector: int = 0) -> list[bytes]:
        """Return the lines that the collector got, by the lengths before them."""
        octets, lines = b"", []
        try:
            while piece := self.collectors[collector].recv(1 << 20):
                octets += piece
        except BlockingIOError:
            pass  # That is all.
        while octets:
            length, _, rest = octets.partition(b" ")
            message, octets = rest[: int(length)], rest[int(length) :]
            header = HEADER.match(message)
            assert header is not None and len(message) == int(length), message
            lines.append(message[header.end() :])
        return lines

    def test_messages(self) -> None:
        """Each line is a message of RFC 5424 behind its length, whatever it holds."""
        sent = [b"one", b'{"two": "\\u0000 5 "}', b"", b"x" * 10_000]
        self.assertEqual(self.lost(self.out, *sent), 0)
        self.assertEqual(self.lost(self.out, b"more"), 0)
        self.assertEqual(self.taken(), [*sent, b"more"])
        self.assertEqual(len(self.collectors), 1)

    def test_collector_starts_anew(self) -> None:
        """One that ended its connection gets what follows on a new one, and nothing is lost."""
        self.lost(self.out, b"one")
        self.collectors[0].close()
        self.assertEqual(self.lost(self.out, b"two", b"three"), 0)
        self.assertEqual(self.taken(1), [b"two", b"three"])

    def test_collector_is_away(self) -> None:
        """One that is away is asked at growing distances, at most half a minute; until then lines are lost and counted at once."""
        self.is_away = True
        asked = []
        for _ in range(200):
            self.assertEqual(self.lost(self.out, b"one", b"two"), 2)
            asked.append(self.out._not_before - self.clock.seconds())
            self.clock.advance(1.0)
        distances = sorted({round(one) for one in asked if one > 0.999})
        self.assertEqual(distances[0], FIRST_PAUSE_SECONDS)
        self.assertEqual(distances[-1], LONGEST_PAUSE_SECONDS)
        self.is_away = False
        self.clock.advance(LONGEST_PAUSE_SECONDS)
        self.assertEqual(self.lost(self.out, b"three"), 0)
        self.assertEqual(self.taken(), [b"three"])

    def test_looked_for_anew(self) -> None:
        """After a signal the collector is looked for at once."""
        self.is_away = True
        self.lost(self.out, b"one")
        self.is_away = False
        self.assertEqual(self.lost(self.out, b"two"), 1)
        self.out.reopen()
        self.assertEqual(self.lost(self.out, b"three"), 0)

    def test_slow_collector(self) -> None:
        """One that takes nothing costs its lines a bounded time; what it has whole is not counted as lost, and none is torn for the next."""
        lines = [b"%d" % number + b"x" * 1000 for number in range(3000)]
        lost = self.lost(self.out, *lines)
        self.assertGreater(lost, 0)
        self.assertEqual(self.lost(self.out, b"at once"), 1, "it is left alone for a while")
        self.clock.advance(FIRST_PAUSE_SECONDS)
        self.assertEqual(self.lost(self.out, b"later"), 0)
        whole: list[bytes] = []
        for collector in range(len(self.collectors)):
            octets = b""
            while piece := self._piece(collector):
                octets += piece
            whole += re.findall(rb"access - (\d+x{1000}|later)(?=\d|$)", octets)
        self.assertEqual(len(whole), len(lines) - lost + 1)

    def _piece(self, collector: int) -> bytes:
        try:
            return self.collectors[collector].recv(1 << 20)
        except BlockingIOError:
            return b""


class DatagramTests(SyslogCase):
    """UDP and UNIX sockets."""

    kind = socket.SOCK_DGRAM

    def taken(self, collector: int = 0) -> list[bytes]:
        """Return the messages that the collector got."""
        found = []
        try:
            while True:
                found.append(self.collectors[collector].recv(1 << 20))
        except OSError:
            return found

    def test_messages(self) -> None:
        """Each line is a datagram, with facility and tag as they were asked for."""
        out = self.output("syslog:udp:logs.test:514,facility=daemon,tag=edge")
        self.assertEqual(self.lost(out, b"one", b"two"), 0)
        found = self.taken()
        self.assertEqual([one.rpartition(b" ")[2] for one in found], [b"one", b"two"])
        self.assertRegex(found[0], rb"^<30>1 2026-09-21T14:13:20\.250Z [!-~]+ edge \d+ access - one$")

    def test_old_messages(self) -> None:
        """With ``rfc=3164`` a message is as ``syslog(3)`` writes it, and has the host where it leaves this one."""
        pattern = rb"^<190>Sep 2[12] \d\d:\d\d:20%b ingress\[\d+\]: one$"
        for where, host in (("/dev/log", b""), ("udp:logs.test:514", rb" [!-~]+")):
            out = self.output(f"syslog:{where},rfc=3164")
            self.lost(out, b"one")
            self.assertRegex(self.taken(-1)[0], pattern % host)

    def test_collector_starts_anew(self) -> None:
        """A UNIX socket that nobody has any more is looked for anew, and the line that found out arrives."""
        out = self.output("syslog:/dev/log")
        self.lost(out, b"one")
        self.collectors[0].close()
        self.assertEqual(self.lost(out, b"two"), 0)
        self.assertTrue(self.taken(1)[0].endswith(b" two"))
        self.collectors[1].close()
        self.is_away = True
        self.assertEqual(self.lost(out, b"three", b"four", b"five"), 3)

    def test_full_collector(self) -> None:
        """One that reads nothing gets what there is room for, and the rest is counted."""
        out = self.output("syslog:/dev/log")
        lost = self.lost(out, *[b"x" * 1000] * 5000)
        self.assertEqual(len(self.taken()) + lost, 5000)
        self.assertGreater(lost, 0)

    def test_too_long(self) -> None:
        """A line that no datagram holds is lost, and no other."""
        out = self.output("syslog:/dev/log")
        self.assertEqual(self.lost(out, b"one", b"x" * 10_000_000, b"two"), 1)
        self.assertEqual(len(self.taken()), 2)

    def test_refused(self) -> None:
        """A host that says that nobody listens has the datagram before counted, and is told on."""
        asked: list[bytes] = []

        class Refusing:
            """Says after each datagram that nobody takes it."""

            def send(self, message: bytes) -> int:
                """Take it, or not."""
                asked.append(message)
                if len(asked) in (2, 5):
                    raise ConnectionRefusedError(111, "Connection refused")
                return len(message)

            def close(self) -> None:
                """Nothing."""

        refusing: Any = Refusing()
        out = SyslogOutput(address("syslog:udp:logs.test:514"), lambda where: refusing)
        self.assertEqual(self.lost(out, b"one", b"two", b"three", b"four"), 2)
        self.assertEqual(len(asked), 6)


class ConnectedTests(SynchronousTestCase):
    """``connected``, on the loopback."""

    def test_each_transport(self) -> None:
        """A collector is reached by each of the transports, and one that is not there is an ``OSError``."""
        for transport, kind in (
            (SyslogTransport.TCP, socket.SOCK_STREAM),
            (SyslogTransport.UDP, socket.SOCK_DGRAM),
        ):
            with socket.socket(socket.AF_INET, kind) as collector:
                collector.bind(("127.0.0.1", 0))
                if kind == socket.SOCK_STREAM:
                    collector.listen()
                port = collector.getsockname()[1]
                with connected(SyslogAddress(transport, "127.0.0.1", port)) as sock:
                    self.assertEqual(sock.getpeername(), ("127.0.0.1", port))
                    self.assertFalse(sock.getblocking())
        self.assertRaises(OSError, connected, SyslogAddress(SyslogTransport.TCP, "127.0.0.1", port))
        path = self.mktemp()
        local = SyslogAddress(SyslogTransport.UNIX, path)
        self.assertRaises(OSError, connected, local)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as collector:
            collector.bind(path)
            with connected(local) as sock:
                sock.send(b"one")
            self.assertEqual(collector.recv(10), b"one")
