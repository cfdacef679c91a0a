"""Tests for ``ingress.http.field_blocks``."""

from collections.abc import Callable, Iterator
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.http import request_head, response_head
from ingress.http.field_blocks import LAYOUT_KEY, MOST_LAYOUTS, FieldBlocks, TooManyFieldsError
from ingress.http.grammar import DROP, FORWARD, FieldError
from tests.fuzz.alike_heads import meaning

ENOUGH = 100
"""Heads that are alike, after which their layout is known."""
_OCTETS = (b"", b"\r", b"\n", b"\r\n", b"\0", b"\x7f", b"\t", b" ", b":", b"x", b",", b"_", b"\xe9")
"""What is put in the place of each octet."""


def mutations(block: bytes) -> Iterator[bytes]:
    """Yield *block* with something else at each place, or put in there, and with each of its lines left out or said twice."""
    for at in range(len(block)):
        for octets in _OCTETS:
            yield block[:at] + octets + block[at + 1 :]
            yield block[:at] + octets + block[at:]
    lines = block.split(b"\r\n")
    for number, line in enumerate(lines):
        yield b"\r\n".join(lines[:number] + lines[number + 1 :])
        yield b"\r\n".join([*lines[:number], line, *lines[number:]])
        yield b"\r\n".join([*lines[:number], b" folded", *lines[number:]])
        yield b"\r\n".join([*lines, line])


class LayoutCase(SynchronousTestCase):
    """Heads that are read by a layout, and line by line."""

    def check_same(self, read: Callable[[bytes], object], module: Any, make: Callable[[int], bytes]) -> None:
        """Fail unless heads as *make* makes them have one layout, and all that differ from that mean the same without it."""
        self.forget(module)
        for number in range(ENOUGH):
            read(make(number))
        layouts = dict(module.known_blocks.layouts)
        self.assertEqual(len(layouts), 1)
        [layout] = layouts.values()
        block = make(ENOUGH)
        at = 0 if module is response_head else block.index(b"\r\n")
        self.assertIsNotNone(layout.read(block, at))
        self.assertIsNotNone(layout.verdict)
        for other in (block, *mutations(block)):
            self.forget(module)
            module.known_blocks.layouts.update(layouts)
            by_layout = meaning(module, other)
            self.forget(module)
            self.assertEqual(by_layout, meaning(module, other), other)

    def forget(self, module: Any) -> None:
        """Forget what was read before."""
        module.known_heads.clear()
        module.known_blocks.layouts.clear()


class RequestTests(LayoutCase):
    """Requests."""

    def test_same_verdict(self) -> None:
        """A request that is laid out as others means what it means line by line, whatever is different in it."""

        def make(number: int) -> bytes:
            return (
                b"GET /%d?a HTTP/1.1\r\nHost: a.test\r\nUser-Agent: me\r\nConnection: keep-alive\r\n"
                b"Cookie: id=%032d\r\nTE: trailers\r\nX-Request-ID: %d\r\nAccept: *" % ((number,) * 3)
            )

        self.check_same(request_head.parse_request_head, request_head, make)

    def test_authority(self) -> None:
        """What a head means besides its layout comes from the head."""
        for number in range(2 * ENOUGH):
            block = b"GET /%d HTTP/1.1\r\nHost: b.test\r\nCookie: %d\r\nX-Request-Id:\t%d " % ((number,) * 3)
            head = request_head.parse_request_head(block)
            self.assertEqual(head.authority, b"b.test")
            self.assertEqual(head.path, b"/%d" % number)
            self.assertEqual(head.forward, b"Cookie: %d\r\n" % number)
            self.assertEqual(head.request_id, b"%d" % number)

    def test_framing(self) -> None:
        """What frames a body is decided for each request."""
        for number in range(1, 2 * ENOUGH):
            block = b"POST /%d HTTP/1.1\r\nHost: c.test\r\nContent-Length: %d" % (number, number)
            head = request_head.parse_request_head(block)
            self.assertEqual((head.content_length, head.has_body), (number, True))


class AnswerTests(LayoutCase):
    """Answers."""

    def test_same_verdict(self) -> None:
        """An answer that is laid out as others means what it means line by line, whatever is different in it."""

        def make(number: int) -> bytes:
            return (
                b"HTTP/1.1 200 OK\r\nServer: it\r\nDate: %d\r\nContent-Length: %d\r\nConnection: keep-alive\r\n"
                b"Set-Cookie: %d\r\nVary: *" % ((number,) * 3)
            )

        self.check_same(response_head.parse_response_head, response_head, make)

    def test_same_length(self) -> None:
        """The same of answers whose length is always the same."""

        def make(number: int) -> bytes:
            return b"HTTP/1.0 200\r\nContent-Length: 7\r\nConnection: keep-alive\r\nX-Id: %032d" % number

        self.check_same(response_head.parse_response_head, response_head, make)

    def test_chunked(self) -> None:
        """The same of answers without a length, whose connection ends."""

        def make(number: int) -> bytes:
            return (
                b"HTTP/1.1 200 OK\r\nX-Id: %032d\r\nTransfer-Encoding: chunked\r\nConnection: close" % number
            )

        self.check_same(response_head.parse_response_head, response_head, make)


class FieldBlocksTests(SynchronousTestCase):
    """What is kept of heads."""

    def setUp(self) -> None:
        self.blocks: FieldBlocks[bytes] = FieldBlocks(lambda name: DROP if name == b"te" else FORWARD)

    def read(self, lines: bytes, most: int = 100) -> bytes:
        """Return what goes on of *lines*, by a layout if there is one."""
        block = b"\r\n" + lines
        key = block[:LAYOUT_KEY]
        layout = self.blocks.layouts.get(key)
        found = None if layout is None else layout.read(block, 0)
        return found[0] if found is not None else self.blocks.read(block, 0, most, key)[0]

    def test_bound(self) -> None:
        """However many differ, only so many layouts are kept, and those are the last."""
        for number in range(MOST_LAYOUTS + 9):
            for _ in range(ENOUGH):
                self.read(b"X-%d: 1" % number)
        kept = [
            number for number in range(MOST_LAYOUTS + 9) if b"\r\nX-%d: 1" % number in self.blocks.layouts
        ]
        self.assertEqual(kept, list(range(9, MOST_LAYOUTS + 9)))

    def test_too_long(self) -> None:
        """The layout of a long head is not kept."""
        for number in range(ENOUGH):
            self.read(b"X: " + b"y" * 2100 + b"%d" % number)
        self.assertFalse(self.blocks.layouts)

    def test_what_changes_later(self) -> None:
        """A line that was the same for long, and is not any more, becomes one of those that differ."""
        lines = b"A: a value that is never different\r\nB: %b\r\nC: %d"
        for said in (b"1", b"2", b"3"):
            for number in range(ENOUGH):
                self.read(lines % (said, number))
        [layout] = self.blocks.layouts.values()
        self.assertIsNotNone(layout.read(b"\r\n" + lines % (b"4", 5), 0))
        self.assertIsNone(layout.read(b"\r\n" + lines.replace(b"A", b"D") % (b"4", 5), 0))
        self.assertIn("2 gaps", repr(layout))

    def gaps(self) -> str:
        """Say how many gaps the only layout has."""
        [layout] = self.blocks.layouts.values()
        return repr(layout)

    def test_others_that_begin_alike(self) -> None:
        """Whoever begins alike, and says something else then, spoils the layout of nobody: the next one is as good."""
        begin = b"Host: a.test, and some more to fill the key\r\n"
        lines = begin + b"A: 1\r\nB: 2\r\nC: 3\r\nD: %d"
        for number in range(4 * ENOUGH):
            self.read(lines % number)
            self.read(begin + b"X: 1\r\nY: %d" % number)
        for number in range(ENOUGH):
            self.read(lines % -number)
        self.assertIn("1 gaps", self.gaps())
        self.assertIsNotNone(
            self.blocks.layouts[(b"\r\n" + begin)[:LAYOUT_KEY]].read(b"\r\n" + lines % -1, 0)
        )

    def test_all_is_new(self) -> None:
        """Whoever says something new in each line has no layout, which would save nothing, and takes nobody else's away."""
        same = b"Host: a.test, and some more to fill the key\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: %d"
        new = b"Host: a.test, and some more to fill the key\r\nA: %d\r\nB: %d\r\nC: %d\r\nD: %d"
        for number in range(2 * ENOUGH):
            self.read(new % ((number,) * 4))
        self.assertFalse(self.blocks.layouts)
        for number in range(2 * ENOUGH):
            self.read(same % number)
        for number in range(2 * ENOUGH):
            self.read(new % ((-number,) * 4))
        self.assertIn("1 gaps", self.gaps())

    def test_refused(self) -> None:
        """What is wrong is refused with a layout and without."""
        for number in range(ENOUGH):
            self.assertEqual(self.read(b"A: x\r\nTE: b\r\nC: %d" % number), b"A: x\r\nC: %d\r\n" % number)
            self.assertRaises(FieldError, self.read, b"A: x\r\nTE: b\r\nC: \n%d" % number)
            self.assertRaises(TooManyFieldsError, self.read, b"A: x\r\nC: %d" % number, 1)
