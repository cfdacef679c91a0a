"""Every pair of HTTP/1.1 and HTTP/2, through the whole controller as a process: curl and h2load are the clients, over TLS."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import signal
from pathlib import Path
from typing import Any

from attrs import frozen
from h2.errors import ErrorCodes
from twisted.internet.defer import Deferred
from twisted.internet.utils import getProcessOutputAndValue

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.bodies import MEGABYTE, PIECE, digest_of, piece_at
from tests.fakes.certificates import Authority, issue, make_authority
from tests.fakes.http2.upstreams import Http2Request, Http2Upstream
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object
from tests.fakes.peers.upstreams import Upstream, UpstreamWire

CURL = shutil.which("curl")
H2LOAD = shutil.which("h2load")
PREFIX = "nginx.ingress.kubernetes.io"

ONE = "one.test"
"""Its endpoint speaks HTTP/1.1."""
TWO = "two.test"
"""Its endpoint speaks HTTP/2."""
SMALL = "small.test"
"""It leads where the first one does, and takes small bodies only."""
GUARDED = "guarded.test"
"""It wants a certificate of clients."""

BIG = 4 * MEGABYTE
CUT = 100_000
"""What an answer says that it has; half of it comes."""


def answer_one(wire: UpstreamWire) -> None:
    """Answer in HTTP/1.1 what the path asks for."""
    line = wire.heads[-1].split(b" ", 2)
    path = line[1]
    if path == b"/big" and line[0] == b"HEAD":
        wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % BIG)
    elif path in (b"/big", b"/chunked"):
        wire.stream(BIG, chunked=path == b"/chunked")
    elif path == b"/until-close":
        wire.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        for at in range(0, MEGABYTE, PIECE):
            wire.write(piece_at(at, PIECE))
        wire.close()
    elif path == b"/upload":
        body = b"%d %b" % (wire.body_size, wire.digest.hexdigest().encode())
        wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    elif path == b"/empty":
        wire.write(b"HTTP/1.1 204 No Content\r\nX-Is: empty\r\n\r\n")
    elif path == b"/same":
        wire.write(b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\nContent-Length: 5\r\n\r\n')
    elif path == b"/hints":
        wire.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n")
        wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhints")
    elif path == b"/trailers":
        wire.write(b"HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n")
        wire.write(b"3\r\nabc\r\n0\r\nX-Sum: 294\r\n\r\n")
    elif path == b"/cut":
        wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (CUT, bytes(CUT // 2)))
        wire.close()
    else:
        wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none")


def answer_two(request: Http2Request) -> None:
    """Answer in HTTP/2 what the path asks for."""
    path, h2, stream = request.fields[":path"], request.wire.h2, request.stream
    if path == "/big" and request.fields[":method"] == "HEAD":
        h2.send_headers(stream, [(":status", "200"), ("content-length", str(BIG))], end_stream=True)
    elif path == "/big":
        request.stream_out(BIG)
    elif path == "/upload":
        request.answer(b"%d %b" % (request.size, request.digest.hexdigest().encode()))
    elif path == "/empty":
        h2.send_headers(stream, [(":status", "204"), ("x-is", "empty")], end_stream=True)
    elif path == "/same":
        h2.send_headers(
            stream, [(":status", "304"), ("etag", '"1"'), ("content-length", "5")], end_stream=True
        )
    elif path == "/hints":
        h2.send_headers(stream, [(":status", "103"), ("link", "</a.css>; rel=preload")])
        request.answer(b"hints")
    elif path == "/trailers":
        request.answer(b"abc", [("x-sum", "294")], ("trailer", "x-sum"))
    elif path == "/cut":
        h2.send_headers(stream, [(":status", "200"), ("content-length", str(CUT))])
        h2.send_data(stream, bytes(16_000))
        h2.reset_stream(stream, ErrorCodes.INTERNAL_ERROR)
    else:
        request.answer(b"two")
    request.wire.flush()


@frozen
class Got:
    """What curl got: its exit status, all heads, and the body."""

    code: int
    heads: str
    size: int
    digest: str
    body: bytes

    @property
    def status(self) -> int:
        """The status of the last head."""
        return self.statuses[-1] if self.statuses else 0

    @property
    def statuses(self) -> list[int]:
        """The status of each head."""
        return [int(found) for found in re.findall(r"^HTTP/\S+ (\d{3})", self.heads, re.MULTILINE)]

    def fields(self, name: str) -> list[str]:
        """The values of a field, in heads and trailers."""
        return re.findall(rf"^{name}: (.*?)\r?$", self.heads, re.MULTILINE | re.IGNORECASE)


class PairsCase(EndToEndCase):
    """Hosts with endpoints of both kinds."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start all."""
        super().setUp()
        self.authority = make_authority()
        self.one = Upstream(self.reactor, answer_one)
        self.two = Http2Upstream(self.reactor)
        self.two.on_request = answer_two
        one, two = self.one.listen().port, self.two.listen().port
        self.addCleanup(self.one.stop)
        self.addCleanup(self.two.stop)
        self.visitors = make_authority("Visitors")
        trusted = secret_object("visitors", *issue(self.visitors, []))
        trusted["data"]["ca.crt"] = base64.b64encode(self.visitors.pem).decode()
        speaks_two = service_object("two")
        speaks_two["spec"]["ports"][0]["appProtocol"] = "kubernetes.io/h2c"
        self.write(
            "all",
            speaks_two,
            trusted,
            *(service_object(name) for name in ("one", "small", "guarded")),
            self.ingress(ONE, proxy_body_size="0"),
            self.ingress(TWO, proxy_body_size="0"),
            self.ingress(SMALL),
            self.ingress(GUARDED, auth_tls_secret=f"{NAMESPACE}/visitors"),
        )
        self.rotate(self.authority)
        ports = {"one": one, "small": one, "guarded": one, "two": two}
        self.controller = self.start_with_manifests(
            *(f"--endpoint={NAMESPACE}/{name}=127.0.0.1:{port}" for name, port in ports.items()),
        )
        await self.until_ready(self.controller)

    def ingress(self, host: str, **annotations: str) -> dict[str, Any]:
        """Return the Ingress of a host, with annotations whose names have underscores for hyphens."""
        made = ingress_object(host.removesuffix(".test"), host, "cert")
        made["metadata"]["annotations"] = {
            f"{PREFIX}/{name.replace('_', '-')}": value for name, value in annotations.items()
        }
        return made

    def rotate(self, authority: Authority) -> None:
        """Serve certificates of this authority from now on."""
        self.write("cert", secret_object("cert", *issue(authority, [ONE, TWO, SMALL, GUARDED])))
        self.trust = self.directory / "authority.pem"
        self.trust.write_bytes(authority.pem)

    async def curl(self, how: str, host: str, path: str, *options: str) -> Got:
        """Ask by curl; the heads that come and the body are kept in files."""
        body, heads = self.directory / "body", self.directory / "heads"
        for file in (body, heads):
            file.write_bytes(b"")
        arguments = (
            *("-s", "-m", "60", "-o", str(body), "-D", str(heads), "--cacert", str(self.trust)),
            *("--resolve", f"{host}:{self.https}:127.0.0.1", how, *options),
            f"https://{host}:{self.https}{path}",
        )
        _, _, code = await getProcessOutputAndValue(CURL, arguments, env={})
        content = body.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        return Got(code, heads.read_bytes().decode("latin-1"), len(content), digest, content[:1000])

    async def ends_well(self) -> None:
        """Check that the process stops cleanly, and that nobody has anything against what it sent."""
        await self.disconnect()
        self.controller.signal(signal.SIGTERM)
        await self.stopped(self.controller)
        self.assertEqual([fault for wire in self.two.wires for fault in wire.faults], [])

    def large_file(self) -> Path:
        """Return a file with a large body."""
        file = self.directory / "large"
        with file.open("wb") as out:
            for at in range(0, BIG, PIECE):
                out.write(piece_at(at, PIECE))
        return file


class CurlTests(PairsCase):
    """curl, in both versions, and endpoints of both."""

    if CURL is None:
        skip = "there is no curl"

    async def test_pairs(self) -> None:
        """Whoever speaks what: bodies both ways, answers without one, interim ones, and trailers are the same."""
        large = self.large_file()
        for how, version in (("--http2", "2"), ("--http1.1", "1.1")):
            for host in (ONE, TWO):
                got = await self.curl(how, host, "/big")
                self.assertEqual((got.code, got.status), (0, 200))
                self.assertEqual((got.size, got.digest), (BIG, digest_of(BIG)))
                self.assertTrue(got.heads.startswith(f"HTTP/{version} 200"))

                got = await self.curl(how, host, "/upload", "--data-binary", f"@{large}")
                self.assertEqual((got.status, got.body), (200, f"{BIG} {digest_of(BIG)}".encode()))
                # Of unknown length; in HTTP/2 curl leaves that field out.
                got = await self.curl(
                    how, host, "/upload", "-T", str(large), "-H", "Transfer-Encoding: chunked"
                )
                self.assertEqual((got.status, got.body), (200, f"{BIG} {digest_of(BIG)}".encode()))

                got = await self.curl(how, host, "/big", "--head")
                # curl writes the head where the body belongs, and nothing behind it.
                self.assertEqual((got.code, got.status, got.size), (0, 200, len(got.heads)))
                self.assertEqual(got.fields("content-length"), [str(BIG)])
                got = await self.curl(how, host, "/empty")
                self.assertEqual((got.code, got.status, got.size), (0, 204, 0))
                self.assertEqual(got.fields("x-is"), ["empty"])
                got = await self.curl(how, host, "/same")
                self.assertEqual((got.code, got.status, got.fields("etag")), (0, 304, ['"1"']))

                got = await self.curl(how, host, "/hints")
                self.assertEqual((got.code, got.statuses, got.body), (0, [103, 200], b"hints"))
                self.assertEqual(got.fields("link"), ["</a.css>; rel=preload"])
                got = await self.curl(how, host, "/trailers", "-H", "TE: trailers")
                self.assertEqual((got.code, got.body, got.fields("x-sum")), (0, b"abc", ["294"]))
        lines = [line.split(b" ") for line in self.access_log.read_bytes().splitlines()]
        self.assertEqual({line[10] for line in lines}, {b"HTTP/2.0", b"HTTP/1.1"})
        await self.ends_well()

    async def test_framing(self) -> None:
        """Chunked answers, and those that last until upstream closes, arrive whole."""
        for how in ("--http2", "--http1.1"):
            got = await self.curl(how, ONE, "/chunked")
            self.assertEqual((got.code, got.digest), (0, digest_of(BIG)))
            got = await self.curl(how, ONE, "/until-close")
            self.assertEqual((got.code, got.digest), (0, digest_of(MEGABYTE)))
            if how == "--http2":
                self.assertEqual(got.fields("transfer-encoding") + got.fields("connection"), [])
        await self.ends_well()

    async def test_cut_short(self) -> None:
        """An answer that breaks off is an error of its stream or connection, and no short answer."""
        for how, code in (("--http2", 92), ("--http1.1", 18)):
            for host in (ONE, TWO):
                got = await self.curl(how, host, "/cut")
                self.assertEqual(got.code, code)
                self.assertLess(got.size, CUT)
        await self.ends_well()

    async def test_too_large(self) -> None:
        """A body that is too large is refused while curl still sends it, and curl reads the refusal."""
        large = self.large_file()
        for how in ("--http2", "--http1.1"):
            for more in ((), ("-H", "Transfer-Encoding: chunked")):
                got = await self.curl(how, SMALL, "/upload", "-T", str(large), *more)
                self.assertEqual((got.status, got.code), (413, 0))
        self.assertLess(max(wire.body_size for wire in self.one.wires), 2 * MEGABYTE)
        await self.ends_well()

    async def test_misdirected(self) -> None:
        """A host that wants certificates of clients is not to be had over the connection of another one."""
        chain, key = issue(self.visitors, [], common_name="Ada", is_client=True)
        file = self.directory / "ada.pem"
        file.write_bytes(chain + key)
        other = ("-H", f"Host: {GUARDED}:{self.https}")
        for how in ("--http2", "--http1.1"):
            self.assertEqual((await self.curl(how, ONE, "/", *other)).status, 421)
            self.assertEqual((await self.curl(how, ONE, "/", *other, "--cert", str(file))).status, 421)
            self.assertEqual((await self.curl(how, GUARDED, "/")).status, 400)
            self.assertEqual((await self.curl(how, GUARDED, "/", "--cert", str(file))).status, 200)
        await self.ends_well()


class LoadTests(PairsCase):
    """Many requests by h2load."""

    if CURL is None or H2LOAD is None:
        skip = "there is no h2load (it is in Debian's package nghttp2-client), or no curl"

    async def load(self, host: str, count: int, *options: str) -> str:
        """Send so many requests; return what h2load says of them."""
        arguments = (
            *("-n", str(count), f"--connect-to=127.0.0.1:{self.https}", *options),
            f"https://{host}:{self.https}/",
        )
        out, _, _ = await getProcessOutputAndValue(H2LOAD, arguments, env={})
        found = re.search(r"^requests: (.*)$", bytes(out).decode(), re.MULTILINE)
        return found[1] if found is not None else bytes(out).decode()

    def all_of(self, count: int) -> str:
        """Return what h2load says when none failed."""
        return (
            f"{count} total, {count} started, {count} done, {count} succeeded, 0 failed, 0 errored, 0 timeout"
        )

    async def test_one_connection(self) -> None:
        """Hundreds of requests on one connection all succeed, one at a time and many at once."""
        for host, options in (
            (ONE, ("-c", "1", "-m", "20")),
            (TWO, ("-c", "1", "-m", "20")),
            (TWO, ("-c", "1", "-m", "1")),
            (ONE, ("-c", "8", "-m", "4", "-d", str(self.small_file()))),
            (TWO, ("-c", "8", "--h1")),
        ):
            self.assertEqual(await self.load(host, 500, *options), self.all_of(500))
        await self.ends_well()

    async def test_changes_under_load(self) -> None:
        """Routes and certificates that change again and again cost no request, and the last ones are in force."""
        self.is_over = False

        async def change() -> int:
            rounds = 0
            while not self.is_over:
                rounds += 1
                self.write("more", self.ingress(f"more-{rounds}.test"), service_object(f"more-{rounds}"))
                self.authority = make_authority()
                self.rotate(self.authority)
                await self.turn(0.15)
            return rounds

        async def published() -> float:
            metrics = (await self.get(self.admin, "/metrics"))[1].decode()
            [count] = re.findall(r"^ingress_snapshot_seconds_count (\S+)$", metrics, re.MULTILINE)
            return float(count)

        before = await published()
        changes = Deferred.fromCoroutine(change())
        # A load may be over before files have been read a second time.
        while await published() < before + 3:
            loads = [self.load(host, 1500, "-c", "4", "-m", "5") for host in (ONE, TWO)]
            outcomes = [await outcome for outcome in [Deferred.fromCoroutine(load) for load in loads]]
            self.assertEqual(outcomes, [self.all_of(1500)] * 2)
        self.is_over = True
        self.assertGreater(await changes, 2)
        while (got := await self.curl("--http2", TWO, "/")).code == 60:
            # Files are read a few times a second.
            await self.turn(0.1)
        self.assertEqual((got.code, got.body), (0, b"two"))
        await self.ends_well()

    def small_file(self) -> Path:
        """Return a file with a small body."""
        file = self.directory / "small"
        file.write_bytes(bytes(1024))
        return file
