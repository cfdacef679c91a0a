"""What is asked and told beside the endpoint of a route, in a whole process: default backends and mirrors."""

from __future__ import annotations

from typing import Any

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.peers.upstreams import Upstream, UpstreamWire

PREFIX = "nginx.ingress.kubernetes.io"
ANNOTATIONS = {
    "custom-http-errors": "404,418,502",
    "default-backend": "pages",
    "mirror-request-body": "on",
}


def answer(wire: UpstreamWire, status: bytes, body: bytes, *fields: bytes) -> None:
    """Answer a request."""
    lines = (b"HTTP/1.1 " + status, *fields, b"Content-Length: %d" % len(body), b"", body)
    wire.write(b"\r\n".join(lines))


def play_app(wire: UpstreamWire) -> None:
    """Answer what the path says."""
    path = wire.heads[-1].split(b" ")[1]
    statuses = {b"/missing": b"404 Not Found", b"/login": b"418 I'm a teapot"}
    answer(wire, statuses.get(path, b"200 OK"), b"app: secret stack trace", b"X-Stack: secret")


def play_pages(wire: UpstreamWire) -> None:
    """Answer with the code that is told, or send to the login page; else serve pictures."""
    line, *lines = wire.heads[-1].split(b"\r\n")
    told = dict(one.split(b": ", 1) for one in lines if b": " in one)
    code = told.get(b"X-Code", b"200")
    if code == b"418":
        answer(wire, b"302 Found", b"", b"Location: https://login.test/")
        return
    said = b"%b of %b for %b" % (code, told.get(b"X-Service-Name", b"nobody"), line.split(b" ")[1])
    answer(wire, b"200 OK" if code == b"503" else code + b" Sorry", said, b"Set-Cookie: seen=1")


class BesideTests(EndToEndCase):
    """An application, a default backend, and a mirror that never answers."""

    @staticmethod
    def leave(upstream: Upstream) -> None:
        """Accept no more, and end what is open."""
        upstream.stop()
        for wire in upstream.open_wires:
            wire.close()

    async def test_all(self) -> None:
        """Errors are replaced, a Service without endpoints is stood in for, and copies go to the mirror: over real sockets."""
        app, pages, mirror = self.upstream(b"app"), self.upstream(b"pages"), self.upstream(b"")
        app.on_request, pages.on_request = play_app, play_pages
        copies: list[bytes] = []
        mirror.on_request = lambda wire: copies.append(wire.heads[-1].split(b" ")[1])
        shown: dict[str, Any] = ingress_object("app", "shop.test")
        shown["metadata"]["annotations"] = {
            f"{PREFIX}/{name}": value
            for name, value in (
                *ANNOTATIONS.items(),
                ("mirror-target", f"http://{mirror.endpoint}$request_uri"),
            )
        }
        gone = {"service": {"name": "gone", "port": {"number": 80}}}
        shown["spec"]["rules"][0]["http"]["paths"].append(
            {"path": "/gone", "pathType": "Prefix", "backend": gone}
        )
        self.write("app", shown, *(service_object(name) for name in ("app", "pages", "gone")))
        controller = self.start_with_manifests(
            f"--endpoint={NAMESPACE}/app={app.endpoint}",
            f"--endpoint={NAMESPACE}/pages={pages.endpoint}",
            "--mirror-target-allow=127.0.0.1",
        )
        await self.until_ready(controller)
        for path, status, body in (
            ("/", 200, b"app: secret stack trace"),
            ("/missing", 404, b"404 of app for /"),
            ("/gone/logo.png", 200, b"503 of gone for /gone/logo.png"),
            ("/login", 302, b""),
        ):
            self.assertEqual(await self.get(self.http, path), (status, body), path)
        found = await self.answer(self.http, "/missing", "shop.test")
        assert found is not None
        self.assertFalse(found.has(b"X-Stack: secret"))
        self.assertTrue(found.has(b"Set-Cookie: seen=1"))
        await self.until(lambda: len(copies) >= 5)
        self.assertEqual(sorted(copies), [b"/", b"/gone/logo.png", b"/login", b"/missing", b"/missing"])
        self.leave(app)
        await self.until_get((502, b"502 of app for /"), self.http)
        self.leave(pages)
        await self.until_get((502, b"502 Bad Gateway\n"), self.http)
