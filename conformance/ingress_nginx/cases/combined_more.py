"""More annotations together: redirects, error pages, guards, and what is passed on to endpoints and clients."""

from conformance.ingress_nginx.case import Ask, Case, Told, config_map, gets, ingress, secret
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.certificates import certificate
from conformance.ingress_nginx.cases.guards import GOOD, USER
from conformance.ingress_nginx.cases.traffic import ALWAYS

ANY = "ImplementationSpecific"
ORIGIN = (("Origin", "https://app.test"),)
PREFLIGHT = (*ORIGIN, ("Access-Control-Request-Method", "PUT"), ("Access-Control-Request-Headers", "X-A"))
GONE = {"web": {"/404": answer(404), "/500": answer(500), "/503": answer(503)}}
PAGES = {"errors": {"": answer(404, "page", Content_Type="text/html")}}
COOKIE = "INGRESSCOOKIE"

REDIRECTED = (
    *(
        Case(
            f"permanent-code-{code}",
            (ingress(permanent_redirect="https://new.test/x", permanent_redirect_code=code),),
            (Ask("/a?b"), Ask("/a", "POST", body=b"abc")),
        )
        for code in ("300", "302", "303", "304", "307", "309", "200", "abc")
    ),
    Case(
        "permanent-tls",
        (
            ingress(tls="own", permanent_redirect="https://new.test/x"),
            certificate("own", "permanent-tls.test"),
        ),
        (Ask("/a"), Ask("/a", secure=True)),
    ),
    Case(
        "permanent-one-path",
        (
            ingress({"/old": "web"}, name="old", permanent_redirect="https://new.test/x"),
            ingress({"/": "web"}, name="site"),
        ),
        gets("/old", "/old/a", "/older", "/", "/a"),
    ),
    Case(
        "permanent-whole-host-www",
        (
            ingress(
                tls="own", host="HOST", from_to_www_redirect="true", permanent_redirect="https://new.test"
            ),
            certificate("own", "permanent-whole-host-www.test", "www.permanent-whole-host-www.test"),
        ),
        (
            Ask("/a"),
            Ask("/a", host="www.HOST"),
            Ask("/a", secure=True),
            Ask("/a", secure=True, host="www.HOST", server_name="www.HOST"),
        ),
    ),
    Case(
        "www-tls",
        (
            ingress(tls="own", from_to_www_redirect="true"),
            certificate("own", "www-tls.test", "www.www-tls.test"),
        ),
        (
            Ask("/a?b"),
            Ask("/a?b", host="www.HOST"),
            Ask("/a?b", secure=True, host="www.HOST", server_name="www.HOST"),
            Ask("/a", secure=True),
        ),
    ),
    Case(
        "www-app-root",
        (ingress(from_to_www_redirect="true", app_root="/app"),),
        (Ask("/"), Ask("/", host="www.HOST"), Ask("/app", host="www.HOST")),
    ),
    Case(
        "www-guarded",
        (ingress(from_to_www_redirect="true", denylist_source_range="10.20.1.1"),),
        (Ask("/a"), Ask("/a", host="www.HOST")),
    ),
    Case(
        "www-and-alias",
        (ingress(from_to_www_redirect="true", server_alias="alias.HOST,www.HOST"),),
        (Ask("/a", host="alias.HOST"), Ask("/a", host="www.HOST"), Ask("/a")),
    ),
    Case(
        "alias-tls-redirect",
        (
            ingress(tls="own", server_alias="alias.HOST"),
            certificate("own", "alias-tls-redirect.test", "alias.alias-tls-redirect.test"),
        ),
        (
            Ask("/a"),
            Ask("/a", host="alias.HOST"),
            Ask("/a", secure=True, host="alias.HOST", server_name="alias.HOST"),
        ),
    ),
    Case(
        "alias-regex-rewritten",
        (
            ingress(
                {"/api/(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$1",
                server_alias="alias.HOST",
            ),
        ),
        (Ask("/api/a", host="alias.HOST"), Ask("/API/a?b", host="alias.HOST"), Ask("/x", host="alias.HOST")),
    ),
    Case(
        "alias-app-root",
        (ingress(app_root="/app", server_alias="alias.HOST"),),
        (Ask("/", host="alias.HOST"), Ask("/a", host="alias.HOST")),
    ),
    Case(
        "app-root-rewritten",
        (
            ingress(
                {"/(.*)": "web"}, kind=ANY, use_regex="true", rewrite_target="/base/$1", app_root="/login"
            ),
        ),
        gets("/", "/?a", "/login", "/x"),
    ),
    Case(
        "app-root-tls-forced",
        (
            ingress(tls="own", app_root="/app", force_ssl_redirect="true"),
            certificate("own", "app-root-tls-forced.test"),
        ),
        (Ask("/"), Ask("/app"), Ask("/", secure=True), Ask("/app", secure=True)),
    ),
    Case(
        "app-root-fields",
        (ingress(app_root="/app", configuration_snippet='more_set_headers "X-A: b";'),),
        gets("/", "/app"),
        told=(Told("answer.field.x-a", "docs/redirects.md#to-the-application", "* http://HOST/"),),
    ),
    Case(
        "app-root-with-query",
        (ingress(app_root="/app/?a=b&c=d#e"),),
        gets("/", "/?x"),
    ),
    Case(
        "temporal-uri",
        (ingress(temporal_redirect="https://now.test$request_uri"),),
        gets("/a?b=c", "/"),
    ),
    Case(
        "temporal-beside-auth",
        (
            ingress(temporal_redirect="https://now.test/x", auth_type="basic", auth_secret="users"),
            secret("users", auth=USER),
        ),
        (Ask("/a"), Ask("/a", fields=GOOD)),
    ),
    Case(
        "redirect-beside-pages",
        (
            ingress(
                {"/a": "web"},
                permanent_redirect="https://new.test",
                custom_http_errors="404",
                default_backend="errors",
            ),
        ),
        gets("/a"),
        answers=PAGES,
    ),
    Case(
        "redirect-beside-rewrite",
        (
            ingress(
                {"/old/(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="https://new.test/$1",
            ),
        ),
        gets("/old/a?b=c", "/old/", "/x"),
    ),
)

PAGED = (
    Case(
        "pages-and-body",
        (ingress(custom_http_errors="404,503", default_backend="errors"),),
        (
            Ask("/404", "POST", body=b"abc"),
            Ask("/404", "HEAD"),
            Ask("/503", fields=(("Accept", "application/json"), ("Cookie", "a=b"), ("Authorization", "x"))),
        ),
        answers={**GONE, "errors": {"": answer(503, "page", Content_Type="application/json")}},
    ),
    Case(
        "pages-regex",
        (
            ingress(
                {"/api/(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$1",
                custom_http_errors="404",
                default_backend="errors",
            ),
        ),
        gets("/api/404?x=1", "/api/a", "/b"),
        answers={**GONE, **PAGES},
    ),
    Case(
        "pages-cors",
        (
            ingress(
                custom_http_errors="404",
                default_backend="errors",
                enable_cors="true",
                cors_allow_origin="https://app.test",
            ),
        ),
        (Ask("/404", fields=ORIGIN),),
        answers={**GONE, **PAGES},
    ),
    Case(
        "pages-canary",
        (
            ingress({"/": "main"}, custom_http_errors="404", default_backend="errors"),
            ingress({"/": "canary"}, name="canary", canary="true", canary_by_header="X-Canary"),
        ),
        (Ask("/a", fields=ALWAYS), Ask("/a")),
        answers={"main": {"": answer(404)}, "canary": {"": answer(404)}, **PAGES},
    ),
    Case(
        "pages-denied-by-list",
        (ingress(custom_http_errors="403", default_backend="errors", whitelist_source_range="10.20.1.2/32"),),
        (Ask("/a"), Ask("/a", client=2)),
        answers={"errors": {"": answer(403, "page")}},
    ),
    Case(
        "default-backend-none-there",
        (ingress(default_backend="errors"),),
        gets("/a?b"),
        replicas={"web": 0},
        answers={"errors": {"": answer(200, "stand-in")}},
    ),
    Case(
        "default-backend-of-two-paths",
        (ingress({"/a": "web", "/b": "other"}, default_backend="errors", rewrite_target="/x"),),
        gets("/a", "/b"),
        replicas={"web": 0},
        answers={"errors": {"": answer(404, "stand-in")}},
    ),
)

GUARDED = (
    Case(
        "lists-and-limits",
        (
            ingress(
                whitelist_source_range="10.20.1.0/24",
                denylist_source_range="10.20.1.4",
                limit_rpm="1",
                limit_burst_multiplier="2",
                limit_allowlist="10.20.1.2/32",
            ),
        ),
        (Ask(times=6), Ask(client=2, times=6), Ask(client=4, times=6)),
        once=True,
    ),
    Case(
        "limit-of-two-ingresses",
        (
            ingress({"/a": "web"}, name="a", limit_rpm="1", limit_burst_multiplier="1"),
            ingress({"/b": "web"}, name="b", limit_rpm="1", limit_burst_multiplier="1"),
        ),
        (Ask("/a", times=4), Ask("/b", times=4)),
        once=True,
    ),
    Case(
        "limit-connections-and-rps",
        (ingress(limit_connections="2", limit_rps="100"),),
        (Ask(times=6),),
        once=True,
    ),
    Case(
        "limit-beside-canary",
        (
            ingress({"/": "main"}, limit_rpm="1", limit_burst_multiplier="1"),
            ingress({"/": "canary"}, name="canary", canary="true", canary_weight="100"),
        ),
        (Ask(times=5),),
        once=True,
    ),
    Case(
        "limit-beside-alias",
        (ingress(server_alias="alias.HOST", limit_rpm="1", limit_burst_multiplier="1"),),
        (Ask(times=4), Ask(host="alias.HOST", times=4)),
        once=True,
    ),
    Case(
        "limit-rpm-rps-beside-app-root",
        (ingress(app_root="/app", limit_rpm="1", limit_burst_multiplier="1"),),
        (Ask("/", times=5),),
        once=True,
    ),
    Case(
        "list-with-alias",
        (ingress(server_alias="alias.HOST", whitelist_source_range="10.20.1.2/32"),),
        (Ask("/a", host="alias.HOST"), Ask("/a", host="alias.HOST", client=2)),
    ),
    Case(
        "list-rewritten",
        (
            ingress(
                {"/api/(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$1",
                whitelist_source_range="10.20.1.2/32",
            ),
        ),
        (Ask("/api/a"), Ask("/api/a", client=2), Ask("/b")),
    ),
)

PASSED_ON = (
    Case(
        "mirror-rewritten",
        (
            ingress(
                {"/api/(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$1",
                mirror_target="http://shadow.SPACE.svc.cluster.local:8080$request_uri",
            ),
            ingress({"/": "shadow"}, host="shadow.HOST", name="shadow"),
        ),
        (Ask("/api/a?b"), Ask("/api/a", "POST", body=b"abc")),
        settles=0.5,
    ),
    Case(
        "mirror-no-body",
        (
            ingress(
                mirror_target="http://shadow.SPACE.svc.cluster.local:8080$request_uri",
                mirror_request_body="off",
                proxy_request_buffering="off",
            ),
            ingress({"/": "shadow"}, host="shadow.HOST", name="shadow"),
        ),
        (Ask("/a?b"), Ask("/a", "POST", body=b"abc")),
        settles=0.5,
    ),
    Case(
        "mirror-refused",
        (
            ingress(
                mirror_target="http://shadow.SPACE.svc.cluster.local:8080$request_uri",
                denylist_source_range="10.20.1.1",
            ),
            ingress({"/": "shadow"}, host="shadow.HOST", name="shadow"),
        ),
        gets("/a"),
        settles=0.5,
    ),
    Case(
        "https-vhost-and-name",
        (
            ingress(
                {"/": "tls-web"},
                backend_protocol="HTTPS",
                upstream_vhost="in.test",
                proxy_ssl_name="in.test",
                proxy_ssl_server_name="on",
            ),
        ),
        gets("/a"),
    ),
    Case(
        "https-rewritten-cookies",
        (
            ingress(
                {"/app(/|$)(.*)": "tls-web"},
                kind=ANY,
                backend_protocol="HTTPS",
                use_regex="true",
                rewrite_target="/$2",
                proxy_cookie_path="/ /app/",
                proxy_cookie_domain="in.test HOST",
                proxy_redirect_from="https://in.test/",
                proxy_redirect_to="/app/",
            ),
        ),
        gets("/app/a", "/app/302"),
        answers={
            "tls-web": {
                "/a": answer(Set_Cookie="a=b; Path=/; Domain=in.test; HttpOnly"),
                "/302": answer(302, Location="https://in.test/login", Set_Cookie="a=b; Path=/x"),
            }
        },
    ),
    Case(
        "prefix-captured",
        (
            ingress(
                {"/(app|api)(/|$)(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$3",
                x_forwarded_prefix="/$1",
            ),
        ),
        gets("/app/a", "/api", "/API/x?y"),
    ),
    Case(
        "prefix-in-snippet",
        (
            ingress(
                {"/app(/|$)(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$2",
                configuration_snippet='proxy_set_header X-Forwarded-Prefix "/app";\nproxy_set_header Accept-Encoding "";',
            ),
        ),
        (Ask("/app/a", fields=(("Accept-Encoding", "gzip"),)),),
    ),
    Case(
        "headers-map-and-snippet",
        (
            ingress(
                custom_headers="SPACE/fields",
                configuration_snippet='more_set_headers "X-A: snippet";\nadd_header X-B snippet always;',
            ),
            config_map("fields", {"X-A": "map", "X-B": "map", "X-C": "map"}),
        ),
        gets("/a", "/404"),
        config={"global-allowed-response-headers": "X-A,X-B,X-C"},
        answers={"web": {"": answer(X_A="own", X_C="own"), "/404": answer(404)}},
    ),
    Case(
        "headers-map-not-allowed",
        (
            ingress(custom_headers="SPACE/fields"),
            config_map("fields", {"X-A": "map", "X-D": "map"}),
        ),
        gets("/a"),
        config={"global-allowed-response-headers": "X-A"},
    ),
    Case(
        "next-upstream-timeout",
        (
            ingress(
                proxy_next_upstream="error timeout http_502",
                proxy_next_upstream_tries="2",
                proxy_next_upstream_timeout="1",
            ),
        ),
        (Ask("/a"), Ask("/a", "POST", body=b"a")),
        answers={"web": {"": answer(502)}},
        replicas={"web": 3},
    ),
    Case(
        "session-rewritten",
        (
            ingress(
                {"/app(/|$)(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$2",
                affinity="cookie",
                session_cookie_path="/app",
                session_cookie_name="route",
                session_cookie_max_age="3600",
                session_cookie_expires="3600",
            ),
        ),
        (Ask("/app/a"), Ask("/app", keeps=True)),
        sessions=("route",),
        replicas={"web": 2},
    ),
    Case(
        "session-cors-pages",
        (
            ingress(
                affinity="cookie",
                enable_cors="true",
                custom_http_errors="404",
                default_backend="errors",
                session_cookie_path="/",
            ),
        ),
        (Ask("/a", fields=ORIGIN), Ask("/404", fields=ORIGIN), Ask("/a", "OPTIONS", fields=PREFLIGHT)),
        answers={**GONE, **PAGES},
        sessions=(COOKIE,),
    ),
    Case(
        "access-log-off",
        (ingress(enable_access_log="false", enable_rewrite_log="true", proxy_max_temp_file_size="0"),),
        gets("/a"),
    ),
    Case(
        "buffers",
        (
            ingress(
                proxy_buffering="on",
                proxy_buffer_size="16k",
                proxy_buffers_number="8",
                proxy_busy_buffers_size="32k",
                proxy_max_temp_file_size="1024m",
                client_body_buffer_size="1m",
                proxy_body_size="8m",
            ),
        ),
        (Ask("/a"), Ask("/a", "POST", body=b"a" * 200_000), Ask("/large")),
        answers={"web": {"/large": answer(200, "", X_Large="a" * 12_000)}},
    ),
)

CASES = (*REDIRECTED, *PAGED, *GUARDED, *PASSED_ON)
