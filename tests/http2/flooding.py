"""Floods over sockets: how much of each a server takes, and what that costs it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from attrs import frozen

from tests.fakes.http2.client import Http2Client
from tests.http2.floods import Flood

AT_ONCE = 16
"""Pieces in one write."""
PATIENCE = 3.0
"""Seconds until what was told to end must have ended."""


@frozen
class Damage:
    """What became of one flood."""

    pieces: int
    """How many went out before the end was seen."""
    code: int | None
    """Of GOAWAY; None if there was none."""
    is_closed: bool
    kib: int
    """What the process has grown by; 0 if it is not known."""
    cpu_seconds: float

    def is_bearable(self, flood: Flood, most_kib: int, most_seconds: float) -> bool:
        """Whether the connection ended as it must, and at what price."""
        ended = self.is_closed and (self.code is None or self.code in flood.codes)
        return ended and self.kib <= most_kib and self.cpu_seconds <= most_seconds


def flood_server(
    flood: Flood,
    connect: Callable[[], Http2Client],
    resident_kib: Callable[[], int] = lambda: 0,
    cpu_seconds: Callable[[], float] = lambda: 0.0,
) -> Damage:
    """Send *flood* until the server ends the connection, or it is over."""
    client = connect()
    client.begin()
    kib, cpu = resident_kib(), cpu_seconds()
    pieces = flood.pieces(client)
    sent = 0
    while not client.closed and client.end is None and (packet := list(islice(pieces, AT_ONCE))):
        client.send(*packet)
        client.look()
        client.frames[:] = [each for each in client.frames if each.kind == 7]
        sent += len(packet)
    client.until(lambda: client.closed, PATIENCE)
    damage = Damage(
        sent,
        None if client.end is None else client.end.code,
        client.closed,
        resident_kib() - kib,
        cpu_seconds() - cpu,
    )
    client.wire.close()
    return damage
