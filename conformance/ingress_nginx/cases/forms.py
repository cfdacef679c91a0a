"""Forms of rewrite targets, expressions and snippets that few other cases have."""

from conformance.ingress_nginx.case import Ask, Case, Told, gets, ingress
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.guards import GOOD
from conformance.ingress_nginx.cases.snippets import GONE, OWN, server, snippet
from conformance.ingress_nginx.endpoints import Answer

ANY = "ImplementationSpecific"


def rewritten(
    name: str,
    path: str,
    target: str,
    *targets: str,
    told: tuple[Told, ...] = (),
    kind: str = ANY,
    **annotations: str,
) -> Case:
    return Case(
        name,
        (ingress({path: "web"}, kind=kind, rewrite_target=target, **annotations),),
        gets(*targets),
        told=told,
    )


EXPRESSIONS = (
    rewritten("target-argument", "/a/(.*)", "/x/$1?y=1", "/a/b", "/a/b?c=d"),
    rewritten("target-variable", "/a/(.*)", "/$host/$1", "/a/b"),
    rewritten("target-args", "/a", "/x/$arg_q", "/a?q=z", "/a"),
    rewritten("target-regex-off", "/a/(.*)", "/$1", "/a/b", use_regex="false"),
    rewritten("target-regex-off-plain", "/a", "/x", "/a/b", "/A", use_regex="false"),
    rewritten("target-named", "/a/(?<rest>.*)", "/$rest", "/a/b"),
    rewritten("target-noncapturing", "/a(?:/|$)(.*)", "/$1", "/a", "/a/b", "/ab"),
    rewritten("target-optional", "/a(/(.*))?", "/$2", "/a", "/a/", "/a/b", "/ab"),
    rewritten("target-prefix-type", "/a(/|$)(.*)", "/$2", "/a", "/a/b", "/ab", kind="Prefix"),
    rewritten("target-exact-type", "/a/(.*)", "/$1", "/a/b", "/a/(.*)", kind="Exact"),
    rewritten("target-url", "/a/(.*)", "https://new.test/$1", "/a/b?c"),
    rewritten("target-url-http", "/a/(.*)", "http://new.test/$1", "/a/b?c"),
    rewritten("target-scheme", "/a/(.*)", "$scheme://new.test/$1", "/a/b"),
    rewritten("target-slash-end", "/a/?(.*)", "/$1/", "/a", "/a/", "/a/b", "/ab"),
    rewritten("target-end", "/a/([0-9]+)$", "/n/$1", "/a/1", "/a/1/", "/a/1?x", "/a/b"),
    rewritten("target-dots", "/a.b/(.*)", "/$1", "/a.b/c", "/axb/c"),
    rewritten(
        "target-encoded",
        "/a/(.*)",
        "/$1",
        "/a/b%20c",
        "/a/%2e%2e/b",
        "/a/b%3Fc",
        "/a/b%23",
        "/a/%25",
        "/a/b+c",
        "/a/%E2%82%AC",
    ),
    rewritten("target-two-digits", "/(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)", "/$10-$1", "/abcdefghij"),
    rewritten("target-prefix-field", "/(a|b)/(.*)", "/$2", "/a/c", "/b/c", x_forwarded_prefix="/$1"),
    rewritten("target-root-field", "/app(/|$)(.*)", "/$2", "/app", "/", "/app/x", app_root="/app/"),
    rewritten("target-vhost", "/a/(.*)", "/$1", "/a/b", upstream_vhost="in.test"),
    rewritten("target-errors", "/a/(.*)", "/$1", "/a/404", "/a/b", custom_http_errors="404"),
    rewritten(
        "target-trailing",
        "/a/(.*)",
        "/$1",
        "/a/b/",
        "/a/b",
        preserve_trailing_slash="true",
        force_ssl_redirect="true",
    ),
    Case(
        "regex-beside-plain-host",
        (
            ingress({"/a/(.*)": "one"}, kind=ANY, name="one", rewrite_target="/$1"),
            ingress({"/a/b": "two", "Exact:/a/c": "three"}, name="two"),
            ingress({"/A/d": "four"}, name="four", use_regex="true"),
        ),
        gets("/a/x", "/a/b", "/a/b/", "/a/bc", "/a/c", "/a/c/", "/a/d", "/A/d", "/a/de"),
    ),
    Case(
        "regex-beside-root",
        (
            ingress({"/": "root"}, name="root"),
            ingress({"/api/v[0-9]+/(.*)": "api"}, kind=ANY, name="api", use_regex="true"),
            ingress({"/api": "old"}, kind=ANY, name="old", rewrite_target="/legacy"),
        ),
        gets("/", "/api", "/api/", "/api/v1/x", "/api/v/x", "/apiary", "/API/V1/x"),
    ),
    Case(
        "regex-and-redirect",
        (
            ingress(
                {"/old/(.*)": "web"},
                kind=ANY,
                name="old",
                use_regex="true",
                permanent_redirect="https://new.test",
            ),
            ingress({"/": "web"}, name="root"),
        ),
        gets("/old/a", "/old", "/a"),
    ),
    Case(
        "regex-and-auth",
        (
            ingress(
                {"/in/.*": "in"}, kind=ANY, name="in", use_regex="true", denylist_source_range="10.20.1.1"
            ),
            ingress({"/": "web", "/in/open": "open"}, name="root"),
        ),
        gets("/in/a", "/in/open", "/in/open/a", "/in", "/a"),
    ),
    Case(
        "regex-same-length",
        (
            ingress({"/[a-c]+": "one"}, kind=ANY, name="one", use_regex="true"),
            ingress({"/[b-d]+": "two"}, kind=ANY, name="two", use_regex="true"),
        ),
        gets("/a", "/b", "/d", "/bd", "/e"),
    ),
)

SNIPPETS = (
    snippet("set-twice", "proxy_set_header X-A one;\nproxy_set_header X-A two;"),
    snippet(
        "set-cookie",
        'proxy_set_header Cookie "";\nproxy_set_header X-Cookie $http_cookie;',
        Ask("/a", fields=(("Cookie", "a=1"),)),
    ),
    snippet("set-authorization", 'proxy_set_header Authorization "Basic abc";', Ask("/a", fields=GOOD)),
    snippet("set-host", "proxy_set_header Host in.test;"),
    snippet(
        "set-joined",
        'proxy_set_header X-A "$scheme://$host:$server_port$request_uri";',
        Ask("/a?b", host="HOST:80"),
    ),
    snippet(
        "set-of-args",
        'proxy_set_header X-A "$arg_a|$args|$is_args|$query_string";',
        *gets("/a?a=1&b=2", "/a"),
    ),
    snippet(
        "set-of-names",
        'proxy_set_header X-A "$namespace/$ingress_name/$service_name/$service_port/$location_path";',
    ),
    snippet(
        "set-of-client",
        'proxy_set_header X-A "$remote_addr $proxy_add_x_forwarded_for";',
        Ask("/a"),
        Ask("/a", fields=(("X-Forwarded-For", "1.2.3.4"),)),
    ),
    snippet(
        "set-of-request",
        'proxy_set_header X-A "$request_method $uri $document_uri $server_protocol";',
        Ask("/a%20b?c", "PUT", body=b"a"),
    ),
    snippet(
        "set-of-content",
        'proxy_set_header X-A "$content_type $http_content_type";',
        Ask("/a", "POST", fields=(("Content-Type", "text/x"),), body=b"abc"),
    ),
    snippet("add-several", 'add_header X-A 1;\nadd_header X-A 2;\nadd_header Set-Cookie "a=1";', answer=OWN),
    snippet("add-empty", 'add_header X-A "";\nadd_header X-B "$http_none";'),
    snippet(
        "add-of-answer",
        'add_header X-A "$upstream_http_x_powered_by $sent_http_content_type $status" always;',
        answer=OWN,
    ),
    snippet(
        "more-set-several",
        'more_set_headers -s 404 -t text/html "X-A: 1" "X-B: 2";\nmore_set_headers "X-C";',
        answer=GONE,
    ),
    snippet("more-set-host", 'more_set_headers "X-A: $host $status $arg_x";', Ask("/a?x=1"), answer=OWN),
    snippet(
        "more-set-cookie",
        'more_set_headers "Set-Cookie: a=1";',
        answer=Answer(fields=(("Set-Cookie", "b=2"), ("Set-Cookie", "c=3"))),
    ),
    snippet(
        "more-clear-cookie",
        "more_clear_headers Set-Cookie;",
        answer=Answer(fields=(("Set-Cookie", "b=2"), ("Set-Cookie", "c=3"))),
    ),
    snippet("more-clear-status", "more_clear_headers -s 404 X-Frame-Options;", Ask("/a"), answer=GONE),
    snippet(
        "more-input-restrict",
        'more_set_input_headers -r "X-In: set";',
        Ask("/a"),
        Ask("/a", fields=(("X-In", "1"),)),
    ),
    snippet(
        "more-input-type",
        'more_set_input_headers -t "text/x" "X-In: set";',
        Ask("/a", "POST", fields=(("Content-Type", "text/x"),), body=b"a"),
        Ask("/a", "POST", fields=(("Content-Type", "text/y"),), body=b"a"),
    ),
    snippet("more-input-host", 'more_set_input_headers "Host: in.test";'),
    snippet(
        "more-input-clear-star",
        'more_clear_input_headers "X-A*";',
        Ask("/a", fields=(("X-Ab", "1"), ("X-B", "2"))),
    ),
    snippet(
        "expires-modified",
        "expires modified +1h;",
        answer=answer(Last_Modified="Mon, 01 Jan 2024 00:00:00 GMT"),
    ),
    snippet("expires-error", "expires 1h;", answer=GONE),
    snippet("expires-own", "expires 1h;", answer=answer(Cache_Control="private", Expires="0")),
    snippet("expires-variable", "expires $arg_e;", *gets("/a?e=60", "/a?e=off", "/a?e=max", "/a")),
    snippet("expires-days", "expires 7d;"),
    snippet(
        "if-none",
        "if ($http_x_a) { return 403; }",
        Ask("/a"),
        Ask("/a", fields=(("X-A", "0"),)),
        Ask("/a", fields=(("X-A", ""),)),
        Ask("/a", fields=(("X-A", "no"),)),
    ),
    snippet(
        "if-not-equal",
        'if ($http_x_a != "b") { return 403; }',
        Ask("/a"),
        Ask("/a", fields=(("X-A", "b"),)),
        Ask("/a", fields=(("X-A", "B"),)),
    ),
    snippet(
        "if-several",
        "if ($arg_a) { add_header X-A 1; }\nif ($arg_b) { add_header X-B 1; }",
        *gets("/a?a=1", "/a?b=1", "/a?a=1&b=1", "/a"),
    ),
    snippet(
        "if-captures",
        'if ($request_uri ~ "^/u/([^/]+)/(.*)") { set $who $1; }\nproxy_set_header X-Who $who;',
        *gets("/u/ann/x", "/a"),
    ),
    snippet(
        "if-rewrite", 'if ($arg_v = "2") { rewrite ^/(.*)$ /v2/$1 break; }', *gets("/a?v=2", "/a?v=1", "/a")
    ),
    snippet(
        "if-redirect",
        "if ($scheme = http) { return 301 https://$host$request_uri; }",
        Ask("/a?b"),
        Ask("/a?b", secure=True),
    ),
    snippet(
        "if-proto",
        "if ($http_x_forwarded_proto = http) { return 301 https://$host$request_uri; }",
        Ask("/a"),
        Ask("/a", fields=(("X-Forwarded-Proto", "http"),)),
    ),
    snippet(
        "if-referer",
        'if ($http_referer !~ "^https?://ok\\.test/") { return 403; }',
        Ask("/a"),
        Ask("/a", fields=(("Referer", "https://ok.test/x"),)),
        Ask("/a", fields=(("Referer", "https://ok.test.evil/"),)),
    ),
    snippet("return-204", "return 204;"),
    snippet("return-410-text", "return 410 'no more';"),
    snippet("return-json", "default_type application/json;\nreturn 200 '{\"a\": 1}';"),
    snippet("return-303", "return 303 https://new.test/;"),
    snippet("return-308", "return 308 $scheme://new.test$request_uri;", Ask("/a?b")),
    snippet("return-400", "return 400;"),
    snippet("return-500", "return 500 'oops';"),
    snippet(
        "return-fields",
        'more_set_headers "X-A: b";\nadd_header X-B c;\nadd_header X-C d always;\nreturn 403;',
    ),
    snippet("rewrite-args", "rewrite ^/p/(.*)$ /q?id=$1 break;", *gets("/p/1", "/p/1?x=y")),
    snippet("rewrite-noargs", "rewrite ^/p/(.*)$ /q/$1? break;", *gets("/p/1?x=y")),
    snippet("rewrite-302", "rewrite ^/p/(.*)$ /q/$1 redirect;", Ask("/p/1?x=y"), Ask("/p/1", host="HOST:80")),
    snippet("rewrite-case", "rewrite (?i)^/p/(.*)$ /q/$1 break;", *gets("/P/1", "/p/1")),
    snippet("rewrite-two", "rewrite ^/a$ /b;\nrewrite ^/b$ /c break;", *gets("/a", "/b", "/d")),
    snippet("rewrite-encoded", "rewrite ^/p/(.*)$ /q/$1 break;", *gets("/p/a%20b", "/p/%C3%A9", "/p/a%2Fb")),
    snippet("allow-only", "allow 10.20.1.0/24;\ndeny all;", Ask("/a"), Ask("/a", client=2)),
    snippet("deny-then-allow", "deny 10.20.1.2;\nallow all;", Ask("/a"), Ask("/a", client=2)),
    snippet("allow-six", "allow fd00:10:244::/64;\ndeny all;", Ask("/a"), Ask("/a", ipv6=True)),
    snippet(
        "hide-and-pass",
        "proxy_hide_header X-Powered-By;\nproxy_hide_header X-Frame-Options;\nproxy_pass_header Server;",
        answer=OWN,
    ),
    server(
        "server-several-locations",
        "location = /a { return 200 'a'; }\nlocation /a { return 200 'prefix'; }\nlocation ~ ^/a { return 200 'regex'; }",
        *gets("/a", "/a/", "/ab", "/b"),
    ),
    server(
        "server-caret",
        "location ^~ /a { return 200 'prefix'; }\nlocation ~ ^/a { return 200 'regex'; }",
        *gets("/a", "/a/", "/ab"),
    ),
    server("server-deny", "location /in { deny all; }", *gets("/in", "/in/a", "/a")),
    server(
        "server-location-redirect",
        "location = /old { return 301 /new; }\nlocation /docs { return 302 https://docs.test$request_uri; }",
        *gets("/old", "/docs/a?b"),
    ),
    server("server-location-fields", "location = /x { add_header X-A b always; return 404; }", *gets("/x")),
    server(
        "server-status-page",
        'location = /nginx_ping { access_log off; default_type text/plain; return 200 "pong\\n"; }',
        *gets("/nginx_ping"),
    ),
    server(
        "server-agents",
        'if ($http_user_agent ~* "evil") { return 403; }',
        Ask("/a"),
        Ask("/a", fields=(("User-Agent", "EVIL 1"),)),
    ),
    server("server-method", "if ($request_method = TRACK) { return 405; }", Ask("/a", "TRACK"), Ask("/a")),
    server(
        "server-host",
        'if ($host ~* "^(.+)\\.old\\.test$") { return 301 https://$1.new.test$request_uri; }',
        Ask("/a"),
    ),
)

CASES = (*EXPRESSIONS, *SNIPPETS)
