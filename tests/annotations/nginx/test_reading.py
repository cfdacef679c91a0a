"""What is read of snippets, and what is told of the rest."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.snippet_blocks import EMPTY, Sort
from ingress.annotations.nginx.grammar import MAX_CHARACTERS
from ingress.annotations.nginx.reading import HONORED, MAX_FIELDS, MAX_SEARCHES, Place, parse_snippet
from ingress.http.edited_heads import check_field
from ingress.model.requests.reserved_fields import RESERVED_FIELDS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "snippets.md"


def told(text: str, place: Place = Place.LOCATION) -> list[tuple[str, int, Sort]]:
    """Directive, line and sort of each finding."""
    return [(one.directive, one.line, one.sort) for one in parse_snippet(text, place).findings]


def message(text: str, place: Place = Place.LOCATION) -> str:
    """The only thing that is told of *text*."""
    (found,) = parse_snippet(text, place).findings
    return f"{found.directive} {found.message}"


class ReadingTests(SynchronousTestCase):
    """What is honored, and what is told."""

    def test_rest_is_honored(self) -> None:
        """What is refused is told by name and line, and everything else holds."""
        text = "more_set_headers 'X: a';\nproxy_pass http://x;\nadd_header Y y;\nroot /x;"
        snippet = parse_snippet(text, Place.LOCATION)
        self.assertEqual(told(text), [("proxy_pass", 2, Sort.REFUSED), ("root", 4, Sort.REFUSED)])
        self.assertEqual((len(snippet.block.level.fields), len(snippet.block.level.added)), (1, 1))
        self.assertFalse(snippet.keeps_out)

    def test_silent(self) -> None:
        """What streaming makes needless is not told of, nor is what says the default."""
        text = """
            proxy_buffering off; proxy_buffer_size 8k; proxy_buffers 4 16k; proxy_http_version 1.1;
            proxy_request_buffering off; server_tokens off; chunked_transfer_encoding on; satisfy all;
            proxy_pass_header Server; proxy_set_header Connection ""; proxy_set_header Upgrade $http_upgrade;
            add_header Content-Length 0; more_set_headers "Content-Length: 0"; gzip off; proxy_cache off; allow all; proxy_set_header Expect "";
        """
        self.assertEqual(told(text), [])

    def test_notes(self) -> None:
        """What changes nothing, but is believed to, is a note."""
        for text in ("gzip on;", "access_log off;", "proxy_cache_valid 200 1h;", "return 444;"):
            self.assertEqual([sort for _, _, sort in told(text)], [Sort.NOTE], text)
        for text in (
            "client_max_body_size 8m;",
            "proxy_read_timeout 3600;",
            "proxy_set_header X y;",
            *(f"grpc_{what}_timeout 1200s;" for what in ("connect", "read", "send")),
        ):
            self.assertEqual([sort for _, _, sort in told(text, Place.SERVER)], [Sort.NOTE], text)
        self.assertIn("proxy-body-size", message("client_max_body_size 8m;"))
        self.assertEqual(told("proxy_read_timeout 5;"), [("proxy_read_timeout", 1, Sort.REFUSED)])
        for place, sort in ((Place.LOCATION, Sort.REFUSED), (Place.SERVER, Sort.NOTE)):
            (finding,) = parse_snippet('grpc_send_timeout "1200s";', place).findings
            self.assertIs(finding.sort, sort)
            self.assertIn("proxy-send-timeout", finding.message)

    def test_what_does_it_instead(self) -> None:
        """What is refused and has another way is told with that: of gRPC, too."""
        for text, way in (
            ("client_body_timeout 1200s;", "--client-body-timeout"),
            ("grpc_ssl_name a.test;", "proxy-ssl-..."),
            ("proxy_ssl_name a.test;", "proxy-ssl-..."),
        ):
            for place in (Place.SERVER, Place.LOCATION):
                (finding,) = parse_snippet(text, place).findings
                self.assertIs(finding.sort, Sort.REFUSED)
                self.assertIn(way, finding.message)

    def test_guards_that_are_refused(self) -> None:
        """Whatever may keep somebody out and cannot be honored closes, however deep it stands."""
        for text in (
            'auth_basic "x";',
            "auth_request /x;",
            "satisfy any;",
            "internal;",
            "include /etc/blocked.conf;",
            "modsecurity on;",
            "access_by_lua_block { ngx.exit(403) }",
            "rewrite_by_lua_block { if x then ngx.exit(403) end }",
            "access_by_lua 'x';",
            "if ($unknown) { return 403; }",
            "if ($http_a ~ (?!x)) { deny all; }",
            "if (-f $request_filename) { return 404; }",
            "if ($http_a) { if ($http_b) { return 403; } }",
            "deny example.com;",
            "allow 10.0.0.0/33;",
            "limit_except GET { auth_basic x; }",
            "return 403 $nothing;",
            "location /x { deny all; }",
            "Deny all;",
            "something { deny all; }",
        ):
            self.assertTrue(parse_snippet(text, Place.LOCATION).lacks_guard, text)

    def test_what_decides_about_guards(self) -> None:
        """In a text with a guard, what is refused and may decide about it closes, too."""
        self.assertIn(("set", 1, Sort.GUARD), told("set $a $nothing;\nif ($http_x) { return 403; }"))
        self.assertIn(
            ("real_ip_header", 1, Sort.GUARD), told("real_ip_header X; allow 10.0.0.0/8; deny all;")
        )
        self.assertIn(("if", 1, Sort.GUARD), told("if (-f /x) { set $a 1; }\ndeny 10.0.0.1;"))
        self.assertEqual(told("set $a $nothing;"), [("set", 1, Sort.REFUSED)])

    def test_lua_that_keeps_nobody_out(self) -> None:
        """Lua that only changes headers is refused, and closes nothing."""
        for text in (
            "header_filter_by_lua_block { ngx.header.x = 1 }",
            "rewrite_by_lua_block { ngx.var.x = 1 }",
        ):
            self.assertEqual([sort for _, _, sort in told(text)], [Sort.REFUSED], text)

    def test_lua_that_hands_cookies_on(self) -> None:
        """What guides to oauth2-proxy have done by Lua is done anyway, for one cookie or several; anything else there closes."""
        code = """
            if ngx.var.one ~= "" then
              ngx.header["Set-Cookie"] = "_oauth2_proxy_1=" .. ngx.var.one .. ngx.var.auth_cookie:match("(; .*)")
            end
        """
        line = " ".join(code.split())
        for same in (code, line, code + code.replace("one", "two")):
            (finding,) = parse_snippet(f"access_by_lua_block {{{same}}}", Place.LOCATION).findings
            self.assertEqual((finding.sort, "handed on" in finding.message), (Sort.NOTE, True), same)
        for other in (
            "",
            f"{line} ngx.exit(403)",
            line.replace("end", "else ngx.exit(403) end"),
            line.replace('~= ""', '== ""'),
            line.replace("Set-Cookie", "Location"),
            line.replace("_1=", '" .. ngx.exit(403) .. "'),
            line.replace("(; .*)", '") or ngx.exit(403) or ("'),
            # Where that finds nothing, nginx answers 500.
            line.replace("(; .*)", "^group=staff"),
            line.replace("_1=", "\\"),
        ):
            self.assertTrue(
                parse_snippet(f"access_by_lua_block {{{other}}}", Place.LOCATION).lacks_guard, other
            )
        self.assertTrue(parse_snippet(f"access_by_lua '{line}';", Place.LOCATION).lacks_guard)

    def test_unreadable_texts(self) -> None:
        """A text that cannot be read is told as a whole, and closes where it has the words of a guard."""
        for text, sort in {
            "more_set_headers 'X: y'": Sort.REFUSED,
            "add_header X y; }": Sort.REFUSED,
            "deny all": Sort.GUARD,
            "location /x { deny all;": Sort.GUARD,
            "deny all;" + " " * MAX_CHARACTERS: Sort.GUARD,
            "add_header X y;" * 100_000: Sort.REFUSED,
            "a\0;": Sort.REFUSED,
        }.items():
            snippet = parse_snippet(text, Place.LOCATION)
            self.assertEqual(
                [(one.directive, one.line, one.sort) for one in snippet.findings], [("the text", 0, sort)]
            )
            self.assertEqual(snippet.block.level.added, ())
        self.assertIs(parse_snippet(" \n", Place.SERVER), EMPTY)

    def test_wrong_words(self) -> None:
        """Each directive says what is wrong with its words."""
        for text, reason in {
            "add_header X;": "takes a name and a value",
            "add_header X y z;": "takes a name and a value",
            "add_header 'a b' c;": "no name of a field",
            "add_header 'é' c;": "no name of a field",
            "add_header X 'a\nb';": "control character",
            "add_header X 'a\\rb';": "control character",
            "add_header X $upstream_addr;": "$upstream_addr",
            "more_set_headers;": "names no field",
            "more_set_headers -s 4x4 'X: y';": "numbers of three digits",
            "more_set_headers -t html 'X: y';": "no content type",
            "more_set_headers -r 'X: y';": "no option -r",
            "more_set_headers 'X: y' -s;": "nothing behind -s",
            "more_clear_headers '*';": "no name of a field",
            "more_clear_headers 'content-*';": "the proxy's own",
            "proxy_set_header Host '';": "takes Host away",
            "proxy_hide_header A B;": "takes one name",
            "return;": "takes a status",
            "return 99;": "takes a status",
            "return 600;": "none of 200 to 599",
            "return 200 a b;": "takes a status",
            "rewrite ^/a;": "takes an expression",
            "rewrite ^/a /b forever;": "takes an expression",
            "rewrite ( /b;": "no regular expression",
            "if $a { }": "no condition in parentheses",
            "if (a = b) { }": "where a variable must stand",
            "if ($host$uri = b) { }": "where one variable must stand",
            "if ($host > b) { }": "operator",
            "if ($host = ) { }": "takes a variable",
            "if ($host);": "has no block",
            "set $host x;": "has a value of its own",
            "set host x;": "takes a variable",
            "expires soon;": "no time",
            "expires $x;": "not known",
            "expires @25h;": "no time of day",
            "expires @+1h;": "no time",
            "expires @-1h;": "no time",
            "expires +-1h;": "no time",
            "expires --1h;": "no time",
            "expires +;": "no time",
            "expires 99999999999y;": "no time",
            "default_type x;": "takes one content type",
            "break now;": "takes nothing",
            "add_header X y { }": "has a block",
        }.items():
            self.assertIn(reason, message(text), text)

    def test_framing_fields(self) -> None:
        """Nobody sets, adds, hides or clears what frames a message; what WebSockets need is left to the proxy."""
        for name in sorted(RESERVED_FIELDS):
            self.assertRaises(ValueError, check_field, name.encode(), b"")
            for text in (
                f"add_header {name} 1;",
                f"more_set_headers '{name}: 1';",
                f"proxy_hide_header {name};",
            ):
                self.assertIn("the proxy's own", message(text))
        for name in ("Content-Length", "Transfer-Encoding", "TE", "Trailer"):
            for text in (f"proxy_set_header {name} 1;", f"more_set_input_headers '{name}: 1';"):
                self.assertIn("the proxy's own", message(text))
        for name in ("Connection", "Upgrade", "Keep-Alive"):
            for text in (f"proxy_set_header {name} x;", f"more_clear_input_headers {name};"):
                self.assertEqual(told(text), [])

    def test_places(self) -> None:
        """What nginx has in no such place is refused."""
        self.assertIn("stands in no server", message("location /x { }"))
        self.assertIn("stands in another block", message("location /x { location /y { } }", Place.SERVER))
        self.assertIn("stands in another if", message("if ($host) { if ($uri) { } }"))
        for text in (
            "return 301 /;",
            "set $a b;",
            "if ($host) { }",
            "rewrite a b;",
            "location /x { }",
            "break;",
        ):
            self.assertIn("stands in no server", message(text, Place.HTTP))
        for text in ("map $a $b { }", "log_format x y;", "geo $a { }"):
            self.assertEqual(len(told(text, Place.HTTP)), 1, text)

    def test_numbers_are_bounded(self) -> None:
        """So many expressions and fields, and no more, are honored of one text."""
        self.assertEqual(len(told("rewrite a b;" * (MAX_SEARCHES + 2))), 2)
        self.assertEqual(len(told("add_header a b;" * (MAX_FIELDS + 2))), 2)

    def test_long_texts(self) -> None:
        """As many directives as a text may have are read, whatever they are."""
        for piece in (
            "add_header X $host$uri;",
            "deny 10.0.0.1;",
            "if ($http_x) { return 403; }",
            "x;",
            "a{b;}",
        ):
            text = piece * (MAX_CHARACTERS // len(piece))
            self.assertLessEqual(len(parse_snippet(text, Place.SERVER).findings), 512)


class DocumentTests(SynchronousTestCase):
    """``docs/snippets.md`` has a row for each directive that is honored."""

    def test_directives(self) -> None:
        """All of them, and no other."""
        rows = [
            line.split(" | ")[0] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")
        ]
        shown = {word.split()[0] for row in rows for word in row.split("`")[1::2]}
        self.assertEqual(shown, HONORED)
