"""What crosses between the two sorts of processes."""

from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.firewall.messages import (
    MOST_FRAME_BYTES,
    MOST_LINE_BYTES,
    MOST_LINES,
    Said,
    answer_head_to_bytes,
    answer_of,
    parts_of,
    parts_to_bytes,
    request_head_to_bytes,
    request_of,
    said_of,
    said_to_bytes,
)
from ingress.model.exchanges.firewall import CORE_RULES, InspectedAnswer, InspectedRequest
from ingress.process.framing import NonsenseError
from tests.properties import examples

REQUEST = InspectedRequest(
    b"id", b"10.0.0.1", b"shop.test", 443, b"POST", b"/a?b=c", b"A: b\r\n", b"x=\0", True
)


class MessageTests(SynchronousTestCase):
    def test_each_comes_as_it_went(self) -> None:
        """Rule sets with the core rules, requests, answers and verdicts are the same at the other end."""
        parts = ("SecRuleEngine On", CORE_RULES, "SecMarker é")
        self.assertEqual(parts_of(parts_to_bytes(parts)), parts)
        self.assertEqual(request_of(request_head_to_bytes(7, REQUEST) + REQUEST.body), (7, REQUEST))
        for body in (None, b"", b"a body"):
            answer = InspectedAnswer(3, 404, b"A: b\r\n", body)
            self.assertEqual(answer_of(3, answer_head_to_bytes(answer) + (body or b"")), answer)
        said = Said(302, b"https://a.test/", (b"one", b""), 2)
        self.assertEqual(said_of(said_to_bytes(said)), said)

    def test_what_is_said_is_bounded(self) -> None:
        """However many lines there are, and however long, a verdict fits into a frame that is taken."""
        said = Said(403, b"x" * 100_000, (b"y" * 100_000,) * 1000, 100_000)
        octets = said_to_bytes(said)
        self.assertLessEqual(len(octets), MOST_FRAME_BYTES)
        found = said_of(octets)
        self.assertEqual((found.status, found.location, found.matched), (403, b"", 0xFFFF))
        self.assertEqual({len(line) for line in found.lines}, {MOST_LINE_BYTES})
        self.assertEqual(len(found.lines), MOST_LINES)

    def test_a_verdict_of_another_sort_is_nonsense(self) -> None:
        """A status that no answer of ours has, or a verdict that breaks off, is refused."""
        for octets in (
            b"",
            b"\x01",
            said_to_bytes(Said(200)),
            said_to_bytes(Said(999)),
            said_to_bytes(Said(403))[:-1],
        ):
            self.assertRaises(NonsenseError, said_of, octets)

    @settings(max_examples=examples(300), deadline=None)
    @given(st.binary(max_size=200))
    def test_any_bytes(self, octets: bytes) -> None:
        """Whatever comes is a value or nonsense, and never anything else."""
        for read in (said_of, request_of, partial(answer_of, 1)):
            try:
                read(octets)
            except NonsenseError:
                continue
