"""Fields that rules set, add and remove: as the official suite asks for them, and as nobody should."""

from __future__ import annotations

from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

from ingress.gateway_filters.field_edits import (
    MOST_FIELDS,
    MOST_VALUE_CHARACTERS,
    FieldEdits,
    read_field_edits,
)
from ingress.translate.readers.gateway.objects.routes import HeaderEdits
from tests.gateway_filters.reading_case import OfAnswers, RuleCase
from tests.proxy.playing import OK

Fields = tuple[tuple[bytes, bytes], ...]

MULTIPLE = HeaderEdits(
    put=(("X-Header-Set-1", "header-set-1"), ("X-Header-Set-2", "header-set-2")),
    add=(
        ("X-Header-Add-1", "header-add-1"),
        ("X-Header-Add-2", "header-add-2"),
        ("X-Header-Add-3", "header-add-3"),
    ),
    drop=("X-Header-Remove-1", "X-Header-Remove-2"),
)
MANY_CAME: Fields = (
    (b"X-Header-Set-2", b"set-val-2"),
    (b"X-Header-Add-2", b"add-val-2"),
    (b"X-Header-Remove-2", b"remove-val-2"),
    (b"Another-Header", b"another-header-val"),
)
MANY_GO = {
    b"x-header-set-1": b"header-set-1",
    b"x-header-set-2": b"header-set-2",
    b"x-header-add-1": b"header-add-1",
    b"x-header-add-2": b"add-val-2,header-add-2",
    b"x-header-add-3": b"header-add-3",
    b"x-header-remove-1": None,
    b"x-header-remove-2": None,
    b"another-header": b"another-header-val",
}
SET = HeaderEdits(put=(("X-Header-Set", "set-overwrites-values"),))
ADD = HeaderEdits(add=(("X-Header-Add", "add-appends-values"),))
REMOVE = HeaderEdits(drop=("X-Header-Remove",))
IN_ANY_CASE = HeaderEdits(
    put=(("X-Header-Set", "header-set"),), add=(("X-Header-Add", "header-add"),), drop=("X-Header-Remove",)
)
CASES: tuple[tuple[HeaderEdits, Fields, dict[bytes, bytes | None]], ...] = (
    (
        SET,
        ((b"Some-Other-Header", b"val"),),
        {b"some-other-header": b"val", b"x-header-set": b"set-overwrites-values"},
    ),
    (SET, ((b"X-Header-Set", b"some-other-value"),), {b"x-header-set": b"set-overwrites-values"}),
    (ADD, (), {b"x-header-add": b"add-appends-values"}),
    (
        ADD,
        ((b"X-Header-Add", b"some-other-value"),),
        {b"x-header-add": b"some-other-value,add-appends-values"},
    ),
    (REMOVE, ((b"X-Header-Remove", b"val"),), {b"x-header-remove": None}),
    (MULTIPLE, MANY_CAME, MANY_GO),
    (
        IN_ANY_CASE,
        (
            (b"x-header-set", b"original-val-set"),
            (b"x-header-add", b"original-val-add"),
            (b"x-header-remove", b"x"),
        ),
        {
            b"x-header-set": b"header-set",
            b"x-header-add": b"original-val-add,header-add",
            b"x-header-remove": None,
        },
    ),
)
"""HTTPRouteRequestHeaderModifier, HTTPRouteResponseHeaderModifier: edits, fields that came, fields that go (None: none)."""


def joined(lines: bytes, name: bytes) -> bytes | None:
    """Return the values of a field with commas between them."""
    pairs = [line.partition(b":") for line in lines.split(b"\r\n")]
    found = [value.strip() for called, _, value in pairs if called.lower() == name]
    return b",".join(found) if found else None


class SuiteTests(RuleCase):
    """What the official suite asks for."""

    is_http2: ClassVar[bool] = False

    def test_requests(self) -> None:
        """Endpoints get the fields as they are edited."""
        for edits, came, wanted in CASES:
            self.rule(edits)
            self.get(fields=tuple((name.lower(), value) for name, value in came))
            peer = self.upstream()
            for name, value in wanted.items():
                self.assertEqual(joined(peer.received.rpartition(b"GET /")[2], name), value, name)
            peer.say(OK)

    def test_answers(self) -> None:
        """So do clients, whatever the status is."""
        for edits, came, wanted in CASES:
            self.rule(OfAnswers(edits))
            client = self.get()
            lines = b"".join(b"%b: %b\r\n" % field for field in came)
            self.upstream().say(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n%b\r\n" % lines)
            heard = client.heard()
            for name, value in wanted.items():
                found = heard.all(name)
                self.assertEqual(b",".join(found) if found else None, value, name)

    def test_both(self) -> None:
        """A rule may edit requests and answers."""
        self.rule(SET, OfAnswers(ADD))
        client = self.get()
        peer = self.upstream()
        self.assertEqual(joined(peer.received, b"x-header-set"), b"set-overwrites-values")
        peer.say(OK)
        self.assertEqual(client.heard().all(b"x-header-add"), [b"add-appends-values"])
        self.assertEqual(client.heard().all(b"x-header-set"), [])


class Http2Tests(SuiteTests):
    """The same over HTTP/2."""

    is_http2: ClassVar[bool] = True


class ValueTests(SynchronousTestCase):
    """What may be asked for."""

    def refused(self, edits: HeaderEdits, of_requests: bool = True) -> str:
        """Return why *edits* are refused."""
        found = read_field_edits(edits.put, edits.add, edits.drop, of_requests=of_requests)
        assert isinstance(found, str), found
        self.assertTrue(found.isprintable())
        self.assertLess(len(found), 500)
        return found

    def test_proxys(self) -> None:
        """Nobody sets, adds or removes what frames a message or belongs to a connection."""
        for name in (
            "Connection",
            "content-length",
            "HTTP2-Settings",
            "Keep-Alive",
            "Proxy-Connection",
            "TE",
            "Trailer",
            "Transfer-Encoding",
            "Upgrade",
        ):
            for edits in (
                HeaderEdits(put=((name, "a"),)),
                HeaderEdits(add=((name, "a"),)),
                HeaderEdits(drop=(name,)),
            ):
                for of_requests in (True, False):
                    self.assertIn("proxy's own", self.refused(edits, of_requests))

    def test_host(self) -> None:
        """The host of requests is for another filter to change."""
        self.assertIn("urlRewrite", self.refused(HeaderEdits(put=(("host", "a.test"),))))
        self.refused(HeaderEdits(drop=("Expect",)))

    def test_hostile(self) -> None:
        """What no field can be or have is refused, without being repeated as it is."""
        for name in ("", " ", "a b", "a:", ":authority", "a\r\nb", "\u00e4", "a\0", "\ud800", "a" * 300_000):
            self.refused(HeaderEdits(put=((name, "a"),)))
            self.refused(HeaderEdits(drop=(name,)))
        for value in ("a\r\nX-Evil: 1", "a\nb", "\0", "\x7f", "\ud800", "a" * (MOST_VALUE_CHARACTERS + 1)):
            self.refused(HeaderEdits(put=(("X-A", value),)))
            self.refused(HeaderEdits(add=(("X-A", value),)))

    def test_many(self) -> None:
        """There are as many as the API allows."""
        many = tuple((f"X-{number}", "a") for number in range(MOST_FIELDS + 1))
        self.assertIn("more than", self.refused(HeaderEdits(put=many)))
        self.assertIn("more than", self.refused(HeaderEdits(add=many)))
        self.assertIn("more than", self.refused(HeaderEdits(drop=tuple(name for name, _ in many))))

    def test_twice(self) -> None:
        """Of a name in one list the first counts; in two lists it makes no sense; nothing at all neither."""
        found = read_field_edits((("X-A", "1"), ("x-a", "2")), (), ("X-B", "x-b"), of_requests=True)
        self.assertEqual(found, FieldEdits(put=((b"X-A", b"1"),), drop=(b"X-B",)))
        for edits in (
            HeaderEdits(put=(("X-A", "1"),), add=(("x-a", "2"),)),
            HeaderEdits(put=(("X-A", "1"),), drop=("x-a",)),
            HeaderEdits(add=(("X-A", "1"),), drop=("x-a",)),
        ):
            self.assertIn("two ways", self.refused(edits))
        self.refused(HeaderEdits())

    def test_texts(self) -> None:
        """Values lose space around them, and are UTF-8 on the wire."""
        found = read_field_edits((("X-A", " a\tb "), ("X-B", "\u00e4")), (), (), of_requests=False)
        self.assertEqual(found, FieldEdits(put=((b"X-A", b"a\tb"), (b"X-B", b"\xc3\xa4"))))
