"""Connections that die at the worst moment: what may be tried again, and what must not."""

import asyncio
import os
from collections import Counter

from bench.disruptions.faults.backends import Behavior, Peer, Request
from bench.disruptions.faults.fault import Fault
from bench.disruptions.faults.stage import Stage
from bench.disruptions.faults.visitors import Visitor, get

_REQUESTS = 400
_TRIES = 40
_REPEATABLE = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE")
_ONCE = ("POST", "PATCH")


async def _answer_and_close(request: Request, peer: Peer) -> None:
    """Close a moment after an answer that promised to keep the connection."""
    await peer.answer(b"ok")
    peer.close()


async def _answer_and_close_soon(request: Request, peer: Peer) -> None:
    """The same, some milliseconds later: about when the next request comes."""
    await peer.answer(b"ok")
    await asyncio.sleep(0.001 * (request.connection % 4))
    peer.close()


async def _answer_and_close_at_use(request: Request, peer: Peer) -> None:
    """Close at the very moment when the next request begins to come, unread: its sender gets RST."""
    await peer.answer(b"ok")
    transport = peer.writer.transport
    assert isinstance(transport, asyncio.ReadTransport)
    transport.pause_reading()
    used = asyncio.Event()
    loop, number = asyncio.get_running_loop(), peer.writer.get_extra_info("socket").fileno()
    watched = os.dup(number)
    loop.add_reader(watched, used.set)
    try:
        await used.wait()
    finally:
        loop.remove_reader(watched)
        os.close(watched)
    peer.reset()


_CLOSINGS: tuple[Behavior, ...] = (_answer_and_close, _answer_and_close_soon, _answer_and_close_at_use)


async def _sequentially(stage: Stage, request: bytes) -> None:
    for behavior in _CLOSINGS:
        backend = await stage.backend(behavior)
        proxy = await stage.proxy(backend.port)
        failed: Counter[str] = Counter()
        visitor: Visitor | None = None
        for _ in range(_REQUESTS):
            if visitor is None:
                visitor = await Visitor.arrive(proxy.http)
            told = await visitor.ask(request)
            if (told.status, told.body) != (200, b"ok"):
                failed[str(told)] += 1
            if told.end != "whole" or b"connection: close" in told.received.lower():
                visitor.leave()
                visitor = None
        name = (behavior.__name__ or "").removeprefix("_answer_and_").replace("_", " ")
        stage.checks.none(f"failed of {_REQUESTS} ({name})", failed.total())
        if failed:
            stage.checks.note("namely", ", ".join(f"{count} x {why}" for why, count in failed.items()))


async def stale_get(stage: Stage) -> None:
    """The backend closes each connection that it promised to keep: at once, some milliseconds later, and at its next use."""
    await _sequentially(stage, get())


async def stale_post(stage: Stage) -> None:
    """The same for POST requests, which must not be repeated once the backend may have read them."""
    await _sequentially(stage, get("/", "POST", b"x" * 100))


async def dropped(stage: Stage) -> None:
    """One of two backends reads each request, and drops the connection instead of answering."""

    async def echo(request: Request, peer: Peer) -> None:
        await peer.answer(b"" if request.method == b"HEAD" else request.target)

    async def drop(request: Request, peer: Peer) -> None:
        if request.connection % 2:
            peer.reset()
        else:
            peer.close()

    good, bad = await stage.backend(echo), await stage.backend(drop)
    proxy = await stage.proxy(good.port, bad.port)
    failed: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for method in (*_REPEATABLE, *_ONCE):
        body = b"x" * 100 if method in ("PUT", "POST", "PATCH") else None
        for number in range(_TRIES):
            visitor = await Visitor.arrive(proxy.http)
            told = await visitor.ask(get(f"/{method}/{number}", method, body))
            visitor.leave()
            if method in _REPEATABLE:
                failed[method] += told.end != "whole" or told.status != 200
            else:
                wrong[method] += told.end != "whole" or told.status not in (200, 502)
    seen = Counter(request.target for request in (*good.seen, *bad.seen))
    more = sum(seen[f"/{method}/{number}".encode()] != 1 for method in _ONCE for number in range(_TRIES))
    stage.checks.none(f"failed of {_TRIES * len(_REPEATABLE)} repeatable", failed.total())
    if failed.total():
        stage.checks.note("namely", ", ".join(f"{count} {name}" for name, count in (+failed).items()))
    stage.checks.none("POST and PATCH seen other than once", more)
    stage.checks.none("POST and PATCH answered other than 200 or 502", wrong.total())
    stage.checks.holds("the bad backend was asked", bool(bad.seen))


FAULTS = (
    Fault("stale-get", "0 failed", stale_get),
    Fault("stale-post", "0 failed", stale_post),
    Fault("dropped", "repeatable ones: 0 failed; POST: 502, seen once", dropped),
)
