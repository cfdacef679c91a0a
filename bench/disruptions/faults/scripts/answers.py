"""Backends that answer wrongly: cut, lying, late or never."""

import asyncio
from time import monotonic

from bench.disruptions.faults.backends import Peer, Request
from bench.disruptions.faults.fault import Fault
from bench.disruptions.faults.proxies import Deadlines
from bench.disruptions.faults.stage import Stage
from bench.disruptions.faults.visitors import Visitor, ask, get

_OK = b"HTTP/1.1 200 OK\r\n"
_LENGTH = _OK + b"Content-Length: 100\r\n\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"

# What is sent, and whether the connection then ends by RST.  The last four never come to a head.
_CUTS: tuple[tuple[bytes, bool], ...] = (
    (_LENGTH, False),
    (_LENGTH + b"x" * 40, False),
    (_LENGTH + b"x" * 40, True),
    (_CHUNKED + b"28\r\n" + b"x" * 40 + b"\r\n", False),
    (_CHUNKED + b"28\r\n" + b"x" * 20, False),
    (_CHUNKED + b"28\r\n" + b"x" * 40 + b"\r\n2", False),
    (_CHUNKED + b"28\r\n" + b"x" * 40 + b"\r\n0\r\n", False),
    (_OK + b"Connection: close\r\n\r\n" + b"x" * 40, True),
    (_OK + b"Content-Len", False),
    (b"HTTP/1.1 2", False),
    (b"", False),
    (b"", True),
)
_HEADLESS = range(8, 12)


async def truncated(stage: Stage) -> None:
    """The backend's answer breaks off, in twelve ways."""

    async def cut(request: Request, peer: Peer) -> None:
        sent, is_reset = _CUTS[int(request.target[1:])]
        await peer.write(sent)
        await asyncio.sleep(0.05)  # what was sent arrives before the end does
        if is_reset:
            peer.reset()
        else:
            peer.close()

    backend = await stage.backend(cut)
    proxy = await stage.proxy(backend.port)
    unseen, repeated, doubled = [], 0, 0
    for number in range(len(_CUTS)):
        told = await ask(proxy.http, get(f"/{number}"))
        asked = sum(request.target == b"/%d" % number for request in backend.seen)
        is_seen = told.status == 502 or (told.end == "cut" and number not in _HEADLESS)
        if not is_seen:
            unseen.append(f"{number}: {told}")
        doubled += told.status_lines > 1
        repeated += asked != 1 and number not in _HEADLESS
    stage.checks.none("cuts that the client cannot see", len(unseen))
    if unseen:
        stage.checks.note("namely", ", ".join(unseen))
    stage.checks.none("second status lines", doubled)
    stage.checks.none("retries after a first byte", repeated)


# Answers that no proxy may pass on as they are; a 502, or an end that the client sees, is right.
_LIES: dict[str, bytes] = {
    "garbage": b"\x00\x01\x02 what is this\r\n\r\n",
    "no version": b"200 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/2.0": b"HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "status 99": b"HTTP/1.1 99 No\r\nContent-Length: 2\r\n\r\nok",
    "status 2000": b"HTTP/1.1 2000 No\r\nContent-Length: 2\r\n\r\nok",
    "two lengths": _OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
    "length -1": _OK + b"Content-Length: -1\r\n\r\nok",
    "length +2": _OK + b"Content-Length: +2\r\n\r\nok",
    "length of 5000 digits": _OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nok",
    "no colon": _OK + b"What\r\nContent-Length: 2\r\n\r\nok",
    "NUL in a value": _OK + b"X: a\x00b\r\nContent-Length: 2\r\n\r\nok",
    "space before the colon": _OK + b"Content-Length : 2\r\n\r\nok",
    "chunk size zz": _CHUNKED + b"zz\r\nok\r\n0\r\n\r\n",
    "chunk size -1": _CHUNKED + b"-1\r\nok\r\n0\r\n\r\n",
    "chunk too long": _CHUNKED + b"2\r\nokok\r\n0\r\n\r\n",
    "endless head": _OK + b"X: " + b"a" * 300_000,
    "switch without being asked": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n",
}
# Answers that are whole, with more behind them that nobody asked for.
_SURPLUS: dict[str, bytes] = {
    "length too short": _OK + b"Content-Length: 2\r\n\r\nokpoison",
    "two answers": _OK + b"Content-Length: 2\r\n\r\nok" + _OK + b"Content-Length: 6\r\n\r\npoison",
}


async def lying(stage: Stage) -> None:
    """The backend lies: garbage for a head, two lengths, more bytes than it said, answers to no question."""
    names = [*_LIES, *_SURPLUS]
    lies = {**_LIES, **_SURPLUS}

    async def lie(request: Request, peer: Peer) -> None:
        if request.target.startswith(b"/canary/"):
            await peer.answer(request.target)
            return
        name = names[int(request.target[1:])]
        await peer.write(lies[name])
        if name in _LIES:
            await asyncio.sleep(0.05)
            peer.close()

    backend = await stage.backend(lie)
    proxy = await stage.proxy(backend.port)
    passed, poisoned = [], 0
    for number, name in enumerate(names):
        visitor = await Visitor.arrive(proxy.http)
        told = await visitor.ask(get(f"/{number}"), 5)
        is_right = told.status == 502 or told.end in ("cut", "nothing")
        if name in _SURPLUS:
            is_right = is_right or (told.end == "whole" and told.body == b"ok")
        if not is_right:
            passed.append(f"{name}: {told}")
        if told.end == "whole":
            # The same connection may be closed, but must not tell what belongs to another request.
            again = await visitor.ask(get(f"/canary/same/{number}"), 5)
            poisoned += again.received != b"" and again.body != b"/canary/same/%d" % number
        visitor.leave()
        target = f"/canary/{number}"
        canary = await ask(proxy.http, get(target), 5)
        poisoned += canary.body != target.encode()
    stage.checks.none("lies passed on", len(passed))
    if passed:
        stage.checks.note("namely", ", ".join(passed))
    stage.checks.none("canaries poisoned", poisoned)


async def silent(stage: Stage) -> None:
    """The backend accepts, reads the request, and never answers.

    The deadline is set to 3 s, by default it is a minute.
    """

    async def say_nothing(request: Request, peer: Peer) -> None:
        await peer.reader.read(1)  # comes back when the proxy gives up
        peer.close()

    backend = await stage.backend(say_nothing)
    proxy = await stage.proxy(backend.port, deadlines=Deadlines(silence=3))
    told = await asyncio.gather(*(ask(proxy.http, get()) for _ in range(10)))
    stage.checks.none("answers other than 504", sum(one.status != 504 for one in told))
    stage.checks.between("first after", min(one.seconds for one in told), 2.5, 5, "s")
    stage.checks.between("last after", max(one.seconds for one in told), 2.5, 5, "s")
    stage.checks.equal("times the backend was asked", len(backend.seen), 10)
    # HAProxy's check of its servers connects, too.
    ended = monotonic()
    while backend.open and monotonic() - ended < 2:
        await asyncio.sleep(0.02)
    stage.checks.at_most("upstream connections ended after", monotonic() - ended, 1, "s")


async def trickling(stage: Stage) -> None:
    """The backend answers one byte a second, always within the deadline of silence (set to 3 s), for longer than it."""

    async def trickle(request: Request, peer: Peer) -> None:
        await peer.write(_OK + b"Content-Length: 6\r\n\r\n")
        for _ in range(6):
            await asyncio.sleep(1)
            await peer.write(b"x")

    backend = await stage.backend(trickle)
    proxy = await stage.proxy(backend.port, deadlines=Deadlines(silence=3))
    told = await asyncio.gather(*(ask(proxy.http, get()) for _ in range(5)))
    bad = [str(one) for one in told if (one.status, one.body) != (200, b"x" * 6)]
    stage.checks.none("failed", len(bad))
    if bad:
        stage.checks.note("namely", ", ".join(bad))


FAULTS = (
    Fault("truncated", "client sees each cut, or gets 502; asked once", truncated),
    Fault("lying", "502 or a visible cut; nobody else gets the rest", lying),
    Fault("silent", "504 at the deadline; connection closed", silent),
    Fault("trickling", "0 failed", trickling),
)
