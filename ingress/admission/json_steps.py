"""JSON read in steps of microseconds, whatever it holds: who may connect chooses the text, and requests wait for each step.

It is RFC 8259 without extensions, in UTF-8.  How deep it may be and how much may be in it is bounded, and what nobody asks for is passed
over unread.  No function calls itself, so no depth is too much for the interpreter.
"""

import json
import re
from collections.abc import Collection
from typing import Final

from ingress.model.stepwise import Stepwise

MOST_DEPTH: Final = 64
MOST_VALUES: Final = 20_000
"""Of those that are kept: an Ingress of 2,500 paths has as many."""
MOST_TOKENS: Final = 400_000
"""Of all."""
MOST_TEXT: Final = 512 * 1024
"""Bytes of one text that is kept: an API server takes half of that in all annotations of an object together."""
_TOKENS_A_STEP: Final = 64
_PARTS_A_STEP: Final = 4

_TOKEN = re.compile(rb'[ \t\n\r]{0,4096}([]\[{}:,"]|[-0-9][-+.0-9eE]{0,100}|[a-z]{1,5})?')
# Some of a text: half of a pair of escaped surrogates never ends it, nor do some bytes of a character.
_TEXT_PART = re.compile(
    rb'(?:[^"\\\x00-\x1f]{1,512}[\x80-\xbf]{0,3}'
    rb'|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]){0,32}'
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_MOST_DIGITS: Final = 19
"""Whole numbers of more become floating ones, as wherever JSON of an API server is read."""
_WORDS: Final[dict[bytes, bool | None]] = {b"true": True, b"false": False, b"null": None}

_Container = dict[str, object] | list[object] | None


class TextTooLargeError(ValueError):
    """There is more in it than is read; the message says of what, as a whole sentence."""


def decoding(octets: bytes | bytearray, skipped: Collection[str] = ()) -> Stepwise[object]:
    """Return the value that *octets* are, with None for what stands under one of the names *skipped*; raises ``ValueError``."""
    return _Decoding(octets, skipped).document()


class _Decoding:
    def __init__(self, octets: bytes | bytearray, skipped: Collection[str]) -> None:
        self._octets = octets
        self._skipped = skipped
        self._at = 0
        self._tokens = self._values = 0
        # What is open, None for what is passed over, each with the name that comes next in it.
        self._open: list[tuple[_Container, bool]] = []
        self._names: list[str] = []
        self._found: object = None

    def document(self) -> Stepwise[object]:
        """Read all of it."""
        is_over = may_close = False
        wants_value = True
        while not is_over:
            token = yield from self._token()
            if not token:
                raise ValueError("it ends too early")
            if not wants_value:
                # Behind a value: what follows, or the end of what it is in.
                _, is_object = self._open[-1]
                if token == b",":
                    wants_value, may_close = True, False
                    if is_object:
                        yield from self._name((yield from self._token()))
                    continue
                is_over = self._close(token)
                continue
            if token in (b"]", b"}") and may_close:
                is_over, wants_value, may_close = self._close(token), False, False
                continue
            may_close = False
            keeps = self._keeps()
            if token == b"{":
                self._begin({} if keeps else None, is_object=True)
                following = yield from self._token()
                if following == b"}":
                    is_over, wants_value = self._close(following), False
                else:
                    yield from self._name(following)
            elif token == b"[":
                self._begin([] if keeps else None, is_object=False)
                may_close = True
            else:
                value = (yield from self._text(keeps=keeps)) if token == b'"' else _scalar(token)
                is_over, wants_value = self._put(value, keeps=keeps), False
        if (yield from self._token()):
            raise ValueError("something follows the value")
        return self._found

    def _token(self) -> Stepwise[bytes]:
        """Return what comes next, empty for the end."""
        self._tokens += 1
        if self._tokens > MOST_TOKENS:
            raise TextTooLargeError(f"it has more than {MOST_TOKENS} tokens")
        if not self._tokens % _TOKENS_A_STEP:
            yield
        while True:
            match = _TOKEN.match(self._octets, self._at)
            assert match is not None
            before, self._at = self._at, match.end()
            found = match.group(1)
            if found:
                return bytes(found)
            if self._at == before:
                if before < len(self._octets):
                    raise ValueError(f"byte {before} is not JSON")
                return b""
            yield

    def _keeps(self) -> bool:
        if not self._open:
            return True
        container, is_object = self._open[-1]
        return container is not None and not (is_object and self._names[-1] in self._skipped)

    def _begin(self, container: _Container, *, is_object: bool) -> None:
        if len(self._open) >= MOST_DEPTH:
            raise TextTooLargeError(f"it is nested more than {MOST_DEPTH} levels deep")
        self._open.append((container, is_object))
        self._names.append("")

    def _close(self, token: bytes) -> bool:
        """End the innermost container; return whether that was all."""
        container, is_object = self._open.pop()
        self._names.pop()
        if token != (b"}" if is_object else b"]"):
            raise ValueError(f"{token.decode()!r} is not what comes next before byte {self._at}")
        return self._put(container, keeps=container is not None)

    def _put(self, value: object, *, keeps: bool) -> bool:
        """Put a whole value where it belongs; return whether that was all."""
        if not self._open:
            self._found = value
            return True
        if keeps:
            self._values += 1
            if self._values > MOST_VALUES:
                raise TextTooLargeError(f"it has more than {MOST_VALUES} values")
        container, _ = self._open[-1]
        if isinstance(container, dict):
            container[self._names[-1]] = value if keeps else None
        elif container is not None:
            container.append(value)
        return False

    def _name(self, token: bytes) -> Stepwise[None]:
        """Read the name of a member of the innermost object, of which *token* is the beginning."""
        if token != b'"':
            raise ValueError(f"a name is missing before byte {self._at}")
        container, _ = self._open[-1]
        self._names[-1] = yield from self._text(keeps=container is not None)
        if (yield from self._token()) != b":":
            raise ValueError(f"a colon is missing before byte {self._at}")

    def _text(self, *, keeps: bool) -> Stepwise[str]:
        """Read the rest of a text, empty where it is passed over."""
        parts: list[str] = []
        first, count = self._at, 0
        while True:
            match = _TEXT_PART.match(self._octets, self._at)
            assert match is not None
            begin, self._at = self._at, match.end()
            if keeps and self._at - first > MOST_TEXT:
                raise TextTooLargeError(f"a text in it has more than {MOST_TEXT} bytes")
            if keeps and self._at > begin:
                # Raises what is wrong with UTF-8, which is a ``ValueError``, too.
                part = self._octets[begin : self._at].decode()
                parts.append(json.loads(f'"{part}"') if "\\" in part else part)
            if self._octets[self._at : self._at + 1] == b'"':
                self._at += 1
                return "".join(parts)
            if self._at == begin:
                raise ValueError(f"byte {begin} cannot stand in a text")
            count += 1
            if not count % _PARTS_A_STEP:
                yield


def _scalar(token: bytes) -> object:
    if token in _WORDS:
        return _WORDS[token]
    text = token.decode()
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:20]!r} is not JSON")
    is_whole = match.group(1) is None and match.group(2) is None
    return int(text) if is_whole and len(text) <= _MOST_DIGITS else float(text)
