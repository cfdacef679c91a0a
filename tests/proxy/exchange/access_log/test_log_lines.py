"""Lines of the access log in a format of nginx's, and requests without any."""

import json
import re
from base64 import b64encode
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.request_head import parse_request_head
from ingress.model.cluster.objects import ObjectKey
from ingress.model.exchanges.records import Record
from ingress.model.serving.log_formats import (
    MAX_FORMAT_CHARACTERS,
    VARIABLES,
    AccessLogSettings,
    read_log_format,
    read_skipped_url,
)
from ingress.proxy.exchange.access_log.log_lines import MAX_VALUE, line_maker
from tests.fakes.records import ENDPOINT, record_of
from tests.proxy.exchange.access_log.test_access_log import AccessLogCase
from tests.proxy.playing import OK, ProxyCase

NOW = 1_790_000_000.25

# The usual format of ingress-nginx.
USUAL = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
    " $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr"
    " $upstream_response_length $upstream_response_time $upstream_status $req_id"
)


def record(*lines: bytes, **more: Any) -> Record:
    """A record of a request with these field lines."""
    head = parse_request_head(b"\r\n".join([b"POST /a?b=c HTTP/1.1", b"Host: A.test", *lines]))
    one = record_of(ObjectKey("shop", "web"), endpoint=ENDPOINT, target=b"/a?b=c", method=b"POST", **more)
    return one._replace(head=head, scheme=b"https", id=b"17")


class LineTests(SynchronousTestCase):
    """``line_maker``."""

    def line(self, text: str, one: Record, *, escapes_json: bool = False) -> str:
        """The line of a record."""
        return line_maker(read_log_format(text), escapes_json=escapes_json)(one, NOW).decode("ascii")

    def test_usual_format(self) -> None:
        """The format that ingress-nginx has by default looks as it does there."""
        user = b64encode(b"ann:secret")
        one = record(b"User-Agent: curl/8", b"Authorization: Basic " + user, b"Content-Length: 4")
        found = self.line(USUAL, one)
        self.assertRegex(
            found,
            r'^192\.0\.2\.1 - ann \[21/Sep/2026:\d\d:\d\d:20 \+0000\] "POST /a\?b=c HTTP/1\.1" 200 1 "-" "curl/8"'
            r" \d+ 0\.100 \[-\] \[-\] 10\.0\.0\.1:80 1 0\.100 200 17$",
        )
        self.assertNotIn("secret", found)

    def test_json(self) -> None:
        """A format of JSON is JSON whatever a client writes, and says what there is."""
        text = (
            '{"time":"$time_iso8601","msec":$msec,"agent":"$http_user_agent","uri":"${uri}","q":"$arg_b","c":"$cookie_k",'
            '"s":$status,"host":"$host","scheme":"$scheme","ns":"$namespace","ing":"$ingress_name","none":"$http_none"}'
        )
        for agent in (b'"}{\\', b"\xff\xfe", "ä".encode(), b"\t", b"a" * 9000, b"${host}$status"):
            found = json.loads(
                self.line(text, record(b"User-Agent: " + agent, b"Cookie: j=1; k=2"), escapes_json=True)
            )
            self.assertEqual(
                (found["q"], found["c"], found["s"], found["host"], found["none"]),
                ("c", "2", 200, "a.test", ""),
            )
            self.assertEqual(
                (found["uri"], found["scheme"], found["ns"], found["ing"]), ("/a", "https", "shop", "web")
            )
            self.assertEqual(found["msec"], NOW)
            self.assertEqual(found["agent"], agent.strip()[:MAX_VALUE].decode("utf-8", "replace"))

    def test_several_fields(self) -> None:
        """Several fields of a name are one value, and a cookie is found whichever of them has it."""
        one = record(b"Cookie: a=1", b"X-A: 1", b"cookie: b=2; c=3", b"x-a: 2")
        self.assertEqual(self.line("$http_x_a|$http_cookie|$cookie_b", one), "1, 2|a=1; b=2; c=3|2")

    def test_nothing_forged(self) -> None:
        """By the usual escaping no value ends a field in quotes, nor a line."""
        for value in (b'" 200 "', b"\\", b"\xe2\x80\xa8", b"\t", b"x" * 100_000):
            found = self.line('"$http_x"', record(b"X: a" + value[:20_000]))
            self.assertTrue(found.isprintable())
            self.assertEqual(len(re.findall(r'(?<!\\)"', found)), 2)
            self.assertLess(len(found), 5 * MAX_VALUE)

    def test_every_variable(self) -> None:
        """Every variable of the list makes a value, also where there is neither head nor attempt nor route."""
        bare = record_of()
        for name in VARIABLES:
            self.assertTrue(self.line(f"[${name}]", record()).startswith("["), name)
            self.assertTrue(self.line(f"[${name}]", bare).startswith("["), name)

    def test_hostile_authorization(self) -> None:
        """What is no user is none."""
        for value in (
            b"Basic",
            b"Basic !!!",
            b"Bearer x",
            b"Basic " + b"A" * 10_000,
            b"Basic " + b64encode(b"\xff\r\n:x"),
        ):
            found = self.line("$remote_user", record(b"Authorization: " + value))
            self.assertTrue(found.isprintable())

    def test_refused(self) -> None:
        """What nobody knows, what is no line, and what is too long is refused with a reason."""
        for text, reason in (
            ("$ssl_nothing", "names $ssl_nothing"),
            ("$http_", "names $http_"),
            ("a\nb", "control character"),
            ("a\0", "control character"),
            ("x" * (MAX_FORMAT_CHARACTERS + 1), "longer"),
            ("$status" * 1000, "variables"),
        ):
            with self.assertRaisesRegex(ValueError, re.escape(reason)):
                read_log_format(text)
        self.assertEqual(read_log_format("a$ b$").parts, ("a$ b$",))


class SkippedTests(AccessLogCase):
    """Requests that have no line."""

    def lines(self, settings: AccessLogSettings, *targets: bytes) -> list[bytes]:
        """What is collected of requests for these targets."""
        log = self.open()
        log.follow(settings)
        for target in targets:
            self.record(log, target)
        found, log._lines = log._lines, []
        return found

    def test_urls(self) -> None:
        """Whole targets and expressions are left out; all others have their usual lines."""
        urls = tuple(map(read_skipped_url, ("/healthz", "~^/metrics", "~*/PING$")))
        targets = (b"/healthz", b"/healthz?x", b"/metrics/a", b"/ping", b"/x\xff")
        found = self.lines(AccessLogSettings(skipped_urls=urls), *targets)
        self.assertEqual([line.split(b'"')[1] for line in found], [b"/healthz?x", b"/x\\xFF"])
        with self.assertRaises(ValueError):
            read_skipped_url("~(a")

    def test_off_and_on(self) -> None:
        """A log that is off has no lines, and has them again when it is on."""
        self.assertEqual(self.lines(AccessLogSettings(is_on=False), b"/"), [])
        self.assertEqual(len(self.lines(AccessLogSettings(), b"/")), 1)
        own = AccessLogSettings(format=read_log_format("$status $request_uri"))
        self.assertEqual(self.lines(own, b"/a"), [b"200 /a"])


class ServedTests(ProxyCase):
    """The same, in the proxy."""

    def test_fields_of_requests(self) -> None:
        """A format sees fields of the request, and what became of it."""
        self.stage.access_log.follow(
            AccessLogSettings(
                format=read_log_format("- - - - - $status $http_user_agent $host $scheme $http_host")
            )
        )
        client = self.stage.open()
        client.say(b"GET / HTTP/1.1\r\nHost: SHOP.test\r\nUser-Agent: me\r\n\r\n")
        self.upstream().say(OK)
        client.take()
        self.assertEqual(self.stage.log_lines(), [b"- - - - - 200 me shop.test http SHOP.test"])
