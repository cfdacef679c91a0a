"""Ingresses as users write them, several annotations at once."""

from conformance.ingress_nginx.case import Ask, Case, Told, gets, ingress, secret
from conformance.ingress_nginx.cases.certificates import certificate
from conformance.ingress_nginx.cases.documents import ANNOTATIONS, AUTH, ERRORS, ORIGINS
from conformance.ingress_nginx.endpoints import Answer

ANY = "ImplementationSpecific"
ACCOUNTS = "ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="
SIGNED_IN = (("Authorization", "Basic YW5uOnBhc3N3b3Jk"),)

CASES = (
    Case(
        "slash-beside-annotations",
        (ingress({"/a/": "a", "Exact:/b/": "b", "/c/": "c"}, proxy_read_timeout="30"),),
        gets("/a", "/a/", "/a/b", "/a?x=1", "/b", "/b/", "/b/c", "/c", "/c/", "/ab"),
    ),
    Case(
        "default-beside-annotations",
        (ingress({"/a": "web"}, default="rest", proxy_read_timeout="30"),),
        (*gets("/a", "/", "/b"), Ask("/a", host="a.HOST")),
    ),
    Case(
        "api-and-site",
        (
            ingress(
                {"/api(/|$)(.*)": "api"},
                kind=ANY,
                name="api",
                use_regex="true",
                rewrite_target="/$2",
                proxy_body_size="50m",
                enable_cors="true",
                cors_allow_origin="https://app.test",
            ),
            ingress({"/": "site"}, name="site", proxy_buffer_size="16k"),
        ),
        (
            *gets("/", "/api", "/api/", "/api/v1/users?q=1", "/apiary", "/static/app.js", "/API/x"),
            Ask(
                "/api/x",
                "OPTIONS",
                fields=(("Origin", "https://app.test"), ("Access-Control-Request-Method", "PUT")),
            ),
            Ask("/api/x", fields=(("Origin", "https://app.test"),)),
            Ask("/x", "OPTIONS", fields=(("Origin", "https://app.test"),)),
        ),
        told=(Told("answer.field.vary", ORIGINS),),
    ),
    Case(
        "oauth2-proxy",
        (
            ingress(
                name="site",
                auth_url="http://oauth.SPACE.svc.cluster.local:8080/oauth2/auth",
                auth_signin="https://$host/oauth2/start?rd=$escaped_request_uri",
                auth_response_headers="X-Auth-Request-User, X-Auth-Request-Email, Authorization",
            ),
            ingress({"/oauth2": "oauth"}, name="oauth"),
        ),
        (
            Ask("/in?a=b&c=d"),
            Ask("/oauth2/start?rd=%2Fin"),
            Ask("/oauth2"),
            Ask("/in", fields=(("X-Auth-Request-User", "evil"), ("Cookie", "_oauth2_proxy=x"))),
        ),
        answers={"oauth": {"/oauth2/auth": Answer(401, body="no")}},
        told=(Told("endpoint.oauth.field.*", AUTH, "* http://HOST/in*"),),
    ),
    Case(
        "oauth2-proxy-in",
        (
            ingress(
                auth_url="http://oauth.SPACE.svc.cluster.local:8080/oauth2/auth",
                auth_signin="https://$host/oauth2/start?rd=$escaped_request_uri",
                auth_response_headers="X-Auth-Request-User, X-Auth-Request-Email, Authorization",
            ),
        ),
        (
            Ask("/in?a=b"),
            Ask(
                "/in",
                "POST",
                fields=(("X-Auth-Request-User", "evil"), ("Authorization", "Bearer mine")),
                body=b"abc",
            ),
        ),
        answers={
            "oauth": {
                "": Answer(
                    202,
                    (
                        ("X-Auth-Request-User", "ann"),
                        ("X-Auth-Request-Email", "ann@x.test"),
                        ("Authorization", "Bearer theirs"),
                        ("Set-Cookie", "_oauth2_proxy=new; Path=/; Secure"),
                    ),
                )
            }
        },
        told=(Told("endpoint.oauth.field.*", AUTH),),
    ),
    Case(
        "websockets",
        (
            ingress(
                proxy_read_timeout="3600",
                proxy_send_timeout="3600",
                proxy_http_version="1.1",
                proxy_buffering="off",
                proxy_request_buffering="off",
            ),
        ),
        (
            Ask(
                fields=(
                    ("Connection", "Upgrade"),
                    ("Upgrade", "websocket"),
                    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
                    ("Sec-WebSocket-Version", "13"),
                )
            ),
            Ask("/poll?transport=polling", "POST", body=b"abc"),
        ),
    ),
    Case(
        "security-headers",
        (
            ingress(
                configuration_snippet='more_set_headers "X-Frame-Options: SAMEORIGIN";\nmore_set_headers "X-Content-Type-Options: nosniff";\nmore_set_headers "X-XSS-Protection: 1; mode=block";\nmore_set_headers "Strict-Transport-Security: max-age=31536000; includeSubDomains";\nmore_clear_headers "X-Powered-By";',
            ),
        ),
        gets("/", "/404"),
        answers={
            "web": {
                "": Answer(fields=(("X-Powered-By", "Express"), ("X-Frame-Options", "DENY"))),
                "/404": Answer(404),
            }
        },
    ),
    Case(
        "old-spellings",
        (
            ingress(
                {"/": "tls-web"},
                secure_backends="true",
                whitelist_source_range="10.20.0.0/16",
                force_ssl_redirect="false",
                rewrite_target="/",
            ),
        ),
        gets("/", "/a"),
        told=(Told("*", f"{ANNOTATIONS}: the old spelling of `backend-protocol: HTTPS`"),),
    ),
    Case(
        "maintenance",
        (ingress(default_backend="sorry", custom_http_errors="502,503,504"),),
        (*gets("/", "/a?b"), Ask("/", "POST", body=b"a")),
        replicas={"web": 0},
        answers={
            "sorry": {
                "": Answer(200, (("Content-Type", "text/html"), ("Retry-After", "60")), "<h1>soon</h1>")
            }
        },
        told=(Told("endpoint.sorry.field.x-request-id", ERRORS),),
    ),
    Case(
        "staging",
        (
            ingress(
                host="*.HOST",
                name="staging",
                auth_type="basic",
                auth_secret="accounts",
                auth_realm="Authentication Required - staging",
                tls="wild",
                configuration_snippet='more_set_headers "X-Robots-Tag: noindex";',
            ),
            secret("accounts", auth=ACCOUNTS),
            certificate("wild", "*.staging.test"),
        ),
        (
            Ask("/a", host="pr-1.HOST"),
            Ask("/a", secure=True, host="pr-1.HOST", server_name="pr-1.HOST"),
            Ask("/a", secure=True, host="pr-1.HOST", server_name="pr-1.HOST", fields=SIGNED_IN),
        ),
    ),
    Case(
        "old-domain",
        (
            ingress(
                host="old.HOST", name="old", permanent_redirect="https://HOST", permanent_redirect_code="308"
            ),
            ingress(),
        ),
        (Ask("/a?b", host="old.HOST"), Ask("/a", "POST", host="old.HOST", body=b"a"), Ask("/a")),
    ),
    Case(
        "admin-by-address",
        (
            ingress({"/": "site"}, name="site"),
            ingress(
                {"/admin": "site", "Exact:/metrics": "site"},
                name="admin",
                whitelist_source_range="10.20.1.1/32",
            ),
        ),
        tuple(
            Ask(target, client=client)
            for target in (
                "/",
                "/admin",
                "/admin/x",
                "/metrics",
                "/metrics/x",
                "/administration",
                "//admin",
                "/x/../admin",
                "/ADMIN",
            )
            for client in (1, 2)
        ),
    ),
    Case(
        "registry",
        (
            ingress(
                {"/v2/": "registry", "/": "portal"},
                proxy_body_size="0",
                proxy_request_buffering="off",
                proxy_read_timeout="900",
            ),
        ),
        (
            *gets("/v2", "/v2/", "/v2/a/b/blobs/sha256:abc", "/v2/a/manifests/1.0", "/x"),
            Ask("/v2/a/blobs/uploads/", "POST", body=b"a" * 200_000),
            Ask(
                "/v2/a/blobs/uploads/x?digest=sha256%3Aabc",
                "PUT",
                fields=(("Transfer-Encoding", "chunked"),),
                body=b"3\r\nabc\r\n0\r\n\r\n",
            ),
        ),
        answers={
            "registry": {
                "/v2/a/blobs/uploads/": Answer(
                    202, (("Location", "/v2/a/blobs/uploads/x"), ("Docker-Upload-UUID", "x"))
                )
            }
        },
    ),
    Case(
        "files-with-names",
        (ingress({"/files": "files"}),),
        gets(
            "/files/a%20b.txt",
            "/files/%E2%82%AC.pdf",
            "/files/a+b",
            "/files/100%25",
            "/files/a&b=c",
            "/files/(1).txt",
            "/files/a,b;c",
            "/files/~x",
            "/files/%7Ex",
            "/files/a:b@c",
        ),
    ),
    Case(
        "php-redirects",
        (
            ingress(
                proxy_redirect_from="http://php.inside/", proxy_redirect_to="/", proxy_cookie_path="/app /"
            ),
        ),
        gets("/login", "/x"),
        answers={
            "web": {
                "/login": Answer(
                    302,
                    (
                        ("Location", "http://php.inside/app/home"),
                        ("Set-Cookie", "PHPSESSID=1; path=/app; HttpOnly"),
                    ),
                )
            }
        },
    ),
    Case(
        "sticky-sessions",
        (
            ingress(
                affinity="cookie",
                session_cookie_name="route",
                session_cookie_hash="sha1",
                session_cookie_expires="172800",
                session_cookie_max_age="172800",
                affinity_mode="persistent",
            ),
        ),
        (Ask(), Ask("/a", keeps=True), Ask("/b", keeps=True), Ask("/c", fields=(("Cookie", "other=1"),))),
        replicas={"web": 3},
        sessions=("route",),
    ),
    Case(
        "two-namespaces-of-paths",
        (
            ingress({"/": "root", "/b": "b"}, name="root", proxy_connect_timeout="10"),
            ingress({"/a/(.*)": "a"}, kind=ANY, name="a", use_regex="true", rewrite_target="/$1"),
            ingress({"Exact:/a/exact": "exact"}, name="exact"),
        ),
        gets("/", "/a/x", "/a/exact", "/a/exact/x", "/b", "/bc", "/B", "/a"),
    ),
    Case(
        "grafana",
        (ingress({"/grafana/?(.*)": "grafana"}, kind=ANY, rewrite_target="/$1", ssl_redirect="false"),),
        gets("/grafana", "/grafana/", "/grafana/d/x?orgId=1", "/grafanax", "/Grafana/a"),
    ),
    Case(
        "app-below-path",
        (
            ingress(
                {"/app": "app"},
                app_root="/app/home",
                proxy_cookie_path="/ /app/",
                x_forwarded_prefix="/app",
                rewrite_target="/app",
            ),
        ),
        gets("/", "/app", "/app/home", "/x"),
        told=(
            Told(
                "*",
                f"{ANNOTATIONS}: a path that is replaced by itself stays, also what is below it",
                "* http://HOST/app/home",
            ),
            Told(
                "endpoint.app.field.x-forwarded-prefix",
                f"{ANNOTATIONS}: it is sent where no path is rewritten, too",
            ),
        ),
    ),
)
