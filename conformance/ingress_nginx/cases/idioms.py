"""Snippets as they are handed on from one answer on the web to the next, and beside annotations."""

from conformance.ingress_nginx.case import Ask, Case, Told, gets, ingress, secret
from conformance.ingress_nginx.cases.answers import answer
from conformance.ingress_nginx.cases.guards import GOOD, USER
from conformance.ingress_nginx.cases.snippets import GONE, OWN, server, snippet

ANY = "ImplementationSpecific"
ORIGIN = (("Origin", "https://app.test"),)
STRANGE = (("Origin", "https://evil.test"),)

OF_PATHS = (
    snippet("slash-by-rewrite", "rewrite ^(/a)$ $1/ redirect;", *gets("/a", "/a/", "/a?b=c", "/a/b")),
    snippet(
        "slash-by-rewrite-permanent",
        "rewrite ^([^.?]*[^/])$ $1/ permanent;",
        *gets("/a", "/a/", "/a.js", "/a?b"),
    ),
    snippet(
        "old-paths",
        "rewrite ^/old/(.*)$ /new/$1 permanent;\nrewrite ^/blog/([0-9]+)$ https://blog.test/post?id=$1? redirect;",
        *gets("/old/a?b=c", "/blog/12?x=y", "/blog/x", "/old"),
    ),
    snippet(
        "rewrite-break-in-if",
        "if ($http_x_version = 2) { rewrite ^/(.*)$ /v2/$1 break; }",
        Ask("/a?b"),
        Ask("/a?b", fields=(("X-Version", "2"),)),
    ),
    snippet("lower-host", "if ($host = 'old.test') { return 301 https://new.test$request_uri; }"),
    snippet(
        "https-behind-balancer",
        "if ($http_x_forwarded_proto = 'http') { return 301 https://$host$request_uri; }",
        Ask("/a?b"),
        Ask("/a?b", fields=(("X-Forwarded-Proto", "http"),)),
        Ask("/a?b", fields=(("X-Forwarded-Proto", "https"),)),
    ),
    snippet(
        "not-https",
        "if ($scheme != https) { return 301 https://$host$request_uri; }",
        Ask("/a?b", host="HOST:80"),
    ),
    snippet(
        "query-away",
        "if ($arg_token) { rewrite ^ $uri? permanent; }",
        *gets("/a?token=1&b=2", "/a?b=2", "/a?token="),
    ),
    snippet(
        "query-to-path",
        "if ($arg_page ~ ^([a-z]+)$) { set $page $1; rewrite ^ /pages/$page? break; }",
        *gets("/?page=about&x=1", "/?page=1", "/"),
    ),
    snippet(
        "uri-of-file",
        "if ($request_uri ~ \\.php) { return 404; }",
        *gets("/a.php", "/a.php?x", "/a?x=.php", "/a"),
    ),
    snippet(
        "uri-in-redirect", "return 302 https://new.test$uri$is_args$args;", *gets("/a%20b?c=d", "/a", "/a?")
    ),
    snippet(
        "denied-agents",
        'if ($http_user_agent ~* "(bot|crawl|^$)") { return 403; }',
        Ask("/a"),
        Ask("/a", fields=(("User-Agent", "GoogleBot/1"),)),
        Ask("/a", fields=(("User-Agent", ""),)),
    ),
    snippet(
        "two-conditions",
        'set $test "";\nif ($request_method = POST) { set $test "P"; }\nif ($http_x_a != "b") { set $test "${test}N"; }\nif ($test = PN) { return 405; }',
        Ask("/a"),
        Ask("/a", "POST", body=b"a"),
        Ask("/a", "POST", body=b"a", fields=(("X-A", "b"),)),
    ),
    snippet(
        "cookie-in-condition",
        'if ($http_cookie !~* "seen=yes") { add_header Set-Cookie "seen=yes; Path=/"; }\nif ($cookie_lang = "") { set $lang en; }\nif ($cookie_lang) { set $lang $cookie_lang; }\nproxy_set_header X-Lang $lang;',
        Ask("/a"),
        Ask("/a", fields=(("Cookie", "seen=yes; lang=de"),)),
    ),
    Case(
        "snippet-beside-target",
        (
            ingress(
                {"/app(/|$)(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$2",
                configuration_snippet="rewrite ^(/app)$ $1/ redirect;",
            ),
        ),
        gets("/app", "/app/", "/app/a?b", "/app?x"),
    ),
    Case(
        "snippet-return-beside-target",
        (
            ingress(
                {"/app(/|$)(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$2",
                configuration_snippet="if ($request_uri ~ ^/app/metrics) { return 403; }",
            ),
        ),
        gets("/app/metrics", "/app/metrics/x", "/app/a"),
    ),
    Case(
        "snippet-captures-of-path",
        (
            ingress(
                {"/u/([a-z]+)/(.*)": "web"},
                kind=ANY,
                use_regex="true",
                configuration_snippet='proxy_set_header X-User $1;\nmore_set_headers "X-Rest: $2";',
            ),
        ),
        gets("/u/ann/a", "/u/bob/"),
    ),
    *(
        Case(
            f"snippet-captures-since-{number}",
            (
                ingress(
                    {"/u/([a-z]+)/(.*)": "web"},
                    kind=ANY,
                    use_regex="true",
                    configuration_snippet='if ($arg_a ~ "^(x+)$") { set $seen yes; }\nproxy_set_header X-A "[$1|$2]";\nmore_set_headers "X-B: [$1|$2]";',
                    **more,
                ),
            ),
            gets("/u/ann/b?a=xx", "/u/ann/b?a=y", "/u/ann/b"),
        )
        for number, more in enumerate(({}, {"rewrite_target": "/$2"}))
    ),
    Case(
        "uri-of-rewritten",
        (
            ingress(
                {"/app(/|$)(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$2",
                configuration_snippet='proxy_set_header X-A "$uri $request_uri";',
            ),
        ),
        gets("/app/a?b"),
        told=(Told("endpoint.web.field.x-a", "docs/variables.md#of-the-request"),),
    ),
    Case(
        "snippet-captures-in-return",
        (
            ingress(
                {"/u/([a-z]+)/(.*)": "web"},
                kind=ANY,
                use_regex="true",
                configuration_snippet="return 302 https://new.test/$2?user=$1;",
            ),
        ),
        gets("/u/ann/a/b", "/U/ann/c?d"),
    ),
    Case(
        "snippet-rewrite-by-captures",
        (
            ingress(
                {"/v1/(.*)": "web"},
                kind=ANY,
                use_regex="true",
                configuration_snippet="rewrite ^/v1/(.*)$ /v2/$1 break;",
            ),
        ),
        gets("/v1/a?b", "/v1/"),
    ),
    Case(
        "snippet-beside-permanent",
        (
            ingress(
                permanent_redirect="https://new.test",
                configuration_snippet="if ($request_uri ~ ^/keep) { return 200 kept; }",
            ),
        ),
        gets("/keep", "/a"),
    ),
    Case(
        "snippet-on-rest",
        (ingress({"/a": "web"}, configuration_snippet='more_set_headers "X-A: b";'),),
        gets("/a", "/b"),
    ),
)

OF_FIELDS = (
    snippet(
        "cors-by-hand",
        "if ($request_method = 'OPTIONS') {\n  add_header 'Access-Control-Allow-Origin' '*';\n  add_header 'Access-Control-Allow-Methods' 'GET, POST';\n  add_header 'Access-Control-Max-Age' 1728000;\n  add_header 'Content-Type' 'text/plain charset=UTF-8';\n  add_header 'Content-Length' 0;\n  return 204;\n}\nadd_header 'Access-Control-Allow-Origin' '*' always;",
        Ask("/a", "OPTIONS", fields=ORIGIN),
        Ask("/a", fields=ORIGIN),
        Ask("/404", fields=ORIGIN),
    ),
    snippet(
        "cors-by-more",
        'more_set_headers "Access-Control-Allow-Origin: $http_origin" "Access-Control-Allow-Credentials: true";\nif ($request_method = OPTIONS) { more_set_headers "Access-Control-Max-Age: 60"; return 204; }',
        Ask("/a", "OPTIONS", fields=ORIGIN),
        Ask("/a", fields=ORIGIN),
        Ask("/a"),
    ),
    snippet(
        "cors-by-list",
        "if ($http_origin ~* '^https?://(app|www)\\.test$') { set $allowed $http_origin; }\nmore_set_headers 'Access-Control-Allow-Origin: $allowed';",
        Ask("/a", fields=ORIGIN),
        Ask("/a", fields=STRANGE),
    ),
    snippet(
        "cors-of-own-away",
        "proxy_hide_header Access-Control-Allow-Origin;\nadd_header Access-Control-Allow-Origin $http_origin always;",
        Ask("/a", fields=ORIGIN),
        answer=answer(Access_Control_Allow_Origin="https://other.test"),
    ),
    snippet(
        "security-by-add",
        'add_header X-Frame-Options "SAMEORIGIN" always;\nadd_header Referrer-Policy "no-referrer";\nadd_header Content-Security-Policy "default-src \'self\'; img-src *" always;\nadd_header Permissions-Policy "geolocation=()";\nproxy_hide_header Server;\nproxy_hide_header X-Powered-By;',
        Ask("/a"),
        answer=OWN,
    ),
    snippet(
        "security-by-add-error",
        'add_header X-Frame-Options "SAMEORIGIN" always;\nadd_header Referrer-Policy "no-referrer";',
        Ask("/a"),
        answer=GONE,
    ),
    snippet(
        "add-in-if",
        "add_header X-Out out;\nif ($arg_x) { add_header X-In in; }",
        *gets("/a", "/a?x=1"),
    ),
    snippet(
        "add-in-two-ifs",
        "if ($arg_x) { add_header X-One one; }\nif ($arg_y) { add_header X-Two two; }",
        *gets("/a?x=1", "/a?y=1", "/a?x=1&y=1"),
    ),
    snippet(
        "set-in-if",
        "proxy_set_header X-Out out;\nif ($arg_x) { set $in yes; }\nproxy_set_header X-In $in;",
        *gets("/a", "/a?x=1"),
    ),
    snippet(
        "more-in-if",
        'more_set_headers "X-A: out";\nif ($request_uri ~* "\\.(css|js)$") { more_set_headers "Cache-Control: public, max-age=31536000"; expires 1y; }',
        *gets("/a", "/a.css"),
        answer=answer(Cache_Control="no-cache"),
    ),
    snippet(
        "cache-static",
        "if ($request_uri ~* \\.(gif|png)$) { expires 30d; add_header Pragma public; }",
        *gets("/a.gif", "/a"),
    ),
    snippet(
        "length-in-field",
        "proxy_set_header X-Length $content_length;",
        Ask("/a"),
        Ask("/a", "POST", body=b"abc"),
    ),
    snippet(
        "length-in-condition",
        'if ($content_length = 0) { return 411; }\nif ($content_length = "") { set $none yes; }\nproxy_set_header X-None $none;',
        Ask("/a"),
        Ask("/a", "POST", body=b"abc"),
        Ask("/a", "POST", fields=(("Content-Length", "0"),)),
        Ask("/a", "POST", fields=(("Transfer-Encoding", "chunked"),), body=b"3\r\nabc\r\n0\r\n\r\n"),
    ),
    snippet(
        "time-of-request",
        'if ($msec ~ "^[0-9]{10}[.][0-9]{3}$") { set $ok "a"; }\nif ($time_iso8601 ~ "^20[0-9-]+T[0-9:]+[+]00:00$") { set $ok "${ok}b"; }\nif ($time_local ~ "^[0-9]+/[A-Z][a-z]+/20[0-9]+:[0-9:]+ [+]0000$") { set $ok "${ok}c"; }\nproxy_set_header X-Ok $ok;',
        Ask("/a"),
    ),
    snippet("first-line", 'proxy_set_header X-Line "$request";', Ask("/a%20b?c"), Ask("/a", http2=True)),
    snippet("of-machine", "if ($hostname) { set $ok yes; }\nproxy_set_header X-Ok $ok;"),
    snippet(
        "framing-fields",
        'proxy_set_header X-A "$http_upgrade|$http_connection|$http_te|$http_transfer_encoding|$http_expect";',
        Ask(
            "/a",
            fields=(
                ("Connection", "Upgrade"),
                ("Upgrade", "websocket"),
                ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
                ("Sec-WebSocket-Version", "13"),
            ),
        ),
        Ask("/a", fields=(("Connection", "keep-alive, TE"), ("TE", "trailers"))),
    ),
    snippet(
        "forwarded-away",
        'proxy_set_header X-Forwarded-For "";\nproxy_set_header Forwarded "for=$remote_addr";',
    ),
    snippet(
        "upgrade-by-hand",
        'proxy_set_header Upgrade $http_upgrade;\nproxy_set_header Connection "upgrade";',
        Ask("/a"),
    ),
    snippet(
        "real-ip-by-hand",
        "proxy_set_header X-Real-IP $remote_addr;\nproxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
    ),
    snippet(
        "request-id-by-hand",
        'more_set_headers "X-Request-ID: $req_id";\nproxy_set_header X-Correlation $req_id;',
        Ask("/a", fields=(("X-Request-ID", "abcdef0123456789abcdef0123456789"),)),
    ),
    snippet(
        "port-of-client",
        'proxy_set_header X-Client "$remote_addr";\nproxy_set_header X-Proto "$server_protocol $https";',
    ),
    snippet("limit-rate-in-snippet", "limit_rate 1m;", Ask("/a")),
    snippet("nested-quotes", 'more_set_headers \'X-A: "b c"\' "X-B: \'d\'";\nadd_header X-C "a;b{c}";'),
    snippet("escapes", 'add_header X-A "a\\"b\\\\c\\d";\nadd_header X-B a\\ b;'),
    snippet("braced", 'proxy_set_header X-A "${host}x${arg_a}y";', *gets("/a?a=1")),
    snippet(
        "several-lines",
        "more_set_headers\n  'X-A: b'\n  'X-C: d';\n# comment\n\n  # another\nadd_header X-E f; add_header X-G h;",
    ),
    snippet("if-empty-block", "if ($arg_x) { }", *gets("/a?x=1", "/a")),
    snippet(
        "set-of-set",
        'set $a "x";\nset $b "$a-$host";\nset $a "y";\nproxy_set_header X-B $b;\nproxy_set_header X-A $a;',
    ),
    snippet(
        "unknown-variable-set",
        "set $mine $http_x_mine;\nproxy_set_header X-Mine $mine;",
        Ask("/a"),
        Ask("/a", fields=(("X-Mine", "1"),)),
    ),
    snippet(
        "authorization-of-cookie",
        'if ($cookie_token) { set $auth "Bearer $cookie_token"; }\nproxy_set_header Authorization $auth;',
        Ask("/a", fields=(("Cookie", "token=abc"),)),
        Ask("/a", fields=GOOD),
    ),
    snippet("return-with-add", 'add_header X-A b always;\nadd_header X-C d;\nreturn 404 "no";'),
    snippet(
        "return-with-more",
        'more_set_headers "Content-Type: application/json" "Cache-Control: no-store";\nreturn 503 \'{"a": "b"}\';',
    ),
    snippet("return-200-empty", "return 200;"),
    snippet(
        "return-204-options",
        "if ($request_method = OPTIONS) { return 204; }",
        Ask("/a", "OPTIONS"),
        Ask("/a"),
    ),
    snippet(
        "return-variable-status",
        "return 307 $scheme://other.test$request_uri;",
        Ask("/a?b", "POST", body=b"a"),
    ),
    snippet("return-429", "return 429;"),
    snippet("return-418", 'return 418 "tea";'),
    snippet("return-299", 'return 299 "odd";'),
    Case(
        "snippet-and-password",
        (
            ingress(
                auth_type="basic",
                auth_secret="users",
                configuration_snippet='more_set_headers "X-User: $remote_user";\nif ($request_uri = /open) { return 200 open; }',
            ),
            secret("users", auth=USER),
        ),
        (Ask("/a"), Ask("/a", fields=GOOD), Ask("/open")),
    ),
    Case(
        "snippet-lists",
        (
            ingress(
                {"/": "web"},
                whitelist_source_range="10.20.1.0/24",
                configuration_snippet="deny 10.20.1.2;",
            ),
        ),
        (Ask("/a"), Ask("/a", client=2)),
    ),
    Case(
        "snippet-satisfy",
        (
            ingress(
                auth_type="basic",
                auth_secret="users",
                satisfy="any",
                configuration_snippet="allow 10.20.1.2;\ndeny all;",
            ),
            secret("users", auth=USER),
        ),
        (Ask("/a"), Ask("/a", fields=GOOD), Ask("/a", client=2)),
    ),
)

OF_SERVERS = (
    server(
        "server-health",
        "location = /healthz { return 200 ok; }\nlocation /status { access_log off; return 204; }",
        *gets("/healthz", "/healthz/x", "/status", "/status/x", "/a"),
    ),
    server(
        "server-robots",
        'location = /robots.txt { add_header Content-Type text/plain; return 200 "User-agent: *\\nDisallow: /\\n"; }',
        *gets("/robots.txt", "/a"),
    ),
    server(
        "server-moved",
        "rewrite ^/old/(.*)$ /new/$1 permanent;\nif ($request_uri ~* ^/gone) { return 410; }",
        *gets("/old/a?b", "/gone", "/a"),
    ),
    server(
        "server-hidden-files",
        "location ~ /\\.(git|env) { deny all; return 404; }",
        *gets("/.git/config", "/a/.env", "/a"),
    ),
    server("server-deny-path", "location /internal { deny all; }", *gets("/internal", "/internal/a", "/a")),
    server(
        "server-deny-metrics",
        "location ~* /(metrics|actuator)(/.*)?$ { return 403; }",
        *gets("/metrics", "/x/actuator/env", "/METRICS", "/metricsx", "/a"),
    ),
    server(
        "server-set-for-path",
        "set $mine $http_x_mine;\nif ($mine = bad) { return 400; }",
        Ask("/a", fields=(("X-Mine", "bad"),)),
        Ask("/a"),
    ),
    server(
        "server-rewrite-break",
        "rewrite ^/x/(.*)$ /y/$1 break;\nrewrite ^/z/(.*)$ /w/$1 last;",
        *gets("/x/a", "/z/a?b", "/a"),
    ),
    server(
        "server-host-redirect",
        "if ($host ~* ^www\\.(.+)$) { return 301 $scheme://$1$request_uri; }",
        *gets("/a"),
    ),
    server(
        "server-more",
        'more_set_headers "X-Server: 1";\nadd_header X-Added 1 always;',
        *gets("/a"),
        answer=OWN,
    ),
    Case(
        "server-more-beside-path",
        (
            ingress(
                server_snippet='more_set_headers "X-A: server" "X-B: server";\nadd_header X-C server always;',
                configuration_snippet='more_set_headers "X-A: path";\nadd_header X-D path always;',
            ),
        ),
        gets("/a"),
    ),
    Case(
        "server-beside-regex",
        (
            ingress(
                {"/api/(.*)": "web"},
                kind=ANY,
                use_regex="true",
                rewrite_target="/$1",
                server_snippet="location = /api/health { return 200 ok; }\nlocation /api/in { return 403; }\nlocation ^~ /api/top { return 403; }",
            ),
        ),
        gets("/api/health", "/api/in/a", "/api/top/a", "/api/a"),
    ),
    Case(
        "server-beside-tls-redirect",
        (
            ingress(
                force_ssl_redirect="true",
                server_snippet="location = /healthz { return 200 ok; }\nif ($http_user_agent ~* kube-probe) { return 200 probe; }",
            ),
        ),
        (Ask("/healthz"), Ask("/a"), Ask("/a", fields=(("User-Agent", "kube-probe/1.30"),))),
    ),
    Case(
        "server-of-two",
        (
            ingress({"/a": "a"}, name="z", server_snippet="if ($arg_x) { return 410; }"),
            ingress({"/b": "b"}, name="a", server_snippet="if ($arg_y) { return 411; }"),
        ),
        gets("/a?x=1", "/b?x=1", "/a?y=1", "/b?y=1"),
    ),
)

CASES = (*OF_PATHS, *OF_FIELDS, *OF_SERVERS)
