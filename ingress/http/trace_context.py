"""The fields ``traceparent`` and ``tracestate``, read strictly and written.

What does not follow the grammar says nothing: then a trace begins here, as if nobody had said any.  A ``traceparent`` that
cannot be read takes its ``tracestate`` with it; a ``tracestate`` that cannot be read is dropped alone.

Source: https://www.w3.org/TR/trace-context/.
"""

import re
from typing import Final, NamedTuple

from ingress.filters import FieldChanges
from ingress.http.edited_heads import mark_of, without_fields
from ingress.http.field_values import all_values
from ingress.model.observability.traces import TraceContext

MOST_MEMBERS: Final = 32
"""Of a ``tracestate``."""
MOST_STATE: Final = 4096
"""Bytes of it that go on, in whole members from the left: it is kept until the spans are told.  The least is 512."""
_LENGTH: Final = 55
"""Characters of a ``traceparent`` of version 00; later versions may have more, behind another dash."""
_SAMPLED: Final = 0x01
_RANDOM: Final = 0x02
"""Says that a trace id is random enough; goes on with the id, as level 2 has it."""
_PARENT: Final = b"traceparent"
_STATE: Final = b"tracestate"
NO_TRACE: Final = FieldChanges(drop=(_PARENT, _STATE))
"""What has a request say nothing about a trace."""
_MARKS: Final = (mark_of(_PARENT), mark_of(_STATE))

_match_parent: Final = re.compile(
    rb"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})"
).fullmatch
_match_member: Final = re.compile(
    rb"([a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})"
    rb"=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
).fullmatch


class Parent(NamedTuple):
    """What a request says of the span that it was sent in."""

    trace_id: str
    """32 hexadecimal digits, in lower case, not all 0."""
    span_id: str
    """16 of them."""
    is_sampled: bool
    is_random: bool
    state: str = ""
    """What the systems on the way have noted; empty for nothing."""


def read_parent(lines: bytes) -> Parent | None:
    """Return what these lines of fields, each with its CRLF, say; None for nothing that can be read."""
    parents = all_values(lines, _PARENT)
    if len(parents) != 1:
        return None
    value = parents[0]
    found = _match_parent(value[:_LENGTH])
    if found is None:
        return None
    version, trace_id, span_id, flags = found.groups()
    if len(value) > _LENGTH and (version == b"00" or value[_LENGTH : _LENGTH + 1] != b"-"):
        return None
    bits = int(flags, 16)
    state = read_state(all_values(lines, _STATE))
    return Parent(trace_id.decode(), span_id.decode(), bool(bits & _SAMPLED), bool(bits & _RANDOM), state)


def read_state(values: list[bytes]) -> str:
    """Return the members of all *values* of ``tracestate`` in one; empty where one of them is none, or there are too many."""
    members = [member for value in values for each in value.split(b",") if (member := each.strip(b" \t"))]
    if len(members) > MOST_MEMBERS or not all(map(_match_member, members)):
        return ""
    if len({member.partition(b"=")[0] for member in members}) < len(members):
        return ""
    while sum(map(len, members)) + len(members) > MOST_STATE:
        members.pop()
    return b",".join(members).decode()


def trace_lines(trace: TraceContext, span_id: str) -> bytes:
    """Render what a request says that is part of *trace*, and is sent in the span of this id; each line has its CRLF."""
    state = f"tracestate: {trace.state}\r\n" if trace.state else ""
    return f"traceparent: 00-{trace.trace_id}-{span_id}-{trace.flags}\r\n{state}".encode()


def with_trace(lines: bytes, trace: TraceContext, span_id: str) -> bytes:
    """Return *lines* of fields, each with its CRLF, with those in place of what they say of any trace."""
    return without_fields(lines, _MARKS) + trace_lines(trace, span_id)
