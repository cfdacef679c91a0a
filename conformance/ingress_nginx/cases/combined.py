"""Annotations together, as Ingresses of real applications have them: canaries, and who is let in."""

from conformance.ingress_nginx.case import Ask, Case, Told, gets, ingress, secret
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.certificates import certificate
from conformance.ingress_nginx.cases.documents import AUTH as AUTH_DIFFERS
from conformance.ingress_nginx.cases.guards import AUTH, BAD, GOOD, USER, VERIFY
from conformance.ingress_nginx.cases.traffic import ALWAYS

ANY = "ImplementationSpecific"
ORIGIN = (("Origin", "https://app.test"),)
PREFLIGHT = (*ORIGIN, ("Access-Control-Request-Method", "PUT"), ("Access-Control-Request-Headers", "X-A"))
GONE = {"web": {"/404": answer(404), "/500": answer(500), "/503": answer(503)}}
PAGES = {"errors": {"": answer(404, "page", Content_Type="text/html")}}
COOKIE = "INGRESSCOOKIE"

CANARIES = (
    Case(
        "canary-regex-rewritten",
        (
            ingress({"/api(/|$)(.*)": "main"}, kind=ANY, use_regex="true", rewrite_target="/$2"),
            ingress(
                {"/api(/|$)(.*)": "canary"},
                kind=ANY,
                name="canary",
                canary="true",
                canary_by_header="X-Canary",
                use_regex="true",
                rewrite_target="/beta/$2",
            ),
        ),
        (
            *gets("/api/a", "/api", "/x"),
            Ask("/api/a?b", fields=ALWAYS),
            Ask("/api", fields=ALWAYS),
            Ask("/API/a", fields=ALWAYS),
        ),
    ),
    Case(
        "canary-regex-other-path",
        (
            ingress({"/api/(.*)": "main", "/(.*)": "rest"}, kind=ANY, use_regex="true"),
            ingress({"/api/(.*)": "canary"}, kind=ANY, name="canary", canary="true", canary_weight="100"),
        ),
        gets("/api/a", "/api", "/b", "/API/c"),
    ),
    Case(
        "canary-main-regex-alone",
        (
            ingress({"/a": "main"}, use_regex="true", kind=ANY),
            ingress({"/a": "canary"}, name="canary", canary="true", canary_weight="100"),
        ),
        gets("/a", "/a/b", "/ab", "/A"),
    ),
    Case(
        "canary-several-paths",
        (
            ingress({"/a": "main-a", "/b": "main-b", "/": "main"}),
            ingress(
                {"/a": "canary-a", "/b": "canary-b"},
                name="canary",
                canary="true",
                canary_by_header="X-Canary",
                canary_by_header_value="1",
            ),
        ),
        (
            *gets("/a", "/b", "/"),
            *(Ask(path, fields=(("X-Canary", "1"),)) for path in ("/a", "/b/c", "/", "/c")),
            Ask("/a", fields=(("X-Canary", "always"),)),
        ),
    ),
    Case(
        "canary-auth-url",
        (
            ingress({"/": "main"}, auth_url=f"{AUTH}/ok", auth_response_headers="X-User"),
            ingress({"/": "canary"}, name="canary", canary="true", canary_by_header="X-Canary"),
        ),
        (Ask("/a"), Ask("/a", fields=ALWAYS)),
        answers={"auth": VERIFY},
    ),
    Case(
        "canary-snippet-of-main",
        (
            ingress(
                {"/": "main"},
                configuration_snippet='more_set_headers "X-From: $service_name";\nproxy_set_header X-Service $service_name;',
            ),
            ingress({"/": "canary"}, name="canary", canary="true", canary_by_header="X-Canary"),
        ),
        (Ask("/a"), Ask("/a", fields=ALWAYS)),
    ),
    Case(
        "canary-cors",
        (
            ingress({"/": "main"}, enable_cors="true", cors_allow_origin="https://app.test"),
            ingress({"/": "canary"}, name="canary", canary="true", canary_weight="100"),
        ),
        (Ask("/a", fields=ORIGIN), Ask("/a", "OPTIONS", fields=PREFLIGHT)),
    ),
    Case(
        "canary-upstream-vhost",
        (
            ingress({"/": "main"}, upstream_vhost="$service_name.test"),
            ingress(
                {"/": "canary"},
                name="canary",
                canary="true",
                canary_by_header="X-Canary",
                upstream_vhost="beta.test",
            ),
        ),
        (Ask("/a"), Ask("/a", fields=ALWAYS)),
    ),
    Case(
        "canary-tls",
        (
            ingress({"/": "main"}, tls="own"),
            ingress({"/": "canary"}, tls="own", name="canary", canary="true", canary_by_header="X-Canary"),
            certificate("own", "canary-tls.test"),
        ),
        (
            Ask("/a", fields=ALWAYS),
            Ask("/a", secure=True, fields=ALWAYS),
            Ask("/a", secure=True),
        ),
    ),
    Case(
        "canary-redirect-of-main",
        (
            ingress({"/": "main"}, permanent_redirect="https://new.test"),
            ingress({"/": "canary"}, name="canary", canary="true", canary_weight="100"),
        ),
        gets("/a"),
    ),
    Case(
        "canary-mirror",
        (
            ingress({"/": "main"}, mirror_target="http://shadow.SPACE.svc.cluster.local:8080$request_uri"),
            ingress({"/": "canary"}, name="canary", canary="true", canary_weight="100"),
            ingress({"/": "shadow"}, host="shadow.HOST", name="shadow"),
        ),
        gets("/a"),
        settles=0.5,
    ),
    Case(
        "canary-cookie-and-sessions",
        (
            ingress({"/": "main"}, affinity="cookie", session_cookie_path="/", session_cookie_max_age="60"),
            ingress({"/": "canary"}, name="canary", canary="true", canary_by_cookie="beta"),
        ),
        (
            Ask(fields=(("Cookie", "beta=always"),)),
            Ask(),
            Ask(keeps=True),
            Ask("/a", fields=(("Cookie", "beta=never"),)),
        ),
        sessions=(COOKIE,),
    ),
)

AUTHENTICATED = (
    Case(
        "auth-set-in-snippet",
        (
            ingress(
                auth_url=f"{AUTH}/ok",
                configuration_snippet="auth_request_set $user $upstream_http_x_user;\n"
                "auth_request_set $group $upstream_http_x_group;\n"
                "proxy_set_header X-User $user;\nproxy_set_header X-Group $group;\nadd_header X-Told $user;",
            ),
        ),
        (Ask("/a"), Ask("/a", fields=(("X-User", "forged"), ("X-Group", "forged")))),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-set-cookie-in-snippet",
        (
            ingress(
                auth_url=f"{AUTH}/ok",
                configuration_snippet="auth_request_set $cookie $upstream_http_set_cookie;\n"
                "add_header Set-Cookie $cookie;",
            ),
        ),
        gets("/a"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-beside-regex",
        (
            ingress(
                {"/app(/|$)(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$2",
                auth_url=f"{AUTH}/ok",
                auth_signin="https://login.test/start?rd=$scheme://$host$request_uri",
            ),
        ),
        gets("/app/a?b=c", "/app", "/x"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-refused-beside-regex",
        (
            ingress(
                {"/app(/|$)(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$2",
                auth_url=f"{AUTH}/unauthorized",
                auth_signin="https://login.test/start",
            ),
        ),
        gets("/app/a?b=c", "/app"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-signin-fields",
        (
            ingress(
                auth_url=f"{AUTH}/unauthorized",
                auth_signin="https://login.test/start",
                configuration_snippet='more_set_headers "X-A: b";',
            ),
        ),
        gets("/a"),
        answers={"auth": VERIFY},
        told=(Told("answer.field.x-a", AUTH_DIFFERS),),
    ),
    Case(
        "auth-one-path-open",
        (
            ingress({"/": "web"}, name="in", auth_url=f"{AUTH}/unauthorized"),
            ingress({"/health": "web", "Exact:/login": "web"}, name="open"),
        ),
        gets("/", "/a", "/health", "/health/x", "/healthy", "/login", "/login/x"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-and-app-root",
        (ingress(auth_url=f"{AUTH}/unauthorized", app_root="/app"),),
        gets("/", "/app"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-and-redirect",
        (ingress(auth_url=f"{AUTH}/unauthorized", permanent_redirect="https://new.test"),),
        gets("/a"),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-and-limits",
        (ingress(auth_url=f"{AUTH}/unauthorized", limit_rpm="1", limit_burst_multiplier="1"),),
        (Ask("/a", times=5),),
        answers={"auth": VERIFY},
        once=True,
    ),
    Case(
        "auth-and-pages",
        (ingress(auth_url=f"{AUTH}/forbidden", custom_http_errors="403,404", default_backend="errors"),),
        gets("/a"),
        answers={"auth": VERIFY, **PAGES},
    ),
    Case(
        "auth-signin-and-pages",
        (
            ingress(
                auth_url=f"{AUTH}/unauthorized",
                auth_signin="https://login.test/start",
                custom_http_errors="404,503",
                default_backend="errors",
            ),
        ),
        gets("/a"),
        answers={"auth": VERIFY, **PAGES},
    ),
    Case(
        "auth-websocket",
        (ingress(auth_url=f"{AUTH}/ok"),),
        (
            Ask(
                "/ws",
                fields=(
                    ("Connection", "Upgrade"),
                    ("Upgrade", "websocket"),
                    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
                    ("Sec-WebSocket-Version", "13"),
                ),
            ),
        ),
        answers={"auth": VERIFY},
    ),
    Case(
        "auth-options-beside-cors",
        (ingress(auth_url=f"{AUTH}/unauthorized", enable_cors="true", cors_allow_origin="https://app.test"),),
        (Ask("/a", "OPTIONS", fields=PREFLIGHT), Ask("/a", fields=ORIGIN)),
        answers={"auth": VERIFY},
    ),
    Case(
        "basic-and-pages",
        (
            ingress(
                auth_type="basic",
                auth_secret="users",
                auth_realm="Staff only",
                custom_http_errors="404",
                default_backend="errors",
            ),
            secret("users", auth=USER),
        ),
        (Ask("/404"), Ask("/404", fields=GOOD), Ask("/a", fields=BAD)),
        answers={**GONE, **PAGES},
    ),
    Case(
        "basic-authorization-away",
        (
            ingress(
                auth_type="basic",
                auth_secret="users",
                configuration_snippet='proxy_set_header Authorization "";\nproxy_set_header X-User $remote_user;',
            ),
            secret("users", auth=USER),
        ),
        (Ask("/a", fields=GOOD), Ask("/a")),
    ),
    Case(
        "basic-and-lists",
        (
            ingress(
                auth_type="basic",
                auth_secret="users",
                whitelist_source_range="10.20.1.0/29",
                denylist_source_range="10.20.1.3",
            ),
            secret("users", auth=USER),
        ),
        (
            Ask("/a"),
            Ask("/a", fields=GOOD),
            Ask("/a", client=3),
            Ask("/a", client=3, fields=GOOD),
        ),
    ),
    Case(
        "satisfy-any-auth-url",
        (ingress(auth_url=f"{AUTH}/unauthorized", whitelist_source_range="10.20.1.1/32", satisfy="any"),),
        (Ask("/a"), Ask("/a", client=2)),
        answers={"auth": VERIFY},
    ),
    Case(
        "satisfy-any-auth-signin",
        (
            ingress(
                auth_url=f"{AUTH}/unauthorized",
                auth_signin="https://login.test/start",
                whitelist_source_range="10.20.1.1/32",
                satisfy="any",
            ),
        ),
        (Ask("/a"), Ask("/a?b", client=2)),
        answers={"auth": VERIFY},
    ),
)

CASES = (*CANARIES, *AUTHENTICATED)
