"""Random objects and requests that have much to do with each other."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from ingress.model.cluster.objects import (
    ClusterObject,
    EndpointSlice,
    ObjectKey,
    Secret,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    IngressTLS,
    ServicePortReference,
)
from tests.fakes.certificates import make_authority

PREFIX = TranslateOptions().annotations_prefix
NOW = datetime(2026, 7, 1, tzinfo=UTC)
ACCOUNTS = b"someone:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n"
"""A user whose password is "secret"."""

namespaces = st.sampled_from(["demo", "demo", "other"])
hosts = st.sampled_from(["a.com", "b.a.com", "*.a.com", "", "c.com"])
paths = st.sampled_from(
    ["/", "/", "/a", "/a/", "/a/b", "/a/b/c", "/%61b", "/a(/|$)(.*)", "/[ab]+", "/api/(.*)", "/A", "", "/a.b"]
)
path_types = st.sampled_from(["Prefix", "Prefix", "Exact", "ImplementationSpecific"])
services_named = st.sampled_from(["web", "web", "canary", "gone", "empty"])
ports = st.sampled_from(
    [ServicePortReference("", 80), ServicePortReference("http", 0), ServicePortReference("", 81)]
)

ANNOTATIONS: dict[str, tuple[str, ...]] = {
    "ssl-redirect": ("true", "false"),
    "force-ssl-redirect": ("true",),
    "preserve-trailing-slash": ("true",),
    "use-regex": ("true", "false"),
    "rewrite-target": ("/", "/$1", "/new/$2", "https://a.test/$1"),
    "app-root": ("/start",),
    "permanent-redirect": ("https://elsewhere.test/x", "/y"),
    "temporal-redirect": ("https://elsewhere.test/$host",),
    "permanent-redirect-code": ("301", "418"),
    "from-to-www-redirect": ("true",),
    "server-alias": ("alias.com", "*.alias.com"),
    "whitelist-source-range": ("10.0.0.0/8", "192.0.2.0/24"),
    "denylist-source-range": ("10.1.0.0/16", "192.0.2.0/24"),
    "satisfy": ("any", "all"),
    "auth-type": ("basic",),
    "auth-secret": ("accounts", "gone"),
    "auth-url": ("http://ask.test/", "http://ask.test/check?x=$host"),
    "auth-signin": ("https://sign.in/?rd=$escaped_request_uri",),
    "auth-response-headers": ("X-User",),
    "auth-tls-secret": ("demo/authority", "demo/gone"),
    "auth-tls-verify-client": ("optional", "on"),
    "enable-cors": ("true",),
    "cors-allow-origin": ("https://good.test", "*"),
    "limit-rps": ("5",),
    "limit-connections": ("2",),
    "upstream-vhost": ("inner.test", "$host.inner"),
    "x-forwarded-prefix": ("/pre",),
    "custom-http-errors": ("404,503", "403"),
    "default-backend": ("web", "empty"),
    "canary": ("true",),
    "canary-weight": ("0", "30", "100"),
    "canary-by-header": ("x-new",),
    "canary-by-header-value": ("yes",),
    "canary-by-cookie": ("fresh",),
    "affinity": ("cookie",),
    "upstream-hash-by": ("$request_uri",),
    "backend-protocol": ("HTTP", "GRPC", "FCGI"),
    "proxy-body-size": ("1", "8m", "0"),
    "service-upstream": ("true",),
    "ssl-passthrough": ("true",),
    "mirror-target": ("http://ask.test/mirror",),
    "configuration-snippet": (
        "return 403;",
        "if ($http_x_new) { return 302 https://new.test$request_uri; }",
        "proxy_set_header X-Set $host;",
        "more_set_headers 'X-More: 1';",
    ),
    "server-snippet": ("location = /a { return 200 a; }", "if ($request_method = POST) { return 405; }"),
    "block-cidrs": ("192.0.2.0/24",),
    "no-such-thing": ("x",),
}
annotations = st.lists(st.sampled_from(sorted(ANNOTATIONS)), max_size=5, unique=True).flatmap(
    lambda names: st.fixed_dictionaries(
        {f"{PREFIX}/{name}": st.sampled_from(ANNOTATIONS[name]) for name in names}
    )
)


def some(of: st.SearchStrategy[Any], least: int, most: int) -> st.SearchStrategy[tuple[Any, ...]]:
    """Return a few of them."""
    return st.lists(of, min_size=least, max_size=most).map(tuple)


backends = st.builds(IngressBackend, services_named, ports)
ingresses = st.builds(
    Ingress,
    st.builds(ObjectKey, namespaces, st.sampled_from(["a", "b", "c", "d"])),
    st.sampled_from(["", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"]),
    st.sampled_from(["nginx", "nginx", "nginx", "nginx", "other", None]),
    annotations,
    st.none() | st.none() | backends,
    some(
        st.builds(IngressRule, hosts, some(st.builds(IngressPath, paths, path_types, backends), 0, 3)), 0, 3
    ),
    some(st.builds(IngressTLS, some(hosts, 0, 2), st.sampled_from(["certificate", "gone", ""])), 0, 1),
)


def _objects_of(namespace: str) -> list[ClusterObject]:
    port = (ServicePort("http", 80, 8080),)
    found: list[ClusterObject] = []
    for number, name in enumerate(("web", "canary")):
        key = ObjectKey(namespace, name)
        found.append(Service(key, cluster_ip=f"10.96.0.{number + 1}", ports=port))
        addresses = (f"10.0.{number}.1", f"10.0.{number}.2")
        found.append(EndpointSlice(key, key, "IPv4", (SlicePort("http", 8080),), addresses))
    found.append(Service(ObjectKey(namespace, "empty"), ports=port))
    found.append(Secret(ObjectKey(namespace, "accounts"), "Opaque", {"auth": ACCOUNTS}, frozenset({"auth"})))
    authority = {"ca.crt": make_authority().pem}
    found.append(Secret(ObjectKey(namespace, "authority"), "Opaque", authority, frozenset({"ca.crt"})))
    return found


FIXED = [one for namespace in ("demo", "other") for one in _objects_of(namespace)]
clusters = st.lists(ingresses, min_size=1, max_size=5, unique_by=lambda one: one.key).map(
    lambda found: [*found, *FIXED]
)

options = st.builds(
    TranslateOptions,
    shared_hosts=st.booleans(),
    quirks=st.sampled_from([True, True, False]),
    watch_without_class=st.booleans(),
    ssl_passthrough=st.booleans(),
)

urls = st.builds(
    lambda scheme, host, port, path, query: f"{scheme}://{host}{port}{path}{query}",
    st.sampled_from(["http", "https"]),
    st.sampled_from(
        [
            "a.com",
            "b.a.com",
            "x.a.com",
            "c.com",
            "www.a.com",
            "alias.com",
            "z.org",
            "10.9.9.9",
            "A.COM",
            "a.com.",
        ]
    ),
    st.sampled_from(["", "", ":8080"]),
    st.sampled_from(
        [
            "",
            "/",
            "/",
            "/a",
            "/a",
            "/a/",
            "/a/b",
            "/a/b/c/d",
            "/ab",
            "/b",
            "/api/x",
            "/A/b",
            "/a//b",
            "/a/../b",
            "/../x",
            "/a%2fb",
            "/x y",
            "/ü",
            "/a.b",
            "/a;x=1/b",
            "/.well-known/acme-challenge/t",
        ]
    ),
    st.sampled_from(["", "?q=1", "?x=%zz"]),
)
methods = st.sampled_from([*["GET"] * 8, *["POST"] * 3, *["OPTIONS"] * 2, "HEAD", "HEAD", "TRACE", "get"])
headers = st.lists(
    st.sampled_from(
        [
            "x-new: always",
            "X-New: yes",
            "Cookie: fresh=always",
            "Cookie: fresh=never",
            "Authorization: Basic c29tZW9uZTpzZWNyZXQ=",
            "Origin: https://good.test",
            "Access-Control-Request-Method: PUT",
            "Host: b.a.com",
            "Host: a.com",
            "Content-Length: 5000000",
            "X-Forwarded-For: 10.0.0.9",
            "Accept: text/html",
            "Content-Type: application/grpc",
            "X_Under: 1",
        ]
    ),
    max_size=3,
    unique=True,
)
clients = st.sampled_from(["192.0.2.1", "10.0.0.7", "10.1.2.3", "198.51.100.9"])
