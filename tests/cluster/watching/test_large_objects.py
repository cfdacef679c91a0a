"""Tests for ``ingress.cluster.watching.large_objects``."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.json_text import decoded
from ingress.cluster.watching import large_objects
from ingress.cluster.watching.large_objects import PIECE_BYTES, InPieces, decoding
from ingress.model.stepwise import finished
from tests.properties import examples

PATH = {"path": "/a", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}
LOOKALIKES = ("[{", '[{"host":', '},{"host":', ":1},{", '"', "\\", "]", "-73409583120000000")


def an_ingress(rules: list[Any], **metadata: Any) -> dict[str, Any]:
    return {
        "type": "MODIFIED",
        "object": {"kind": "Ingress", "metadata": {"name": "web", **metadata}, "spec": {"rules": rules}},
    }


def a_rule(number: int, paths: int = 1) -> dict[str, Any]:
    return {"host": f"h{number}.test", "http": {"paths": [PATH] * paths}}


def text_of(value: object) -> bytes:
    """Return the text of *value* as an API server writes it."""
    return json.dumps(value, separators=(",", ":")).encode()


class PiecesTests(SynchronousTestCase):
    """What an API server sends."""

    def setUp(self) -> None:
        self.sizes: list[int] = []

        def sized(text: bytes) -> object:
            self.sizes.append(len(text))
            return decoded(text)

        self.patch(large_objects, "decoded", sized)

    def check(self, value: object) -> InPieces:
        """Decode the text of *value*."""
        self.sizes.clear()
        found = finished(decoding(text_of(value)))
        self.assertEqual(found.value, value)
        return found

    def test_long_lists(self) -> None:
        """No piece is much longer than it has to be, whichever list is the long one, and wherever it stands."""
        managed = [{"manager": "helm", "fieldsV1": {"f:spec": {"f:rules": {}}}}]
        for value in (
            an_ingress([a_rule(number) for number in range(10_000)], managedFields=managed),
            an_ingress([a_rule(1, paths=8000)]),
            an_ingress([*map(a_rule, range(3000)), a_rule(1, paths=5000)]),
            an_ingress([a_rule(number, paths=500) for number in range(20)]),
            an_ingress([a_rule(number, paths=12) for number in range(1000)]),
            {"endpoints": [{"addresses": [f"10.0.0.{number}"]} for number in range(5000)]},
        ):
            found = self.check(value)
            self.assertLess(max(self.sizes), 7 * PIECE_BYTES)
            self.assertGreater(len(found.lists), 0)

    def test_that_begin_otherwise(self) -> None:
        """Elements that begin otherwise than those around them, be it the first one, leave the others in pieces."""
        no_host = {"http": {"paths": [PATH]}}
        no_path = {name: PATH[name] for name in ("pathType", "backend")}
        for rules in (
            [no_host, *map(a_rule, range(8000))],
            [{"http": {"paths": [PATH] * 12}}, *(a_rule(number, paths=12) for number in range(900))],
            [*map(a_rule, range(3000)), no_host, *map(a_rule, range(3000)), no_host, no_host],
            [{"http": {"paths": [no_path, *[PATH] * 9000]}}],
            [*[no_host] * 3000, *map(a_rule, range(3000))],
        ):
            found = self.check(an_ingress(rules))
            self.assertLess(max(self.sizes), 7 * PIECE_BYTES)
            self.assertGreater(len(found.lists), 0)

    def test_small(self) -> None:
        """What has no long list is decoded as it is."""
        found = self.check(an_ingress([a_rule(number) for number in range(20)]))
        self.assertEqual((found.lists, len(self.sizes)), ([], 1))

    def test_let_go(self) -> None:
        """The long lists are emptied in steps."""
        found = self.check(an_ingress([a_rule(number) for number in range(4000)]))
        rules = found.value["object"]["spec"]["rules"]
        lengths = []
        for _ in found.let_go():
            lengths.append(len(rules))
        self.assertGreater(len(lengths), 5)
        self.assertEqual(lengths[-1], 0)

    def test_cut_off(self) -> None:
        """What is no JSON is none in pieces, either."""
        text = text_of(an_ingress([a_rule(number) for number in range(2000)]))
        for broken in (
            text[:-1],
            text[: len(text) // 2],
            text + b"}",
            text.replace(b"h1999", b'h"1999'),
            b"",
        ):
            with self.assertRaises(ValueError):
                finished(decoding(broken))

    def test_written_twice(self) -> None:
        """Of a name that stands there twice the last value counts, as ever."""
        rules = text_of([a_rule(number) for number in range(2000)])
        text = b'{"rules":%b,"rules":7}' % rules
        self.assertEqual(finished(decoding(text)).value, {"rules": 7})

    def test_in_texts(self) -> None:
        """A list that only seems to be one, as what separates texts has its form, is none."""
        # Read from the midst of the first text on, what separates texts is a text, and these are numbers.
        strings = ["[{", *(f":{number}}},{{" for number in range(4000))]
        for value in ({"a": strings}, {"a": strings, "rules": [a_rule(number) for number in range(3000)]}):
            self.check(value)
            self.assertEqual(self.sizes[-1], len(text_of(value)))


class LookedAt(bytes):
    """A text that counts how many of its bytes were looked through for the end of a piece."""

    looked_at = 0

    def find(self, sub: Any, start: Any = None, end: Any = None, /) -> int:
        found = super().find(sub, start, end)
        until = min(end, len(self)) if found < 0 else found
        self.looked_at += max(0, until - start)
        return found


class ManyShortListsTests(SynchronousTestCase):
    """What has very many short lists, each of which might be a long one."""

    def looked_at(self, value: object) -> float:
        """Decode the text of *value*; return how many times as much as it has was looked through."""
        text = LookedAt(text_of(value))
        self.assertEqual(finished(decoding(text)).value, value)
        return text.looked_at / len(text)

    def test_alike(self) -> None:
        """Where their elements begin alike, as those of the paths of rules, each place is looked at once."""
        rules = [{"http": {"paths": [PATH]}}, *map(a_rule, range(10_000))]
        self.assertLess(self.looked_at(an_ingress(rules)), 2)
        self.assertLess(self.looked_at([[{"a": number}] for number in range(50_000)]), 2)
        strings = ["[{", ":"] * 50_000
        self.assertLess(self.looked_at(strings), 2)

    def test_each_otherwise(self) -> None:
        """Where those of each begin in a way of their own, no more are looked for after some dozens."""
        lists = [[{f"a{number}": 1}] for number in range(50_000)]
        self.assertLess(self.looked_at(lists), 64)


class AnyTextTests(SynchronousTestCase):
    """Whatever is in a text, it is the same in pieces."""

    @given(
        st.recursive(
            st.one_of(
                st.none(),
                st.integers(min_value=-(2**53), max_value=2**53),
                st.sampled_from(LOOKALIKES),
                st.text(max_size=8),
            ),
            lambda below: st.one_of(
                st.lists(below, max_size=6),
                st.dictionaries(st.sampled_from(("host", "a", "[{", *LOOKALIKES)), below, max_size=3),
                st.builds(lambda one, count: [{"host": one}] * count, below, st.integers(2, 8)),
                st.lists(st.builds(lambda one: {"host": one, "b": [{"host": one}]}, below), min_size=2),
            ),
            max_leaves=30,
        ),
        st.integers(1, 20),
    )
    @settings(max_examples=examples(600), deadline=None)
    def test_same(self, value: Any, size: int) -> None:
        """With pieces of a few bytes, too, where there are many places at which it might be cut."""
        before = large_objects.PIECE_BYTES
        large_objects.PIECE_BYTES = size  # type: ignore[misc]
        try:
            found = finished(decoding(text_of(value)))
        finally:
            large_objects.PIECE_BYTES = before  # type: ignore[misc]
        self.assertEqual(found.value, value)
