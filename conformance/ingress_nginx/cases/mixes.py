"""Canaries, CORS, error pages and limits in the mixes that few other cases have."""

from conformance.cluster import Object
from conformance.ingress_nginx.case import Ask, Case, Told, gets, ingress, secret
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.guards import BAD, GOOD, USER
from conformance.ingress_nginx.cases.traffic import ALWAYS, NEVER, pair
from conformance.ingress_nginx.endpoints import Answer


def says(value: str, name: str = "X-Canary") -> tuple[tuple[str, str], ...]:
    return ((name, value),)


CANARIES = (
    Case(
        "canary-value-and-weight",
        pair(canary_by_header="X-Canary", canary_by_header_value="beta", canary_weight="100"),
        tuple(Ask(fields=fields, times=5) for fields in (says("beta"), says("other"), ALWAYS, NEVER, ())),
    ),
    Case(
        "canary-pattern-and-weight",
        pair(canary_by_header="X-Canary", canary_by_header_pattern="^b", canary_weight="100"),
        tuple(Ask(fields=fields, times=5) for fields in (says("b1"), says("a"), ())),
    ),
    Case(
        "canary-value-alone",
        pair(canary_by_header_value="beta", canary_weight="0"),
        (Ask(fields=says("beta")), Ask()),
    ),
    Case("canary-pattern-alone", pair(canary_by_header_pattern="^b"), (Ask(fields=says("b")), Ask())),
    Case(
        "canary-header-twice",
        pair(canary_by_header="X-Canary"),
        (Ask(fields=(*NEVER, *ALWAYS)), Ask(fields=(*ALWAYS, *NEVER))),
    ),
    Case(
        "canary-cookie-twice",
        pair(canary_by_cookie="beta"),
        (
            Ask(fields=(("Cookie", "beta=always; beta=never"),)),
            Ask(fields=(("Cookie", "beta=never; beta=always"),)),
            Ask(fields=(("Cookie", 'beta="always"'),)),
            Ask(fields=(("Cookie", "beta=ALWAYS"),)),
            Ask(fields=(("Cookie", "abeta=always"),)),
            Ask(fields=(("Cookie", "beta=always"), ("Cookie", "a=b"))),
        ),
    ),
    Case(
        "canary-cookie-and-value",
        pair(canary_by_cookie="beta", canary_by_header="X-Canary", canary_by_header_value="yes"),
        (
            Ask(fields=(("Cookie", "beta=always"), *says("no"))),
            Ask(fields=(("Cookie", "beta=never"), *says("yes"))),
        ),
    ),
    Case(
        "canary-host-header",
        pair(canary_by_header="Host", canary_by_header_value="canary-host-header.test"),
        (Ask(),),
    ),
    Case(
        "canary-underscored",
        pair(canary_by_header="X_Canary"),
        (Ask(fields=says("always", "X_Canary")), Ask(fields=ALWAYS)),
    ),
    Case("canary-weight-negative", pair(canary_weight="-5"), (Ask(times=10),)),
    Case("canary-total-zero", pair(canary_weight="50", canary_weight_total="0"), (Ask(times=200),)),
    Case("canary-total-less", pair(canary_weight="50", canary_weight_total="20"), (Ask(times=10),)),
    Case("canary-spaces", pair(canary_by_header=" X-Canary "), (Ask(fields=ALWAYS),)),
    Case(
        "canary-wildcard",
        (
            ingress({"/": "main"}, host="*.HOST"),
            ingress(
                {"/": "canary"}, host="*.HOST", name="canary", canary="true", canary_by_header="X-Canary"
            ),
        ),
        (Ask(host="a.HOST"), Ask(host="a.HOST", fields=ALWAYS)),
    ),
    Case(
        "canary-of-alias",
        (
            ingress({"/": "main"}, server_alias="alias.HOST"),
            ingress({"/": "canary"}, name="canary", canary="true", canary_by_header="X-Canary"),
        ),
        (Ask(host="alias.HOST"), Ask(host="alias.HOST", fields=ALWAYS)),
    ),
    Case(
        "canary-guarded-main",
        (
            ingress({"/": "main"}, auth_type="basic", auth_secret="users"),
            ingress({"/": "canary"}, name="canary", canary="true", canary_weight="100"),
            secret("users", auth=USER),
        ),
        (Ask(), Ask(fields=GOOD), Ask(fields=BAD)),
    ),
    Case(
        "canary-guarded-canary",
        (
            ingress({"/": "main"}),
            ingress(
                {"/": "canary"},
                name="canary",
                canary="true",
                canary_weight="100",
                auth_type="basic",
                auth_secret="users",
            ),
            secret("users", auth=USER),
        ),
        (Ask(), Ask(fields=GOOD)),
    ),
    Case(
        "canary-exact",
        (
            ingress({"Exact:/a": "main", "/a": "prefix"}),
            ingress({"Exact:/a": "canary"}, name="canary", canary="true", canary_weight="100"),
        ),
        gets("/a", "/a/", "/a/b"),
    ),
    Case(
        "canary-failing",
        pair(canary_weight="100", proxy_next_upstream="error http_503"),
        (Ask(),),
        answers={"canary": {"": Answer(503)}},
    ),
    Case(
        "canary-errors",
        (
            ingress({"/": "main"}, custom_http_errors="503", default_backend="errors"),
            ingress({"/": "canary"}, name="canary", canary="true", canary_weight="100"),
        ),
        (Ask(),),
        answers={"canary": {"": Answer(503)}, "errors": {"": answer(503, "page")}},
    ),
)


def cors(name: str, origins: str, *asked: str, told: tuple[Told, ...] = (), **annotations: str) -> Case:
    settings = {"cors_allow_origin": origins, **annotations} if origins else annotations
    return Case(
        name,
        (ingress(enable_cors="true", **settings),),
        tuple(
            Ask(method=method, fields=(("Origin", origin),))
            for origin in asked
            for method in ("GET", "OPTIONS")
        ),
        told=told,
    )


CORS = (
    cors(
        "cors-subdomains",
        "https://*.a.test",
        "https://x.a.test",
        "https://X.A.test",
        "https://x.y.a.test",
        "https://a.test",
        "http://x.a.test",
        "https://x.a.test:8443",
        "https://xa.test",
        "https://.a.test",
        "https://x-1.a.test",
        "https://x_1.a.test",
    ),
    cors(
        "cors-subdomains-port",
        "http://*.a.test:8080",
        "http://x.a.test:8080",
        "http://x.a.test",
        "http://x.a.test:80801",
    ),
    cors(
        "cors-subdomains-several",
        "https://*.a.test, https://b.test,http://*.c.test:81",
        "https://x.a.test",
        "https://b.test",
        "http://x.c.test:81",
        "https://x.b.test",
    ),
    cors("cors-two-stars", "https://*.*.a.test", "https://x.y.a.test", "https://x.a.test"),
    cors("cors-star-inside", "https://x*.a.test", "https://x1.a.test", "https://x.a.test"),
    cors("cors-bare-wildcard", "*.a.test", "https://x.a.test"),
    cors("cors-star-among", "https://a.test, *", "https://a.test", "https://b.test"),
    cors("cors-empty-lists", "", "https://a.test", cors_allow_methods="", cors_allow_headers=""),
    cors("cors-age-zero", "", "https://a.test", cors_max_age="0"),
    cors("cors-age-wrong", "", "https://a.test", cors_max_age="long"),
    cors("cors-age-negative", "", "https://a.test", cors_max_age="-1"),
    cors("cors-credentials-wrong", "", "https://a.test", cors_allow_credentials="maybe"),
    cors("cors-exposes", "", "https://a.test", cors_expose_headers="*, X-CustomResponseHeader"),
    cors("cors-exposes-wrong", "", "https://a.test", cors_expose_headers="X A"),
    cors("cors-headers-odd", "", "https://a.test", cors_allow_headers="X-One, X-Two ,X_Three"),
    cors("cors-methods-lower", "", "https://a.test", cors_allow_methods="get, post"),
    cors("cors-beside-redirect", "", "https://a.test", permanent_redirect="https://new.test"),
    cors("cors-beside-force", "", "https://a.test", force_ssl_redirect="true"),
    cors("cors-beside-root", "https://a.test", "https://a.test", app_root="/app"),
    Case(
        "cors-and-password",
        (
            ingress(enable_cors="true", auth_type="basic", auth_secret="users"),
            secret("users", auth=USER),
        ),
        (
            Ask(method="OPTIONS", fields=(("Origin", "https://a.test"),)),
            Ask(fields=(("Origin", "https://a.test"),)),
            Ask(fields=(("Origin", "https://a.test"), *GOOD)),
        ),
    ),
    Case(
        "cors-of-both",
        (ingress(enable_cors="true", cors_allow_origin="https://a.test"),),
        (Ask(fields=(("Origin", "https://a.test"),)), Ask(fields=(("Origin", "https://b.test"),))),
        answers={
            "web": {
                "": answer(
                    Access_Control_Allow_Origin="https://b.test",
                    Access_Control_Allow_Credentials="false",
                    Access_Control_Expose_Headers="X-Own",
                    Vary="Origin",
                )
            }
        },
    ),
    Case(
        "cors-of-limits",
        (ingress(enable_cors="true", limit_rpm="1", limit_burst_multiplier="1"),),
        (Ask(fields=(("Origin", "https://a.test"),), times=6),),
        once=True,
    ),
)


def paged(
    name: str,
    codes: str,
    *asks: Ask,
    web: dict[str, Answer] | None = None,
    objects: tuple[Object, ...] = (),
    replicas: dict[str, int] | None = None,
    page: int = 404,
    **annotations: str,
) -> Case:
    """Whose errors a Service makes pages of, which it sends with the status *page*."""
    return Case(
        name,
        (ingress(custom_http_errors=codes, default_backend="errors", **annotations), *objects),
        asks,
        answers={
            "errors": {"": answer(page, "page", Content_Type="text/html", X_From="errors")},
            **({"web": web} if web else {}),
        },
        replicas=replicas or {},
    )


ERRORS = (
    paged("pages-breaks", "502", Ask("/a"), web={"": Answer(breaks=True)}),
    paged("pages-slow", "504", Ask("/a"), web={"": Answer(delay=3)}, proxy_read_timeout="1"),
    paged("pages-denied", "403", Ask("/a", client=2), Ask("/a"), denylist_source_range="10.20.1.2"),
    paged(
        "pages-password",
        "401",
        Ask("/a"),
        Ask("/a", fields=BAD),
        Ask("/a", fields=GOOD),
        objects=(secret("users", auth=USER),),
        page=401,
        auth_type="basic",
        auth_secret="users",
    ),
    paged("pages-large", "413", Ask("/a", "POST", body=b"a" * 2000), proxy_body_size="1k"),
    paged("pages-limit", "503", Ask("/a", times=6), limit_rpm="1", limit_burst_multiplier="1"),
    paged("pages-none-there", "503", *gets("/a", "/b?c"), replicas={"web": 0}),
    paged("pages-of-errors-missing", "404", Ask("/a"), web={"": Answer(404)}, replicas={"errors": 0}),
    paged(
        "pages-spaces", " 404 , 500", *gets("/404", "/500"), web={"/404": Answer(404), "/500": Answer(500)}
    ),
    paged("pages-rewritten", "404", Ask("/a?b"), web={"": Answer(404)}, rewrite_target="/x"),
    paged("pages-vhost", "404", Ask("/a"), web={"": Answer(404)}, upstream_vhost="in.test"),
    paged("pages-session", "404", Ask("/a"), web={"": Answer(404)}, enable_cors="true"),
    paged("pages-redirects", "301,302", *gets("/301"), web={"/301": answer(301, Location="/x")}),
    paged("pages-root", "404", *gets("/"), app_root="/app"),
    paged("pages-snippet", "404", Ask("/a"), configuration_snippet="return 404;"),
    paged(
        "pages-fields",
        "404",
        Ask("/a"),
        web={"": Answer(404)},
        configuration_snippet='more_set_headers "X-A: b";',
    ),
    paged(
        "pages-hidden",
        "404",
        Ask("/a", fields=(("X-Namespace", "mine"), ("X-Ingress-Name", "mine"), ("X-Format", "mine"))),
        web={"": Answer(404)},
    ),
    Case(
        "pages-of-two",
        (
            ingress({"/a": "a"}, name="a", custom_http_errors="404", default_backend="one"),
            ingress({"/b": "b"}, name="b", custom_http_errors="404", default_backend="two"),
            ingress({"/c": "c"}, name="c"),
        ),
        gets("/a", "/b", "/c"),
        answers={
            **{name: {"": Answer(404)} for name in "abc"},
            "one": {"": answer(404, "one")},
            "two": {"": answer(404, "two")},
        },
    ),
    Case(
        "pages-of-own-service",
        (ingress(custom_http_errors="404", default_backend="web"),),
        gets("/a"),
        answers={"web": {"": Answer(404)}},
    ),
)

LIMITS = (
    Case("limit-rpm-negative", (ingress(limit_rpm="-1"),), (Ask(times=10),), once=True),
    Case("limit-connections-zero", (ingress(limit_connections="0"),), (Ask(times=3),), once=True),
    Case(
        "limit-allowed-some",
        (ingress(limit_rpm="1", limit_burst_multiplier="1", limit_allowlist="10.20.1.2, 10.20.1.4/32"),),
        (Ask(client=2, times=6), Ask(client=4, times=6), Ask(client=3, times=6)),
        once=True,
    ),
    Case(
        "limit-before-redirect",
        (ingress(limit_rpm="1", limit_burst_multiplier="1", permanent_redirect="https://n.test"),),
        (Ask(times=6),),
        once=True,
    ),
    Case(
        "limit-before-password",
        (
            ingress(limit_rpm="1", limit_burst_multiplier="1", auth_type="basic", auth_secret="users"),
            secret("users", auth=USER),
        ),
        (Ask(fields=BAD, times=6),),
        once=True,
    ),
    Case(
        "limit-before-list",
        (ingress(limit_rpm="1", limit_burst_multiplier="1", denylist_source_range="10.20.1.1"),),
        (Ask(times=6),),
        once=True,
    ),
    Case(
        "limit-two-hosts",
        (
            ingress(name="one", limit_rpm="1", limit_burst_multiplier="1"),
            ingress({"/": "two"}, host="b.HOST", name="two", limit_rpm="1", limit_burst_multiplier="1"),
        ),
        (Ask(times=4), Ask(host="b.HOST", times=4)),
        once=True,
    ),
    Case(
        "limit-rate-of-small",
        (ingress(limit_rate="1000", limit_rate_after="10"),),
        (Ask(), Ask("/a", "HEAD")),
    ),
    Case("limit-rate-wrong", (ingress(limit_rate="fast", limit_rate_after="-1"),), (Ask(),)),
)


CASES = (*CANARIES, *CORS, *ERRORS, *LIMITS)
