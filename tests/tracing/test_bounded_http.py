"""Answers that do not end, or not soon, of a collector on a real socket."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from itertools import chain, repeat
from pathlib import Path
from time import monotonic

from requests import RequestException, Timeout
from twisted.trial.unittest import SynchronousTestCase

from ingress.tracing.bounded_http import MOST_ANSWER_BYTES, bounded_session
from tests.fakes.certificates import issue, make_authority
from tests.tracing.raw_collector import Collector, TLSProxy

HEAD = b"HTTP/1.1 200 OK\r\n"
PIECE = b"10000\r\n" + bytes(65536) + b"\r\n"
SECONDS = 0.3
LONG = 1500
"""So many octets one after the other take a minute and a half."""
MOST_SECONDS = 60.0
"""Far more than an exchange may take, and far less than what the collectors here would."""


class BoundedTests(SynchronousTestCase):
    """How long an exchange takes, and what is read of an answer."""

    def setUp(self) -> None:
        self.session = bounded_session()
        # What the environment says of proxies is not for these.
        self.session.trust_env = False
        self.addCleanup(self.session.close)

    def collector(self, *answers: Iterable[bytes], tls: ssl.SSLContext | None = None) -> Collector:
        """Start a collector."""
        collector = Collector(tls)
        collector.will_say(*answers)
        self.addCleanup(collector.stop)
        return collector

    def post(self, url: str, seconds: float = SECONDS) -> int:
        """Send something as OpenTelemetry's exporter does; return the status."""
        began = monotonic()
        try:
            return self.session.post(url, b"spans", timeout=seconds, allow_redirects=False).status_code
        finally:
            self.assertLess(monotonic() - began, MOST_SECONDS)

    def test_slow(self) -> None:
        """An answer that comes octet by octet ends with the time for it, be it slow from the first line on or its body alone."""
        for head, rest in (
            (b"", HEAD + b"X: " + bytes(LONG)),
            (HEAD, b"X: " + b"x" * LONG),
            (HEAD + b"Content-Length: %d\r\n\r\n" % LONG, bytes(LONG)),
            (HEAD + b"Connection: close\r\n\r\n", bytes(LONG)),
            (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * LONG),
        ):
            collector = self.collector()
            collector.will_say(collector.slowly(head, rest))
            self.assertRaises(Timeout, self.post, collector.url)

    def tls(self) -> ssl.SSLContext:
        """Return what servers here speak TLS by, which the session trusts."""
        authority = make_authority()
        certificate, trusted = Path(self.mktemp()), Path(self.mktemp())
        certificate.write_bytes(b"".join(issue(authority, ["127.0.0.1"])))
        trusted.write_bytes(authority.pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.session.verify = str(trusted)
        return context

    def test_slow_over_tls(self) -> None:
        """So it is over TLS, also inside of that of a proxy."""
        context = self.tls()
        for by_proxy in (False, True):
            seconds, was_answered = SECONDS, False
            # Two handshakes are before that, which take a busy machine longer.
            while not was_answered:
                seconds *= 3
                collector = self.collector(tls=context)
                collector.will_say(collector.slowly(HEAD + b"Content-Length: %d\r\n\r\n" % LONG, bytes(LONG)))
                if by_proxy:
                    proxy = TLSProxy(context, collector.port)
                    self.addCleanup(proxy.stop)
                    self.session.proxies = {"https": proxy.url}
                self.assertRaises(Timeout, self.post, collector.url, seconds)
                was_answered = collector.sent > 0
            self.assertEqual(collector.connections, 1)

    def test_endless(self) -> None:
        """An answer without end is not read on: its status is what counts, and the next batch has another connection."""
        for status in (b"200 OK", b"302 Found\r\nLocation: /elsewhere", b"503 Busy"):
            head = b"HTTP/1.1 " + status + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
            collector = self.collector(*(chain((head,), repeat(PIECE)) for _ in range(2)))
            for count in (1, 2):
                self.assertEqual(self.post(collector.url, MOST_SECONDS), int(status[:3]))
                self.assertEqual(collector.connections, count)
            # Besides what is read, the buffers of two sockets have some.
            self.assertLess(collector.sent, 2 * (MOST_ANSWER_BYTES + 16 * 1024 * 1024))

    def test_kept(self) -> None:
        """The connection of an answer that ends is used again, however often, and whatever time has passed since it was made."""
        whole = (HEAD + b"Content-Length: 100\r\n\r\n", bytes(100))
        collector = self.collector(*[whole] * 3)
        for _ in range(3):
            self.assertEqual(self.post(collector.url, MOST_SECONDS), 200)
        self.assertEqual(collector.connections, 1)

    def test_slow_at_last(self) -> None:
        """The time is for each exchange, also where its connection is that of the one before."""
        collector = self.collector()
        collector.will_say(
            (HEAD + b"Content-Length: 2\r\n\r\n", b"{}"), collector.slowly(HEAD, b"X: " + b"x" * LONG)
        )
        self.assertEqual(self.post(collector.url, MOST_SECONDS), 200)
        self.assertRaises(Timeout, self.post, collector.url)
        self.assertEqual(collector.connections, 1)

    def test_broken(self) -> None:
        """An answer that breaks off is one that failed, and not for its time."""
        collector = self.collector((HEAD + b"Content-Length: 5\r\n\r\n", b"123"))
        collector.breaks_off = True
        error = self.assertRaises(RequestException, self.post, collector.url, MOST_SECONDS)
        self.assertNotIsInstance(error, Timeout)
