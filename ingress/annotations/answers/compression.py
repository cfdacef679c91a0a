"""Answers compressed for clients that take them so: ``use-gzip``, ``enable-brotli``, ``enable-zstd`` and what goes with them.

The operator alone decides, and nothing is compressed unless he does.  As in nginx only answers of status 200, 403 and 404 are, of types
that are listed (HTML always), and of at least so many bytes where their length is known; none that has a coding
already, none to HEAD, and, as RFC 9110 section 7.7 wants it, none that says ``no-transform``.  Whether or not the client takes it, such an answer varies by
``Accept-Encoding``; where it is compressed, its entity tag is a weak one, or none, and nothing speaks of its bytes any more.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar, Final

from ingress.annotations.answers.content_codings import Encoder, encoder_maker, missing_package
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, ValueRefused, parse_boolean
from ingress.filters import (
    AnswerEdit,
    AnswerHead,
    BodyFlow,
    BodyStage,
    Clock,
    Facts,
    FieldChanges,
    Filter,
    FilterSpec,
    Phase,
    Services,
)
from ingress.model.frozen import frozen

STATUSES: Final = frozenset({200, 403, 404})
EVERY_TYPE: Final = "*"
HTML: Final = "text/html"
MOST_TYPES: Final = 256
TYPES: Final = (
    "application/atom+xml",
    "application/javascript",
    "application/json",
    "application/rss+xml",
    "application/vnd.ms-fontobject",
    "application/x-font-ttf",
    "application/x-javascript",
    "application/x-web-app-manifest+json",
    "application/xhtml+xml",
    "application/xml",
    "font/opentype",
    "image/svg+xml",
    "image/x-icon",
    "text/css",
    "text/javascript",
    "text/plain",
    "text/x-component",
)
"""Those of ingress-nginx."""

TURN_BYTES: Final = 64 * 1024
"""What of one body is compressed in one turn of the reactor, where a level is fast; ..."""
SLOW_TURN_BYTES: Final = 16 * 1024
"""... and where it is slow."""
_SLOW_LEVELS: Final = {"gzip": 6, "br": 5, "zstd": 5}

_OF_THE_BYTES: Final = (b"Accept-Ranges", b"Content-MD5", b"Content-Digest", b"Repr-Digest", b"Digest")
"""Fields about the bytes of a body, with its coding (RFC 9530 sections 2 and 3, RFC 3230)."""
_LONGEST_ACCEPTED: Final = 256
"""Characters of ``Accept-Encoding``; browsers have 23."""
_LONGEST_TYPE: Final = 256
"""Characters of a ``Content-Type`` worth remembering."""

_match_type = re.compile(r"[a-z0-9!#$&^_.+-]{1,127}/[a-z0-9!#$&^_.+-]{1,127}|\*", re.ASCII).fullmatch
_match_number = re.compile(r"[0-9]{1,9}", re.ASCII).fullmatch
_match_tag = re.compile(rb'(W/)?"[\x21\x23-\x7e\x80-\xff]*"').fullmatch
_quality = re.compile(rb"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?").fullmatch


def parse_types(text: str) -> tuple[str, ...]:
    """Read media types with blanks or commas between them; ``*`` is every type."""
    found = re.split(r"[\s,]+", text.strip().lower(), maxsplit=MOST_TYPES)
    if len(found) > MOST_TYPES:
        raise ValueRefused(f"has more than {MOST_TYPES} types")
    for one in found:
        if _match_type(one) is None:
            raise ValueRefused('is not a list of media types; write "text/css application/json", or "*"')
    return tuple(sorted(set(found)))


def _parse_level(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if _match_number(text.strip()) is None or not least <= int(text) <= most:
            raise ValueRefused(
                f"is not a level from {least} to {most}; what is above takes too long for answers on their way"
            )
        return int(text)

    return parse


def parse_length(text: str) -> int:
    """Read a number of bytes."""
    if _match_number(text.strip()) is None:
        raise ValueRefused('is not a number of bytes; write "256"')
    return int(text)


def _parse_switch(coding: str) -> Callable[[str], bool]:
    def parse(text: str) -> bool:
        is_on = parse_boolean(text)
        missing = missing_package(coding) if is_on else ""
        if missing:
            raise ValueRefused(f"needs the Python package {missing}, which is not installed here")
        return is_on

    return parse


@frozen
class CompressionSettings:
    """What the operator says."""

    gzip: bool = False
    gzip_level: int = 1
    gzip_types: tuple[str, ...] = TYPES
    gzip_min_length: int = 256
    brotli: bool = False
    brotli_level: int = 4
    brotli_types: tuple[str, ...] = TYPES
    brotli_min_length: int = 20
    zstd: bool = False
    zstd_level: int = 3


@frozen(cache_hash=True)
class Coding:
    """One content coding, and what is compressed by it."""

    name: str
    """As in ``Content-Encoding``."""
    level: int
    types: tuple[str, ...] = TYPES
    min_length: int = 0

    def takes(self, media_type: str) -> bool:
        """Whether answers of *media_type* are compressed."""
        return (
            media_type == HTML or media_type in self.types or (EVERY_TYPE in self.types and bool(media_type))
        )

    @property
    def turn_bytes(self) -> int:
        """What may be compressed in one turn."""
        return SLOW_TURN_BYTES if self.level >= _SLOW_LEVELS[self.name] else TURN_BYTES


@frozen(cache_hash=True)
class Compression:
    """Compresses answers by the first of *codings* that the client likes best."""

    phase: ClassVar[Phase] = Phase.CODING
    name: ClassVar[str] = "compression"

    codings: tuple[Coding, ...]

    def describe(self) -> str:
        """Say how."""
        said = ", ".join(f"{one.name} at level {one.level}" for one in self.codings)
        return f"compresses answers for clients that take them so: {said}"

    def make(self, services: Services) -> Filter:
        """Make the filter that compresses; raises ``ImportError`` where a package is missing."""
        return _Compresses(self.codings, services.clock)


def qualities(accepted: bytes) -> dict[bytes, float]:
    """Return how much a client likes each coding that its ``Accept-Encoding`` names (RFC 9110 section 12.5.3).

    What is malformed is as if it were not there.
    """
    found: dict[bytes, float] = {}
    for member in accepted.lower().split(b","):
        name, *parameters = (part.strip(b" \t") for part in member.split(b";"))
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition(b"=")
            if key == b"q":
                quality = float(value) if _quality(value) else 0.0
        if name:
            found[b"gzip" if name == b"x-gzip" else name] = quality
    return found


def preferred(accepted: bytes, names: tuple[bytes, ...]) -> bytes:
    """Return which of *names*, the first ones preferred, a client likes best; empty for none, or if it had rather have none."""
    found = qualities(accepted)
    others = found.get(b"*", 0.0)
    best, most = b"", found.get(b"identity", 0.0)
    for name in names:
        quality = found.get(name, others)
        if quality > most or (quality == most and quality > 0 and not best):
            best, most = name, quality
    return best


def weak_tag(tags: tuple[bytes, ...]) -> bytes:
    """Return the entity tag of a compressed answer that came with *tags* (RFC 9110 section 8.8.3); empty for none.

    What is no tag cannot be a weak one, and would mean both variants.
    """
    match = _match_tag(tags[0]) if len(tags) == 1 else None
    if match is None:
        return b""
    return tags[0] if match[1] else b"W/" + tags[0]


class _Compresses(Filter):
    def __init__(self, codings: tuple[Coding, ...], clock: Clock) -> None:
        self._codings = {one.name.encode("ascii"): one for one in codings}
        self._make = {name: encoder_maker(one.name, one.level) for name, one in self._codings.items()}
        self._changes = {
            name: FieldChanges((*_OF_THE_BYTES, b"ETag"), ((b"Content-Encoding", name),))
            for name in self._codings
        }
        self._clock = clock
        self._of_type = lru_cache(maxsize=256)(self._find)
        self._preferred = lru_cache(maxsize=256)(preferred)

    def _find(self, content_type: bytes) -> tuple[bytes, ...]:
        """Return the codings for answers of *content_type*."""
        media_type = content_type.partition(b";")[0].strip(b" \t").lower().decode("latin-1")
        return tuple(name for name, one in self._codings.items() if one.takes(media_type))

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        """Say how the answer is compressed, if it is to be."""
        facts.notes.pop(self, None)
        if edit.status not in STATUSES or facts.method == b"HEAD" or any(edit.values(b"content-encoding")):
            return
        content_type = edit.field(b"content-type")
        names = (self._of_type if len(content_type) <= _LONGEST_TYPE else self._find)(content_type)
        length = edit.field(b"content-length")
        if length.isdigit():
            names = tuple(name for name in names if self._codings[name].min_length <= int(length))
        if not names or b"no-transform" in b",".join(edit.values(b"cache-control")).lower():
            return
        accepted = facts.field(b"accept-encoding")
        name = self._preferred(accepted, names) if 0 < len(accepted) <= _LONGEST_ACCEPTED else b""
        tags = edit.values(b"etag") if name else ()
        edit.vary(b"Accept-Encoding")
        if not name:
            return
        facts.notes[self] = name
        edit.change(self._changes[name])
        tag = weak_tag(tags)
        if tag:
            edit.put(b"ETag", tag)

    def on_answer_body(self, facts: Facts, head: AnswerHead, flow: BodyFlow) -> BodyStage | None:
        """Return what compresses, for an answer that said so."""
        name = facts.notes.get(self)
        if not isinstance(name, bytes):
            return None
        encoder = self._make[name](head.content_length)
        return _Compressing(encoder, self._codings[name].turn_bytes, flow, self._clock)


class _Compressing:
    """Compresses a body, so much of it in one turn."""

    def __init__(self, encoder: Encoder, turn_bytes: int, flow: BodyFlow, clock: Clock) -> None:
        self._encoder = encoder
        self._turn_bytes = self._left = turn_bytes
        self._flow = flow
        self._clock = clock

    def feed(self, piece: bytes) -> bytes:
        """Compress it, and have the rest wait for the next turn where that was enough for one."""
        self._left -= len(piece)
        if self._left <= 0:
            self._left = self._turn_bytes
            self._flow.pause()
            self._clock.call_later(0, self._flow.resume)
        return self._encoder.feed(piece)

    def finish(self) -> bytes:
        """Return the end."""
        return self._encoder.finish()


def compression_filters(settings: CompressionSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what compresses, where the operator wants it."""
    codings = []
    if settings.brotli:
        codings.append(Coding("br", settings.brotli_level, settings.brotli_types, settings.brotli_min_length))
    if settings.zstd:
        codings.append(Coding("zstd", settings.zstd_level, settings.gzip_types, settings.gzip_min_length))
    if settings.gzip:
        codings.append(Coding("gzip", settings.gzip_level, settings.gzip_types, settings.gzip_min_length))
    return (Compression(tuple(codings)),) if codings else ()


_TYPES_VALUES: Final = "media types, or `*`; those of ingress-nginx by default, and always text/html"

COMPRESSION: Final = Family(
    name="compression",
    settings=CompressionSettings(),
    acts="compresses answers",
    phases=(Phase.CODING,),
    filters=compression_filters,
    filters_unasked=True,
    annotations={},
    options={
        "use-gzip": Annotation(
            "gzip",
            _parse_switch("gzip"),
            values="true or false; false by default",
            meaning="compresses answers by gzip",
        ),
        "gzip-level": Annotation(
            "gzip_level",
            _parse_level(1, 9),
            values="1 to 9; 1 by default",
            meaning="how hard gzip tries",
        ),
        "gzip-types": Annotation(
            "gzip_types",
            parse_types,
            values=_TYPES_VALUES,
            meaning="the types of answers that gzip and zstd compress",
        ),
        "gzip-min-length": Annotation(
            "gzip_min_length",
            parse_length,
            values="bytes; 256 by default",
            meaning="how long an answer has to be for gzip and zstd, where that is known",
        ),
        "enable-brotli": Annotation(
            "brotli",
            _parse_switch("br"),
            values="true or false; false by default",
            meaning="compresses answers by brotli; needs the package brotli",
        ),
        "brotli-level": Annotation(
            "brotli_level",
            _parse_level(0, 6),
            values="0 to 6; 4 by default",
            meaning="how hard brotli tries",
        ),
        "brotli-types": Annotation(
            "brotli_types",
            parse_types,
            values=_TYPES_VALUES,
            meaning="the types of answers that brotli compresses",
        ),
        "brotli-min-length": Annotation(
            "brotli_min_length",
            parse_length,
            values="bytes; 20 by default",
            meaning="how long an answer has to be for brotli, where that is known",
        ),
        "enable-zstd": Annotation(
            "zstd",
            _parse_switch("zstd"),
            values="true or false; false by default",
            meaning="compresses answers by zstd; needs the package zstandard",
        ),
        "zstd-level": Annotation(
            "zstd_level",
            _parse_level(1, 9),
            values="1 to 9; 3 by default",
            meaning="how hard zstd tries",
        ),
    },
)
