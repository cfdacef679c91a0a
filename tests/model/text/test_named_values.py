"""Tests for ``ingress.model.text.named_values``."""

from collections.abc import Callable
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.text.named_values import cookie_value, cookie_variable, query_value
from tests.fakes.counting import calls
from tests.properties import examples

NAMES = st.sampled_from([b"", b"a", b"A", b"ab", b" a", b"a ", b"\xe9"])
TEXTS = st.lists(st.sampled_from([b"a", b"A", b"b", b"=", b";", b"&", b"?", b" ", b"\t", b"\xe9"])).map(
    b"".join
)

MANY = 500
"""Names that one request is asked about."""


def first(parts: list[bytes], name: bytes) -> bytes:
    """Return the value of the first of *parts* that has *name*."""
    for part in parts:
        called, _, value = part.strip().partition(b"=")
        if called == name:
            return value
    return b""


class AnyTextTests(SynchronousTestCase):
    """Whatever a visitor writes."""

    @given(TEXTS, NAMES)
    @settings(max_examples=examples(500))
    def test_cookies(self, field: bytes, name: bytes) -> None:
        """The first cookie of a name counts."""
        self.assertEqual(cookie_value(field, name), first(field.split(b";"), name))

    @given(TEXTS, NAMES)
    @settings(max_examples=examples(500))
    def test_cookies_of_nginx(self, field: bytes, name: bytes) -> None:
        """``$cookie_NAME`` is the cookie of the very name, and where there is none the first one in upper or lower case."""
        parts = field.split(b";")
        names = {part.strip().partition(b"=")[0] for part in parts}
        folded = [part.strip().partition(b"=") for part in parts]
        expected = first([called.lower() + sign + value for called, sign, value in folded], name.lower())
        if name in names:
            expected = first(parts, name)
        self.assertEqual(cookie_variable(field, name), expected)

    @given(TEXTS, NAMES)
    @settings(max_examples=examples(500))
    def test_parameters(self, target: bytes, name: bytes) -> None:
        """The first parameter of a name counts, in upper or lower case, and without a query there is none."""
        _, _, query = target.partition(b"?")
        folded = [part.strip().partition(b"=") for part in query.split(b"&")]
        parts = [called.lower() + sign + value for called, sign, value in folded]
        self.assertEqual(query_value(target, name), first(parts, name.lower()) if query else b"")


class LongTextTests(SynchronousTestCase):
    """The longest texts that are let in, asked for many names."""

    def test_cookies(self) -> None:
        """Of thirty thousand cookies one costs no step for each of them, and five hundred hardly more than one."""
        for field in (
            b";" * 31_000 + b"n0=1",
            b"; ".join(b"n%d=1" % number for number in range(3500)),
            b";".join(b"%x" % number for number in range(6000)),
        ):
            for asked in (cookie_value, cookie_variable):
                self.assertLess(calls(partial(asked, field, b"n0")), 100)
                self.assertLess(calls(partial(asked, field, b"N0")), 100)
                self.assertLess(self._calls_of_many(asked, field), 10 * MANY)

    def test_parameters(self) -> None:
        """The same holds of parameters, of which each name is folded once."""
        for target in (
            b"/?" + b"&" * 8000 + b"n0=1",
            b"/?" + b"&".join(b"n%d=1" % number for number in range(1000)),
        ):
            self.assertLess(self._calls_of_many(query_value, target), 10 * MANY)

    def _calls_of_many(self, asked: Callable[[bytes, bytes], bytes], text: bytes) -> int:
        return calls(lambda: [asked(text, b"n%d" % number) for number in range(MANY)])

    def test_another_text(self) -> None:
        """What was remembered of one text is not said of another."""
        self.assertEqual(
            [cookie_value(text, b"a") for text in (b"a=1", b"a=2", b"b=3", b"a=1")], [b"1", b"2", b"", b"1"]
        )
        self.assertEqual(
            [query_value(text, b"a") for text in (b"/?a=1", b"/?a=2", b"/", b"/?a=1")],
            [b"1", b"2", b"", b"1"],
        )
