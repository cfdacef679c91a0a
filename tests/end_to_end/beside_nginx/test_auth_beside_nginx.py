"""External authentication beside a real nginx, configured as ingress-nginx would: whatever the service says, both do the same."""

from __future__ import annotations

import os

from tests.annotations.passwords.test_family import basic
from tests.annotations.passwords.test_htpasswd import PLAIN
from tests.end_to_end.filters.test_external_auth import ExternalAuthCase, fields_of, reply
from tests.fakes.nginx import need_nginx, run_nginx
from tests.fakes.objects import NAMESPACE
from tests.fakes.peers.upstreams import UpstreamWire
from tests.fakes.processes import free_port

STATUSES = (200, 201, 202, 204, 206, 299, 300, 302, 304, 400, 401, 402, 403, 404, 407, 429, 500, 502, 503)
WANTED = (200, 201, 302, 308, 404, 500)
"""Statuses of the application, whose answers cookies of the service go with or not."""
CASES: dict[str, tuple[str, str, dict[str, str]]] = {
    "plain": ("", "", {}),
    "always": ("always", "", {"auth-always-set-cookie": "true"}),
    "signin": ("", "error_page 401 = /signin;", {"auth-signin": "http://signin.test/start?rd=x"}),
    "snippet": (
        "",
        "",
        {
            "auth-response-headers": "",
            "configuration-snippet": "auth_request_set $who $upstream_http_x_user; proxy_set_header X-User $who;"
            "auth_request_set $gone $upstream_http_x_missing; proxy_set_header X-Missing $gone;",
        },
    ),
}
"""What each has in its location, and by its annotations."""
PASSWORDS = {
    "password": "",
    "password-or-service": "satisfy any;",
}
"""What they have in their locations beside a password and the sign-in page."""

_SERVER = """
server {{
    listen 127.0.0.1:{port};
    server_name {name}.test;
    location / {{
        auth_request /auth;
        auth_request_set $auth_cookie $upstream_http_set_cookie;
        add_header Set-Cookie $auth_cookie {always};
        auth_request_set $authHeader0 $upstream_http_x_user;
        proxy_set_header X-User $authHeader0;
        auth_request_set $authHeader1 $upstream_http_x_missing;
        proxy_set_header X-Missing $authHeader1;
        {error_page}
        proxy_set_header Host $http_host;
        proxy_pass http://{app};
    }}
    location = /auth {{
        internal;
        proxy_pass_request_body off;
        proxy_set_header Content-Length "";
        proxy_set_header X-Original-URL $scheme://$http_host$request_uri;
        proxy_set_header X-Original-Method $request_method;
        proxy_set_header X-Sent-From "nginx-ingress-controller";
        proxy_set_header X-Auth-Request-Redirect $request_uri;
        proxy_pass http://{auth}/check;
    }}
    location = /signin {{
        internal;
        add_header Set-Cookie $auth_cookie;
        return 302 http://signin.test/start?rd=x;
    }}
}}
"""
_NGINX = """
worker_processes 1;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {servers}
}}
"""
ASKED = (
    b"x-original-url",
    b"x-original-method",
    b"x-sent-from",
    b"x-auth-request-redirect",
    b"cookie",
    b"content-length",
)
"""Fields to the service that are compared."""


def decide(wire: UpstreamWire) -> None:
    """Answer with the status that the path of the request asks for."""
    status = int(fields_of(wire.heads[-1])[b"x-original-url"].split(b"/")[3])
    more = (
        b'WWW-Authenticate: Basic realm="x"',
        b"Set-Cookie: auth=1; Path=/",
        b"X-User: anna",
        b"Location: /else",
    )
    if status in (204, 304):
        wire.write(b"HTTP/1.1 %d X\r\n%b\r\n\r\n" % (status, b"\r\n".join(more)))
    else:
        reply(wire, b"%d X" % status, *more, body=b"what the service says")


def tell(wire: UpstreamWire) -> None:
    """Say who is there, with the status that the request asks for."""
    fields = fields_of(wire.heads[-1])
    said = b"%b %b %d" % (fields.get(b"x-user", b"-"), fields.get(b"x-missing", b"-"), wire.body_size)
    body = b"" if wire.heads[-1].startswith(b"HEAD") else said
    head = b"HTTP/1.1 %b X\r\nX-Said: %b\r\nSet-Cookie: app=1\r\nContent-Length: %d\r\n\r\n"
    wire.write(head % (fields[b"x-want"], said, len(said)) + body)


class BesideNginxTests(ExternalAuthCase):
    """The same requests, here and there."""

    async def asked(
        self, port: int, host: str, status: int, wanted: int, method: bytes, authorization: bytes = b""
    ) -> dict[str, object]:
        """Return what a client gets, and what the service was asked."""
        body = b"body" if method == b"POST" else b""
        lines = (
            b"%b /%d/x?y=z HTTP/1.1" % (method, status),
            b"Host: " + host.encode(),
            b"Connection: close",
            b"X-Want: %d" % wanted,
            b"X-User: root",
            b"X-Missing: root",
            b"Cookie: a=b",
            b"X-Original-URL: forged",
            b"Authorization: %b" % authorization if authorization else b"X-Nobody: 1",
            b"Content-Length: %d" % len(body) if body else b"X-Empty: 1",
            b"",
            body,
        )
        client = await self.connect(port)
        client.send(b"\r\n".join(lines))
        await self.until(lambda: client.lost)
        (answer,) = client.answers
        pairs = [line.partition(b": ")[::2] for line in answer.head.split(b"\r\n")[1:]]
        heads = [head for wire in self.auth.wires for head in wire.heads]
        service = fields_of(self.auth.wires[-1].heads[-1]) if heads else {}
        return {
            "status": answer.status,
            "said": [value for name, value in pairs if name.lower() == b"x-said"],
            "cookies": sorted(value for name, value in pairs if name.lower() == b"set-cookie"),
            "challenges": [value for name, value in pairs if name.lower() == b"www-authenticate"],
            "location": [value for name, value in pairs if name.lower() == b"location"],
            "asked": {name: service[name] for name in ASKED if name in service},
        }

    def nginx(self, name: str, always: str, error_page: str) -> int:
        """Run nginx with this in its location; return its port."""
        port = free_port()
        folder = self.directory / f"nginx-{name}"
        folder.mkdir()
        (folder / "auth").write_bytes(b"bob:" + PLAIN + b"\n")
        for path in (folder, folder / "auth"):
            path.chmod(0o755)
        server = _SERVER.format(
            port=port,
            name=name,
            always=always,
            error_page=error_page.format(folder=folder),
            app=self.app.endpoint,
            auth=self.auth.endpoint,
        )
        own = "user root;\n" if os.geteuid() == 0 else ""
        run_nginx(self, folder, own + _NGINX.format(folder=folder, servers=server), port)
        return port

    async def test_same(self) -> None:
        """Status, cookies, challenges, locations, what the service is asked and what the application is told are the same."""
        need_nginx()
        for name, (always, error_page, more) in CASES.items():
            await self.serving(
                {
                    "auth-url": "http://127.0.0.1:{port}/check",
                    "auth-response-headers": "X-User, X-Missing",
                    **more,
                },
                "--auth-url-allow=127.0.0.1",
            )
            self.app.on_request, self.auth.on_request = tell, decide
            port = self.nginx(name, always, error_page)
            for status in STATUSES:
                for wanted in WANTED if status == 200 else (200,):
                    for method in (b"GET", b"POST", b"HEAD"):
                        there = await self.asked(port, "localhost", status, wanted, method)
                        here = await self.asked(self.http, "localhost", status, wanted, method)
                        self.assertEqual(here, there, (name, status, wanted, method))

    async def test_passwords(self) -> None:
        """Beside a password, which is wrong or right or none, both send to the sign-in page in the same cases, and challenge alike."""
        need_nginx()
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "users", "namespace": NAMESPACE},
            "stringData": {"auth": "bob:" + PLAIN.decode()},
        }
        self.write("secret", secret)
        for name, satisfy in PASSWORDS.items():
            is_any = bool(satisfy)
            await self.serving(
                {
                    "auth-url": "http://127.0.0.1:{port}/check",
                    "auth-signin": "http://signin.test/start?rd=x",
                    "auth-response-headers": "X-User, X-Missing",
                    "auth-type": "basic",
                    "auth-secret": "users",
                    "auth-realm": "staff",
                    **({"satisfy": "any"} if is_any else {}),
                },
                "--auth-url-allow=127.0.0.1",
            )
            self.app.on_request, self.auth.on_request = tell, decide
            location = (
                'error_page 401 = /signin; auth_basic "staff"; auth_basic_user_file {folder}/auth;'
                f' proxy_set_header Authorization ""; {satisfy}'
            )
            port = self.nginx(name, "", location)
            for status in (200, 401, 403, 500):
                for shown in (b"", basic(b"bob", b"wrong"), basic()):
                    there = await self.asked(port, "localhost", status, 200, b"GET", shown)
                    here = await self.asked(self.http, "localhost", status, 200, b"GET", shown)
                    if is_any:
                        # There the challenges of both go with it, and cookies also of a service that says 403.
                        for one in (there, here):
                            del one["challenges"]
                            one["cookies"] = () if status == 403 else one["cookies"]
                    self.assertEqual(here, there, (name, status, shown))
