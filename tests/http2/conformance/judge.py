"""Plays rows on connections, and says what went otherwise."""

from __future__ import annotations

from collections.abc import Callable

from tests.fakes.http2.client import Http2Client
from tests.fakes.http2.frames import (
    SETTINGS,
    Frame,
)
from tests.http2.conformance.rows import Row, Wait, WrongError

PATIENCE = 4.0
"""Seconds in which a server on a socket has to react: one that has said all may stay for two, in case its client still takes some of it, and
looks once a second."""


def judge(row: Row, client: Http2Client, strict: bool = False, seconds: float = PATIENCE) -> None:
    """Play *row* on a fresh connection; raises ``WrongError``."""
    past = 0
    if row.shakes_hands:
        client.send_preface(*row.values)
        if not client.until(lambda: client.settings_acks > 0, seconds):
            raise WrongError(f"no handshake: {tell(client.frames)}")
        client.acknowledge()
        past = _after(client.frames, lambda frames: frames[-1].kind == SETTINGS and frames[-1].flags & 1)
    for step in row.steps:
        if isinstance(step, Wait):
            past = _wait(step, client, past, seconds)
        else:
            client.send(step if isinstance(step, bytes) else step(client))
    if not client.until(lambda: row.outcome.meets(client.frames[past:], client, strict), seconds):
        ended = ", closed" if client.closed else ", open"
        raise WrongError(f"{row.outcome!r}, but {tell(client.frames[past:])}{ended}")


def tell(frames: list[Frame]) -> str:
    """Return *frames* in few words."""
    return ", ".join(f"{each.kind}/{each.flags}/{each.stream}/{each.payload[:16].hex()}" for each in frames)


def _wait(step: Wait, client: Http2Client, past: int, seconds: float) -> int:
    """Receive until *step* may be left, and return how many frames are past then."""
    if not client.until(lambda: step.condition(client.frames[past:]), seconds):
        raise WrongError(f"no {step.what}: {tell(client.frames[past:])}")
    return past + _after(client.frames[past:], step.condition)


def _after(frames: list[Frame], condition: Callable[[list[Frame]], object]) -> int:
    """Return how many frames it takes to satisfy *condition*."""
    return next(count for count in range(1, len(frames) + 1) if condition(frames[:count]))
