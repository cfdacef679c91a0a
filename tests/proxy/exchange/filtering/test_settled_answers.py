"""Answers whose change is settled before they come."""

from __future__ import annotations

from attrs import frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress.filters import ChangesBy, FieldChanges, Filter
from ingress.http.request_head import RequestHead, parse_request_head
from ingress.http.response_head import parse_response_head
from ingress.proxy.contract.security import Security
from ingress.proxy.exchange.filtering.settled_answers import (
    MAX_VALUE,
    MAX_VALUES,
    SettledAnswers,
    settled_answers,
)
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import OK

BLUE = FieldChanges(put=((b"X-Team", b"blue"),))
HEAD = parse_response_head(b"HTTP/1.1 200 OK\r\nX-A: 1")


def fails(value: bytes) -> FieldChanges | None:
    """Fail where there is no value."""
    if not value:
        raise ZeroDivisionError
    return BLUE


@frozen
class Client:
    """A side without TLS."""

    security: Security | None = None


def request(fields: bytes = b"") -> RequestHead:
    """Return the head of a GET with *fields*, each with its CRLF."""
    return parse_request_head((b"GET / HTTP/1.1\r\nHost: a.test\r\n" + fields).removesuffix(b"\r\n"))


def repeated(value: bytes) -> FieldChanges | None:
    """Return what repeats a value."""
    return FieldChanges(put=((b"X-Said", value),)) if value else None


class SettledAnswersTests(SynchronousTestCase):
    """What is found, and found again."""

    def test_what_is_settled(self) -> None:
        """Answers are settled where all say beforehand what they do, and go by one field at most."""
        one, other = ChangesBy(repeated, b"x-a"), ChangesBy(repeated, b"x-b")
        for asked, is_settled in (
            ((), False),
            ((BLUE,), True),
            ((BLUE, one, one), True),
            ((one, None), False),
            ((one, other), False),
            ((one, ChangesBy(lambda _: BLUE, over_tls=True)), True),
        ):
            self.assertEqual(settled_answers(asked) is not None, is_settled, asked)

    def test_by_a_field(self) -> None:
        """Each value has its own change, which is the same head for the same value; without any, the head stays."""
        settled = SettledAnswers([ChangesBy(repeated, b"x-say")])
        first, again, other = (
            settled.changed(HEAD, request(b"X-Say: " + said + b"\r\n"), Client())
            for said in (b"a", b"a", b"b")
        )
        assert first is not None and other is not None
        self.assertIs(first, again)
        self.assertEqual((first.start[-11:], other.start[-11:]), (b"X-Said: a\r\n", b"X-Said: b\r\n"))
        self.assertIs(settled.changed(HEAD, request(), Client()), HEAD)
        both = settled.changed(HEAD, request(b"X-Say: a\r\nX-Say: b\r\n"), Client())
        assert both is not None
        self.assertEqual(both.start[-14:], b"X-Said: a, b\r\n")

    def test_over_tls(self) -> None:
        """What is for TLS alone is not done without."""
        settled = SettledAnswers([ChangesBy(lambda _: BLUE, over_tls=True)])
        self.assertIs(settled.changed(HEAD, request(), Client()), HEAD)

    def test_bounded(self) -> None:
        """However many values visitors choose, and however long, so many are remembered and no more."""
        settled = SettledAnswers([ChangesBy(repeated, b"x-say")])
        for number in range(MAX_VALUES + 10):
            settled.changed(HEAD, request(b"X-Say: %d\r\n" % number), Client())
        self.assertLessEqual(len(settled._known), MAX_VALUES)
        settled._known.clear()
        settled.changed(HEAD, request(b"X-Say: " + b"a" * (MAX_VALUE + 1) + b"\r\n"), Client())
        self.assertEqual(len(settled._known), 0)

    def test_failure(self) -> None:
        """Who fails, or asks for what may not be, leaves it to those who are asked one by one."""
        for bad in (ChangesBy(fails), ChangesBy(lambda _: FieldChanges(drop=(b"Connection",)))):
            self.assertIsNone(SettledAnswers([BLUE, bad]).changed(HEAD, request(), Client()))


class Says(Filter):
    """Says beforehand what a test wants."""

    def __init__(self, changes: ChangesBy) -> None:
        self.answer_changes = changes


class ServedTests(FilterCase):
    """In the proxy."""

    def test_failure(self) -> None:
        """A filter that fails costs the request a 500 that is its own, and other requests nothing."""
        self.filter_by(Says(ChangesBy(fails, b"x-say")))
        client = self.get()
        self.upstream().say(OK)
        self.assertEqual((client.heard().status, self.failures()), (500, 1))
        client = self.get(fields=((b"x-say", b"a"),))
        self.upstream().say(OK)
        heard = client.heard()
        self.assertEqual((heard.status, heard.all(b"x-team")), (200, [b"blue"]))
        self.flushLoggedErrors(ZeroDivisionError)


class ServedOverHttp2Tests(ServedTests):
    """The same over HTTP/2."""

    is_http2 = True
