"""Keys of the ConfigMap that few other cases have, and what annotations say beside them."""

from dataclasses import replace

from conformance.ingress_nginx.case import Ask, Case, config_map, gets, ingress
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.certificates import certificate
from conformance.ingress_nginx.cases.config import CLIENTS, config
from conformance.ingress_nginx.cases.keys import of_operator
from conformance.ingress_nginx.cases.traffic import ALWAYS, pair
from conformance.ingress_nginx.endpoints import Answer

ANY = "ImplementationSpecific"
BEHIND = {"use-forwarded-headers": "true", "proxy-real-ip-cidr": CLIENTS}
ANSWERS = {
    "errors": {"": answer(404, "page")},
    "web": {
        "/404": answer(404),
        "/large": Answer(body="a" * 3000, fields=(("Content-Type", "text/html"),)),
    },
}
SECURE_THERE = (("X-Forwarded-Proto", "https"), ("X-Forwarded-For", "7.7.7.7"), ("X-Forwarded-Port", "443"))
PLAIN_THERE = (("X-Forwarded-Proto", "http"), ("X-Forwarded-For", "7.7.7.7"))


def balanced(name: str, *asks: Ask, **annotations: str) -> Case:
    """Behind a load balancer that ends TLS."""
    objects = (ingress(tls="own", **annotations), certificate("own", f"{name}.test"))
    return Case(name, objects, asks or BOTH, config=BEHIND, sessions=("INGRESSCOOKIE",))


BOTH = (
    Ask("/a?b", fields=SECURE_THERE),
    Ask("/a?b", fields=PLAIN_THERE),
    Ask("/a?b"),
    Ask("/", fields=SECURE_THERE),
    Ask("/", fields=PLAIN_THERE),
)

BALANCED = (
    balanced("behind-redirect"),
    balanced("behind-force", force_ssl_redirect="true"),
    balanced("behind-no-redirect", ssl_redirect="false"),
    balanced("behind-app-root", app_root="/app"),
    balanced("behind-permanent", permanent_redirect="https://new.test/x"),
    balanced("behind-list", whitelist_source_range="7.7.7.0/24"),
    balanced("behind-session", affinity="cookie", session_cookie_path="/"),
    balanced("behind-rewrite", rewrite_target="/x"),
    balanced(
        "behind-snippet",
        configuration_snippet='more_set_headers "X-Seen: $scheme $pass_access_scheme $remote_addr $http_x_forwarded_proto $pass_port";',
    ),
    balanced("behind-snippet-redirect", configuration_snippet="return 302 /login;"),
    balanced("behind-vhost", upstream_vhost="in.test"),
    balanced(
        "behind-www",
        Ask("/a", host="www.HOST", fields=SECURE_THERE),
        Ask("/a", host="www.HOST", fields=PLAIN_THERE),
        from_to_www_redirect="true",
    ),
    balanced(
        "behind-cors", Ask("/a", fields=(*SECURE_THERE, ("Origin", "https://a.test"))), enable_cors="true"
    ),
)

KEYS = (
    config("streamed-of-all", Ask("/a", "POST", body=b"a" * 70_000), keys={"proxy-request-buffering": "off"}),
    config(
        "streamed-chunked-of-all",
        Ask("/a", "POST", fields=(("Transfer-Encoding", "chunked"),), body=b"3\r\nabc\r\n0\r\n\r\n"),
        keys={"proxy-request-buffering": "off"},
    ),
    config(
        "timeouts-of-all",
        *gets("/a"),
        keys={"proxy-connect-timeout": "2", "proxy-send-timeout": "3", "proxy-next-upstream-timeout": "1"},
    ),
    config("keep-alive-requests", *gets("/a"), keys={"keep-alive-requests": "1"}),
    config(
        "pages-of-all-but-one",
        *gets("/404"),
        keys={"custom-http-errors": "404"},
        custom_http_errors="503",
        default_backend="errors",
    ),
    config(
        "body-buffer-of-all", Ask("/a", "POST", body=b"a" * 40_000), keys={"client-body-buffer-size": "8k"}
    ),
    config(
        "hsts-beside-snippet",
        Ask("/a"),
        keys={"hsts": "true"},
        configuration_snippet='more_set_headers "Strict-Transport-Security: max-age=1";',
    ),
    Case(
        "fields-of-all-and-own",
        (
            ingress(configuration_snippet="proxy_set_header X-Own own;\nproxy_set_header X-All mine;"),
            of_operator("sent", {"X-All": "all", "X-Where": "$host $namespace $service_name", "X-Empty": ""}),
        ),
        (Ask("/a", fields=(("X-Empty", "1"), ("X-All", "client"))),),
        config={"proxy-set-headers": "ingress-nginx/sent"},
    ),
    Case(
        "added-of-all-and-own",
        (
            ingress(
                enable_cors="true",
                configuration_snippet='more_set_headers "X-All: mine";\nadd_header X-Other own always;',
            ),
            of_operator("added-1", {"X-All": "all", "X-Other": "all", "X-Third": "third"}),
        ),
        (*gets("/a", "/404"), Ask("/a", "OPTIONS", fields=(("Origin", "https://a.test"),))),
        config={"add-headers": "ingress-nginx/added-1"},
        answers={"web": {"/404": answer(404), "/a": answer(X_All="endpoint")}},
    ),
    Case(
        "added-beside-redirects",
        (
            ingress({"/old": "web"}, name="old", permanent_redirect="https://new.test"),
            ingress({"/in": "web"}, name="in", denylist_source_range="10.20.1.1"),
            ingress(name="root", app_root="/app"),
            of_operator("added-2", {"X-All": "all"}),
        ),
        gets("/old", "/in", "/", "/none"),
        config={"add-headers": "ingress-nginx/added-2"},
    ),
    Case(
        "custom-headers-beside-all",
        (
            ingress(custom_headers="SPACE/own"),
            config_map("own", {"X-All": "own"}),
            of_operator("added-3", {"X-All": "all"}),
        ),
        gets("/a"),
        config={"add-headers": "ingress-nginx/added-3", "global-allowed-response-headers": "X-All"},
    ),
    config(
        "gzip-beside-pages",
        Ask("/404", fields=(("Accept-Encoding", "gzip"),)),
        keys={"use-gzip": "true"},
        custom_http_errors="404",
        default_backend="errors",
    ),
    config(
        "gzip-proxied",
        Ask("/large", fields=(("Accept-Encoding", "gzip"), ("Via", "1.1 x"))),
        Ask("/large", fields=(("Accept-Encoding", "br, gzip"),)),
        Ask("/large", "HEAD", fields=(("Accept-Encoding", "gzip"),)),
        keys={"use-gzip": "true", "gzip-types": "text/html application/json"},
    ),
    config(
        "forwarded-host",
        Ask("/a", fields=(("X-Forwarded-Host", "out.test"), ("X-Forwarded-Proto", "https"))),
        keys=BEHIND,
        configuration_snippet='more_set_headers "X-Seen: $best_http_host $host $http_host";',
    ),
    config(
        "ssl-redirect-off-but-own", *gets("/a"), keys={"ssl-redirect": "false"}, force_ssl_redirect="true"
    ),
    Case(
        "underscores-canary",
        pair(canary_by_header="X_Canary"),
        (
            Ask("/a", fields=(("X_Canary", "always"),)),
            Ask("/a", fields=ALWAYS),
        ),
        config={"enable-underscores-in-headers": "true"},
    ),
    config(
        "location-and-server-of-all",
        *gets("/a", "/healthz", "/404"),
        keys={
            "location-snippet": 'more_set_headers "X-Location: $namespace";',
            "server-snippet": 'location = /healthz { return 200 ok; }\nmore_set_headers "X-Server: $host";',
        },
        configuration_snippet='more_set_headers "X-Path: $service_name";',
    ),
    config(
        "lists-of-all-and-satisfy",
        Ask("/a"),
        Ask("/a", client=2),
        keys={"whitelist-source-range": "10.20.1.1/32"},
        satisfy="any",
    ),
    config(
        "http2-alone", *gets("/a"), keys={"http2-max-concurrent-streams": "16", "http2-max-field-size": "4k"}
    ),
)

CASES = (*BALANCED, *(case if case.answers else replace(case, answers=ANSWERS) for case in KEYS))
