"""More of who is let in: what a service of auth-url is told and answers, CORS beside passwords, and TLS to endpoints."""

from conformance.ingress_nginx.case import Ask, Case, gets, ingress, secret
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.certificates import TRUSTED, certificate, secret_of
from conformance.ingress_nginx.cases.guards import AUTH, GOOD, USER, VERIFY
from conformance.ingress_nginx.endpoints import Answer

CASES = (
    Case(
        "auth-foo",
        (ingress(auth_url=f"{AUTH}/ok", auth_response_headers="X-User"),),
        (Ask("/a", fields=(("X-User", "forged"), ("x-user", "forged2"))),),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-cookies",
        (ingress(auth_url=f"{AUTH}/ok"),),
        (Ask("/a"), Ask("/404"), Ask("/302"), Ask("/500")),
        answers={
            "auth": VERIFY,
            "web": {
                "/404": answer(404),
                "/302": answer(302, Location="/x"),
                "/500": answer(500),
                "/a": answer(Set_Cookie="app=1"),
            },
        },
    ),
    Case(
        "auth-cache",
        (
            ingress(
                auth_url=f"{AUTH}/ok", auth_cache_key="$http_x_key", auth_cache_duration="200 202 401 10m"
            ),
        ),
        (
            Ask("/a", fields=(("X-Key", "1"),)),
            Ask("/b", fields=(("X-Key", "1"),)),
            Ask("/b", fields=(("X-Key", "2"),)),
        ),
        answers={"auth": VERIFY},
        once=True,
    ),
    Case(
        "auth-cache-denied",
        (ingress(auth_url=f"{AUTH}/unauthorized", auth_cache_key="$remote_user$http_authorization"),),
        (Ask("/a"), Ask("/a")),
        answers={"auth": VERIFY},
        once=True,
    ),
    Case(
        "auth-two-paths",
        (
            ingress({"/a": "web"}, name="a", auth_url=f"{AUTH}/ok"),
            ingress({"/b": "web"}, name="b", auth_url=f"{AUTH}/unauthorized"),
            ingress({"/c": "web"}, name="c"),
        ),
        gets("/a", "/b", "/c"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-keepalive",
        (ingress(auth_url=f"{AUTH}/ok", auth_keepalive="10", auth_response_headers="X-User"),),
        gets("/a"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-keepalive-denied",
        (
            ingress(
                auth_url=f"{AUTH}/unauthorized", auth_keepalive="10", auth_signin="https://login.test/start"
            ),
        ),
        gets("/a"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-method-wrong",
        (ingress(auth_url=f"{AUTH}/ok", auth_method="FETCH"),),
        gets("/a"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-fields-wrong",
        (ingress(auth_url=f"{AUTH}/ok", auth_response_headers="a b;c"),),
        gets("/a"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-signin-only",
        (ingress(auth_signin="https://login.test"),),
        gets("/a"),
    ),
    Case(
        "auth-large-answer",
        (ingress(auth_url=f"{AUTH}/ok"),),
        gets("/a"),
        answers={"auth": {"/ok": Answer(200, (("X-A", "b"),), "x" * 3000)}},
    ),
    Case(
        "auth-proxy-set",
        (ingress(auth_url=f"{AUTH}/ok", auth_proxy_set_headers="ingress-nginx/nowhere"),),
        gets("/a"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-regex-path",
        (
            ingress(
                {"/a/(.*)": "web"}, kind="ImplementationSpecific", use_regex="true", auth_url=f"{AUTH}/ok"
            ),
        ),
        gets("/a/b", "/A/b"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-rewrite",
        (
            ingress(
                {"/a(/|$)(.*)": "web"},
                kind="ImplementationSpecific",
                rewrite_target="/$2",
                auth_url=f"{AUTH}/ok",
                auth_signin="https://login.test/start",
            ),
        ),
        gets("/a/b?c"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-tls",
        (
            ingress(
                tls="own",
                auth_url=f"{AUTH}/unauthorized",
                auth_signin="https://$host/oauth2/start?rd=$escaped_request_uri",
            ),
            certificate("own", "auth-tls.test"),
        ),
        (Ask("/a?b=c&d", secure=True), Ask("/a")),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-beside-lists",
        (ingress(auth_url=f"{AUTH}/ok", denylist_source_range="10.20.1.2/32"),),
        (Ask("/a"), Ask("/a", client=2)),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-satisfy-any",
        (ingress(auth_url=f"{AUTH}/unauthorized", satisfy="any", whitelist_source_range="10.20.1.1/32"),),
        (Ask("/a"), Ask("/a", client=2)),
        answers={"auth": VERIFY},
    ),
    Case(
        "basic-cors",
        (ingress(auth_type="basic", auth_secret="users", enable_cors="true"), secret("users", auth=USER)),
        (
            Ask("/a", fields=(("Origin", "https://x.test"),)),
            Ask("/a", "OPTIONS", fields=(("Origin", "https://x.test"),)),
            Ask("/a", fields=(("Origin", "https://x.test"), *GOOD)),
        ),
    ),
    Case(
        "basic-bad-content",
        (ingress(auth_type="basic", auth_secret="users"), secret("users", auth="foo:")),
        (Ask("/a", fields=GOOD),),
    ),
    Case(
        "cors-comma",
        (ingress(enable_cors="true", cors_allow_origin="https://a.test, ,"),),
        (Ask(fields=(("Origin", "https://a.test"),)), Ask(fields=(("Origin", "https://b.test"),))),
    ),
    Case(
        "cors-empty",
        (ingress(enable_cors="true", cors_allow_origin=""),),
        (Ask(fields=(("Origin", "https://a.test"),)),),
    ),
    Case(
        "cors-wrong",
        (
            ingress(
                enable_cors="true",
                cors_allow_origin="not an origin",
                cors_allow_methods="GET;PUT",
                cors_max_age="long",
                cors_allow_headers="a b c?",
            ),
        ),
        (
            Ask(fields=(("Origin", "https://a.test"),)),
            Ask(method="OPTIONS", fields=(("Origin", "https://a.test"),)),
        ),
    ),
    Case(
        "cors-schemes",
        (
            ingress(
                enable_cors="true",
                cors_allow_origin="app://local, capacitor://localhost, http://localhost:3000",
            ),
        ),
        tuple(
            Ask(fields=(("Origin", origin),))
            for origin in (
                "app://local",
                "capacitor://localhost",
                "http://localhost:3000",
                "http://localhost:30001",
            )
        ),
    ),
    Case(
        "cors-wild-port",
        (ingress(enable_cors="true", cors_allow_origin="http://*.a.test:8080,https://*.b.c.test"),),
        tuple(
            Ask(fields=(("Origin", origin),))
            for origin in (
                "http://x.a.test:8080",
                "http://x.a.test",
                "https://x.b.c.test",
                "https://b.c.test",
                "https://x.y.b.c.test",
            )
        ),
    ),
    Case(
        "smuggled",
        (ingress(auth_url=f"{AUTH}/unauthorized", auth_signin="https://login.test/start"),),
        (Ask("/a", fields=(("Content-Length", "35"),), body=b"GET /hidden HTTP/1.1\r\nHost: other\r\n"),),
        answers={"auth": VERIFY},
    ),
    Case(
        "proxy-ssl-verify",
        (
            ingress(
                {"/": "tls-web"},
                backend_protocol="HTTPS",
                proxy_ssl_secret="SPACE/trust",
                proxy_ssl_verify="on",
            ),
            secret_of("trust", "Opaque", {"ca.crt": TRUSTED.pem}),
        ),
        gets("/a"),
    ),
    Case(
        "proxy-ssl-verify-off",
        (
            ingress({"/": "tls-web"}, backend_protocol="HTTPS", proxy_ssl_secret="SPACE/trust"),
            secret_of("trust", "Opaque", {"ca.crt": TRUSTED.pem}),
        ),
        gets("/a"),
    ),
    Case(
        "proxy-ssl-missing",
        (ingress({"/": "tls-web"}, backend_protocol="HTTPS", proxy_ssl_secret="SPACE/none"),),
        gets("/a"),
    ),
)
