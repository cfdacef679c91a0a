"""A load generator that connects anew for each request over TLS, with a whole handshake or with a session that is resumed.

``python handshake_client.py PORT HOST CERTIFICATE VERSION KIND CONNECTIONS REQUESTS`` prints how many succeeded, as JSON.  VERSION is
1.2 or 1.3, KIND ``whole`` or ``resumed``.  A handshake that is not of that kind, or shows another certificate than the one in the file
CERTIFICATE, counts as failed: wrk resumes whenever it may, and h2load does not say.
"""

import json
import selectors
import socket
import ssl
import sys
from collections.abc import Generator
from pathlib import Path

from attrs import define, field

LOOPBACK = "127.0.0.1"
PATIENCE_SECONDS = 20.0
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
RESUMED, WHOLE = "resumed", "whole"
_AT_ONCE = 65536


def client_context(version: str) -> ssl.SSLContext:
    """Make a context that trusts whomever it meets and speaks *version* of TLS alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = context.maximum_version = VERSIONS[version]
    context.set_alpn_protocols(["http/1.1"])
    return context


class Refused(Exception):  # noqa: N818 - an outcome, told as one
    """A visit was not what it was meant to be; the message says how."""


Steps = Generator[bytes, bytes, None]
"""Yields what is to be sent, and is sent what came; empty at the end of the connection."""


@define
class Visits:
    """What all visits to *host* have in common."""

    host: str
    certificate: bytes
    """What is to be shown, as DER."""
    version: str
    resumes: bool
    session: ssl.SSLSession | None = None
    """Of an earlier visit, to be resumed."""
    _context: ssl.SSLContext = field(init=False)

    @_context.default
    def _made_context(self) -> ssl.SSLContext:
        return client_context(self.version)

    def visit(self) -> Steps:
        """Shake hands, ask once, and read until the end.  Raises Refused when that is not what it was meant to be."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        resumed = self.session if self.resumes else None
        tls = self._context.wrap_bio(incoming, outgoing, server_hostname=self.host, session=resumed)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                received = yield outgoing.read()
            if not received:
                raise Refused("closed amid a handshake")
            incoming.write(received)
        if tls.session_reused is not (resumed is not None):
            raise Refused("a session was resumed" if tls.session_reused else "no session was resumed")
        if resumed is None and tls.getpeercert(binary_form=True) != self.certificate:
            raise Refused("another certificate was shown")
        tls.write(f"GET / HTTP/1.1\r\nHost: {self.host}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while True:
            try:
                piece = tls.read(_AT_ONCE)
            except ssl.SSLWantReadError:
                received = yield outgoing.read()
                if not received:
                    raise Refused("cut off without a goodbye") from None
                incoming.write(received)
                continue
            except ssl.SSLZeroReturnError:
                piece = b""
            if not piece:
                break
            answer += piece
        if not answer.startswith(b"HTTP/1.1 200 "):
            raise Refused(f"answered by {answer[:20]!r}")
        if self.resumes and self.session is None:
            self.session = tls.session


@define
class Counts:
    """What came of the visits."""

    succeeded: int = 0
    failed: int = 0
    reason: str = ""


@define
class Load:
    """Visits at *port*, so many *connections* at a time, *requests* in all."""

    visits: Visits
    port: int
    connections: int
    requests: int

    def run(self) -> Counts:
        """Make all visits."""
        counts = Counts()
        begun = 0
        with selectors.DefaultSelector() as selector:
            if self.visits.resumes:
                # The first one brings the session.
                self._begin(selector)
                self._go_on(selector, Counts(), 1)
            while begun < min(self.connections, self.requests):
                begun += 1
                self._begin(selector)
            while counts.succeeded + counts.failed < self.requests:
                ended = self._go_on(selector, counts, 0)
                for _ in range(min(ended, self.requests - begun)):
                    begun += 1
                    self._begin(selector)
        return counts

    def _begin(self, selector: selectors.BaseSelector) -> None:
        connection = socket.create_connection((LOOPBACK, self.port), PATIENCE_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        steps = self.visits.visit()
        connection.sendall(next(steps))
        selector.register(connection, selectors.EVENT_READ, steps)

    def _go_on(self, selector: selectors.BaseSelector, counts: Counts, wanted: int) -> int:
        """Take what has come, until *wanted* visits are over, and at least once; return how many ended."""
        ended = 0
        while True:
            ready = selector.select(PATIENCE_SECONDS)
            if not ready:
                raise Refused(f"nothing came for {PATIENCE_SECONDS:g} s")
            for key, _ in ready:
                connection, steps = key.fileobj, key.data
                assert isinstance(connection, socket.socket)
                if self._step(connection, steps, counts):
                    selector.unregister(connection)
                    connection.close()
                    ended += 1
            if ended >= wanted:
                return ended

    def _step(self, connection: socket.socket, steps: Steps, counts: Counts) -> bool:
        """Take what has come for one visit; whether it is over."""
        try:
            octets = steps.send(connection.recv(_AT_ONCE))
            if octets:
                connection.sendall(octets)
            return False
        except StopIteration:
            counts.succeeded += 1
        except (Refused, OSError) as problem:
            counts.failed += 1
            counts.reason = counts.reason or str(problem)
        return True


def main() -> None:
    """Print the counts."""
    port, host, path, version, kind, connections, requests = sys.argv[1:]
    certificate = ssl.PEM_cert_to_DER_cert(Path(path).read_text())
    visits = Visits(host, certificate, version, kind == RESUMED)
    try:
        counts = Load(visits, int(port), int(connections), int(requests)).run()
    except (Refused, OSError) as problem:
        counts = Counts(0, int(requests), str(problem))
    print(json.dumps({"succeeded": counts.succeeded, "failed": counts.failed, "reason": counts.reason}))


if __name__ == "__main__":
    main()
