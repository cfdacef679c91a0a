"""Tests of ``ingress.cluster.api.chunked``: the same bytes as the standard library gives out, in fewer calls."""

import http.client
import io
import socket
from itertools import pairwise
from typing import cast

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.chunked import GatheringResponse, contents_of

_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class _Pieces(io.RawIOBase):
    """A socket from which each read gets the next piece; *reads* counts them."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = [piece for piece in pieces if piece]
        self.reads = 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: memoryview) -> int:  # type: ignore[override]
        self.reads += 1
        if not self._pieces:
            return 0
        piece = self._pieces.pop(0)
        taken = piece[: len(into)]
        if len(piece) > len(taken):
            self._pieces.insert(0, piece[len(taken) :])
        into[: len(taken)] = taken
        return len(taken)

    def makefile(self, mode: str, buffering: int = 8192) -> io.BufferedIOBase | io.RawIOBase:
        # A reader that is closed must not close this.
        return io.BufferedReader(_Borrowed(self), buffering) if buffering else _Borrowed(self)


class _Borrowed(io.RawIOBase):
    def __init__(self, pieces: _Pieces) -> None:
        self._of = pieces

    def readable(self) -> bool:
        return True

    def readinto(self, into: memoryview) -> int:  # type: ignore[override]
        return self._of.readinto(into)


def _response(kind: type[http.client.HTTPResponse], pieces: _Pieces) -> http.client.HTTPResponse:
    response = kind(cast(socket.socket, pieces), method="GET")
    response.begin()
    return response


def _chunk(content: bytes, extension: bytes = b"") -> bytes:
    return b"%x%b\r\n%b\r\n" % (len(content), extension, content)


def _outcome(response: http.client.HTTPResponse, amount: int) -> tuple[bytes, str]:
    """All that is read until the end, and what kept it from being a proper one."""
    found = b""
    try:
        while part := response.read1(amount):
            found += part
    except (http.client.HTTPException, OSError, ValueError) as error:
        return found, type(error).__name__
    return found, ""


class GatheringTests(SynchronousTestCase):
    """What one read from the socket brought is given out at once."""

    def test_many_chunks_in_one_call(self) -> None:
        """Chunks that arrived together come together, and the part of one that is not all there."""
        body = _chunk(b"one\n") + _chunk(b"two\n") + b"5\r\nthr"
        pieces = _Pieces([_HEAD + body, b"ee\r\n0\r\n\r\n"])
        response = _response(GatheringResponse, pieces)
        self.assertEqual(response.read1(65536), b"one\ntwo\nthr")
        self.assertEqual(pieces.reads, 1)
        self.assertEqual(response.read1(65536), b"ee")
        self.assertEqual(response.read1(65536), b"")
        self.assertTrue(response.isclosed())

    def test_does_not_wait_with_content_in_hand(self) -> None:
        """Nothing is read from the socket as long as there is content to give out."""
        pieces = _Pieces([_HEAD, _chunk(b"one\n"), _chunk(b"two\n")])
        response = _response(GatheringResponse, pieces)
        for read, content in ((2, b"one\n"), (3, b"two\n")):
            self.assertEqual(response.read1(65536), content)
            self.assertEqual(pieces.reads, read)

    def test_no_more_than_asked_for(self) -> None:
        """No call gives out more than was asked for, and nothing is lost by that."""
        response = _response(GatheringResponse, _Pieces([_HEAD + _chunk(b"abcdefgh") * 3 + b"0\r\n\r\n"]))
        parts = []
        while part := response.read1(11):
            self.assertLessEqual(len(part), 11)
            parts.append(part)
        self.assertEqual(b"".join(parts), b"abcdefgh" * 3)

    def test_strange_is_left_alone(self) -> None:
        """A size line with an extension, a wrong one, and a missing line end take nothing."""
        for there, left in (
            (b"5;a=b\r\nhello\r\n", None),
            (b"zz\r\n", None),
            (b"xx5\r\n", 0),
            (b"-5\r\nab", None),
        ):
            self.assertEqual(contents_of(there, left), (b"", 0, left))

    def test_other_framing(self) -> None:
        """An answer of known length is read as ever."""
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        self.assertEqual(
            _outcome(_response(GatheringResponse, _Pieces([head, b"hel", b"lo"])), 9), (b"hello", "")
        )

    @given(
        contents=st.lists(st.binary(min_size=1, max_size=40), max_size=8),
        extension=st.sampled_from([b"", b"", b";a=b", b" "]),
        end=st.sampled_from(
            [b"0\r\n\r\n", b"0\r\nTrailer: x\r\n\r\n", b"", b"zz\r\n", b"5\r\nab", b"0\r\n", b"7"]
        ),
        cuts=st.lists(st.integers(0, 400), max_size=12),
        amount=st.sampled_from([1, 7, 65536]),
    )
    def test_like_the_standard_library(
        self, contents: list[bytes], extension: bytes, end: bytes, cuts: list[int], amount: int
    ) -> None:
        """However chunks are cut on their way, and whatever ends them, content and fault are the same."""
        wire = _HEAD + b"".join(_chunk(content, extension) for content in contents) + end
        places = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
        pieces = [wire[a:b] for a, b in pairwise(places)]
        gathered = _outcome(_response(GatheringResponse, _Pieces(list(pieces))), amount)
        usual = _outcome(_response(http.client.HTTPResponse, _Pieces(list(pieces))), amount)
        self.assertEqual(gathered, usual)
