"""Keys of the ConfigMap: who is let in, how much and how large, compression, retries, snippets."""

from conformance.ingress_nginx.case import Ask, Case, gets, ingress, secret
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.config import config
from conformance.ingress_nginx.cases.guards import AUTH, GOOD, USER, VERIFY
from conformance.ingress_nginx.cases.keys import GZIP
from conformance.ingress_nginx.endpoints import Answer

LARGE = "a" * 2000


def agent(text: str) -> Ask:
    return Ask(raw=f"GET / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: {text}\r\n\r\n".encode())


def referer(text: str) -> Ask:
    return Ask(fields=(("Referer", text),))


def everywhere(
    name: str, path: str, *asks: Ask, keys: dict[str, str] | None = None, **annotations: str
) -> Case:
    """``global-auth-url`` leads to a Service of the case."""
    return Case(
        name,
        (ingress(**annotations),),
        asks or (Ask("/a?b"), Ask("/a", "POST", body=b"abc")),
        config={"global-auth-url": f"{AUTH.replace('SPACE', f'parity-{name}')}{path}", **(keys or {})},
        answers={"auth": VERIFY, "web": {"/404": answer(404)}},
    )


BLOCKS = (
    config(
        "block-several",
        Ask(),
        Ask(client=2),
        Ask(client=3),
        keys={"block-cidrs": "10.20.1.2, 10.20.1.3/32 ,192.0.2.0/24"},
    ),
    config(
        "block-beside-allow",
        Ask(),
        Ask(client=2),
        keys={"block-cidrs": "10.20.1.2"},
        whitelist_source_range="10.20.1.0/24",
    ),
    config(
        "block-beside-deny",
        Ask(),
        Ask(client=2),
        keys={"block-cidrs": "10.20.1.2"},
        denylist_source_range="10.20.1.3",
    ),
    config(
        "block-agents-kinds",
        agent("curl/7.88.1"),
        agent("CURL/7.88.1"),
        agent("Wget/1.2"),
        agent("Mozilla/5.0 (compatible; Bad)"),
        agent("exact name"),
        agent("Exact Name"),
        agent("exact name 2"),
        agent(""),
        keys={"block-user-agents": "~^curl/, ~*wget, ~*\\(compatible,exact"},
    ),
    config(
        "block-no-agent",
        agent(""),
        Ask(raw=b"GET / HTTP/1.1\r\nHost: HOST\r\n\r\n"),
        agent("a"),
        keys={"block-user-agents": '""'},
    ),
    config(
        "block-referers-kinds",
        referer("http://exact.test/"),
        referer("HTTP://EXACT.test/"),
        referer("http://exact.test/x"),
        referer("https://a.spam.test/"),
        referer(""),
        Ask(),
        keys={"block-referers": "http://exact.test/,~spam\\.test"},
    ),
    config(
        "block-of-nobody",
        Ask(host="nobody.test"),
        Ask(client=2, host="nobody.test"),
        agent("evil"),
        keys={"block-cidrs": "10.20.1.2", "block-user-agents": "evil"},
    ),
    Case(
        "block-www",
        (ingress(host="www.HOST", from_to_www_redirect="true"),),
        (
            Ask(host="HOST"),
            Ask(host="HOST", client=2),
            Ask(raw=b"GET / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: evil\r\n\r\n"),
        ),
        config={"block-cidrs": "10.20.1.2", "block-user-agents": "evil"},
    ),
)

LISTS = (
    config(
        "lists-both",
        Ask(),
        Ask(client=2),
        Ask(client=3),
        keys={"whitelist-source-range": "10.20.1.1,10.20.1.2", "denylist-source-range": "10.20.1.2"},
    ),
    config(
        "list-of-all-beside-own",
        Ask(),
        Ask(client=2),
        keys={"whitelist-source-range": "10.20.1.1"},
        whitelist_source_range="10.20.1.2",
    ),
    config(
        "denylist-of-all-beside-own",
        *(Ask(client=number) for number in (1, 2, 3)),
        keys={"denylist-source-range": "10.20.1.2"},
        denylist_source_range="10.20.1.3",
    ),
    config("list-of-all-empty", Ask(), keys={"whitelist-source-range": ""}),
    config("list-empty-annotation", Ask(), Ask(client=2), keys={}, whitelist_source_range=""),
    config(
        "list-empty-beside-all",
        Ask(),
        Ask(client=2),
        keys={"whitelist-source-range": "10.20.1.1"},
        whitelist_source_range="",
    ),
    config("allowlist-empty", Ask(), Ask(client=2), keys={}, allowlist_source_range=""),
    config("allowlist-blanks", Ask(), keys={}, allowlist_source_range=" , "),
    config("denylist-empty", Ask(), keys={}, denylist_source_range=""),
    config("list-blanks", Ask(), Ask(client=2), keys={}, whitelist_source_range=" , "),
)

AUTHS = (
    everywhere("everywhere-ok", "/ok"),
    everywhere("everywhere-401", "/unauthorized"),
    everywhere("everywhere-403", "/forbidden"),
    everywhere("everywhere-500", "/failed"),
    everywhere("everywhere-method", "/ok", keys={"global-auth-method": "POST"}),
    everywhere("everywhere-method-wrong", "/ok", keys={"global-auth-method": "FETCH"}),
    everywhere("everywhere-fields", "/ok", keys={"global-auth-response-headers": "X-User, X-Group,X-None"}),
    everywhere(
        "everywhere-cookie", "/ok", Ask("/a"), Ask("/404"), keys={"global-auth-always-set-cookie": "true"}
    ),
    everywhere("everywhere-cookie-off", "/ok", Ask("/404")),
    everywhere("everywhere-signin", "/unauthorized", keys={"global-auth-signin": "https://login.test/start"}),
    everywhere(
        "everywhere-signin-param",
        "/unauthorized",
        keys={
            "global-auth-signin": "https://login.test/start?x=y",
            "global-auth-signin-redirect-param": "back",
        },
    ),
    everywhere("everywhere-redirect", "/ok", keys={"global-auth-request-redirect": "https://x.test/y"}),
    everywhere("everywhere-snippet", "/ok", keys={"global-auth-snippet": "proxy_set_header X-Fixed yes;"}),
    everywhere("everywhere-off", "/unauthorized", enable_global_auth="false"),
    everywhere("everywhere-off-word", "/unauthorized", enable_global_auth="no"),
    everywhere(
        "everywhere-beside-own", "/unauthorized", auth_url="http://auth.SPACE.svc.cluster.local:8080/created"
    ),
    everywhere("everywhere-beside-signin", "/unauthorized", auth_signin="https://login.test/own"),
    everywhere("everywhere-beside-fields", "/ok", auth_response_headers="X-User"),
    everywhere(
        "everywhere-cache",
        "/ok",
        Ask("/a", fields=(("X-Key", "1"),), times=3),
        Ask("/a", fields=(("X-Key", "2"),)),
        keys={"global-auth-cache-key": "$http_x_key", "global-auth-cache-duration": "200 202 10m, 401 1m"},
    ),
    everywhere(
        "everywhere-challenge",
        "/unauthorized",
        *gets("/.well-known/acme-challenge", "/.well-known/acme-challenge/x", "/a"),
    ),
    Case(
        "everywhere-but-location",
        (ingress({"/": "web", "/open": "web", "/.well-known/acme-challenge": "web"}),),
        gets("/open", "/open/a", "/opened", "/.well-known/acme-challenge/x", "/a"),
        config={
            "global-auth-url": "http://auth.parity-everywhere-but-location.svc.cluster.local:8080/unauthorized",
            "no-auth-locations": "/open",
        },
        answers={"auth": VERIFY},
    ),
    config("everywhere-invalid", Ask("/a"), keys={"global-auth-url": "not a url"}),
    config("everywhere-no-scheme", Ask("/a"), keys={"global-auth-url": "auth.test/x"}),
    Case(
        "basic-but-location",
        (
            ingress(
                {"/": "web", "/open": "web", "/.well-known/acme-challenge": "web"},
                auth_type="basic",
                auth_secret="users",
            ),
            secret("users", auth=USER),
        ),
        (*gets("/", "/open", "/open/a", "/.well-known/acme-challenge/x"), Ask("/", fields=GOOD)),
        config={"no-auth-locations": "/open"},
    ),
    Case(
        "basic-but-challenge",
        (
            ingress(
                {"/": "web", "/.well-known/acme-challenge": "web"}, auth_type="basic", auth_secret="users"
            ),
            secret("users", auth=USER),
        ),
        gets("/", "/.well-known/acme-challenge/x"),
    ),
)

SIZES = (
    config(
        "body-of-all-own",
        Ask(method="POST", body=b"a" * 200),
        keys={"proxy-body-size": "100"},
        proxy_body_size="1k",
    ),
    config("body-of-all-none", Ask(method="POST", body=b"a" * (2 << 20)), keys={"proxy-body-size": "0"}),
    config(
        "body-of-all-units",
        Ask(method="POST", body=b"a" * 2000),
        Ask(method="POST", body=b"a" * 3000),
        keys={"proxy-body-size": "2K"},
    ),
    config(
        "body-of-all-wrong",
        Ask(method="POST", body=b"a" * 2000),
        Ask(method="POST", body=b"a" * (2 << 20)),
        keys={"proxy-body-size": "15kb"},
    ),
    config(
        "body-own-wrong",
        Ask(method="POST", body=b"a" * 2000),
        Ask(method="POST", body=b"a" * (2 << 20)),
        keys={},
        proxy_body_size="15r",
    ),
    config(
        "buffer-of-all",
        Ask(),
        keys={"proxy-buffer-size": "2k", "proxy-buffers-number": "4"},
        answer=answer(X_Long="a" * 3000),
    ),
    config("read-timeout-of-all", Ask(), keys={"proxy-read-timeout": "1"}, answer=Answer(delay=3)),
    config("read-timeout-wrong", Ask(), keys={"proxy-read-timeout": "1s"}, answer=Answer(delay=2)),
    config(
        "next-of-all",
        Ask(),
        Ask(method="POST", body=b"a"),
        keys={"proxy-next-upstream": "http_503", "proxy-next-upstream-tries": "2"},
        answer=Answer(503),
    ),
    config("next-off-of-all", Ask(), keys={"proxy-next-upstream": "off"}, answer=Answer(breaks=True)),
    config(
        "conn-status",
        Ask(times=8),
        keys={"limit-req-status-code": "430"},
        limit_rpm="1",
        limit_burst_multiplier="1",
    ),
    config(
        "limit-status-wrong",
        Ask(times=8),
        keys={"limit-req-status-code": "200x"},
        limit_rpm="1",
        limit_burst_multiplier="1",
    ),
)

GZIPS = (
    config(
        "gzip-level",
        Ask(fields=GZIP),
        keys={"use-gzip": "true", "gzip-level": "9"},
        answer=Answer(body=LARGE),
    ),
    config(
        "gzip-types",
        Ask(fields=GZIP),
        keys={"use-gzip": "true", "gzip-types": "application/x-thing text/plain"},
        answer=answer(body=LARGE, Content_Type="application/x-thing; charset=x"),
    ),
    config(
        "gzip-html",
        Ask(fields=GZIP),
        keys={"use-gzip": "true", "gzip-types": "application/json"},
        answer=answer(body=LARGE, Content_Type="text/html"),
    ),
    config(
        "gzip-any",
        Ask(fields=GZIP),
        keys={"use-gzip": "true", "gzip-types": "*"},
        answer=answer(body=LARGE, Content_Type="image/png"),
    ),
    config(
        "gzip-min",
        Ask(fields=GZIP),
        keys={"use-gzip": "true", "gzip-min-length": "100"},
        answer=Answer(body="a" * 150),
    ),
    config("gzip-off", Ask(fields=GZIP), keys={}, answer=Answer(body=LARGE)),
    config(
        "gzip-etag",
        Ask(fields=GZIP),
        Ask(method="HEAD", fields=GZIP),
        Ask(),
        keys={"use-gzip": "true"},
        answer=answer(
            body=LARGE,
            Content_Type="text/css",
            ETag='"strong"',
            Vary="Origin",
            Last_Modified="Mon, 01 Jan 2024 00:00:00 GMT",
        ),
    ),
    config(
        "gzip-weak-etag",
        Ask(fields=GZIP),
        keys={"use-gzip": "true"},
        answer=answer(body=LARGE, Content_Type="text/css", ETag='W/"weak"'),
    ),
    config(
        "gzip-encoded",
        Ask(fields=GZIP),
        keys={"use-gzip": "true"},
        answer=answer(body=LARGE, Content_Type="text/css", Content_Encoding="br"),
    ),
    config(
        "gzip-errors",
        Ask(fields=GZIP),
        keys={"use-gzip": "true"},
        answer=answer(404, LARGE, Content_Type="text/plain"),
    ),
    config(
        "gzip-failed",
        Ask(fields=GZIP),
        keys={"use-gzip": "true"},
        answer=answer(500, LARGE, Content_Type="text/plain"),
    ),
    config(
        "gzip-q",
        *(
            Ask(fields=(("Accept-Encoding", value),))
            for value in ("gzip;q=0", "*", "br, gzip;q=0.5", "GZIP", "x-gzip", "deflate")
        ),
        keys={"use-gzip": "true"},
        answer=Answer(body=LARGE),
    ),
    config(
        "gzip-no-transform",
        Ask(fields=GZIP),
        keys={"use-gzip": "true"},
        answer=answer(body=LARGE, Content_Type="text/css", Cache_Control="no-transform"),
    ),
    config(
        "gzip-range",
        Ask(fields=(*GZIP, ("Range", "bytes=0-9"))),
        keys={"use-gzip": "true"},
        answer=answer(206, LARGE, Content_Type="text/css", Content_Range="bytes 0-1999/3000"),
    ),
    config(
        "gzip-via",
        Ask(fields=(*GZIP, ("Via", "1.1 x"))),
        keys={"use-gzip": "true"},
        answer=Answer(body=LARGE),
    ),
    config(
        "brotli",
        Ask(fields=(("Accept-Encoding", "br"),)),
        Ask(fields=(("Accept-Encoding", "gzip, br"),)),
        Ask(fields=GZIP),
        keys={"enable-brotli": "true", "use-gzip": "true"},
        answer=Answer(body=LARGE),
    ),
    config(
        "brotli-min",
        Ask(fields=(("Accept-Encoding", "br"),)),
        keys={"enable-brotli": "true", "brotli-min-length": "3000"},
        answer=Answer(body=LARGE),
    ),
    config(
        "brotli-types",
        Ask(fields=(("Accept-Encoding", "br"),)),
        keys={"enable-brotli": "true", "brotli-types": "image/png"},
        answer=Answer(body=LARGE),
    ),
)

SNIPPETS = (
    config(
        "location-and-own",
        Ask(),
        keys={"location-snippet": 'more_set_headers "X-A: all" "X-B: all";'},
        configuration_snippet='more_set_headers "X-A: own";',
    ),
    config(
        "server-all-and-own",
        Ask("/all"),
        Ask("/own"),
        Ask("/a"),
        keys={"server-snippet": "location = /all { return 403; }"},
        server_snippet="location = /own { return 410; }",
    ),
    config(
        "server-all-if",
        Ask(fields=(("X-Block", "1"),)),
        Ask(),
        keys={"server-snippet": "if ($http_x_block) { return 403; }"},
    ),
    config(
        "server-all-headers",
        Ask(),
        Ask(host="nobody.test"),
        keys={"server-snippet": 'more_set_headers "X-Server: yes";'},
    ),
    config(
        "http-map",
        Ask(fields=(("X-Kind", "good"),)),
        Ask(),
        keys={
            "http-snippet": 'map $http_x_kind $kind { default "none"; good "known"; }',
            "location-snippet": 'more_set_headers "X-Kind: $kind";',
        },
    ),
    config(
        "http-gzip",
        Ask(fields=GZIP),
        keys={"http-snippet": "gzip on; gzip_types text/plain; gzip_proxied any;"},
        answer=Answer(body=LARGE),
    ),
    config(
        "risk-medium",
        Ask("/a"),
        keys={"annotations-risk-level": "Medium"},
        configuration_snippet='more_set_headers "X-A: b";',
    ),
    config(
        "risk-high",
        Ask("/a"),
        keys={"annotations-risk-level": "High"},
        configuration_snippet='more_set_headers "X-A: b";',
    ),
    config(
        "words-blocked",
        Ask("/a"),
        keys={"annotation-value-word-blocklist": "forbidden,alias"},
        configuration_snippet='more_set_headers "X-A: forbidden";',
    ),
)

ERRORS = (
    Case(
        "errors-of-all-own",
        (ingress(custom_http_errors="404", default_backend="errors"),),
        gets("/404", "/503", "/500"),
        config={"custom-http-errors": "404,503"},
        answers={
            "web": {"/404": answer(404, "a"), "/503": answer(503, "b"), "/500": answer(500, "c")},
            "errors": {"": answer(404, "page")},
        },
    ),
    config(
        "errors-not-intercepted",
        Ask("/a"),
        keys={"custom-http-errors": "404", "disable-proxy-intercept-errors": "true"},
        answer=Answer(404, body="gone"),
    ),
    config(
        "errors-not-here",
        Ask("/a"),
        keys={"custom-http-errors": "404"},
        answer=Answer(404, body="gone"),
        disable_proxy_intercept_errors="true",
    ),
    config(
        "errors-not-here-but-own",
        Ask("/a"),
        keys={},
        answer=Answer(404, body="gone"),
        disable_proxy_intercept_errors="true",
        custom_http_errors="404",
    ),
    config(
        "errors-odd",
        Ask("/a"),
        keys={"custom-http-errors": "200,abc,404, 700"},
        answer=Answer(404, body="gone"),
    ),
)

OTHERS = (
    Case(
        "hash-of-all",
        (ingress(),),
        (Ask("/a", times=5),),
        config={"upstream-hash-by": "$request_uri"},
        replicas={"web": 3},
    ),
    Case(
        "balance-of-all", (ingress(),), (Ask(times=6),), config={"load-balance": "ewma"}, replicas={"web": 2}
    ),
    Case(
        "balance-wrong",
        (ingress(),),
        (Ask(times=6),),
        config={"load-balance": "least_conn"},
        replicas={"web": 2},
    ),
    config("keepalive-off", keys={"keep-alive": "0"}),
    config(
        "log-off",
        keys={
            "disable-access-log": "true",
            "skip-access-log-urls": "/a,/b",
            "log-format-escape-json": "true",
        },
    ),
    config("unknown-keys", keys={"no-such-key": "true", "http-snippets": "x"}),
    config("limit-rate-of-all", keys={"limit-rate": "1000", "limit-rate-after": "1"}),
    config("path-types-strict", *gets("/a", "/a.b"), keys={"strict-validate-path-type": "true"}),
)

CASES = (*BLOCKS, *LISTS, *AUTHS, *SIZES, *GZIPS, *SNIPPETS, *ERRORS, *OTHERS)
