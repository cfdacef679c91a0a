"""External authentication in a whole process: oauth2-proxy's and Authelia's documented annotations, and a service that plays them."""

from __future__ import annotations

import shutil
from typing import Any
from urllib.parse import unquote_to_bytes

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.utils import getProcessOutput

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.peers.downstreams import Answer, DownstreamWire
from tests.fakes.peers.upstreams import Upstream, UpstreamWire
from tests.fakes.processes import free_port

CURL = shutil.which("curl")
PREFIX = "nginx.ingress.kubernetes.io"
HOST = "localhost"
"""It leads to this machine, as ``$host`` in a URL has to."""
OAUTH2_PROXY = {
    "auth-url": "http://$host:{port}/oauth2/auth",
    "auth-signin": "https://$host/oauth2/start?rd=$escaped_request_uri",
    "auth-response-headers": "X-Auth-Request-User, X-Auth-Request-Email",
}
AUTHELIA = {
    "auth-method": "GET",
    "auth-url": "http://localhost:{port}/api/authz/auth-request",
    "auth-signin": "https://auth.example.com?rm=$request_method",
    "auth-response-headers": "Remote-User,Remote-Name,Remote-Groups,Remote-Email",
}
MANY = 1000
AT_A_TIME = 50


def fields_of(head: bytes) -> dict[bytes, bytes]:
    """Return the fields of a head by name in lower case."""
    pairs = (line.partition(b": ") for line in head.split(b"\r\n")[1:])
    return {name.lower(): value for name, _, value in pairs}


def reply(wire: UpstreamWire, status: bytes, *fields: bytes, body: bytes = b"") -> None:
    """Answer a request."""
    lines = (b"HTTP/1.1 " + status, *fields, b"Content-Length: %d" % len(body), b"", body)
    wire.write(b"\r\n".join(lines))


def decide(wire: UpstreamWire) -> None:
    """Play both services: who has a session is known, ``/oauth2/start`` makes one, and nobody is let to ``/admin``."""
    line, fields = wire.heads[-1].split(b"\r\n")[0], fields_of(wire.heads[-1])
    target = line.split(b" ")[1]
    if target.startswith(b"/oauth2/start"):
        back = unquote_to_bytes(target.partition(b"rd=")[2])
        reply(wire, b"302 Found", b"Set-Cookie: session=anna; Path=/; HttpOnly", b"Location: " + back)
        return
    asks = target in (b"/oauth2/auth", b"/api/authz/auth-request")
    knows = fields.get(b"x-sent-from") == b"nginx-ingress-controller" and b"x-original-method" in fields
    if not (asks and knows and fields[b"x-original-url"].startswith(b"http://localhost")):
        reply(wire, b"400 Bad Request")
    elif b"session=anna" not in fields.get(b"cookie", b""):
        reply(wire, b"401 Unauthorized", b"Set-Cookie: csrf=1", body=b"who are you?")
    elif b"/admin" in fields[b"x-original-url"]:
        reply(wire, b"403 Forbidden")
    else:
        who = (
            b"X-Auth-Request-User: anna",
            b"X-Auth-Request-Email: anna@test",
            b"Remote-User: anna",
            b"Remote-Groups: dev,ops",
        )
        reply(wire, b"202 Accepted", *who)


def tell(wire: UpstreamWire) -> None:
    """Play the application: say who is there, and what was sent; or echo what comes through a tunnel."""
    fields = fields_of(wire.heads[-1])
    if fields.get(b"upgrade") == b"websocket":
        wire.switch()
        return
    who = fields.get(b"x-auth-request-user") or fields.get(b"remote-user", b"nobody")
    said = b"%b %b %d" % (who, fields.get(b"remote-groups", b"-"), wire.body_size)
    body = b"" if wire.heads[-1].startswith(b"HEAD") else said
    wire.write(b"HTTP/1.1 200 OK\r\nX-Said: %b\r\nContent-Length: %d\r\n\r\n%b" % (said, len(said), body))


class ExternalAuthCase(EndToEndCase):
    """An application, and the service that is asked about it."""

    async def serving(self, annotations: dict[str, str], *options: str) -> None:
        """Start all of it; ``/oauth2`` of the host leads to the service, and nobody is asked about that."""
        self.app, self.auth = Upstream(self.reactor, tell), Upstream(self.reactor, decide)
        for one in (self.app, self.auth):
            one.listen(free_port())
            self.addCleanup(one.stop)
        port = self.auth.endpoint.port
        app: dict[str, Any] = ingress_object("app", HOST)
        app["metadata"]["annotations"] = {
            f"{PREFIX}/{name}": value.format(port=port) for name, value in annotations.items()
        }
        auth = ingress_object("auth", HOST)
        auth["spec"]["rules"][0]["http"]["paths"][0]["path"] = "/oauth2"
        self.write("all", app, auth, service_object("app"), service_object("auth"))
        controller = self.start_with_manifests(
            f"--endpoint={NAMESPACE}/app={self.app.endpoint}",
            f"--endpoint={NAMESPACE}/auth={self.auth.endpoint}",
            f"--auth-url-allow={HOST}",
            "--http2-prior-knowledge",
            *options,
        )
        await self.until_ready(controller)

    async def ask(self, octets: bytes) -> Answer:
        """Send a whole request; return its answer."""
        client = await self.connect(self.http)
        client.send(octets)
        await client.answer().addTimeout(PATIENCE, self.reactor)
        (answer,) = client.answers
        client.transport.abortConnection()
        return answer

    async def visit(self, target: bytes, *fields: bytes) -> tuple[int, bytes, bytes, bytes]:
        """Return status, location, cookie and body of what a browser gets."""
        lines = (b"GET %b HTTP/1.1" % target, b"Host: " + HOST.encode(), *fields, b"", b"")
        answer = await self.ask(b"\r\n".join(lines))
        found = fields_of(answer.head)
        cookie = found.get(b"set-cookie", b"").partition(b";")[0]
        return answer.status, found.get(b"location", b""), cookie, answer.body


class RoundTripTests(ExternalAuthCase):
    """From the first visit to the page."""

    async def test_oauth2_proxy(self) -> None:
        """A browser is sent to sign in, comes back with a cookie, and is known then, whatever it says it is."""
        await self.serving(OAUTH2_PROXY)
        status, location, cookie, _ = await self.visit(b"/cart?id=1")
        self.assertEqual((status, cookie), (302, b"csrf=1"))
        self.assertEqual(location, b"https://localhost/oauth2/start?rd=%2Fcart%3Fid%3D1")
        status, location, cookie, _ = await self.visit(location.removeprefix(b"https://localhost"))
        self.assertEqual((status, location, cookie), (302, b"/cart?id=1", b"session=anna"))
        fields = (b"Cookie: " + cookie, b"X-Auth-Request-User: root", b"x-auth-request-email: root@test")
        self.assertEqual(await self.visit(location, *fields), (200, b"", b"", b"anna - 0"))
        self.assertEqual(fields_of(self.app.wires[-1].heads[-1])[b"x-auth-request-email"], b"anna@test")
        self.assertEqual((await self.visit(b"/admin", *fields))[0], 403)
        self.assertEqual(self.app.requests, 1)

    async def test_authelia(self) -> None:
        """The page to sign in at is told where the browser was going, and the application who came back."""
        await self.serving(AUTHELIA)
        status, location, _, _ = await self.visit(b"/a?b")
        self.assertEqual(
            (status, location), (302, b"https://auth.example.com?rm=GET&rd=http://localhost%2Fa%3Fb")
        )
        self.assertEqual(await self.visit(b"/a", b"Cookie: session=anna"), (200, b"", b"", b"anna dev,ops 0"))
        self.assertEqual(fields_of(self.auth.wires[-1].heads[-1])[b"x-original-uri"], b"/a")

    async def test_bodies(self) -> None:
        """A body waits for the verdict, arrives whole, and is not the service's; HEAD has none."""
        await self.serving(OAUTH2_PROXY)
        body = bytes(300_000)
        head = b"POST /up HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n%b\r\n"
        answer = await self.ask(head % (len(body), b"Cookie: session=anna\r\n") + body)
        self.assertEqual((answer.status, answer.body), (200, b"anna - 300000"))
        self.assertEqual([wire.body_size for wire in self.auth.wires], [0])
        answer = await self.ask(head % (4, b"") + b"body")
        self.assertEqual(answer.status, 302)
        self.assertEqual(self.app.requests, 1)
        client = await self.connect(self.http)
        client.send(
            b"HEAD / HTTP/1.1\r\nHost: localhost\r\nCookie: session=anna\r\nConnection: close\r\n\r\n"
        )
        await self.until(lambda: client.lost)
        self.assertTrue(client.answers[0].has(b"X-Said: anna - 0"))

    async def test_web_socket(self) -> None:
        """A WebSocket is judged before it is one."""
        await self.serving(OAUTH2_PROXY)
        upgrade = (
            b"GET /chat HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n%b\r\n"
        )
        self.assertEqual((await self.ask(upgrade % b"")).status, 302)
        self.assertEqual(self.app.requests, 0)
        self.app.on_tunnel = lambda wire: wire.write(wire.after)
        client = await self.connect(self.http)
        client.send(upgrade % b"Cookie: session=anna\r\n")
        await self.until(lambda: client.answers)
        self.assertEqual(client.answers[0].status, 101)
        client.send(b"hello")
        await self.until(lambda: client.tunnel == b"hello")

    async def test_http2(self) -> None:
        """Over HTTP/2 it is the same."""
        if CURL is None:
            self.skipTest("curl is not installed")
        await self.serving(OAUTH2_PROXY)
        url = f"http://{HOST}:{self.http}/x"
        command = [
            "-s",
            "-4",
            "--http2-prior-knowledge",
            "-o",
            "-",
            "-w",
            " %{http_code} %{http_version} %{redirect_url}",
        ]
        for more, said in (
            ([], b"302 2 https://localhost/oauth2/start?rd=%2Fx"),
            (["-b", "session=anna", "-H", "X-Auth-Request-User: root"], b"anna - 0 200 2 "),
            (["-b", "session=anna", "-d", "body"], b"anna - 4 200 2 "),
        ):
            found: bytes = await getProcessOutput(CURL, [*command, *more, url], reactor=self.reactor)
            self.assertTrue(found.endswith(said), found)


class ServiceTests(ExternalAuthCase):
    """Services that are many asked, or badly, or not there."""

    async def test_many(self) -> None:
        """A thousand wait at once, and each gets the verdict on itself."""
        # The first of them wait until the last one has come.
        await self.serving(OAUTH2_PROXY, "--auth-url-timeout=50")
        waiting: list[UpstreamWire] = []
        self.auth.on_request = waiting.append
        clients: list[DownstreamWire] = []
        while len(clients) < MANY:
            connecting = [Deferred.fromCoroutine(self.connect(self.http)) for _ in range(AT_A_TIME)]
            for client in await gatherResults(connecting):
                known = b"Cookie: session=anna\r\n" if len(clients) % 3 else b""
                client.get(b"/%d" % len(clients), HOST.encode(), known)
                clients.append(client)
        await self.until(lambda: len(waiting) == MANY)
        self.assertEqual(self.app.requests, 0)
        whole: list[Deferred[None]] = [client.answer() for client in clients]
        for wire in waiting:
            decide(wire)
        await gatherResults(whole).addTimeout(PATIENCE, self.reactor)
        statuses = [client.answers[0].status for client in clients]
        self.assertEqual(statuses, [200 if number % 3 else 302 for number in range(MANY)])
        # All of these connections are kept, as far as there is room for them, and used again.
        self.auth.on_request = decide
        before = len(self.auth.wires)
        self.assertEqual((await self.visit(b"/", b"Cookie: session=anna"))[0], 200)
        self.assertEqual(len(self.auth.wires), before)

    async def test_bad(self) -> None:
        """Whatever becomes of the service, nobody passes, and the next verdict is a good one."""
        await self.serving(OAUTH2_PROXY, "--auth-url-timeout=4")

        def close_half(wire: UpstreamWire) -> None:
            wire.transport.loseWriteConnection()

        scripts = (
            lambda wire: wire.reset(),
            lambda wire: wire.close(),
            close_half,
            lambda wire: wire.write(b"\x16\x03\x01 no HTTP\r\n\r\n"),
            lambda wire: wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"),
            lambda wire: wire.write(b"HTTP/1.1 100 Continue\r\n\r\n"),
            lambda wire: wire.write(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"),
        )
        for script in scripts:
            self.auth.on_request = script
            self.assertEqual((await self.visit(b"/", b"Cookie: session=anna"))[0], 500)
        self.assertEqual(self.app.requests, 0)
        self.auth.on_request = decide
        self.assertEqual((await self.visit(b"/", b"Cookie: session=anna"))[0], 200)

    async def test_endless(self) -> None:
        """A body of a gigabyte is not waited for."""
        await self.serving(OAUTH2_PROXY)
        self.auth.on_request = lambda wire: wire.stream(1 << 30, chunked=False)
        self.assertEqual((await self.visit(b"/"))[0], 200)
        await self.until(lambda: self.auth.wires[0].lost)

    async def test_away(self) -> None:
        """A service that is gone lets nobody pass; one that is back is asked again."""
        await self.serving(OAUTH2_PROXY)
        port = self.auth.endpoint.port
        stopped = self.auth.stop()
        assert stopped is not None
        await stopped
        self.assertEqual((await self.visit(b"/", b"Cookie: session=anna"))[0], 500)
        self.auth.listen(port)
        self.assertEqual((await self.visit(b"/", b"Cookie: session=anna"))[0], 200)

    async def test_forbidden(self) -> None:
        """Without the operator's word, no URL leads to this machine: not by a name, which is looked at when it is dialled."""
        await self.serving(OAUTH2_PROXY, "--auth-url-allow=10.0.0.0/8")
        self.assertEqual((await self.visit(b"/", b"Cookie: session=anna"))[0], 500)
        self.assertEqual((self.auth.wires, self.app.requests), ([], 0))
