"""What the parent, the fork server and workers tell each other.

    parent ─▶ worker         FEED a piece of a snapshot, ASK something by name
    worker ─▶ parent         TOOK a snapshot, ANSWER a question, LOG a line, PUSH something by name
    parent ─▶ fork server    FEED as well, FORK a worker (its end of a channel comes along), KILL one
    fork server ─▶ parent    TOOK, LOG, FORKED with the process id, ENDED with the status, or nothing if it was never forked

All numbers are little.  A question is answered with its own number; FEED and TOOK have that of the snapshot, FORK, FORKED,
KILL and ENDED that of a worker's *life*.  Names of questions stand here, what they mean where they are answered (``worker``).
"""

import json
from enum import IntEnum
from typing import Any, Final

from attrs import asdict

from ingress.model.frozen import frozen
from ingress.model.network.listeners import Listener
from ingress.process.framing import NonsenseError


class Kind(IntEnum):
    """What a frame is."""

    FEED = 1
    TOOK = 2
    ASK = 3
    ANSWER = 4
    PUSH = 5
    LOG = 6
    FORK = 7
    FORKED = 8
    KILL = 9
    ENDED = 10


BEGIN: Final = "begin"
"""What was decided at the start."""
FOLLOW: Final = "follow"
"""Which listeners are to be open; the sockets of new ones come along."""
ADDRESSES: Final = "addresses"
"""Where the API server is, which tenants must not reach."""
DRAINING: Final = "draining"
CLOSE: Final = "close"
DRAIN: Final = "drain"
ABORT: Final = "abort"
STOP: Final = "stop"
REOPEN: Final = "reopen"
FAILURES: Final = "failures"
"""Pushed: exchanges that failed."""
TALLY: Final = "tally"
"""As a question: tell what you have counted.  What is pushed by this name is a tally, also without a question."""

ENDPOINTS: Final = "endpoints"
"""How endpoints are (``ingress.model.observability.endpoint_states``); no bytes at all where that could not be found out."""


def named_to_bytes(name: str, payload: bytes = b"") -> bytes:
    """Return the payload of an ASK or PUSH."""
    return b"%b\n%b" % (name.encode(), payload)


def named_from_bytes(octets: bytes) -> tuple[str, bytes]:
    """Return name and payload of one; raises ``NonsenseError``."""
    name, _, payload = octets.partition(b"\n")
    try:
        return name.decode(), payload
    except UnicodeDecodeError:
        raise NonsenseError("a name that is none") from None


def to_bytes(value: Any) -> bytes:
    """Return plain *value* as it travels."""
    return json.dumps(value).encode()


def from_bytes(octets: bytes) -> Any:
    """Return the plain value that *octets* are."""
    return json.loads(octets)


@frozen
class Wanted:
    """The listeners that a worker is to have open, each with the number of its socket."""

    listeners: tuple[tuple[int, Listener], ...] = ()
    coming: tuple[int, ...] = ()
    """The numbers of the sockets that come along, in their order."""


def wanted_to_bytes(wanted: Wanted) -> bytes:
    """Return *wanted* as it travels."""
    return to_bytes([[[number, asdict(one)] for number, one in wanted.listeners], list(wanted.coming)])


def wanted_from_bytes(octets: bytes) -> Wanted:
    """Return what was wanted."""
    listeners, coming = from_bytes(octets)
    return Wanted(tuple((number, Listener(**fields)) for number, fields in listeners), tuple(coming))
