"""What crosses between a process that serves and a firewall process: frames, and how values are written in them.  Pure.

    LOAD n: parts of rule set n         ──▶      ──▶ LOADED n: memory that it takes, and why not, or nothing
    UNLOAD n                            ──▶
    REQUEST t: rule set, request        ──▶      ──▶ VERDICT t
    ANSWER t: status, fields, body      ──▶      ──▶ VERDICT t
    LEAVE t                             ──▶

READY comes first, once the library is there.  A firewall process has parsed what visitors sent, so what it says is read as if
one of them did: bounded, and nothing but these values.
"""

from enum import IntEnum
from struct import Struct
from typing import Final

from ingress.model.exchanges.firewall import CORE_RULES, InspectedAnswer, InspectedRequest
from ingress.model.frozen import frozen
from ingress.process.framing import NonsenseError

_LENGTH: Final = Struct("<I")
_NUMBERS: Final = Struct("<IHB")
_STATUS: Final = Struct("<HH")
_BYTES: Final = Struct("<Q")

MOST_LINES: Final = 32
"""Of the log, about one request; more are not told."""
MOST_LINE_BYTES: Final = 4096
MOST_LOCATION_BYTES: Final = 4096
MOST_FRAME_BYTES: Final = MOST_LINES * (MOST_LINE_BYTES + 4) + MOST_LOCATION_BYTES + 1024
"""Of what a firewall process says at once."""


class Kind(IntEnum):
    """What a frame is."""

    LOAD = 1
    UNLOAD = 2
    REQUEST = 3
    ANSWER = 4
    LEAVE = 5
    READY = 16
    LOADED = 17
    VERDICT = 18


@frozen
class Said:
    """What a firewall process says of one request or answer."""

    status: int = 0
    """0 to let it pass."""
    location: bytes = b""
    lines: tuple[bytes, ...] = ()
    """What rules that matched tell."""
    matched: int = 0
    """How many there were, those included that are not told."""


def _packed(*values: bytes) -> bytes:
    return b"".join(part for value in values for part in (_LENGTH.pack(len(value)), value))


def _unpacked(octets: bytes, at: int = 0) -> tuple[bytes, ...]:
    values: list[bytes] = []
    while at < len(octets):
        if at + _LENGTH.size > len(octets):
            raise NonsenseError("a value without its length")
        (length,) = _LENGTH.unpack_from(octets, at)
        at += _LENGTH.size
        if at + length > len(octets):
            raise NonsenseError("a value that is not whole")
        values.append(octets[at : at + length])
        at += length
    return tuple(values)


def parts_to_bytes(parts: tuple[str | None, ...]) -> bytes:
    """Return the parts of a rule set as they travel."""
    return _packed(*(b"" if part is CORE_RULES else part.encode("utf-8") for part in parts))


def parts_of(octets: bytes) -> tuple[str | None, ...]:
    """Read them; raises ``NonsenseError``.  A text that is empty loads nothing, so nothing stands for the core rules."""
    return tuple(value.decode("utf-8") if value else CORE_RULES for value in _unpacked(octets))


def loaded_to_bytes(taken: int, refused: str) -> bytes:
    """Return what a rule set takes of memory, in bytes, and why it is *refused*, if it is, as that travels."""
    return _BYTES.pack(taken) + refused.encode("utf-8", "replace")


def loaded_of(octets: bytes) -> tuple[int, str]:
    """Read it; raises ``NonsenseError``."""
    if len(octets) < _BYTES.size:
        raise NonsenseError("rules without their size")
    return _BYTES.unpack_from(octets)[0], octets[_BYTES.size :].decode("utf-8", "replace")


def request_head_to_bytes(rules: int, request: InspectedRequest) -> bytes:
    """Return *request*, to be judged by the rule set of this number, as it travels before its body."""
    values = (request.id, request.client, request.server, request.method, request.target, request.lines)
    numbers = _NUMBERS.pack(rules, request.port, request.stays)
    return b"".join((numbers, _packed(*values), _LENGTH.pack(len(request.body))))


def request_of(octets: bytes) -> tuple[int, InspectedRequest]:
    """Read it; raises ``NonsenseError``."""
    if len(octets) < _NUMBERS.size:
        raise NonsenseError("a request without numbers")
    rules, port, stays = _NUMBERS.unpack_from(octets)
    values = _unpacked(octets, _NUMBERS.size)
    if len(values) != 7:
        raise NonsenseError(f"a request of {len(values)} values")
    name, client, server, method, target, lines, body = values
    return rules, InspectedRequest(name, client, server, port, method, target, lines, body, bool(stays))


def answer_head_to_bytes(answer: InspectedAnswer) -> bytes:
    """Return *answer* as it travels before its body, if that is looked at; its ticket is the number of the frame."""
    head = _STATUS.pack(answer.status, 0) + _packed(answer.lines)
    return head if answer.body is None else head + _LENGTH.pack(len(answer.body))


def answer_of(ticket: int, octets: bytes) -> InspectedAnswer:
    """Read it; raises ``NonsenseError``."""
    if len(octets) < _STATUS.size:
        raise NonsenseError("an answer without a status")
    values = _unpacked(octets, _STATUS.size)
    if not 1 <= len(values) <= 2:
        raise NonsenseError(f"an answer of {len(values)} values")
    body = values[1] if len(values) > 1 else None
    return InspectedAnswer(ticket, _STATUS.unpack_from(octets)[0], values[0], body)


def said_to_bytes(said: Said) -> bytes:
    """Return what is said of a request as it travels: no more, and no longer, lines than there may be."""
    lines = (line[:MOST_LINE_BYTES] for line in said.lines[:MOST_LINES])
    location = said.location if len(said.location) <= MOST_LOCATION_BYTES else b""
    return _STATUS.pack(said.status, min(said.matched, 0xFFFF)) + _packed(location, *lines)


def said_of(octets: bytes) -> Said:
    """Read it; raises ``NonsenseError``."""
    if len(octets) < _STATUS.size:
        raise NonsenseError("a verdict without a status")
    status, matched = _STATUS.unpack_from(octets)
    values = _unpacked(octets, _STATUS.size)
    if not values:
        raise NonsenseError("a verdict without a location")
    if status and not 300 <= status <= 599:
        raise NonsenseError(f"a verdict of {status}")
    return Said(status, values[0], values[1:], matched)
