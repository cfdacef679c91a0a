"""Nothing of a connection to an endpoint outlives it, whatever becomes of it: no cycle that only a collector would find."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import tempfile
from collections.abc import Callable
from threading import Event
from typing import Any

from attrs import evolve

from ingress.model.serving.limits import AskedTimeouts
from ingress.model.upstream.backends import BackendState, Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings, TlsSettings, UpstreamTls
from ingress.proxy.transport.name_lookups import NameLookups
from ingress.proxy.upstream.h2_session import UpstreamSession
from ingress.routing.table import RouteTable
from tests.fakes.certificates import issue
from tests.fakes.http2.frames import (
    MAX_CONCURRENT_STREAMS,
    PREFACE,
    REFUSED_STREAM,
    block,
    data,
    goaway,
    headers,
    reset,
    settings,
)
from tests.fakes.processes import free_port
from tests.proxy.leftovers_case import (
    GET,
    LAST_OK,
    OK,
    POST,
    LeftoversCase,
    Peer,
    SecurePeer,
    on_all_networks,
)
from tests.proxy.sockets.sockets_case import ANY_PATH, APP

HEAD = b"HTTP/1.1 200 OK\r\n"
GREETING = settings()
ANSWER = headers(1, block([(b":status", b"200")]), ended=False) + data(1, b"ok", True)


class UpstreamCase(LeftoversCase):
    """A client asks over HTTP/1.1 without TLS, and the endpoint is what a test is about."""

    async def ask(self, request: bytes = GET) -> Peer:
        """Send a request."""
        client = await self.call()
        client.say(request)
        return client

    async def status(self, client: Peer, status: int) -> None:
        """Wait for an answer with this status, and leave."""
        await self.until(lambda: client.has(b" %d " % status))
        client.close()

    def end_idle(self) -> None:
        """Have connections that are kept be over, as after a while."""
        for connection in list(self.pool.connections):
            if isinstance(connection, UpstreamSession):
                connection.abort()
            else:
                connection.expire()


class Http1Tests(UpstreamCase):
    """Endpoints that speak HTTP/1.1."""

    async def test_answers(self) -> None:
        """Answers in every framing, with interim ones before."""
        answers = (
            HEAD + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nok\r\n0\r\nA: b\r\n\r\n",
            b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + LAST_OK,
            HEAD + b"\r\nok",
        )

        async def play() -> None:
            for answer in answers:
                client = await self.ask()
                backend = await self.arrived()
                backend.say(answer)
                backend.finish()
                await self.until(lambda: client.has(b"ok"))  # noqa: B023 - it is awaited here
                client.close()
                await self.until(backend.ended)
                backend.close()

        await self.nothing_is_left(play)

    async def test_kept(self) -> None:
        """A connection that is kept, and ended by the endpoint, broken off by it, or by us."""

        async def play() -> None:
            for end in (Peer.close, Peer.reset, self.end_kept):
                client = await self.ask()
                backend = await self.arrived()
                backend.say(OK)
                await self.status(client, 200)
                await self.until(lambda: "1 idle" in repr(self.pool))
                end(backend)
                await self.until(lambda: "0 idle" in repr(self.pool))
                backend.close()

        await self.nothing_is_left(play)

    def end_kept(self, backend: Peer) -> None:
        """Have us end it."""
        self.end_idle()

    async def test_broken(self) -> None:
        """An endpoint that gives no answer, half of one, or nonsense."""
        self.publish(self.endpoint)
        wrong = (
            b"",
            HEAD,
            HEAD + b"Content-Length: 100\r\n\r\nok",
            b"nonsense\r\n\r\n",
            b"\r\n" + bytes(70_000),
        )

        async def play() -> None:
            for answer in wrong:
                for end in (Peer.close, Peer.reset):
                    client = await self.ask(POST.replace(b"100000", b"2") + b"ok")
                    backend = await self.arrived()
                    backend.say(answer)
                    await self.turns(3)
                    end(backend)
                    await self.until(lambda: client.ended() or client.received)  # noqa: B023 - it is awaited here
                    client.close()

        await self.nothing_is_left(play)

    async def test_silent(self) -> None:
        """An endpoint that says nothing, and is waited for no longer."""

        async def play() -> None:
            client = await self.ask(POST.replace(b"100000", b"2") + b"ok")
            backend = await self.arrived()
            self.end_idle()
            await self.status(client, 504)
            backend.close()

        await self.nothing_is_left(play)

    async def test_early(self) -> None:
        """An endpoint that answers before the request is whole, and takes no more of it."""

        async def play() -> None:
            client = await self.ask(POST + b"x" * 1000)
            backend = await self.arrived()
            backend.say(LAST_OK)
            await self.status(client, 200)
            await self.until(backend.ended)
            backend.close()

        await self.nothing_is_left(play)

    async def test_no_connection(self) -> None:
        """Endpoints that refuse connections, one after the other, or never answer them."""
        gone = Endpoint("127.0.0.1", free_port())
        self.publish(gone, gone._replace(address="127.0.0.2"))

        async def play() -> None:
            client = await self.ask()
            await self.status(client, 502)

        await self.nothing_is_left(play)

    async def test_unanswered(self) -> None:
        """An endpoint whose connections are never made, and a client that leaves meanwhile."""
        full = socket.socket()
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        self.addCleanup(full.close)
        taken = [socket.socket() for _ in range(4)]
        for each in taken:
            each.setblocking(False)
            self.addCleanup(each.close)
            with contextlib.suppress(BlockingIOError):
                each.connect(full.getsockname())
        hole = Endpoint("127.0.0.1", full.getsockname()[1])
        route = evolve(ANY_PATH, timeouts=AskedTimeouts(connect_seconds=0.05))
        self.resource.publish(RouteTable([route]), {APP: BackendState((hole,))})

        async def play() -> None:
            client = await self.ask()
            await self.status(client, 504)
            client = await self.ask()
            await self.until(lambda: "1 connecting" in repr(self.pool))
            client.reset()

        await self.nothing_is_left(play)

    async def test_named(self) -> None:
        """An endpoint with a name, one whose name is not known, and one of which nobody says anything."""
        silence = Event()
        self.addCleanup(silence.set)

        def ask(name: str) -> tuple[str, ...]:
            if name == "silent.test":
                silence.wait()
            return ("127.0.0.1",) if name == "here.test" else ()

        self.network.names = NameLookups(self.reactor, ask)
        for name, status in (("here.test", 200), ("none.test", 502), ("silent.test", 504)):
            named = self.endpoint._replace(address=name)
            route = evolve(ANY_PATH, timeouts=AskedTimeouts(connect_seconds=0.05 if status == 504 else 5.0))
            self.resource.publish(RouteTable([route]), {APP: BackendState((named,))})

            async def play(status: int = status) -> None:
                client = await self.ask()
                if status == 200:
                    backend = await self.arrived()
                    backend.say(LAST_OK)
                    backend.close()
                await self.status(client, status)

            await self.nothing_is_left(play)


class Http2Tests(UpstreamCase):
    """Endpoints that speak HTTP/2."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Say so."""
        await super().setUp()
        self.publish(self.endpoint._replace(link_settings=LinkSettings(is_http2=True)))

    async def arrived(self) -> Peer:
        """Return the connection on which a request came."""
        backend = await self.accepted()
        await self.until(lambda: backend.has(PREFACE))
        backend.say(GREETING)
        # Settings, the window, the head of the request, and our settings acknowledged.
        await self.until(lambda: backend.has(settings()[:3] + b"\x04\x01"))
        return backend

    async def test_kept(self) -> None:
        """Answers, and the end of the connection: by the endpoint, in order or not, or by us."""

        async def play() -> None:
            for end in (Peer.close, Peer.reset, self.say_goodbye, self.end_kept):
                client = await self.ask()
                backend = await self.arrived()
                backend.say(ANSWER)
                await self.until(lambda: client.has(b"ok"))  # noqa: B023 - it is awaited here
                end(backend)
                await self.until(lambda: not self.pool.shared)
                client.close()
                backend.close()

        await self.nothing_is_left(play)

    def say_goodbye(self, backend: Peer) -> None:
        """End as servers do."""
        backend.say(goaway(1))

    def end_kept(self, backend: Peer) -> None:
        """Have us end it."""
        self.end_idle()

    async def test_faults(self) -> None:
        """Answers that are none."""
        faults = (
            reset(1),
            reset(1, REFUSED_STREAM),
            goaway(0),
            goaway(1) + ANSWER,
            b"\xff" * 20,
            headers(1, b"\xff\xff\xff"),
            headers(1, block([(b"a", b"b")])),
            headers(1, block([(b":status", b"200"), (b"content-length", b"9")]), ended=False)
            + data(1, b"x", True),
            settings((MAX_CONCURRENT_STREAMS, 0)) + ANSWER,
            b"",
        )

        async def play() -> None:
            for fault in faults:
                for end in (Peer.close, Peer.reset):
                    client = await self.ask(POST.replace(b"100000", b"2") + b"ok")
                    backend = await self.arrived()
                    backend.say(fault)
                    await self.turns(3)
                    end(backend)
                    await self.turns(3)
                    client.close()
                    await self.until(lambda: not self.channels and not self.pool.shared)

        await self.nothing_is_left(play)

    async def test_another_protocol(self) -> None:
        """An endpoint that speaks HTTP/1.1, and one that ends before it says anything."""

        async def play() -> None:
            for answer in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b""):
                client = await self.ask()
                backend = await self.accepted()
                await self.until(lambda: backend.has(PREFACE))  # noqa: B023 - it is awaited here
                backend.say(answer)
                backend.close()
                await self.until(lambda: client.has(b" 502 "))  # noqa: B023
                client.close()
                await self.until(lambda: not self.channels and not self.pool.shared)

        await self.nothing_is_left(play)

    async def test_left(self) -> None:
        """A client that leaves before its answer, or amid it, or amid its request."""

        async def play() -> None:
            for request, answer in (
                (GET, b""),
                (GET, headers(1, block([(b":status", b"200")]), ended=False) + data(1, b"first")),
                (POST + b"x", b""),
            ):
                client = await self.ask(request)
                backend = await self.arrived()
                backend.say(answer)
                await self.until(lambda: not answer or client.has(b"first"))  # noqa: B023 - it is awaited here
                client.reset()
                await self.until(lambda: not self.channels)
                self.end_idle()
                await self.until(backend.ended)
                backend.close()
                await self.until(lambda: not self.pool.shared)

        await self.nothing_is_left(play)


class TlsTests(UpstreamCase):
    """Endpoints that are spoken to over TLS."""

    protocols: tuple[str, ...] = ()

    async def setUp(self) -> None:  # type: ignore[override]
        """Have the test's end show a certificate for ``app.internal``."""
        await super().setUp()
        self.context = self.context_for("app.internal")
        self.publish(self.over_tls())

    def context_for(self, name: str) -> ssl.SSLContext:
        """Return the settings of an endpoint whose certificate has this name."""
        chain, key = issue(self.authority, (name,))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for number, content in enumerate((chain, key)):
                files.append(os.path.join(folder, str(number)))
                with open(files[-1], "wb") as written:
                    written.write(content)
            context.load_cert_chain(*files)
        if self.protocols:
            context.set_alpn_protocols(list(self.protocols))
        return context

    def over_tls(self, **more: Any) -> Endpoint:
        """Return the endpoint, with settings of TLS."""
        tls = UpstreamTls(TlsSettings(verify=True, name="app.internal"), ca_pem=self.authority.pem)
        return self.endpoint._replace(link_settings=LinkSettings(tls, **more))

    async def secured(self, context: ssl.SSLContext) -> SecurePeer:
        """Return the next connection that the proxy makes, its handshake done as far as it goes."""
        plain = await self.accepted()
        sock = context.wrap_socket(plain.sock, server_side=True, do_handshake_on_connect=False)
        peer = SecurePeer(sock)

        def is_done() -> bool:
            try:
                return peer.shook()
            except OSError:
                return True

        await self.until(is_done)
        return peer

    async def arrived(self) -> Peer:
        """Return the connection on which a request came."""
        backend = await self.secured(self.context)
        await self.until(lambda: backend.has(b"\r\n\r\n"))
        return backend

    async def test_get(self) -> None:
        """A request over TLS, and the end by either side, before anything was said and after."""

        async def play() -> None:
            for answer in (b"", OK, LAST_OK):
                for end in (SecurePeer.close, SecurePeer.reset, SecurePeer.finish):
                    client = await self.ask(POST.replace(b"100000", b"2") + b"ok")
                    backend = await self.arrived()
                    backend.say(answer)
                    await self.until(lambda: not answer or client.has(b"ok"))  # noqa: B023 - it is awaited here
                    end(backend)  # type: ignore[arg-type]  # it is one
                    await self.until(lambda: client.has(b" 200 " if answer else b" 502 "))  # noqa: B023
                    client.close()
                    backend.close()

        await self.nothing_is_left(play)

    async def test_no_handshake(self) -> None:
        """Handshakes that fail: another name, no TLS at all, broken off, or too late."""
        other = self.context_for("other.internal")

        async def play() -> None:
            client = await self.ask()
            backend: Peer = await self.secured(other)
            await self.status(client, 502)
            backend.close()
            for end in (Peer.close, Peer.reset, self.say_nonsense):
                client = await self.ask()
                backend = await self.accepted()
                await self.until(lambda: backend.has(b"\x16\x03"))  # noqa: B023 - it is awaited here
                end(backend)
                await self.status(client, 502)
                backend.close()

        await self.nothing_is_left(play)

    def say_nonsense(self, backend: Peer) -> None:
        """Speak no TLS."""
        backend.say(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3)

    async def test_late_handshake(self) -> None:
        """A handshake that is never answered."""
        route = evolve(ANY_PATH, timeouts=AskedTimeouts(connect_seconds=0.05))
        self.resource.publish(RouteTable([route]), {APP: BackendState((self.over_tls(),))})

        async def play() -> None:
            client = await self.ask()
            backend = await self.accepted()
            await self.status(client, 504)
            await self.until(backend.ended)
            backend.close()

        await self.nothing_is_left(play)


class Http2OverTlsTests(TlsTests):
    """Endpoints that speak HTTP/2 over TLS."""

    protocols: tuple[str, ...] = ("h2",)

    def over_tls(self, **more: Any) -> Endpoint:
        """Return the endpoint, with settings of TLS and HTTP/2."""
        return super().over_tls(is_http2=True, **more)

    async def arrived(self) -> Peer:
        """Return the connection on which a request came."""
        backend = await self.secured(self.context)
        await self.until(lambda: backend.has(PREFACE))
        backend.say(GREETING)
        return backend

    async def test_get(self) -> None:
        """A request over TLS, and the end by either side, before anything was said and after."""
        ends: tuple[Callable[[Any], None], ...] = (SecurePeer.close, SecurePeer.reset, SecurePeer.finish)

        async def play() -> None:
            for answer in (b"", ANSWER):
                for end in ends:
                    client = await self.ask(POST.replace(b"100000", b"2") + b"ok")
                    backend = await self.arrived()
                    backend.say(answer)
                    await self.until(lambda: not answer or client.has(b"ok"))  # noqa: B023 - it is awaited here
                    end(backend)
                    await self.until(lambda: client.has(b" 200 " if answer else b" 502 "))  # noqa: B023
                    client.close()
                    backend.close()
                    await self.until(lambda: not self.pool.shared)

        await self.nothing_is_left(play)

    async def test_other_protocol(self) -> None:
        """An endpoint that agrees on nothing in its handshake."""
        self.protocols = ()
        other = self.context_for("app.internal")

        async def play() -> None:
            client = await self.ask()
            backend = await self.secured(other)
            await self.status(client, 502)
            backend.close()

        await self.nothing_is_left(play)


on_all_networks(globals())
