"""Clients that speak HTTP/2: what reaches endpoints, which speak HTTP/1.1, and what comes back."""

from conformance.cluster import Object
from conformance.ingress_nginx.case import Ask, Case, Told, ingress, secret
from conformance.ingress_nginx.cases.certificates import certificate
from conformance.ingress_nginx.cases.documents import EVERYBODY, FAILING, HTTP2, SEVERAL_HOSTS
from conformance.ingress_nginx.cases.guards import BAD, GOOD, USER
from conformance.ingress_nginx.endpoints import Answer

LIMIT = 1 << 10


def by_http2(
    name: str, *asks: Ask, objects: tuple[Object, ...] = (), told: tuple[Told, ...] = (), **annotations: str
) -> Case:
    """An Ingress with a certificate of its own."""
    whole = (ingress(tls="own", **annotations), certificate("own", f"{name}.test"), *objects)
    return Case(name, whole, asks, told=told)


def ask(target: str = "/", method: str = "GET", *fields: tuple[str, str], body: bytes = b"") -> Ask:
    return Ask(target, method, fields=fields, body=body, http2=True)


CASES = (
    by_http2(
        "h2",
        ask(),
        ask("/a?b=c&d"),
        ask("/a%20b/%2F/../c"),
        ask("/a//b"),
        ask("/", "HEAD"),
        ask("/", "OPTIONS"),
        ask("/p", "POST", body=b"abc"),
        ask("/p", "PUT", body=b"a" * 100_000),
        ask("/p", "POST", ("Content-Length", "0")),
        ask("/p", "POST"),
        ask("/p", "DELETE", body=b"x"),
        ask("/", "GET", ("Cookie", "a=1"), ("Cookie", "b=2")),
        ask("/", "GET", ("X-A", "1"), ("X-A", "2")),
        ask("/", "GET", ("X-Empty", "")),
        ask("/", "GET", ("TE", "trailers")),
        ask("/", "GET", ("Accept-Encoding", "gzip")),
        ask("/", "GET", ("X_Under", "1")),
        ask("/", "GET", ("X-Forwarded-For", "1.2.3.4"), ("X-Forwarded-Proto", "http")),
        Ask("/", host="nobody.test", http2=True),
        Ask("/", host="HOST:8443", http2=True),
        Ask("/", host="H2.test", http2=True),
        Ask("/", host="", fields=(("host", "HOST"),), http2=True),
        Ask("/", "POST", body=b"abc", unsized=True, trailers=(("x-sum", "1"),), http2=True),
        told=(
            Told("*", EVERYBODY, "* */%2F/*"),
            Told("*", SEVERAL_HOSTS, "* https://nobody.test/ *"),
            Told("*", HTTP2, "* with trailers"),
        ),
    ),
    by_http2(
        "h2-malformed",
        ask("/", "GET", ("Connection", "close")),
        ask("/", "GET", ("Transfer-Encoding", "chunked")),
        ask("/", "GET", ("TE", "gzip")),
        ask("/p", "POST", ("Content-Length", "5"), body=b"abc"),
        ask("/p", "POST", ("Content-Length", "2"), body=b"abc"),
        ask("a"),
        ask(""),
        told=(Told("*", HTTP2),),
    ),
    by_http2(
        "h2-body-size",
        *(ask("/", "POST", body=b"a" * length) for length in (LIMIT - 1, LIMIT, LIMIT + 1, 5 * LIMIT)),
        *(
            Ask("/", "POST", body=b"a" * length, unsized=True, http2=True)
            for length in (1, LIMIT, LIMIT + 1, 5 * LIMIT)
        ),
        proxy_body_size="1k",
    ),
    by_http2("h2-app-root", ask(), ask("/a"), app_root="/x"),
    by_http2("h2-permanent", ask("/a?b=c"), permanent_redirect="https://n.test"),
    by_http2(
        "h2-basic",
        ask(),
        ask("/", "GET", *GOOD),
        ask("/", "GET", *BAD),
        ask("/", "POST", *BAD, body=b"abc"),
        objects=(secret("users", auth=USER),),
        auth_type="basic",
        auth_secret="users",
        auth_realm="Staff",
    ),
    by_http2(
        "h2-cors",
        ask("/", "GET", ("Origin", "https://a.test")),
        ask("/", "OPTIONS", ("Origin", "https://a.test"), ("Access-Control-Request-Method", "GET")),
        enable_cors="true",
    ),
    Case(
        "h2-answers",
        (ingress(tls="own"), certificate("own", "h2-answers.test")),
        tuple(
            ask(f"/{path}")
            for path in ("404", "204", "304", "503", "fields", "connection", "cookies", "breaks", "empty")
        ),
        answers={
            "web": {
                "/404": Answer(404, body="gone"),
                "/204": Answer(204),
                "/304": Answer(304, (("ETag", '"a"'),)),
                "/503": Answer(503),
                "/fields": Answer(fields=(("X-A", "1"), ("X-A", "2"), ("X-MiXed", "a"), ("X-Empty", ""))),
                "/connection": Answer(fields=(("Keep-Alive", "timeout=5"), ("Upgrade", "h2c"))),
                "/cookies": Answer(fields=(("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"))),
                "/breaks": Answer(breaks=True),
            }
        },
        told=(Told("endpoints", FAILING, "* */breaks *"), Told("answer.*", HTTP2)),
    ),
    Case(
        "h2-off",
        (ingress(tls="own"), certificate("own", "h2-off.test")),
        (ask(), ask("/p", "POST", body=b"abc")),
        config={"use-http2": "false"},
        starts=True,
    ),
)
