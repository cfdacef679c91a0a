"""Paths, hosts and annotations as they are written for other controllers, or copied along, and what becomes of them."""

from conformance.cluster import Object
from conformance.ingress_nginx.case import Ask, Case, gets, ingress
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.certificates import certificate

ANY = "ImplementationSpecific"


def annotated(thing: Object, **annotations: str) -> Object:
    """The same with annotations of other prefixes, whose names have ``__`` for ``/`` and ``.`` for ``_``."""
    given = {name.replace("__", "/").replace("_", "."): value for name, value in annotations.items()}
    metadata = {**thing["metadata"], "annotations": {**thing["metadata"]["annotations"], **given}}
    return {**thing, "metadata": metadata}


def spelled(name: str, paths: dict[str, str], *targets: str, kind: str = ANY, **annotations: str) -> Case:
    return Case(name, (ingress(paths, kind=kind, **annotations),), gets(*targets))


STARS = ("/", "/a", "/api", "/api/", "/api/x", "/api*", "/*", "/apix", "/API/x")

PATHS = (
    spelled("star-alone", {"/*": "web"}, *STARS),
    spelled("star-alone-annotated", {"/*": "web"}, *STARS, proxy_read_timeout="30"),
    spelled("star-prefix", {"/*": "web"}, *STARS, kind="Prefix", proxy_read_timeout="30"),
    spelled("star-below", {"/api/*": "api", "/": "rest"}, *STARS, proxy_read_timeout="30"),
    spelled("star-regex", {"/*": "web"}, *STARS, use_regex="true"),
    spelled("star-below-regex", {"/api/*": "api", "/": "rest"}, *STARS, use_regex="true"),
    spelled("star-below-rewritten", {"/api/*": "api", "/": "rest"}, *STARS, rewrite_target="/"),
    spelled("dot-star-no-regex", {"/api/.*": "api", "/": "rest"}, *STARS, proxy_read_timeout="30"),
    spelled("dot-star-rewritten", {"/api/.*": "api"}, *STARS, rewrite_target="/new"),
    spelled("empty-path", {"": "web"}, "/", "/a"),
    spelled("dollar-end", {"/a$": "a", "/": "rest"}, "/", "/a", "/a/", "/ab", "/a?b", use_regex="true"),
    spelled("optional-slash", {"/a/?$": "a", "/": "rest"}, "/", "/a", "/a/", "/a/b", use_regex="true"),
    spelled("optional-slash-rest", {"/a/?(.*)": "a"}, "/a", "/a/", "/ab", "/a/b/c?d", rewrite_target="/$1"),
    spelled("group-of-rest", {"/a(/.*)?$": "a"}, "/a", "/a/", "/ab", "/a/b", rewrite_target="$1"),
    spelled("slash-group", {"/(a|b)(/|$)(.*)": "a"}, "/a", "/b/", "/ab", "/a/b", "/c", rewrite_target="/$3"),
    spelled(
        "prefix-with-groups", {"/a(/|$)(.*)": "a"}, "/a", "/a/b", "/ab", kind="Prefix", rewrite_target="/$2"
    ),
    spelled("no-groups-in-path", {"/a": "a"}, "/a", "/a/b", rewrite_target="/$1"),
    spelled("target-of-root", {"/": "web"}, "/", "/a/b", rewrite_target="/base"),
    spelled("target-of-root-group", {"/(.*)": "web"}, "/", "/a/b?c", "/a//b", rewrite_target="/base/$1"),
    spelled("dot-in-path", {"/a.html": "web", "/b.c/": "dots"}, "/a.html", "/axhtml", "/b.c/d", "/bxc/d"),
    spelled("dot-in-regex", {"/a.html": "web"}, "/a.html", "/axhtml", "/A.html", use_regex="true"),
    spelled(
        "version-numbers",
        {"/v1.0/x": "one", "/v[0-9]+/x": "any"},
        "/v1.0/x",
        "/v1/x",
        "/v10/xy",
        "/v/x",
        use_regex="true",
    ),
    spelled(
        "extensions",
        {"/.*\\.(png|jpg)": "img", "/": "rest"},
        "/a.png",
        "/b/c.JPG",
        "/a.pngx",
        "/a",
        use_regex="true",
    ),
    spelled(
        "class-and-count",
        {"/[0-9]{4}/.*": "year", "/": "rest"},
        "/2024/a",
        "/204/a",
        "/20245/a",
        use_regex="true",
    ),
    spelled(
        "named-group",
        {"/(?<lang>en|de)/(.*)": "web"},
        "/en/a",
        "/fr/a",
        "/de/",
        rewrite_target="/$2?lang=$lang",
    ),
    spelled("inner-flags", {"/(?i)abc": "web", "/": "rest"}, "/ABC", "/abc", "/x", use_regex="true"),
    spelled("escaped-slash", {"/a\\/b": "web", "/": "rest"}, "/a/b", "/a/c", use_regex="true"),
    spelled("word-boundary", {"/a\\b.*": "web", "/": "rest"}, "/a", "/a/b", "/ab", use_regex="true"),
    spelled("digits-class", {"/\\d+/x": "web", "/": "rest"}, "/12/x", "/a/x", use_regex="true"),
    spelled("lazy", {"/(.*?)/(.*)": "web"}, "/a/b/c", "/a", rewrite_target="/$2/$1"),
    spelled("unicode-path", {"/grüße": "web", "/": "rest"}, "/gr%C3%BC%C3%9Fe", "/gr%C3%BC%C3%9Fe/a", "/x"),
    spelled("percent-in-path", {"/100%": "web", "/": "rest"}, "/100%25", "/100%25/a", "/100"),
    spelled("double-slash-path", {"/a//b": "web", "/": "rest"}, "/a//b", "/a/b", proxy_read_timeout="30"),
    spelled("dots-in-path", {"/a/../b": "web", "/": "rest"}, "/b", "/a/../b", "/a", proxy_read_timeout="30"),
    spelled("query-in-path", {"/a?b=c": "web", "/": "rest"}, "/a?b=c", "/a", proxy_read_timeout="30"),
    spelled(
        "exact-beside-prefix",
        {"Exact:/a": "one", "Prefix:/a": "two", "Prefix:/": "rest"},
        "/a",
        "/a/",
        "/a/b",
        "/ab",
    ),
    spelled(
        "exact-slash", {"Exact:/a/": "one", "Prefix:/": "rest"}, "/a", "/a/", "/a/b", proxy_read_timeout="30"
    ),
)

OTHERS = (
    Case(
        "other-prefixes",
        (
            annotated(
                ingress(proxy_read_timeout="30"),
                kubernetes_io__ingress_allow_http="false",
                ingress_kubernetes_io__rewrite_target="/x",
                nginx_org__rewrites="serviceName=web rewrite=/y/",
                traefik_ingress_kubernetes_io__router_tls="true",
                alb_ingress_kubernetes_io__scheme="internal",
                kubernetes_io__tls_acme="true",
            ),
        ),
        gets("/", "/a"),
    ),
    Case(
        "host-with-port-asked",
        (ingress(permanent_redirect="https://new.test"),),
        (Ask("/a", host="HOST:443"), Ask("/a", host="HOST:8080"), Ask("/a", host="HOST:")),
    ),
    Case(
        "wildcard-beside-host",
        (
            ingress({"/": "wild"}, host="*.HOST", name="wild", proxy_read_timeout="30"),
            ingress({"/a": "own"}, host="a.HOST", name="own", proxy_read_timeout="30"),
        ),
        (
            Ask("/a", host="a.HOST"),
            Ask("/b", host="a.HOST"),
            Ask("/", host="b.HOST"),
            Ask("/", host="HOST"),
            Ask("/", host="x.b.HOST"),
        ),
    ),
    Case(
        "wildcard-tls-beside-host",
        (
            ingress({"/": "wild"}, host="*.HOST", name="wild", tls="wild"),
            ingress({"/": "own"}, host="a.HOST", name="own", ssl_redirect="false"),
            certificate("wild", "*.wildcard-tls-beside-host.test"),
        ),
        (
            Ask("/x", host="a.HOST", secure=True, server_name="a.HOST"),
            Ask("/x", host="b.HOST", secure=True, server_name="b.HOST"),
            Ask("/x", host="b.HOST"),
        ),
    ),
    Case(
        "challenges",
        (
            ingress(tls="own", name="site", force_ssl_redirect="true", whitelist_source_range="10.20.1.9/32"),
            ingress(
                {"Exact:/.well-known/acme-challenge/token": "solver"},
                name="cm-acme-http-solver-x",
                kind="Exact",
                whitelist_source_range="0.0.0.0/0,::/0",
            ),
            certificate("own", "challenges.test"),
        ),
        gets("/.well-known/acme-challenge/token", "/.well-known/acme-challenge/other", "/"),
    ),
    Case(
        "redirects-of-applications",
        (ingress({"/app(/|$)(.*)": "web"}, kind=ANY, use_regex="true", rewrite_target="/$2"),),
        gets("/app/1", "/app/2", "/app/3", "/app/4"),
        answers={
            "web": {
                "/1": answer(302, Location="/login"),
                "/2": answer(302, Location="http://redirects-of-applications.test/login"),
                "/3": answer(301, Location="https://redirects-of-applications.test/login"),
                "/4": answer(302, Location="login?x=1#y"),
            }
        },
    ),
)

CASES = (*PATHS, *OTHERS)
