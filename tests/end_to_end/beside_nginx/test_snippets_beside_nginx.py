r"""Snippets beside a real nginx, whose locations are like those of ingress-nginx: both must do the same.

It needs nginx with its module headers-more (``apt install nginx-light libnginx-mod-http-headers-more-filter``).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Thread
from typing import Any

from attrs import Factory, frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress.routing.paths import normal_path
from tests.annotations.snippets.playing import Stage
from tests.fakes.filter_parts import FakeFacts
from tests.fakes.nginx import need_nginx, run_nginx
from tests.fakes.processes import free_port

MODULE = Path("/usr/lib/nginx/modules/ngx_http_headers_more_filter_module.so")
UPSTREAM_FIELDS = (
    ("Content-Type", "text/html"),
    ("X-Up", "1"),
    ("X-Powered-By", "php"),
    ("Cache-Control", "private"),
    ("Last-Modified", "Wed, 31 Dec 2025 23:00:00 GMT"),
)
OF_CONNECTIONS = frozenset(
    ("date", "connection", "content-length", "server", "keep-alive", "transfer-encoding")
)


@frozen
class Asked:
    """One request."""

    target: str = "/"
    method: str = "GET"
    fields: dict[str, str] = Factory(dict)


def q(target: str = "/", method: str = "GET", **fields: str) -> Asked:
    """A request, with fields of these names."""
    return Asked(target, method, {name.replace("_", "-"): value for name, value in fields.items()})


@frozen
class Case:
    """Snippets, and requests that meet them."""

    configuration: str
    asked: tuple[Asked, ...] = (q(),)
    server: str = ""
    sent: tuple[str, ...] = ()
    """Fields to the endpoint that are compared, too."""


STATUSES = tuple(q(x_status=str(one)) for one in (200, 201, 202, 206, 301, 302, 303, 307, 308, 400, 404, 500))
BROWSER = q("/Path?a=1&z=0", user_agent="Some Bot/1", cookie="s=x")
CONDITIONS = (
    "$host != b",
    "$http_user_agent ~ bot",
    '$http_user_agent ~* "(bot|crawl)"',
    "$http_user_agent !~* bot",
    "$http_user_agent !~ bot",
    "$request_uri ~ ^/Path\\?a",
    "$arg_a",
    "$arg_z",
    "$arg_none",
    "$arg_none = ''",
    "$cookie_s = x",
    "$uri = /Path",
    " $arg_a = 1 ",
    "$arg_A = 1",
    "$http_user_agent",
)
CASES = (
    Case('more_set_headers "X: a" "Y:b c"; more_set_headers \'X: z\';', (q(), q(x_status="404"))),
    Case('more_set_headers "X-Up:" "X-A"; more_clear_headers "X-Pow*";'),
    Case(
        'more_set_headers -s "404 500" -s 403 -t "text/html text/css" "X: $status-$request_method";',
        (q(), q(x_status="404"), q(x_status="403")),
    ),
    Case('more_set_headers "X: a; b, c:d"; more_set_headers "X-E: ";'),
    Case("add_header X a; add_header Y b always;", STATUSES),
    Case(
        'add_header X $http_none; add_header Z "$args|$is_args|$uri|$request_uri|$scheme|$arg_a|$cookie_c|$http_x_y";',
        (q("/p%20q/../r?a=1&b=%20", cookie="c=9", x_y="why"), q()),
    ),
    Case('add_header X-Q "a\\"b\\\\c" always; add_header X-R \'it"s\' always; add_header X-S a\\tb always;'),
    Case(
        'more_set_headers "M: here"; add_header X here;',
        server='add_header S server; more_set_headers "M: server" "N: server";',
    ),
    Case('more_set_headers "M: here";', server="add_header S server;"),
    Case(
        'if ($arg_a) { add_header X if; } if ($arg_b) { more_set_headers "I: if"; } add_header X here; add_header Y here;',
        (q(), q("/?a=1"), q("/?b=1"), q("/?a=1&b=1"), q("/?a=0")),
    ),
    *(
        Case(f"expires {text};", (q(), q(x_status="404")))
        for text in ("1h", "-1", "0", "epoch", "max", "off", "modified 10m", "1M2w", "@15h30m")
    ),
    Case('expires 1y; add_header Cache-Control "public, immutable";'),
    Case('proxy_hide_header X-Powered-By; more_set_headers "X-Up: mine";'),
    *(
        Case(text, (q("/a?b=1"), q("/")))
        for text in (
            "return 403;",
            "return 200 ok;",
            "return 204;",
            "return 418 teapot;",
            "default_type application/json; return 200 '{}';",
            "return 301 https://b.test$request_uri;",
            "return 302 /new;",
            "return https://b.test/;",
            "return 308 /x$is_args$args;",
            "return 307 //b.test/;",
            "add_header X a; return 301 /y;",
            "add_header X a; return 404;",
            "break; return 403;",
            "if ($arg_b) { break; } return 403;",
        )
    ),
    *(
        Case(text, (q("/a/b?q=1"), q("/c"), q("/a/x%20y")))
        for text in (
            "rewrite ^/a/(.*)$ /new/$1 break;",
            "rewrite ^/a/(.*)$ /new/$1? break;",
            "rewrite ^/a/(.*)$ /new?n=$1 break;",
            "rewrite ^/a /b; rewrite ^/b /c break;",
            "rewrite ^/a/(.*) /$1 redirect;",
            "rewrite ^/a/(.*) https://b.test/$1 permanent;",
            "rewrite ^/a/(.*) $scheme://b.test/$1? last;",
            "if ($arg_q) { rewrite ^ /in break; } rewrite ^ /out break;",
        )
    ),
    Case(
        'proxy_set_header X-A a; proxy_set_header X-User $http_x_user; proxy_set_header Cookie "";',
        (q(x_user="ann", cookie="c=1"), q()),
        sent=("x-a", "x-user", "cookie"),
    ),
    Case(
        'more_set_input_headers "X: $arg_a" "Y: y"; more_set_input_headers -r "A: 2" "B: 2"; more_clear_input_headers Z;',
        (q("/?a=1", A="1", Z="9"), q("/")),
        sent=("x", "y", "a", "b", "z"),
    ),
    Case(
        r"""set $origin "";
            if ($http_origin ~* "^https?://(?<name>[a-z]+)\.test$") { set $origin $http_origin; set $also "$1/$name"; }
            if ($origin) { add_header ACAO $origin; add_header X $also; }
            set $both "${origin}${request_method}";
            if ($both = "https://a.testOPTIONS") { return 204; }""",
        (
            q(origin="https://a.test"),
            q("/", "OPTIONS", origin="https://a.test"),
            q(origin="https://evil.example"),
        ),
    ),
    *(Case(f"if ({condition}) {{ return 418; }}", (BROWSER, q())) for condition in CONDITIONS),
    Case("limit_except GET POST { deny all; }", (q(), q("/", "DELETE"), q("/", "POST"))),
    Case("allow 10.0.0.0/8; deny all;"),
    Case("allow 127.0.0.1; deny all;"),
    Case("allow all;", server="deny all;"),
    Case("add_header X y;", server="deny 127.0.0.0/8;"),
    Case(
        "",
        tuple(map(q, ("/a", "/ab", "/a/", "/a/b", "/a/b/x", "/a/b/y.js", "/a/c/y.js", "/A", "/", "/x.js"))),
        r"location = /a { return 401; } location /a { return 402; } location /a/b { return 405; }"
        r"location ^~ /a/c { return 406; } location ~ \.js$ { return 409; } location ~* ^/A/B/x { return 410; }",
    ),
    Case(
        'more_set_headers "P: path";',
        (q("/health"), q()),
        'location = /health { add_header H h always; return 200 ok; } more_set_headers "S: s";',
    ),
    Case(
        "return 402;",
        (q("/?a=1"), q("/a"), q("/b"), q("/c")),
        "if ($arg_a) { return 401; } location /b { return 403; } rewrite ^/a /b;",
    ),
)


class _Endpoint(BaseHTTPRequestHandler):
    """Answers with the status that it is asked for, and keeps what it was asked."""

    protocol_version = "HTTP/1.1"
    last: tuple[str, dict[str, str]] | None = None

    def do_GET(self) -> None:
        type(self).last = (self.path, {name.lower(): value for name, value in self.headers.items()})
        self.send_response_only(int(self.headers.get("X-Status", "200")))
        for name, value in UPSTREAM_FIELDS:
            self.send_header(name, value)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    do_POST = do_OPTIONS = do_DELETE = do_GET

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing."""


def configuration(directory: str, port: int, upstream: int) -> str:
    """The configuration of nginx: a server for each case."""
    servers = "".join(
        f"""server {{ listen 127.0.0.1:{port}; server_name c{number}.test; port_in_redirect off; {case.server}
        location / {{ proxy_set_header Host $http_host; proxy_http_version 1.1; {case.configuration}
        proxy_pass http://127.0.0.1:{upstream}; }} }}
        """
        for number, case in enumerate(CASES)
    )
    paths = "".join(
        f"{one}_temp_path {directory}/{one};" for one in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""load_module {MODULE}; worker_processes 1;
        events {{ worker_connections 256; }}
        http {{ default_type text/html; access_log off; server_names_hash_bucket_size 128; {paths} {servers} }}"""


class BesideNginxTests(SynchronousTestCase):
    """The same snippets, here and there."""

    def setUp(self) -> None:
        need_nginx(MODULE, "libnginx-mod-http-headers-more-filter")
        self.directory = mkdtemp()
        self.addCleanup(rmtree, self.directory)
        upstream = ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint)
        upstream.daemon_threads = True
        thread = Thread(target=upstream.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(upstream.server_close)
        self.addCleanup(upstream.shutdown)
        self.port = free_port()
        folder = Path(self.directory)
        run_nginx(
            self, folder, configuration(self.directory, self.port, upstream.server_address[1]), self.port
        )

    def asked_of_nginx(self, host: str, asked: Asked) -> tuple[int, list[tuple[str, str]], bytes]:
        """Status, fields and body of nginx's answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(asked.method, asked.target, headers={"Host": host, **asked.fields})
            answer = connection.getresponse()
            return (
                answer.status,
                [(name.lower(), value) for name, value in answer.getheaders()],
                answer.read(),
            )
        finally:
            connection.close()

    def differences(self, number: int, case: Case, asked: Asked) -> Iterator[str]:
        """Yield what is different for one request."""
        host = f"c{number}.test"
        _Endpoint.last = None
        status, nginx_fields, body = self.asked_of_nginx(host, asked)
        raw = asked.target.encode()
        fields = {name.lower().encode(): value.encode() for name, value in asked.fields.items()}
        facts = FakeFacts(
            host=host.encode(),
            client=b"127.0.0.1",
            method=asked.method.encode(),
            target=raw,
            path=normal_path(raw.partition(b"?")[0]),
            fields={b"host": host.encode(), **fields},
        )
        stage = Stage(case.configuration, case.server)
        stage.services.clock.began = datetime.now(UTC)
        upstream = tuple((name.encode(), value.encode()) for name, value in UPSTREAM_FIELDS)
        played = stage.play(facts, int(asked.fields.get("x-status", "200")), upstream)
        ours = [(name.decode().lower(), value.decode()) for name, value in played.answer.fields]
        is_page = played.reply is not None and not (played.reply.status == 200 and played.reply.body)
        for what, one, other in (
            ("status", status, played.status),
            ("fields", _compared(nginx_fields, is_page), _compared(ours, is_page)),
            ("reached the endpoint", _Endpoint.last is not None, played.reply is None),
        ):
            if one != other:
                yield f"{what}: nginx {one}, here {other}"
        if played.reply is not None and played.reply.status == 200 and body != played.reply.body:
            yield f"body: nginx {body!r}, here {played.reply.body!r}"
        if _Endpoint.last is not None and played.reply is None:
            target, got = _Endpoint.last
            if target != (played.request.target or raw).decode():
                yield f"target: nginx {target}, here {played.request.target!r}"
            sent = {name.decode().lower(): value.decode() for name, value in played.request.fields}
            for name in case.sent:
                if sent.get(name, "") not in (got.get(name, ""), ""):
                    yield f"{name} to the endpoint: nginx {got.get(name)}, here {sent.get(name)}"

    def test_same(self) -> None:
        """Status, fields, bodies and what the endpoint is asked are the same, request by request."""
        found = [
            f"{case.server} | {case.configuration} | {asked}: {difference}"
            for number, case in enumerate(CASES)
            for asked in case.asked
            # Another minute may have begun between both answers; it does not do so twice.
            if list(self.differences(number, case, asked))
            for difference in self.differences(number, case, asked)
        ]
        self.assertEqual(found, [])
        self.assertGreater(sum(len(case.asked) for case in CASES), 100)


def _compared(fields: list[tuple[str, str]], is_page: bool) -> list[tuple[str, str]]:
    """Return what of *fields* has to be the same: of times all but the last minute, of pages of errors not their type."""
    found = []
    for name, value in fields:
        if name in OF_CONNECTIONS or (is_page and name == "content-type"):
            continue
        if name == "expires" and value[-3:] == "GMT":
            value = value[:20]
        if name == "cache-control" and value.startswith("max-age="):
            value = f"max-age=~{round(int(value[8:]) / 60)}"
        found.append((name, value))
    return sorted(found)
