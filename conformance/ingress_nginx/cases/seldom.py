"""Annotations that few other cases have, and values of others that few have: towards endpoints, and of their answers."""

from conformance.ingress_nginx.case import Ask, Case, Told, gets, ingress, secret
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.certificates import CLIENTS, certificate, secret_of
from conformance.ingress_nginx.cases.guards import BAD, GOOD, USER
from conformance.ingress_nginx.cases.tls import mutual
from conformance.ingress_nginx.cases.traffic import OLD_PHONE
from conformance.ingress_nginx.endpoints import Answer

COOKIE = "INGRESSCOOKIE"
NEW_BROWSER = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
)
OLD_CHROME = NEW_BROWSER.replace("120.0.0.0", "60.0.3112.90")
PAGE = {"": answer(404, "page", Content_Type="text/html")}


def over_ipv6(name: str, *asks: Ask, told: tuple[Told, ...] = (), **annotations: str) -> Case:
    """Whose endpoints have addresses of IPv6."""
    return Case(name, (ingress(**annotations),), asks or gets("/a?b"), ipv6=("web",), told=told)


ENDPOINTS = (
    over_ipv6("ipv6-endpoint", *gets("/", "/a"), Ask("/a", "POST", body=b"abc"), Ask("/a", ipv6=True)),
    over_ipv6("ipv6-endpoint-vhost", upstream_vhost="in.test"),
    over_ipv6("ipv6-endpoint-hash", Ask("/a", times=4), upstream_hash_by="$request_uri"),
    Case(
        "ipv6-endpoints",
        (ingress(),),
        (Ask(times=6),),
        replicas={"web": 3},
        ipv6=("web",),
    ),
    Case(
        "ipv6-endpoint-session",
        (ingress(affinity="cookie"),),
        (Ask(), Ask(keeps=True)),
        replicas={"web": 3},
        ipv6=("web",),
        sessions=(COOKIE,),
    ),
    Case(
        "ipv6-endpoint-tls",
        (ingress({"/": "tls-web"}, backend_protocol="HTTPS"),),
        gets("/a"),
        ipv6=("tls-web",),
    ),
    Case(
        "ipv6-endpoint-beside",
        (ingress({"/": "four", "/six": "six"}),),
        gets("/", "/six"),
        ipv6=("six",),
    ),
    Case(
        "ipv6-canary",
        (
            ingress({"/": "main"}),
            ingress({"/": "canary"}, name="canary", canary="true", canary_weight="100"),
        ),
        gets("/"),
        ipv6=("canary",),
    ),
    Case(
        "ipv6-endpoint-breaks",
        (ingress(),),
        gets("/a"),
        answers={"web": {"": Answer(breaks=True)}},
        ipv6=("web",),
    ),
    Case(
        "ipv6-endpoint-errors",
        (ingress(custom_http_errors="404", default_backend="errors"),),
        gets("/404"),
        answers={"web": {"": answer(404)}, "errors": PAGE},
        ipv6=("errors", "web"),
    ),
)

VHOSTS = tuple(
    Case(f"vhost-{number}", (ingress(upstream_vhost=value, **more),), asks)
    for number, (value, more, asks) in enumerate(
        (
            ("in.test:8080", {}, gets("/a")),
            ("$host", {}, (Ask("/a", host="HOST:8080"), Ask("/a", host="HOST."))),
            ("$http_host", {}, (Ask("/a", host="HOST:8080"),)),
            ("IN.Test", {}, gets("/a")),
            ("$service_name.$namespace", {"rewrite_target": "/x"}, gets("/a")),
            ("in.test", {"enable_cors": "true"}, (Ask("/a", fields=(("Origin", "https://a.test"),)),)),
            ("$arg_x", {}, gets("/a?x=b", "/a")),
            ("${host}", {}, gets("/a")),
            ("_", {}, gets("/a")),
        )
    )
)


def tls_to(name: str, *asks: Ask, told: tuple[Told, ...] = (), **annotations: str) -> Case:
    """To an endpoint that speaks TLS, with what ``proxy-ssl-secret`` holds."""
    pem, key = CLIENTS["ann"]
    return Case(
        name,
        (
            ingress(
                {"/": "tls-web"}, backend_protocol="HTTPS", proxy_ssl_secret="SPACE/shown", **annotations
            ),
            secret_of("shown", "Opaque", {"tls.crt": pem, "tls.key": key, "ca.crt": pem}),
        ),
        asks or gets("/a"),
        told=told,
    )


UPSTREAM_TLS = (
    tls_to("ssl-to-shown"),
    tls_to("ssl-to-protocols", proxy_ssl_protocols="TLSv1.2"),
    tls_to("ssl-to-ciphers", proxy_ssl_ciphers="HIGH:!aNULL:!MD5", proxy_ssl_protocols="TLSv1.2"),
    tls_to("ssl-to-wrong-authority", proxy_ssl_verify="on", proxy_ssl_verify_depth="2"),
    tls_to("ssl-to-depth", proxy_ssl_verify_depth="3"),
    tls_to("ssl-to-named", proxy_ssl_server_name="on"),
)

CLIENTS_OF_TLS = (
    mutual("mutual-depth-0", auth_tls_verify_depth="0"),
    mutual("mutual-depth-2", auth_tls_verify_depth="2"),
    mutual("mutual-depth-wrong", auth_tls_verify_depth="deep"),
    mutual("mutual-verify-wrong", auth_tls_verify_client="maybe"),
    mutual("mutual-error-path", auth_tls_error_page="/denied"),
    mutual("mutual-match-either", auth_tls_match_cn="CN=(ann|bob)"),
    mutual("mutual-match-any", auth_tls_match_cn="CN=.*"),
    mutual("mutual-match-wrong", auth_tls_match_cn="ann"),
    mutual(
        "mutual-optional-pass",
        auth_tls_verify_client="optional",
        auth_tls_pass_certificate_to_upstream="true",
    ),
    mutual(
        "mutual-no-ca-pass",
        auth_tls_verify_client="optional_no_ca",
        auth_tls_pass_certificate_to_upstream="true",
    ),
    mutual("mutual-denied", denylist_source_range="10.20.1.1"),
    mutual("mutual-rewritten", rewrite_target="/x"),
)


def located(name: str, told: tuple[Told, ...] = (), **annotations: str) -> Case:
    """What becomes of the usual kinds of locations."""
    places = (
        "http://inside.test/x?y=/z",
        "http://INSIDE.test/x",
        "http://inside.test",
        "http://inside.test:8080/x",
        "https://inside.test/x",
        "http://HOST/app/x",
        "/app/x",
        "/other",
        "app/x",
        "//inside.test/x",
        "",
    )
    return Case(
        name,
        (ingress(**annotations),),
        (
            *(Ask(f"/{number}") for number in range(len(places))),
            Ask("/refresh"),
            Ask("/created"),
            Ask("/content"),
        ),
        answers={
            "web": {
                **{f"/{number}": answer(302, Location=place) for number, place in enumerate(places)},
                "/refresh": answer(200, Refresh="3;url=http://inside.test/r"),
                "/created": answer(201, Location="http://inside.test/app/1"),
                "/content": answer(200, Content_Location="http://inside.test/app/1"),
            }
        },
        told=told,
    )


REDIRECTS = (
    located("redirect-of-host", proxy_redirect_from="http://inside.test", proxy_redirect_to="https://HOST"),
    located("redirect-of-path", proxy_redirect_from="/app/", proxy_redirect_to="/"),
    located("redirect-to-path", proxy_redirect_from="http://inside.test/", proxy_redirect_to="/"),
    located(
        "redirect-to-variables",
        proxy_redirect_from="http://inside.test/",
        proxy_redirect_to="$scheme://$host/",
    ),
    located("redirect-from-variables", proxy_redirect_from="http://$host/app/", proxy_redirect_to="/"),
    located(
        "redirect-of-all-cases",
        proxy_redirect_from="~*^http://inside\\.test(:\\d+)?/(.*)$",
        proxy_redirect_to="/in/$2",
    ),
    located("redirect-from-alone", proxy_redirect_from="http://inside.test/"),
    located("redirect-to-alone", proxy_redirect_to="http://HOST/"),
    located("redirect-default-to", proxy_redirect_from="default", proxy_redirect_to="http://HOST/"),
    located("redirect-not-at-all"),
)

SESSIONS = (
    Case(
        "session-conditional",
        (
            ingress(
                affinity="cookie",
                session_cookie_samesite="None",
                session_cookie_conditional_samesite_none="true",
                session_cookie_secure="true",
            ),
        ),
        tuple(
            Ask(fields=(("User-Agent", agent),)) for agent in (OLD_PHONE, OLD_CHROME, NEW_BROWSER, "curl/8")
        ),
        sessions=(COOKIE,),
    ),
    Case(
        "session-conditional-lax",
        (
            ingress(
                affinity="cookie",
                session_cookie_samesite="Lax",
                session_cookie_conditional_samesite_none="true",
            ),
        ),
        (Ask(fields=(("User-Agent", OLD_PHONE),)), Ask()),
        sessions=(COOKIE,),
    ),
    *(
        Case(
            f"session-samesite-{number}",
            (ingress(affinity="cookie", session_cookie_samesite=value),),
            (Ask(),),
            sessions=(COOKIE,),
        )
        for number, value in enumerate(("strict", "none", "NONE", "", "Other"))
    ),
    *(
        Case(
            f"session-domain-{number}",
            (ingress(affinity="cookie", session_cookie_domain=value),),
            (Ask(),),
            sessions=(COOKIE,),
        )
        for number, value in enumerate((".HOST", "HOST", "other.test", ""))
    ),
    Case(
        "session-secure-plain",
        (ingress(affinity="cookie", session_cookie_secure="true"),),
        (Ask(), Ask(fields=(("X-Forwarded-Proto", "https"),))),
        sessions=(COOKIE,),
    ),
    Case(
        "session-secure-tls",
        (ingress(tls="own", affinity="cookie"), certificate("own", "session-secure-tls.test")),
        (Ask(secure=True),),
        sessions=(COOKIE,),
    ),
    Case(
        "session-failing-moves",
        (
            ingress(
                affinity="cookie", session_cookie_change_on_failure="true", proxy_next_upstream="http_503"
            ),
        ),
        (Ask("/a"), Ask("/503", keeps=True), Ask("/a", keeps=True)),
        replicas={"web": 2},
        answers={"web": {"/503": Answer(503)}},
        sessions=(COOKIE,),
    ),
    Case(
        "session-of-regex",
        (
            ingress(
                {"/x(/|$)(.*)": "web"},
                kind="ImplementationSpecific",
                use_regex="true",
                rewrite_target="/$2",
                affinity="cookie",
            ),
        ),
        (Ask("/x/a"), Ask("/x/a", keeps=True)),
        sessions=(COOKIE,),
    ),
    Case(
        "session-long",
        (ingress(affinity="cookie", session_cookie_max_age="31536000", session_cookie_expires="31536000"),),
        (Ask(),),
        sessions=(COOKIE,),
    ),
    Case(
        "session-age-alone",
        (ingress(affinity="cookie", session_cookie_max_age="600"),),
        (Ask(),),
        sessions=(COOKIE,),
    ),
    Case(
        "session-expires-alone",
        (ingress(affinity="cookie", session_cookie_expires="600"),),
        (Ask(),),
        sessions=(COOKIE,),
    ),
)

LISTS = (
    Case(
        "denylist-several",
        (ingress(denylist_source_range="10.20.1.2, 10.20.1.3/32"),),
        tuple(Ask(client=number) for number in (1, 2, 3, 4)),
    ),
    Case("denylist-all", (ingress(denylist_source_range="0.0.0.0/0"),), (Ask(), Ask(ipv6=True))),
    Case("denylist-all-six", (ingress(denylist_source_range="::/0"),), (Ask(), Ask(ipv6=True))),
    Case(
        "denylist-network-six", (ingress(denylist_source_range="fd00:10:244::/64"),), (Ask(), Ask(ipv6=True))
    ),
    Case(
        "allowlist-network-six",
        (ingress(allowlist_source_range="fd00:10:244::/64"),),
        (Ask(), Ask(ipv6=True)),
    ),
    Case(
        "denylist-within",
        (ingress(denylist_source_range="10.20.1.0/24", allowlist_source_range="10.20.1.1"),),
        (Ask(), Ask(client=2)),
    ),
    Case(
        "denylist-beside-password",
        (
            ingress(denylist_source_range="10.20.1.2", auth_type="basic", auth_secret="users"),
            secret("users", auth=USER),
        ),
        (Ask(), Ask(fields=GOOD), Ask(client=2), Ask(client=2, fields=GOOD)),
    ),
    Case(
        "denylist-satisfy",
        (
            ingress(denylist_source_range="10.20.1.2", auth_type="basic", auth_secret="users", satisfy="any"),
            secret("users", auth=USER),
        ),
        (Ask(), Ask(fields=GOOD), Ask(client=2), Ask(client=2, fields=GOOD), Ask(client=2, fields=BAD)),
    ),
    Case(
        "denylist-of-one-path",
        (
            ingress({"/": "web"}, name="open"),
            ingress({"/in": "in"}, name="closed", denylist_source_range="10.20.1.1"),
        ),
        gets("/", "/in", "/in/a", "/inner"),
    ),
    Case(
        "denylist-redirected",
        (ingress(denylist_source_range="10.20.1.1", temporal_redirect="https://now.test"),),
        gets("/a"),
    ),
    Case(
        "denylist-app-root",
        (ingress(denylist_source_range="10.20.1.1", app_root="/app"),),
        gets("/", "/app"),
    ),
    Case(
        "denylist-canary",
        (
            ingress({"/": "main"}, denylist_source_range="10.20.1.1"),
            ingress({"/": "canary"}, name="canary", canary="true", canary_weight="100"),
        ),
        gets("/"),
    ),
)

CASES = (*ENDPOINTS, *VHOSTS, *UPSTREAM_TLS, *CLIENTS_OF_TLS, *REDIRECTS, *SESSIONS, *LISTS)
