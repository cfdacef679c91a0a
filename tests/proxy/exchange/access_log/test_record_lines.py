"""Lines of the access log with fields by name."""

from __future__ import annotations

import json
import re
from typing import Any
from weakref import ref

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.request_head import RequestHead
from ingress.model.exchanges.causes import Cause
from ingress.model.exchanges.records import AttemptRecord, Record, RecordedSecurity
from ingress.model.observability.traces import TraceContext
from ingress.model.serving.log_formats import AccessLogSettings, LineForm, LogFormat, read_line_form
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings, TlsSettings, UpstreamTls
from ingress.proxy.exchange.access_log.log_lines import MAX_VALUE, line_maker
from ingress.proxy.exchange.access_log.record_lines import record_line_maker
from ingress.routing.route import Match, Route
from tests.fakes.records import record_of
from tests.properties import examples
from tests.proxy.exchange.access_log.test_access_log import AccessLogCase
from tests.proxy.exchange.access_log.test_log_lines import NOW, record
from tests.proxy.playing import OK, ONE, TWO, ProxyCase

WEB = BackendReference("shop", "web", 80)
TRACE = "0af7651916cd43dd8448eb211c80319c"


class Security:
    """TLS of a client."""

    def tls_version(self) -> str:
        """Return the version."""
        return "TLSv1.3"

    def server_name(self) -> str:
        """Return the name of the hello."""
        return "a.test"


class Downstream:
    """The side of a client, with TLS."""

    @property
    def security(self) -> RecordedSecurity | None:
        """Its TLS."""
        return Security()


def whole() -> Record:
    """Return a record that knows everything, of two attempts and a failure."""
    attempts = (
        AttemptRecord(Endpoint("10.0.0.1", 80), "could not be reached", 0.0, 2.0, over=2.0),
        AttemptRecord(Endpoint("2001:db8::1", 80), "502", 2.0, 2.25, 2.125, 2.5, is_reused=True),
    )
    return record(b"User-Agent: curl/8", b"Referer: https://b.test/", status=502)._replace(
        attempts=attempts,
        route=Route("*.test", "/a", Match.PREFIX, None, WEB),
        backend=WEB,
        seconds=2.501,
        bytes_received=7,
        downstream=Downstream(),
        trace=TraceContext(TRACE, "b7ad6b7169203331"),
        filter="cors",
        cause=Cause.UPSTREAM,
        reason='it said "no"',
        id=b"0123456789abcdef0123456789abcdef",
    )


def parsed(line: str) -> dict[str, str]:
    """Read a line of logfmt, as its readers do; fail on what is none."""
    found: dict[str, str] = {}
    at = 0
    while at < len(line):
        match = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|[^ "=\\]+)(?: |$)').match(line, at)
        assert match is not None, line[at:]
        name, value = match.groups()
        assert name not in found
        found[name] = json.loads(value) if value.startswith('"') else value
        at = match.end()
    return found


class FieldTests(SynchronousTestCase):
    """What stands in a line."""

    def json(self, one: Record) -> dict[str, Any]:
        """Return the object that a line is."""
        line = record_line_maker(LineForm.JSON)(one, NOW).decode("ascii")
        self.assertTrue(line.isprintable())
        found: dict[str, Any] = json.loads(line)
        return found

    def logfmt(self, one: Record) -> dict[str, str]:
        """Return the names and values of a line."""
        line = record_line_maker(LineForm.LOGFMT)(one, NOW).decode("ascii")
        self.assertTrue(line.isprintable())
        return parsed(line)

    def test_everything(self) -> None:
        """JSON has all that a record knows, under names that stay as they are."""
        self.assertEqual(
            self.json(whole()),
            {
                "time": "2026-09-21T14:13:20.250Z",
                "id": "0123456789abcdef0123456789abcdef",
                "trace": TRACE,
                "client": "192.0.2.1",
                "method": "POST",
                "scheme": "https",
                "host": "a.test",
                "path": "/a?b=c",
                "protocol": "HTTP/1.1",
                "status": 502,
                "bytes_sent": 1,
                "bytes_received": 7,
                "seconds": 2.501,
                "upstream_seconds": 2.5,
                "endpoint": "[2001:db8::1]:80",
                "ingress": "shop/web",
                "backend": "shop/web:80",
                "route_host": "*.test",
                "route_path": "/a",
                "tls": "TLSv1.3",
                "sni": "a.test",
                "user_agent": "curl/8",
                "referer": "https://b.test/",
                "filter": "cors",
                "cause": "upstream",
                "reason": 'it said "no"',
                "attempts": [
                    {"endpoint": "10.0.0.1:80", "outcome": "could not be reached", "seconds": 2.0},
                    {
                        "endpoint": "[2001:db8::1]:80",
                        "outcome": "502",
                        "connect": 0.125,
                        "head": 0.25,
                        "seconds": 0.5,
                        "reused": True,
                    },
                ],
            },
        )

    def test_logfmt(self) -> None:
        """logfmt has the same under the same names, and a list for each column of the attempts."""
        told, same = self.logfmt(whole()), self.json(whole())
        for name, value in same.items():
            if name != "attempts":
                said = told[name] if isinstance(value, str) else float(told[name])
                self.assertEqual(said, value)
        self.assertEqual(
            {name: value for name, value in told.items() if name not in same},
            {
                "endpoints": "10.0.0.1:80;[2001:db8::1]:80",
                "outcomes": "could not be reached;502",
                "connect_seconds": "-;0.125000",
                "head_seconds": "-;0.250000",
                "attempt_seconds": "2.000000;0.500000",
            },
        )

    def test_nothing(self) -> None:
        """What there is nothing for is left out."""
        names = {"time", "client", "method", "host", "path", "protocol", "status", "seconds"}
        names |= {"bytes_sent", "bytes_received"}
        self.assertEqual(set(self.json(record_of())), names)
        self.assertEqual(set(self.logfmt(record_of())), names)

    def test_bounded(self) -> None:
        """Whatever is long is cut."""
        one = record(b"User-Agent: " + b"a" * 9000)._replace(target=b"/" + b"\xff" * 9000, host=b"h" * 9000)
        one = one._replace(reason="r" * 9000)
        found = self.json(one)
        self.assertEqual(found["path"], "/" + "\\xff" * (MAX_VALUE - 1))
        self.assertEqual([len(found[name]) for name in ("host", "user_agent", "reason")], [MAX_VALUE] * 3)

    @settings(max_examples=examples(300), deadline=None)
    @given(st.binary(max_size=40), st.binary(max_size=40), st.text(max_size=20), st.binary(max_size=20))
    def test_hostile(self, target: bytes, host: bytes, reason: str, method: bytes) -> None:
        """Whatever bytes there are, JSON is an object, and logfmt one line of the same names; both say what the bytes were."""
        one = whole()._replace(target=target, host=host, reason=reason, method=method, client=host)
        told = self.json(one)
        self.assertEqual(told.get("path", "").encode(), target.decode(errors="backslashreplace").encode())
        self.assertEqual(told.get("reason", ""), reason)
        self.assertEqual(told["status"], 502)
        same = self.logfmt(one)
        for name in ("path", "host", "reason", "method"):
            self.assertEqual(same.get(name), told.get(name))


class VariableTests(SynchronousTestCase):
    """What nginx has variables for, and our own."""

    def test_values(self) -> None:
        """TLS, times of each attempt, lengths, trace and failure are what the record says."""
        text = (
            "$ssl_protocol $ssl_server_name $upstream_connect_time|$upstream_header_time|$upstream_response_time"
            " $bytes_received $server_name $opentelemetry_trace_id $failure_cause $filter $request_completion"
        )
        wanted = read_line_form(text)
        assert isinstance(wanted, LogFormat)
        self.assertEqual(
            line_maker(wanted, escapes_json=False)(whole(), NOW).decode(),
            f"TLSv1.3 a.test -, 0.125|-, 0.250|2.000, 0.500 7 *.test {TRACE} upstream cors OK",
        )

    def test_content_length(self) -> None:
        """What a request says of the length of its body is there by both names, though it is none of the fields that went on."""
        wanted = read_line_form("$content_length $http_content_length $http_Content_Length")
        assert isinstance(wanted, LogFormat)
        make = line_maker(wanted, escapes_json=False)
        for said, shown in ((7, b"7"), (0, b"0"), (-1, b"-")):
            one = whole()
            assert isinstance(one.head, RequestHead)
            one.head.content_length = said
            self.assertEqual(make(one, NOW), b" ".join([shown] * 3))

    def test_upgrade(self) -> None:
        """So is the protocol that a client asks to go over to, where it is relayed, and that it asks for one."""
        wanted = read_line_form("$http_upgrade $http_Upgrade $http_connection")
        assert isinstance(wanted, LogFormat)
        make = line_maker(wanted, escapes_json=False)
        for said, shown in ((b"websocket", b"websocket websocket Upgrade"), (b"", b"- - -")):
            one = whole()
            assert isinstance(one.head, RequestHead)
            one.head.upgrade = said
            self.assertEqual(make(one, NOW), shown)

    def test_other_backend(self) -> None:
        """A backend that was asked in place of the route's own is the alternative one."""
        wanted = read_line_form("$proxy_upstream_name $proxy_alternative_upstream_name $proxy_host")
        assert isinstance(wanted, LogFormat)
        make = line_maker(wanted, escapes_json=False)
        self.assertEqual(make(whole(), NOW), b"shop-web-80 - shop-web-80")
        other = whole()._replace(backend=BackendReference("shop", "next", 80))
        self.assertEqual(make(other, NOW), b"shop-web-80 shop-next-80 shop-web-80")


class FormTests(SynchronousTestCase):
    """``--access-log-format``."""

    def test_refused(self) -> None:
        """A word that is no form is refused with those that are, and so is a variable that there is not."""
        for text, expected in (
            ("jsn", "none of combined, plain, json, logfmt"),
            ("$nothing", "names \\$nothing"),
        ):
            with self.assertRaisesRegex(ValueError, expected):
                read_line_form(text)


class ChosenTests(AccessLogCase):
    """Which lines there are, in which form."""

    def lines(self, settings: AccessLogSettings, *records: Record, luck: float = 0.5) -> list[bytes]:
        """Return the lines of *records*."""
        log = self.open()
        log._random = lambda: luck
        log.follow(settings)
        for one in records:
            log.exchange_ended(one)
        found, log._lines = log._lines, []
        return found

    def test_settings_of_endpoints(self) -> None:
        """Nothing that is remembered for lines keeps the settings of an endpoint, in which a private key may be."""
        for form in ("plain", "combined", "json", "logfmt", "$upstream_addr $proxy_upstream_name"):
            tls = UpstreamTls(TlsSettings(), key_pem=b"key")
            one = record_of(endpoint=Endpoint("2001:db8::9", 443, LinkSettings(tls)))
            chosen = AccessLogSettings(format=read_line_form(form))
            [line] = self.lines(chosen, one)
            self.assertEqual(b"[2001:db8::9]:443" in line, form != "combined", line)
            gone = ref(tls)
            del one, tls
            self.assertIsNone(gone(), form)

    def test_forms(self) -> None:
        """Each form has its lines, and the destination changes none of them."""
        starts = {
            "plain": b"1970-",
            "combined": b"192.0.2.1 - - [01/Jan",
            "json": b'{"time":"',
            "logfmt": b"time=1970",
        }
        for form, start in starts.items():
            for destination in (None, "/log"):
                chosen = AccessLogSettings(destination, format=read_line_form(form))
                [line] = self.lines(chosen, record_of())
                self.assertTrue(line.startswith(start), line)

    def test_share(self) -> None:
        """Of 200 to 399 a share has lines, by chance; failures and everything else always have."""
        cut = record_of(status=200)._replace(cause=Cause.CUT)
        records = [record_of(status=status) for status in (101, 200, 204, 302, 399, 400, 404, 499, 503)]
        for share, luck, kept in (
            (0.1, 0.09, [101, 200, 204, 302, 399, 400, 404, 499, 503, 200]),
            (0.1, 0.1, [101, 400, 404, 499, 503, 200]),
            (0.0, 0.0, [101, 400, 404, 499, 503, 200]),
            (1.0, 0.999, [101, 200, 204, 302, 399, 400, 404, 499, 503, 200]),
        ):
            for form in LineForm:
                lines = self.lines(AccessLogSettings(format=form, share=share), *records, cut, luck=luck)
                found = [re.search(rb'(?:"/" |status"?[=:])(\d{3})\b', line) for line in lines]
                self.assertEqual([one and int(one[1]) for one in found], kept)


class ServedTests(ProxyCase):
    """The same, in the proxy."""

    def test_attempts(self) -> None:
        """A line names all endpoints that were tried, what came of each, and what the client sent."""
        self.stage.publish((ONE, TWO))
        self.connector.unreachable[ONE] = self.connector.unreachable[TWO] = "connection refused"
        self.stage.open().say(b"GET / HTTP/1.1\r\nHost: shop.test\r\nUser-Agent: me\r\n\r\n")
        found = json.loads(record_line_maker(LineForm.JSON)(self.metrics.records[-1], NOW))
        self.assertEqual({one["endpoint"] for one in found["attempts"]}, {str(ONE), str(TWO)})
        self.assertEqual((found["status"], found["cause"], found["user_agent"]), (502, "bad-gateway", "me"))
        self.assertRegex(found["id"], "^[0-9a-f]{32}$")
        self.assertIn("refused", found["reason"])

    def test_lengths(self) -> None:
        """What came of a request is counted, and not what was announced."""
        text = "- - - - - $status $bytes_received $request_length"
        self.stage.access_log.follow(AccessLogSettings(format=read_line_form(text)))
        down = self.stage.open()
        down.say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 6\r\n\r\nabcd")
        down.reset()
        received, length = self.stage.log_lines()[0].split()[6:]
        self.assertEqual(int(received), 4)
        self.assertLess(int(length), 80)
        self.stage.open().say(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\n\r\nabcd")
        self.upstream().say(OK)
        self.assertEqual(self.stage.log_lines()[-1].split()[6], b"4")
