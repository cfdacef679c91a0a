"""Tests for ``ingress.cluster.watching.page_parts``."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.json_text import decoded
from ingress.cluster.watching import large_objects, page_parts
from ingress.cluster.watching.page_parts import PageParts
from ingress.cluster.watching.watch_events import BrokenStreamError, ListPage, ObjectEvent, page_from_json
from tests.properties import examples

BUILT_IN: dict[str, Any] = {}
DEFINED = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute"}
MANAGED = [{"apiVersion": "gateway.networking.k8s.io/v1", "fieldsType": "FieldsV1", "manager": "kubectl"}] * 3


def an_object(number: int, size: int, begins: dict[str, Any] = BUILT_IN) -> dict[str, Any]:
    """Return an object of about so many bytes."""
    # What a tenant writes may look like the beginning of an object, but for its quotes.
    annotations = {"note": f'}},{{"metadata":{{"name":"x"}}}},{begins}' + "ü" * (size // 2)}
    metadata = {
        "name": f"o{number}",
        "namespace": "n",
        "resourceVersion": str(number),
        "annotations": annotations,
    }
    return {**begins, "metadata": {**metadata, "managedFields": MANAGED}, "spec": {"list": [{}, {"a": []}]}}


def a_page(objects: list[dict[str, Any]], *, is_sorted: bool = False, indent: int | None = None) -> bytes:
    """Return the text of a page: of a defined kind it is in the order of the names."""
    page = {"kind": "List", "metadata": {"resourceVersion": "9", "continue": 't"],'}, "items": objects}
    separators = (",", ":") if indent is None else None
    return json.dumps(page, sort_keys=is_sorted, indent=indent, separators=separators).encode() + b"\n"


def taken(text: bytes, size: int) -> tuple[list[ObjectEvent], ListPage]:
    """Return the objects of a page that comes in chunks of so many bytes, and what is left at its end."""
    parts = PageParts()
    found = [event for at in range(0, len(text), size) for event in parts.feed(text[at : at + size])]
    return found, parts.end()


class PagePartsTests(SynchronousTestCase):
    """A page that comes in chunks."""

    def decoded_sizes(self) -> list[int]:
        """Return where the sizes of the texts will stand that are decoded from now on."""
        sizes: list[int] = []

        def sized(text: bytes) -> object:
            sizes.append(len(text))
            return decoded(text)

        self.patch(page_parts, "decoded", sized)
        self.patch(page_parts, "decoded_or_broken", sized)
        return sizes

    @settings(derandomize=True, max_examples=examples(100))
    @given(
        st.lists(st.integers(0, 9000), max_size=9),
        st.integers(1, 20_000),
        st.booleans(),
        st.sampled_from([None, 1]),
    )
    def test_chunks_do_not_matter(
        self, sizes: list[int], chunk: int, is_defined: bool, indent: int | None
    ) -> None:
        """However a page is written, and split, it has the same objects, version and token as decoded at once."""
        begins = DEFINED if is_defined else BUILT_IN
        objects = [an_object(number, size, begins) for number, size in enumerate(sizes)]
        text = a_page(objects, is_sorted=is_defined, indent=indent)
        whole = page_from_json(json.loads(text))
        found, rest = taken(text, chunk)
        self.assertEqual((*found, *rest.objects), whole.objects)
        self.assertEqual((rest.resource_version, rest.next_page), ("9", 't"],'))

    def test_one_by_one(self) -> None:
        """No more than an object is decoded at once, however many a page has and however large they are, and each when it is asked for."""
        for begins in (BUILT_IN, DEFINED):
            objects = [an_object(number, 10_000, begins) for number in range(50)]
            text = a_page(objects, is_sorted=bool(begins))
            longest = max(len(json.dumps(one)) for one in objects)
            sizes = self.decoded_sizes()
            found, rest = taken(text, 1 << 16)
            self.assertEqual((len(found), len(rest.objects)), (49, 1))
            self.assertLess(max(sizes), longest + 500)
            self.assertLess(len(sizes), 50 + 10)
            parts = PageParts()
            events = parts.feed(text)
            sizes.clear()
            next(events)
            self.assertEqual(len(sizes), 1)

    def test_large(self) -> None:
        """One that is large is decoded in pieces, so that nobody waits for all of it."""
        rules = [{"host": f"h{number}.test", "http": {"paths": [{"path": "/"}]}} for number in range(5000)]
        large = {**an_object(1, 900), "spec": {"rules": rules}}
        objects = [an_object(0, 900), large, an_object(2, 900)]
        sizes = self.decoded_sizes()

        def sized(text: bytes) -> object:
            sizes.append(len(text))
            return decoded(text)

        self.patch(large_objects, "decoded", sized)
        found, _ = taken(a_page(objects), 1 << 16)
        self.assertEqual(found[1].raw, large)
        self.assertLess(max(sizes), 4 * large_objects.PIECE_BYTES)

    def test_odd_beginnings(self) -> None:
        """Where what begins an object stands in the midst of others again and again, what is left is decoded as a whole."""
        odd = [
            {
                "metadata": {"name": "o", "resourceVersion": "1"},
                "list": [{"metadata": {}}] * 6,
                "x": "x" * 900,
            }
        ] * 20
        sizes = self.decoded_sizes()
        found, rest = taken(a_page(odd), 4096)
        self.assertEqual(len(found) + len(rest.objects), 20)
        self.assertLess(len(sizes), 20)

    def test_not_alike(self) -> None:
        """Objects that begin in different ways are found all the same."""
        objects = [an_object(number, 900, BUILT_IN if number % 3 else DEFINED) for number in range(30)]
        found, rest = taken(a_page(objects), 5000)
        names = [event.key.name for event in (*found, *rest.objects) if event.key is not None]
        self.assertEqual(names, [f"o{number}" for number in range(30)])

    def test_broken(self) -> None:
        """What is no page is told: at the first object that is none, or at the end; nothing is made up for what is missing."""
        text = a_page([an_object(number, 3000) for number in range(9)])
        for broken in (
            text[:-20],
            text.replace(b'"name":"o8"', b'"name":o8'),
            text.replace(b'"resourceVersion":"4"', b'"resourceVersion":4'),
            b"[" + text,
            b"<html>" + bytes(20_000),
            b"",
        ):
            self.assertRaises(BrokenStreamError, taken, broken, 4000)

    def test_no_end(self) -> None:
        """What has no end is refused at a bound."""
        self.patch(page_parts, "MOST_BYTES", 30_000)
        parts = PageParts()
        list(parts.feed(b'{"items":[' + b" " * 20_000))
        self.assertRaises(BrokenStreamError, list, parts.feed(b" " * 20_000))
