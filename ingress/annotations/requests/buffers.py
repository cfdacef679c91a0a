"""What is held of requests and answers: ``proxy-buffer-size``, ``proxy-request-buffering`` and their like.

Bodies are streamed here, both ways, with bounds of their own, so most of what nginx is told about buffers
changes nothing: it is only checked, since a value that nobody can read was meant to be another.  Two
do something.  ``proxy-buffer-size`` bounds the head of an answer, and ``proxy-request-buffering: "on"`` has a
request body held before an endpoint is asked, as far as ``client-body-buffer-size`` says.
"""

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Remark, ValueRefused, parse_switch
from ingress.annotations.requests.bodies import parse_size
from ingress.filters import Facts, Filter, FilterSpec, Phase, Services
from ingress.model.frozen import frozen
from ingress.model.upstream.upstream_tls import ProtocolAsked

LEAST_HEAD_BYTES: Final = 1024
MOST_HEAD_BYTES: Final = 256 * 1024
"""Of the head of an answer; browsers take no more."""
USUALLY_HELD: Final = 256 * 1024
"""Bytes of a request body that ``proxy-request-buffering`` holds."""
MOST_HELD: Final = 1024 * 1024

_NOTHING: Final = "it changes nothing here anyway"
_BUFFER_SIZE: Final = "proxy-buffer-size"
_BODY_BUFFER_SIZE: Final = "client-body-buffer-size"
_BUFFERING: Final = "proxy-buffering"
_match_count = re.compile(r"[0-9]{1,9}", re.ASCII).fullmatch


def parse_head_size(text: str) -> int:
    """Read how long the head of an answer may be."""
    size = parse_size(text)
    if size < LEAST_HEAD_BYTES:
        raise ValueRefused('holds no head of an answer; write "1k" or more')
    return size


def parse_held_size(text: str) -> int:
    """Read how much of a request body may be held."""
    size = parse_size(text)
    if size == 0:
        raise ValueRefused('holds no body; write "8k" or more')
    return size


def parse_count(text: str) -> int:
    """Read a number of buffers."""
    if _match_count(text.strip()) is None or int(text) == 0:
        raise ValueRefused('is not a number of buffers; write "4"')
    return int(text)


@frozen
class BufferSettings:
    """What the annotations of one Ingress say about buffers."""

    head_bytes: int | None = None
    """Of the head of an answer, as asked for; None is what holds for all."""
    holds_requests: bool = False
    held_bytes: int = USUALLY_HELD
    """Of a request body, as asked for."""
    reads_ahead: bool = False
    """Whether answers are to be read ahead of their clients, which they never are."""
    buffers: int | None = None
    busy_bytes: int | None = None
    file_bytes: int | None = None
    """The last three change nothing."""

    @property
    def most_head_bytes(self) -> int | None:
        """How long the head of an answer may be; None where nothing is asked."""
        return None if self.head_bytes is None else min(self.head_bytes, MOST_HEAD_BYTES)


@frozen
class RequestBuffering:
    """Has so much of a request body come, or else all of it, before an endpoint is asked."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "request-buffering"

    max_bytes: int

    def describe(self) -> str:
        """Say how much is held."""
        return f"holds up to {self.max_bytes} bytes of request bodies before an endpoint is asked"

    def make(self, services: Services) -> Filter:
        """Make the filter that waits."""
        return _Waiting(self.max_bytes)


class _Waiting(Filter):
    """Lets every request pass once its body is there."""

    def __init__(self, max_bytes: int) -> None:
        self.holds_body = max_bytes

    def on_request(self, facts: Facts) -> None:
        """Go on: what was waited for has come."""


def buffer_filters(settings: BufferSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what holds request bodies; nothing where endpoints speak gRPC, whose bodies are conversations."""
    protocol = None if facts.backend is None else facts.backend.protocol
    if not settings.holds_requests or (isinstance(protocol, ProtocolAsked) and protocol.is_http2):
        return ()
    return (RequestBuffering(min(settings.held_bytes, MOST_HELD)),)


def buffer_remarks(settings: BufferSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Say what is less than it looks like."""
    if settings.head_bytes is not None and settings.head_bytes > MOST_HEAD_BYTES:
        yield Remark(_BUFFER_SIZE, f"the head of an answer may have {MOST_HEAD_BYTES // 1024}k here at most")
    if settings.holds_requests and settings.held_bytes > MOST_HELD:
        message = (
            f"{MOST_HELD // 1024}k of a request body are held at most; a longer one is streamed from there on"
        )
        yield Remark(_BODY_BUFFER_SIZE, message)
    if settings.reads_ahead:
        yield Remark(_BUFFERING, "answers are streamed, as fast as the client takes them")


BUFFERS: Final = Family(
    name="buffers",
    settings=BufferSettings(),
    acts="how much is held of requests and answers",
    phases=(Phase.EDITS,),
    filters=buffer_filters,
    by_path=True,
    remarks=buffer_remarks,
    annotations={
        _BUFFER_SIZE: Annotation(
            "head_bytes",
            parse_head_size,
            values="a size such as `16k`, from `1k`; 64k",
            meaning="how long the head of an answer may be; a longer one is answered 502",
            differs="256k at most; without the annotation 64k, not 4k; over HTTP/2 to endpoints always 64k",
            operators=True,
        ),
        "proxy-buffers-number": Annotation(
            "buffers",
            parse_count,
            instead=_NOTHING,
            values="a number",
            meaning="nothing: answers are streamed",
            operators=True,
        ),
        "proxy-busy-buffers-size": Annotation(
            "busy_bytes",
            parse_size,
            instead=_NOTHING,
            values="a size",
            meaning="nothing: answers are streamed",
            operators=True,
        ),
        "proxy-max-temp-file-size": Annotation(
            "file_bytes",
            parse_size,
            instead=_NOTHING,
            values="a size",
            meaning="nothing: no body is ever written to a file",
            operators=True,
        ),
        _BUFFERING: Annotation(
            "reads_ahead",
            parse_switch,
            instead="answers are streamed",
            values="`off`, `on`; off",
            meaning="`off` has answers streamed, as they are anyway",
            differs="`on` changes nothing: the endpoint waits for its client",
            operators=True,
        ),
        "proxy-request-buffering": Annotation(
            "holds_requests",
            parse_switch,
            instead="request bodies are streamed",
            values="`on`, `off`; off",
            meaning="`on` has a request body held in memory before an endpoint is asked",
            differs="off unless asked for; of a body that is longer than what is held the rest is streamed; a body without"
            " length stays without; nothing is held where `backend-protocol` is gRPC",
            operators=True,
        ),
        _BODY_BUFFER_SIZE: Annotation(
            "held_bytes",
            parse_held_size,
            values="a size such as `64k`; 256k",
            meaning="how much of a request body `proxy-request-buffering: on` holds; without that, nothing",
            differs="1m at most; nothing is written to a file",
            operators=True,
        ),
    },
)
