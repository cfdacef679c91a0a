"""Error pages, heads of answers and held bodies beside a real nginx, which is told what ingress-nginx would tell it."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.nginx import need_nginx, run_nginx
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.peers.upstreams import UpstreamWire
from tests.fakes.processes import free_port

PREFIX = "nginx.ingress.kubernetes.io"
CODES = (302, 401, 404, 418, 502)
TOLD = (
    b"x-code", b"x-format", b"x-original-uri", b"x-namespace", b"x-ingress-name", b"x-service-name", b"x-service-port",
    b"x-forwarded-for", b"host", b"accept", b"cookie",
)  # fmt: skip
SERVER = """
worker_processes 1;
events {{}}
http {{
  access_log off;
  client_body_temp_path {home}/a; proxy_temp_path {home}/b; fastcgi_temp_path {home}/c;
  uwsgi_temp_path {home}/d; scgi_temp_path {home}/e;
  server {{
    listen 127.0.0.1:{port};
    proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
    location / {{
      proxy_intercept_errors on; proxy_buffering off; proxy_buffer_size 4k; proxy_request_buffering on;
      {pages}
      proxy_pass http://{app};
    }}
    {locations}
  }}
}}
"""
PAGE = """
    location @page_{code} {{
      internal; proxy_intercept_errors off; rewrite (.*) / break;
      proxy_set_header X-Code {code}; proxy_set_header X-Format $http_accept; proxy_set_header X-Original-URI $request_uri;
      proxy_set_header X-Namespace {namespace}; proxy_set_header X-Ingress-Name app; proxy_set_header X-Service-Name app;
      proxy_set_header X-Service-Port 80; proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header Host $http_host;
      proxy_set_header Connection "";
      proxy_pass http://{pages};
    }}
"""


def play_app(wire: UpstreamWire) -> None:
    """Answer with the status, or with as long a head, as the path says."""
    word = wire.heads[-1].split(b" ")[1].partition(b"?")[0].strip(b"/").decode()
    kind, _, number = word.partition("-")
    head = b"HTTP/1.1 %d Yes\r\nContent-Length: 3\r\nSet-Cookie: app=1\r\n" % (
        int(number) if kind == "status" else 200
    )
    if number == "401":
        head += b'WWW-Authenticate: Basic realm="app"\r\n'
    if kind == "head":
        head += b"X-Long: " + b"x" * (int(number) - len(head) - len(b"X-Long: \r\n\r\n")) + b"\r\n"
    wire.write(head + b"\r\napp")


def play_pages(wire: UpstreamWire) -> None:
    """Answer with what was told; 418 leads to the login page."""
    line, *lines = wire.heads[-1].split(b"\r\n")
    told = {name.lower(): value for name, _, value in (one.partition(b": ") for one in lines)}
    said = b"\n".join([line, *(b"%b=%b" % (name, told.get(name, b"-")) for name in TOLD)])
    code = told[b"x-code"]
    fields = b"Location: https://login.test/\r\n" if code == b"418" else b"Set-Cookie: seen=1\r\n"
    status = b"302" if code == b"418" else code
    wire.write(b"HTTP/1.1 %b Page\r\n%bContent-Length: %d\r\n\r\n%b" % (status, fields, len(said), said))


class BesideNginxTests(EndToEndCase):
    """The same requests to both."""

    async def begin(self) -> None:
        """Start both before the same application and the same default backend."""
        need_nginx()
        self.app, self.pages = self.upstream(b"app"), self.upstream(b"pages")
        self.app.on_request, self.pages.on_request = play_app, play_pages
        shown: dict[str, Any] = ingress_object("app", "shop.test")
        asked = {
            "custom-http-errors": ",".join(map(str, CODES)),
            "default-backend": "pages",
            "proxy-buffer-size": "4k",
            "proxy-request-buffering": "on",
        }
        shown["metadata"]["annotations"] = {f"{PREFIX}/{name}": value for name, value in asked.items()}
        self.write("app", shown, service_object("app"), service_object("pages"))
        ours = self.start_with_manifests(
            f"--endpoint={NAMESPACE}/app={self.app.endpoint}",
            f"--endpoint={NAMESPACE}/pages={self.pages.endpoint}",
        )
        home = Path(mkdtemp())
        self.addCleanup(rmtree, home)
        self.nginx = free_port()
        settings = SERVER.format(
            home=home,
            port=self.nginx,
            app=self.app.endpoint,
            pages=" ".join(f"error_page {code} = @page_{code};" for code in CODES),
            locations="".join(
                PAGE.format(code=code, namespace=NAMESPACE, pages=self.pages.endpoint) for code in CODES
            ),
        )
        run_nginx(self, home, settings, self.nginx)
        await self.until_ready(ours)

    async def both(self, path: bytes, method: bytes = b"GET") -> list[tuple[int, list[bytes], bytes]]:
        """Return what both answer: status, fields that are not about the connection, body."""
        found = []
        for port in (self.http, self.nginx):
            client = await self.connect(port)
            fields = b"Accept: text/html\r\nCookie: a=b\r\nConnection: close\r\n"
            client.send(b"%b %b HTTP/1.1\r\nHost: shop.test\r\n%b\r\n" % (method, path, fields))
            await client.answer().addTimeout(PATIENCE, self.reactor)
            (answer,) = client.answers
            kept = (b"set-cookie", b"location", b"www-authenticate", b"content-length", b"x-long")
            lines = [line for line in answer.head.split(b"\r\n")[1:] if line.lower().startswith(kept)]
            found.append((answer.status, sorted(lines), answer.body))
        return found

    async def test_error_pages(self) -> None:
        """Both replace the same answers by the same pages, and tell the default backend the same."""
        await self.begin()
        for code in (200, 201, 301, 400, 403, 500, 503, *CODES):
            ours, theirs = await self.both(b"/status-%d?a=b" % code)
            self.assertEqual(ours, theirs, code)
            self.assertEqual(b"x-code=%d" % code in ours[2], code in CODES)

    async def test_heads(self) -> None:
        """Both take a head of 4096 bytes, and none of one more."""
        await self.begin()
        for size, status in ((1000, 200), (4095, 200), (4096, 200), (4097, 502), (9000, 502)):
            ours, theirs = await self.both(b"/head-%d" % size)
            self.assertEqual((ours[0], theirs[0]), (status, status), size)

    async def test_held(self) -> None:
        """Neither asks the endpoint before it has the body."""
        await self.begin()
        for port in (self.http, self.nginx):
            requests: list[bytes] = []
            self.app.on_head = lambda wire, seen=requests: seen.append(wire.heads[-1])  # type: ignore[misc]
            client = await self.connect(port)
            client.send(b"POST /status-200 HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 6\r\n\r\nabc")
            self.assertEqual(await self.get(port, "/status-201"), (201, b"app"))
            self.assertEqual([head[:4] for head in requests], [b"GET "])
            client.send(b"def")
            await client.answer().addTimeout(PATIENCE, self.reactor)
            self.assertEqual((client.answers[0].status, len(requests)), (200, 2))
