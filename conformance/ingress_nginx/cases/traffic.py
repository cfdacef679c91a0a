"""Canaries, affinity, hashing, limits, retries, mirrors and bodies."""

from conformance.ingress_nginx.case import Ask, Case, Told, external, gets, ingress
from conformance.ingress_nginx.cases.documents import ANNOTATIONS, FAILING, MIRRORS, UPSTREAM
from conformance.ingress_nginx.endpoints import Answer


def pair(**canary: str) -> tuple[dict[str, object], ...]:
    """A main Ingress, and a canary beside it."""
    return ingress({"/": "main"}), ingress({"/": "canary"}, name="canary", canary="true", **canary)


ALWAYS, NEVER, OTHER = (("X-Canary", "always"),), (("X-Canary", "never"),), (("X-Canary", "other"),)
OLD_PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 12_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
    " Version/12.1.2 Mobile/15E148 Safari/604.1"
)
"""A browser that takes ``SameSite=None`` for ``Strict``."""

CASES = (
    Case("canary-weight", pair(canary_weight="50"), (Ask(times=200),)),
    Case("canary-weight-total", pair(canary_weight="100", canary_weight_total="200"), (Ask(times=200),)),
    Case("canary-weight-all", pair(canary_weight="100"), (Ask(times=20),)),
    Case("canary-weight-none", pair(canary_weight="0"), (Ask(times=20),)),
    Case("canary-no-rule", pair(), (Ask(times=10),)),
    Case(
        "canary-false",
        (
            ingress({"/": "main"}),
            ingress({"/x": "canary"}, name="canary", canary="false", canary_weight="100"),
        ),
        gets("/", "/x"),
    ),
    Case(
        "canary-header",
        pair(canary_by_header="X-Canary"),
        (
            Ask(),
            Ask(fields=ALWAYS),
            Ask(fields=NEVER),
            Ask(fields=OTHER),
            Ask(fields=(("x-canary", "always"),)),
            Ask(fields=(("X-Canary", "ALWAYS"),)),
            Ask(fields=(("X-Canary", ""),)),
        ),
    ),
    Case(
        "canary-header-value",
        pair(canary_by_header="X-Canary", canary_by_header_value="beta"),
        (Ask(), Ask(fields=ALWAYS), Ask(fields=(("X-Canary", "beta"),)), Ask(fields=(("X-Canary", "Beta"),))),
    ),
    Case(
        "canary-header-pattern",
        pair(canary_by_header="X-Canary", canary_by_header_pattern="^b[0-9]+$"),
        (
            Ask(fields=ALWAYS),
            Ask(fields=(("X-Canary", "b12"),)),
            Ask(fields=(("X-Canary", "b"),)),
            Ask(fields=(("X-Canary", "B1"),)),
        ),
    ),
    Case(
        "canary-header-pattern-and-value",
        pair(canary_by_header="X-Canary", canary_by_header_pattern="^b$", canary_by_header_value="c"),
        (Ask(fields=(("X-Canary", "b"),)), Ask(fields=(("X-Canary", "c"),))),
    ),
    Case(
        "canary-header-never-weight",
        pair(canary_by_header="X-Canary", canary_weight="100"),
        (Ask(fields=NEVER, times=10), Ask(fields=OTHER, times=10), Ask(times=10)),
    ),
    Case(
        "canary-cookie",
        pair(canary_by_cookie="beta"),
        (
            Ask(),
            Ask(fields=(("Cookie", "beta=always"),)),
            Ask(fields=(("Cookie", "beta=never"),)),
            Ask(fields=(("Cookie", "beta=1"),)),
            Ask(fields=(("Cookie", "a=1; beta=always; c=2"),)),
            Ask(fields=(("Cookie", "Beta=always"),)),
        ),
    ),
    Case(
        "canary-cookie-weight-header",
        pair(canary_by_cookie="beta", canary_by_header="X-Canary", canary_weight="100"),
        (
            Ask(fields=(("Cookie", "beta=never"),)),
            Ask(fields=(("Cookie", "beta=never"), *ALWAYS)),
            Ask(fields=(("Cookie", "beta=always"), *NEVER)),
        ),
    ),
    Case(
        "canary-of-other-path",
        (
            ingress({"/": "main", "/a": "a"}),
            ingress({"/a": "canary"}, name="canary", canary="true", canary_weight="100"),
        ),
        gets("/", "/a", "/a/b"),
    ),
    Case(
        "canary-alone",
        (ingress({"/": "canary"}, name="canary", canary="true", canary_weight="100"),),
        gets("/"),
    ),
    Case(
        "canary-with-annotations",
        (
            ingress({"/": "main"}, custom_http_errors="", upstream_vhost="main.inside"),
            ingress(
                {"/": "canary"},
                name="canary",
                canary="true",
                canary_weight="100",
                upstream_vhost="canary.inside",
                rewrite_target="/x",
            ),
        ),
        gets("/a"),
    ),
    Case("canary-without-endpoints", pair(canary_weight="100"), (Ask(times=5),), replicas={"canary": 0}),
    Case(
        "canary-rewrite",
        (
            ingress(
                {"/a(/|$)(.*)": "main"}, kind="ImplementationSpecific", rewrite_target="/$2", use_regex="true"
            ),
            ingress(
                {"/a(/|$)(.*)": "canary"},
                kind="ImplementationSpecific",
                name="canary",
                canary="true",
                canary_by_header="X-Canary",
                rewrite_target="/$2",
                use_regex="true",
            ),
        ),
        (Ask("/a/b"), Ask("/a/b", fields=ALWAYS)),
    ),
    Case(
        "affinity",
        (ingress(affinity="cookie"),),
        (Ask(), Ask(keeps=True), Ask("/a", keeps=True)),
        replicas={"web": 3},
        sessions=("INGRESSCOOKIE",),
    ),
    Case(
        "affinity-settings",
        (
            ingress(
                {"/a": "web"},
                affinity="cookie",
                session_cookie_name="route",
                session_cookie_path="/a/",
                session_cookie_expires="172800",
                session_cookie_max_age="172800",
                session_cookie_samesite="Strict",
                session_cookie_secure="true",
                session_cookie_domain="HOST",
            ),
        ),
        (Ask("/a"), Ask("/a/b", keeps=True)),
        replicas={"web": 3},
        sessions=("route",),
    ),
    Case(
        "affinity-persistent",
        (ingress(affinity="cookie", affinity_mode="persistent", session_cookie_name="p"),),
        (Ask(), Ask(keeps=True), Ask(fields=(("Cookie", "p=unknown"),))),
        replicas={"web": 3},
        sessions=("p",),
    ),
    Case(
        "affinity-regex",
        (
            ingress(
                {"/x/(.*)": "web"},
                kind="ImplementationSpecific",
                use_regex="true",
                affinity="cookie",
                session_cookie_path="/x",
            ),
        ),
        (Ask("/x/a"),),
        replicas={"web": 2},
        sessions=("INGRESSCOOKIE",),
    ),
    Case(
        "affinity-samesite-none",
        (
            ingress(
                affinity="cookie",
                session_cookie_samesite="None",
                session_cookie_conditional_samesite_none="true",
            ),
        ),
        (Ask(), Ask(fields=(("User-Agent", OLD_PHONE),))),
        sessions=("INGRESSCOOKIE",),
    ),
    Case(
        "affinity-canary",
        (
            ingress({"/": "main"}, affinity="cookie", session_cookie_name="s"),
            ingress(
                {"/": "canary"},
                name="canary",
                canary="true",
                canary_by_header="X-Canary",
                affinity="cookie",
                session_cookie_name="s",
            ),
        ),
        (Ask(fields=ALWAYS), Ask(keeps=True), Ask(fields=NEVER, keeps=True)),
        sessions=("s",),
    ),
    Case(
        "hash-by",
        (ingress(upstream_hash_by="$request_uri"),),
        (Ask("/a", times=5), Ask("/b", times=5)),
        replicas={"web": 3},
    ),
    Case("round-robin", (ingress(),), (Ask(times=6),), replicas={"web": 3}),
    Case("limit-rps", (ingress(limit_rps="1"),), (Ask(times=20),), once=True),
    Case(
        "limit-rps-burst", (ingress(limit_rps="1", limit_burst_multiplier="2"),), (Ask(times=10),), once=True
    ),
    Case("limit-rpm", (ingress(limit_rpm="2"),), (Ask(times=20),), once=True),
    Case(
        "limit-status",
        (ingress(limit_rpm="1", limit_burst_multiplier="1"),),
        (Ask(times=10),),
        config={"limit-req-status-code": "429"},
        once=True,
    ),
    Case(
        "limit-allowed",
        (ingress(limit_rpm="1", limit_burst_multiplier="1", limit_whitelist="10.20.0.0/16"),),
        (Ask(times=10),),
        once=True,
    ),
    Case(
        "body-size",
        (ingress(proxy_body_size="1k"),),
        (
            Ask(method="POST", body=b"a" * 1000),
            Ask(method="POST", body=b"a" * 1024),
            Ask(method="POST", body=b"a" * 1025),
            Ask(method="POST", body=b"a" * 5000),
            Ask(
                method="POST",
                fields=(("Transfer-Encoding", "chunked"),),
                body=b"800\r\n" + b"a" * 2048 + b"\r\n0\r\n\r\n",
            ),
            Ask(method="GET", fields=(("Content-Length", "2000"),), body=b"a" * 2000),
        ),
    ),
    Case(
        "body-size-default",
        (ingress(),),
        (Ask(method="POST", body=b"a" * (1 << 20)), Ask(method="POST", body=b"a" * ((1 << 20) + 1))),
    ),
    Case("body-size-none", (ingress(proxy_body_size="0"),), (Ask(method="POST", body=b"a" * (3 << 20)),)),
    Case(
        "buffering-on",
        (ingress(proxy_buffering="on", proxy_buffer_size="8k", proxy_buffers_number="8"),),
        gets("/"),
    ),
    Case(
        "buffer-size",
        (ingress(proxy_buffer_size="4k"), ingress({"/big": "big"}, name="big", proxy_buffer_size="16k")),
        gets("/", "/big"),
        answers={
            "web": {"": Answer(fields=(("X-Large", "a" * 6000),))},
            "big": {"": Answer(fields=(("X-Large", "a" * 6000),))},
        },
    ),
    Case(
        "request-buffering-off",
        (ingress(proxy_request_buffering="off"),),
        (
            Ask(method="POST", body=b"abc"),
            Ask(method="POST", fields=(("Transfer-Encoding", "chunked"),), body=b"3\r\nabc\r\n0\r\n\r\n"),
        ),
    ),
    Case(
        "http-1-0",
        (ingress(proxy_http_version="1.0"),),
        (Ask(), Ask(method="POST", body=b"abc")),
        told=(Told("*", f"{ANNOTATIONS}: `1.0` is refused: endpoints get HTTP/1.1"),),
    ),
    Case(
        "timeout",
        (ingress(proxy_read_timeout="1"),),
        (Ask(), Ask(method="POST", body=b"a")),
        answers={"web": {"": Answer(delay=3)}},
        told=(Told("endpoints", FAILING),),
    ),
    Case(
        "breaks",
        (ingress(),),
        (Ask(), Ask(method="POST", body=b"a"), Ask(method="DELETE"), Ask(method="PATCH", body=b"a")),
        answers={"web": {"": Answer(breaks=True)}},
        replicas={"web": 2},
        told=(Told("endpoints", FAILING),),
    ),
    Case(
        "next-upstream",
        (ingress(proxy_next_upstream="error timeout http_503 http_404"),),
        (Ask(), Ask(method="POST", body=b"a")),
        answers={"web": {"": Answer(503, body="full")}},
        replicas={"web": 3},
    ),
    Case(
        "next-upstream-non-idempotent",
        (ingress(proxy_next_upstream="error http_502 non_idempotent", proxy_next_upstream_tries="2"),),
        (Ask(), Ask(method="POST", body=b"a")),
        answers={"web": {"": Answer(502)}},
        replicas={"web": 3},
    ),
    Case(
        "next-upstream-off",
        (ingress(proxy_next_upstream="off"),),
        (Ask(),),
        answers={"web": {"": Answer(breaks=True)}},
        replicas={"web": 3},
    ),
    Case(
        "next-upstream-all-failing",
        (ingress(),),
        (Ask(),),
        answers={"web": {"": Answer(breaks=True)}},
        replicas={"web": 5},
    ),
    Case(
        "one-of-two-down",
        (ingress({"/": "web"}),),
        (Ask(),),
        answers={"web": {"": Answer(500)}},
        replicas={"web": 2},
    ),
    Case(
        "mirror",
        (ingress(mirror_target="http://shadow.SPACE.svc.cluster.local:8080$request_uri"),),
        (Ask("/a?b=c"), Ask("/p", "POST", body=b"abc")),
        answers={"shadow": {"": Answer(404)}},
        settles=0.4,
        told=(Told("endpoint.shadow.*", MIRRORS),),
    ),
    Case(
        "mirror-host",
        (
            ingress(
                mirror_target="http://shadow.SPACE.svc.cluster.local:8080/m",
                mirror_host="shadow.test",
                mirror_request_body="off",
            ),
        ),
        (Ask("/a?b=c"), Ask("/p", "POST", body=b"abc")),
        answers={"shadow": {}},
        settles=0.4,
        told=(Told("endpoint*", MIRRORS),),
    ),
    Case(
        "external-name",
        (ingress({"/": "outside"}), external("outside", "backend.HOST", 8080)),
        gets("/a"),
        answers={"backend": {}},
    ),
    Case(
        "external-name-port",
        (
            ingress({"/": "outside:8080"}, upstream_vhost="backend.HOST"),
            external("outside", "backend.HOST", 8080),
        ),
        gets("/a"),
        answers={"backend": {}},
    ),
    Case(
        "external-name-unknown",
        (ingress({"/": "outside:8080"}), external("outside", "unknown.HOST", 8080)),
        gets("/a"),
    ),
    Case("service-upstream", (ingress(service_upstream="true"),), ()),
    Case("load-balance-ewma", (ingress(load_balance="ewma"),), (Ask(times=10),), replicas={"web": 2}),
    Case("connection-field", (ingress(connection_proxy_header="keep-alive"),), gets("/")),
    Case("connection-close", (ingress(connection_proxy_header="close"),), gets("/")),
    Case("backend-https", (ingress({"/": "tls-web"}, backend_protocol="HTTPS"),), gets("/a")),
    Case(
        "backend-https-name",
        (
            ingress(
                {"/": "tls-web"},
                backend_protocol="HTTPS",
                proxy_ssl_server_name="on",
                proxy_ssl_name="inside.test",
            ),
        ),
        gets("/a"),
        told=(Told("endpoint.tls-web.server-name", UPSTREAM),),
    ),
    Case(
        "backend-auto",
        (ingress({"/": "tls-web"}, backend_protocol="AUTO_HTTP"),),
        (Ask("/a"), Ask("/a", secure=True)),
    ),
    Case("backend-wrong", (ingress({"/": "tls-web"}),), gets("/a")),
    Case("upgrade", (ingress(),), (Ask(fields=(("Connection", "Upgrade"), ("Upgrade", "websocket"))),)),
    Case("rate-of-answer", (ingress(limit_rate="100", limit_rate_after="1"),), gets("/")),
    Case("request-id", (ingress(),), (Ask(), Ask(fields=(("X-Request-ID", "abc"),)))),
    Case(
        "affinity-moves",
        (ingress(affinity="cookie", session_cookie_name="m", session_cookie_change_on_failure="true"),),
        (Ask(), Ask(keeps=True), Ask("/a", "POST", keeps=True, body=b"a")),
        replicas={"web": 2},
        answers={"web": {"": Answer(500)}},
        sessions=("m",),
    ),
    Case(
        "affinity-legacy-canary",
        (
            ingress({"/": "main"}, affinity="cookie", session_cookie_name="s"),
            ingress(
                {"/": "canary"},
                name="canary",
                canary="true",
                canary_by_header="X-Canary",
                affinity="cookie",
                session_cookie_name="s",
                affinity_canary_behavior="legacy",
            ),
        ),
        (Ask(fields=ALWAYS), Ask(keeps=True), Ask(fields=NEVER, keeps=True), Ask(fields=ALWAYS, keeps=True)),
        sessions=("s",),
    ),
    Case(
        "affinity-two-paths",
        (ingress({"/a": "web", "/b": "web"}, affinity="cookie"), ingress({"/c": "web"}, name="other")),
        (Ask("/a/x"), Ask("/b"), Ask("/c"), Ask("/a")),
        replicas={"web": 2},
        sessions=("INGRESSCOOKIE",),
    ),
    Case(
        "hash-by-header",
        (ingress(upstream_hash_by="$http_x_key"),),
        (Ask(fields=(("X-Key", "a"),)), Ask()),
        replicas={"web": 2},
    ),
    Case(
        "hash-by-text",
        (ingress(upstream_hash_by="$remote_addr$request_uri-x"),),
        (Ask("/a"),),
        replicas={"web": 2},
    ),
    Case(
        "hash-by-subset",
        (ingress(upstream_hash_by="$uri", upstream_hash_by_subset="true"),),
        (Ask("/a"),),
        replicas={"web": 4},
    ),
    Case(
        "weights-and-cookie",
        pair(canary_weight="30", canary_by_cookie="beta"),
        (
            Ask(times=200),
            Ask(fields=(("Cookie", "beta=always"),), times=10),
            Ask(fields=(("Cookie", "beta=never"),), times=10),
        ),
    ),
    Case(
        "canary-header-and-weight",
        pair(canary_by_header="X-Canary", canary_by_header_value="go", canary_weight="50"),
        (Ask(fields=(("X-Canary", "no"),), times=200), Ask(fields=(("X-Canary", "go"),), times=10)),
    ),
    Case(
        "canary-on-wildcard",
        (
            ingress({"/": "main"}, host="*.HOST"),
            ingress(
                {"/": "canary"}, host="*.HOST", name="canary", canary="true", canary_by_header="X-Canary"
            ),
        ),
        (Ask(host="a.HOST"), Ask(host="a.HOST", fields=ALWAYS)),
    ),
    Case(
        "two-canaries",
        (
            ingress({"/": "main"}),
            ingress({"/": "one"}, name="one", canary="true", canary_by_header="X-One"),
            ingress({"/": "two"}, name="two", canary="true", canary_by_header="X-Two"),
        ),
        (Ask(), Ask(fields=(("X-One", "always"),)), Ask(fields=(("X-Two", "always"),))),
        told=(Told("endpoints", f"{ANNOTATIONS}: there may be several canaries"),),
    ),
    Case(
        "mirror-root",
        (ingress(mirror_target="http://shadow.SPACE.svc.cluster.local:8080/shadow$request_uri"),),
        (Ask("/a%20b?c=d"), Ask("/p", "PUT", body=b"abc")),
        answers={"shadow": {}},
        settles=0.4,
        told=(Told("endpoint.shadow.*", MIRRORS),),
    ),
    Case(
        "timeouts-of-several",
        (
            ingress(
                proxy_read_timeout="1", proxy_next_upstream="error timeout", proxy_next_upstream_tries="2"
            ),
        ),
        (Ask(), Ask(method="POST", body=b"a")),
        answers={"web": {"": Answer(delay=3)}},
        replicas={"web": 3},
    ),
    Case(
        "next-upstream-codes",
        (
            ingress(
                proxy_next_upstream="http_500 http_429 http_403 invalid_header", proxy_next_upstream_tries="2"
            ),
        ),
        gets("/500", "/429", "/403", "/404", "/502"),
        answers={"web": {f"/{status}": Answer(status) for status in (500, 429, 403, 404, 502)}},
        replicas={"web": 3},
    ),
)
