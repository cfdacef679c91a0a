"""Snippets, in the shapes that users write."""

from conformance.ingress_nginx.case import Ask, Case, Told, gets, ingress
from conformance.ingress_nginx.cases.documents import ANNOTATIONS, CHANGELESS, EVERYBODY, SNIPPETS, UNHONORED
from conformance.ingress_nginx.endpoints import Answer


def case(
    kind: str, name: str, text: str, asks: tuple[Ask, ...], answer: Answer | None, told: tuple[Told, ...]
) -> Case:
    return Case(
        name,
        (ingress(**{kind: text}),),
        asks or (Ask("/a"),),
        answers={"web": {"": answer}} if answer else {},
        told=told,
    )


def snippet(
    name: str, text: str, *asks: Ask, answer: Answer | None = None, told: tuple[Told, ...] = ()
) -> Case:
    return case("configuration_snippet", name, text, asks, answer, told)


def server(
    name: str, text: str, *asks: Ask, answer: Answer | None = None, told: tuple[Told, ...] = ()
) -> Case:
    return case("server_snippet", name, text, asks, answer, told)


OWN = Answer(
    fields=(
        ("Content-Type", "text/html"),
        ("X-Frame-Options", "own"),
        ("Server", "php"),
        ("X-Powered-By", "php"),
    )
)
GONE = Answer(404, fields=(("Content-Type", "text/html"), ("X-Frame-Options", "own")))

CASES = (
    snippet(
        "more-set",
        'more_set_headers "X-Frame-Options: DENY";\nmore_set_headers "X-New: a b" "X-Two: 2";',
        answer=OWN,
    ),
    snippet("more-set-error", 'more_set_headers "X-Frame-Options: DENY";', answer=GONE),
    snippet("more-set-status", 'more_set_headers -s "404 500" "X-Only: 404";', answer=GONE),
    snippet("more-set-type", 'more_set_headers -t "text/html" "X-Html: 1";', answer=OWN),
    snippet("more-clear", 'more_clear_headers "X-Powered-By" "X-Fr*";', answer=OWN),
    snippet("more-input", 'more_set_input_headers "X-In: $host";\nmore_clear_input_headers "Accept";'),
    snippet(
        "add-header",
        "add_header X-Added yes;\nadd_header X-Always yes always;\nadd_header X-Frame-Options DENY;",
        answer=OWN,
    ),
    snippet("add-header-error", "add_header X-Added yes;\nadd_header X-Always yes always;", answer=GONE),
    snippet(
        "add-header-variables",
        'add_header X-Where "$host$request_uri $scheme $request_method" always;\nadd_header X-Ns $namespace;\nadd_header X-Svc "$service_name:$service_port";\nadd_header X-Ing $ingress_name;',
        Ask("/a%20b?c=d"),
    ),
    snippet(
        "set-fields",
        'proxy_set_header X-Set "$remote_addr";\nproxy_set_header X-Host $host;\nproxy_set_header X-Empty "";',
        Ask("/a", fields=(("X-Empty", "1"), ("X-Set", "mine"))),
    ),
    snippet(
        "set-existing",
        "proxy_set_header X-Forwarded-Proto https;\nproxy_set_header X-Real-IP $http_x_my;",
        Ask("/a", fields=(("X-My", "1.1.1.1"),)),
        told=(Told("endpoint.web.field.*", SNIPPETS),),
    ),
    snippet("hide", "proxy_hide_header X-Powered-By;", answer=OWN),
    snippet(
        "return-text", 'return 200 "hello";', Ask("/a"), Ask("/a", "POST", body=b"abc"), Ask("/a", "HEAD")
    ),
    snippet("return-type", 'default_type text/plain;\nreturn 200 "hello $host";'),
    snippet("return-code", "return 403;"),
    snippet("return-404-text", 'return 404 "gone";'),
    snippet("return-url", "return 301 https://new.test$request_uri;", Ask("/a/b?c")),
    snippet(
        "return-uri",
        "return 302 /other;",
        Ask("/a"),
        Ask("/a", host="HOST:8080"),
        told=(
            Told(
                "answer.field.location", f"{ANNOTATIONS}: a redirect to a path names the port that was asked"
            ),
        ),
    ),
    snippet(
        "return-444", "return 444;", told=(Told("answer.*", "docs/snippets.md: 444 is answered with 403"),)
    ),
    snippet(
        "if-method",
        "if ($request_method = POST) { return 405; }",
        Ask("/a"),
        Ask("/a", "POST", body=b"a"),
        Ask("/a", "PUT", body=b"a"),
    ),
    snippet(
        "if-not-method",
        "if ($request_method !~ ^(GET|HEAD)$) { return 405; }",
        Ask("/a"),
        Ask("/a", "POST", body=b"a"),
    ),
    snippet(
        "if-uri",
        "if ($request_uri ~* ^/Admin) { return 403; }",
        *gets("/admin", "/ADMIN/x", "/x/admin", "/a"),
    ),
    snippet(
        "if-args",
        "if ($args ~ debug) { return 403; }\nif ($arg_x = 1) { return 410; }",
        *gets("/a?debug", "/a?x=1", "/a?x=2", "/a"),
    ),
    snippet(
        "if-agent",
        "if ($http_user_agent ~* (bot|spider)) { return 403; }",
        Ask("/a"),
        Ask(raw=b"GET / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: A-Bot\r\n\r\n"),
    ),
    snippet(
        "if-cookie",
        "if ($cookie_a = b) { return 418; }",
        Ask("/a"),
        Ask("/a", fields=(("Cookie", "a=b"),)),
        Ask("/a", fields=(("Cookie", "x=y; a=b"),)),
        told=(Told("answer.*", EVERYBODY),),
    ),
    snippet(
        "if-host",
        'if ($host = "HOST") { return 301 https://www.$host$request_uri; }',
        Ask("/a?b"),
        Ask("/a", host="HOST:80"),
    ),
    snippet(
        "if-set",
        'set $x "no";\nif ($http_x_a) { set $x "yes"; }\nadd_header X-X $x always;',
        Ask("/a"),
        Ask("/a", fields=(("X-A", "1"),)),
    ),
    snippet(
        "if-header",
        'if ($http_origin ~ "^https://(.+)$") { add_header X-Origin $1; }',
        Ask("/a"),
        Ask("/a", fields=(("Origin", "https://o.test"),)),
    ),
    snippet("rewrite", "rewrite ^/old/(.*)$ /new/$1 break;", *gets("/old/a?b=c", "/x", "/old/a%20b")),
    snippet("rewrite-redirect", "rewrite ^/old/(.*)$ /new/$1 permanent;", *gets("/old/a?b=c", "/x")),
    snippet(
        "rewrite-redirect-scheme", "rewrite ^/old$ https://new.test/x? redirect;", *gets("/old?b=c", "/x")
    ),
    snippet("rewrite-trailing", "rewrite ^([^.\\?]*[^/])$ $1/ redirect;", *gets("/a", "/a/", "/a.b", "/")),
    snippet("rewrite-last", "rewrite ^/old/(.*)$ /new/$1 last;", *gets("/old/a", "/new/a")),
    snippet("expires", "expires 1h;"),
    snippet("expires-off", "expires off;"),
    snippet("expires-epoch", "expires epoch;"),
    snippet("expires-max", "expires -1;"),
    snippet("allow-deny", "allow 10.20.1.1;\ndeny all;", Ask("/a"), Ask("/a", client=2)),
    snippet("deny", "deny 10.20.1.2;", Ask("/a"), Ask("/a", client=2)),
    snippet(
        "sub-filter",
        'sub_filter "a" "b";\nsub_filter_once off;',
        answer=Answer(fields=(("Content-Type", "text/html"),), body="aaa"),
        told=(Told("answer.body", UNHONORED),),
    ),
    snippet(
        "limit-except",
        "limit_except GET { deny all; }",
        Ask("/a"),
        Ask("/a", "POST", body=b"a"),
        Ask("/a", "HEAD"),
        told=(Told("answer.status", SNIPPETS),),
    ),
    snippet(
        "csp",
        "more_set_headers \"Content-Security-Policy: default-src 'self'; script-src 'self' 'unsafe-inline'\";\nmore_set_headers 'Referrer-Policy: no-referrer';",
    ),
    snippet("more-set-empty", 'more_set_headers "Server: ";', answer=OWN),
    snippet("comment", "# a comment\nadd_header X-A b; # another\n"),
    server(
        "server-location",
        "location /health { return 200 'fine'; }",
        *gets("/health", "/health/x", "/healthy", "/a"),
    ),
    server(
        "server-location-exact",
        'location = /robots.txt { default_type text/plain; return 200 "User-agent: *\\nDisallow: /\\n"; }',
        *gets("/robots.txt", "/robots.txt/", "/a"),
    ),
    server(
        "server-location-regex",
        "location ~* \\.(php|env)$ { deny all; }",
        *gets("/a.php", "/a.PHP", "/x/.env", "/a"),
    ),
    server("server-location-return", "location ^~ /admin { return 404; }", *gets("/admin", "/admin/x", "/a")),
    server(
        "server-if", "if ($http_x_block) { return 403; }", Ask("/a"), Ask("/a", fields=(("X-Block", "1"),))
    ),
    server("server-return", "return 301 https://new.test$request_uri;", *gets("/a?b")),
    server(
        "server-rewrite",
        "rewrite ^/old$ /new permanent;\nrewrite ^/in/(.*)$ /out/$1 last;",
        *gets("/old", "/in/a", "/a"),
    ),
    server(
        "server-headers",
        'more_set_headers "X-Server: yes";\nadd_header X-Add yes always;',
        Ask("/a"),
        answer=GONE,
    ),
    server(
        "server-set",
        "set $flag 0;\nif ($request_uri ~ ^/secret) { set $flag 1; }\nif ($flag = 1) { return 403; }",
        *gets("/secret", "/a"),
    ),
    server(
        "server-body",
        "client_max_body_size 100;\nlarge_client_header_buffers 4 16k;",
        Ask("/a", "POST", body=b"a" * 200),
    ),
    server(
        "server-gzip",
        "gzip on;\ngzip_types text/plain;",
        Ask("/a", fields=(("Accept-Encoding", "gzip"),)),
        answer=Answer(body="a" * 2000),
        told=(Told("answer.*", CHANGELESS),),
    ),
    server(
        "server-location-proxy",
        "location /old/ { proxy_pass http://10.20.1.1:9/; }",
        *gets("/old/a", "/a"),
        told=(Told("*", UNHONORED),),
    ),
    server(
        "server-error-page",
        "error_page 404 /404.html;\nlocation = /404.html { internal; return 200 'nothing'; }",
        Ask("/404.html"),
        Ask("/a"),
        answer=GONE,
        told=(Told("*", UNHONORED),),
    ),
)
