"""rewrite-target, use-regex, app-root and redirects."""

from conformance.ingress_nginx.case import Ask, Case, Told, gets, ingress
from conformance.ingress_nginx.cases.documents import ANNOTATIONS, EVERYBODY, FURTHER_HOSTS, VERSIONS

ANY = "ImplementationSpecific"

CASES = (
    Case(
        "rewrite-capture",
        (ingress({"/api(/|$)(.*)": "web"}, kind=ANY, rewrite_target="/$2"),),
        gets(
            "/api",
            "/api/",
            "/api/a/b?c=d",
            "/API/x",
            "/apis",
            "/",
            "/api/a%2Fb",
            "/api/a%20b",
            "/api//a",
            "/api/../x",
            "/api/%C3%A9",
            "/api?x=/a",
        ),
    ),
    Case(
        "rewrite-plain",
        (ingress({"/api": "web"}, rewrite_target="/"),),
        gets("/api", "/api/", "/api/a", "/apis", "/api?x=1", "/API"),
    ),
    Case("rewrite-same", (ingress({"/": "web"}, rewrite_target="/"),), gets("/", "/a", "/a/b?c")),
    Case(
        "rewrite-query",
        (ingress({"/q/(.*)": "web"}, kind=ANY, use_regex="true", rewrite_target="/r?x=$1"),),
        gets("/q/1", "/q/1?y=2", "/q/a%20b", "/q/a%3Fb"),
        told=(Told("*", EVERYBODY),),
    ),
    Case(
        "rewrite-empty-capture",
        (ingress({"/a": "web"}, kind=ANY, rewrite_target="/x/$1"),),
        gets("/a", "/a/b", "/ab"),
    ),
    Case(
        "rewrite-several-captures",
        (
            ingress(
                {"/(v[0-9]+)/([^/]+)/(.*)": "web"}, kind=ANY, use_regex="true", rewrite_target="/$3/$2/$1"
            ),
        ),
        gets("/v1/a/b", "/v2/a/b/c?d", "/v/a/b", "/V1/a/"),
        told=(Told("*", f"{ANNOTATIONS}: no empty one where it meets a slash"),),
    ),
    Case(
        "rewrite-of-several",
        (
            ingress({"/app/(.*)": "app"}, kind=ANY, name="app", use_regex="true", rewrite_target="/$1"),
            ingress({"/": "root", "/plain": "plain", "Exact:/exact": "exact"}, name="root"),
        ),
        gets(
            "/app/a",
            "/app",
            "/",
            "/a",
            "/plain",
            "/plainer",
            "/PLAIN/x",
            "/exact",
            "/exact/a",
            "/exactly",
            "/EXACT",
        ),
    ),
    Case(
        "regex-priorities",
        (
            ingress(
                {"/foo/bar/bar": "one", "/foo/bar/[A-Z0-9]{3}": "two", "/foo/.*": "three", "/.*": "four"},
                kind=ANY,
                use_regex="true",
            ),
        ),
        gets("/foo/bar/bar", "/foo/bar/ABC", "/foo/bar/abc", "/foo/bar/barx", "/foo/x", "/x", "/"),
    ),
    Case(
        "regex-prefix-types",
        (ingress({"/a/.+": "a", "Exact:/b[0-9]": "b", "/c": "c"}, use_regex="true"),),
        gets("/a/x", "/a/", "/a", "/b1", "/b12", "/b", "/c", "/cd", "/C/x"),
    ),
    Case(
        "regex-alternatives",
        (
            ingress(
                {"/(en|de)(/.*)?$": "lang", "/static/.*\\.(js|css)$": "static", "/": "rest"},
                kind=ANY,
                use_regex="true",
            ),
        ),
        gets("/en", "/de/", "/fr", "/en/a", "/enx", "/static/a.js", "/static/a.js?x", "/static/a.jsx", "/"),
    ),
    Case(
        "regex-decoded",
        (
            ingress(
                {"/a b/(.*)": "space", "/ü/(.*)": "umlaut", "/": "rest"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$1",
            ),
        ),
        gets("/a%20b/x", "/%C3%BC/x", "/%c3%bc/%C3%BC", "/x"),
    ),
    Case(
        "regex-two-hosts",
        (
            ingress({"/a(.*)": "a"}, kind=ANY, host="a.HOST", name="a", use_regex="true"),
            ingress({"/a": "b"}, host="b.HOST", name="b"),
        ),
        (
            Ask("/ab", host="a.HOST"),
            Ask("/A", host="a.HOST"),
            Ask("/ab", host="b.HOST"),
            Ask("/a/b", host="b.HOST"),
            Ask("/A", host="b.HOST"),
        ),
    ),
    Case(
        "rewrite-prefix-header",
        (ingress({"/app(/|$)(.*)": "web"}, kind=ANY, rewrite_target="/$2", x_forwarded_prefix="/app"),),
        (*gets("/app", "/app/a"), Ask("/app/a", fields=(("X-Forwarded-Prefix", "/mine"),))),
    ),
    Case(
        "prefix-header-alone",
        (ingress(x_forwarded_prefix="/app"),),
        gets("/a"),
        told=(
            Told(
                "endpoint.web.field.x-forwarded-prefix",
                f"{ANNOTATIONS}: it is sent where no path is rewritten, too",
            ),
        ),
    ),
    Case(
        "app-root",
        (ingress(app_root="/home"),),
        (
            *gets("/", "/?a=b", "/a", "//", "/home"),
            Ask(method="POST", body=b"a"),
            Ask(method="HEAD"),
            Ask(host="HOST:8080"),
        ),
    ),
    Case(
        "permanent-redirect",
        (ingress(permanent_redirect="https://new.test/x"),),
        (*gets("/", "/a?b=c"), Ask(method="POST", body=b"a")),
    ),
    Case(
        "permanent-redirect-code",
        (ingress(permanent_redirect="https://new.test", permanent_redirect_code="308"),),
        gets("/", "/a"),
    ),
    Case(
        "permanent-redirect-uri",
        (ingress(permanent_redirect="https://new.test$request_uri"),),
        gets("/", "/a/b?c=d", "/a%20b"),
        told=(Told("answer.status", EVERYBODY),),
    ),
    Case("temporal-redirect", (ingress(temporal_redirect="https://now.test/y"),), gets("/", "/a")),
    Case(
        "temporal-redirect-code",
        (ingress(temporal_redirect="https://now.test/y", temporal_redirect_code="307"),),
        gets("/"),
        told=(Told("answer.status", VERSIONS),),
    ),
    Case(
        "both-redirects",
        (ingress(temporal_redirect="https://now.test/y", permanent_redirect="https://new.test/x"),),
        gets("/"),
    ),
    Case(
        "redirect-invalid",
        (ingress(permanent_redirect="not a url"),),
        gets("/"),
        told=(Told("*", EVERYBODY),),
    ),
    Case(
        "www-redirect-to-www",
        (ingress(host="www.HOST", from_to_www_redirect="true"),),
        (
            Ask(host="www.HOST"),
            Ask(host="HOST"),
            Ask("/a?b", host="HOST"),
            Ask("/a/", host="HOST"),
            Ask("/", host="HOST:80"),
            Ask("/a", "POST", host="HOST", body=b"a"),
        ),
        told=(Told("answer.field.location", FURTHER_HOSTS),),
    ),
    Case(
        "www-redirect-from-www",
        (ingress(from_to_www_redirect="true"),),
        (Ask(host="www.HOST"), Ask("/a?b", host="www.HOST"), Ask(host="HOST"), Ask(host="www.www.HOST")),
    ),
    Case(
        "server-alias",
        (
            ingress(server_alias="alias.HOST, other.HOST"),
            ingress({"/": "own"}, host="other.HOST", name="own"),
        ),
        (Ask(host="alias.HOST"), Ask(host="other.HOST"), Ask(host="HOST"), Ask("/a", host="ALIAS.HOST")),
    ),
    Case(
        "server-alias-pattern",
        (ingress(server_alias="~^[a-z]+\\.HOST$"),),
        (Ask(host="abc.HOST"), Ask(host="1.HOST")),
        told=(
            Told("*", f"{ANNOTATIONS}: regular expressions are refused; other namespaces' paths on the host"),
        ),
    ),
    Case(
        "location-ext",
        (ingress({"/a.b": "dot", "/a+b": "plus", "/a~b": "tilde"}),),
        gets("/a.b", "/axb", "/a+b", "/aab", "/a~b"),
    ),
    Case("upstream-vhost", (ingress(upstream_vhost="inside.test"),), gets("/")),
    Case(
        "upstream-vhost-variables",
        (ingress(upstream_vhost="$service_name.$namespace.svc:$service_port"),),
        gets("/"),
    ),
    Case(
        "location-capture-in-snippet-free",
        (ingress({"/x/(.*)": "web"}, kind=ANY, use_regex="true"),),
        gets("/x/a", "/X/a", "/y"),
    ),
)
