"""Many connections at once that say nothing or little, and heads that are too big."""

import asyncio
import socket
from math import ceil
from time import monotonic

from attrs import evolve

from bench.disruptions.faults.beside import REQUIRED, check_p99
from bench.disruptions.faults.fault import OURS, Fault
from bench.disruptions.faults.gauges import established
from bench.disruptions.faults.load import Load
from bench.disruptions.faults.stage import Proxy, Stage, more_files, run_beside
from bench.disruptions.faults.visitors import Probe, Visitor, ask, get
from bench.measuring import gauges
from bench.setup.processes import HOST

_SILENT = 10_000
_SILENT_HANDSHAKES = 2000
_SPARE_FILES = 500
_BYTES_PER_SILENT = 20_000
_BYTES_PER_HANDSHAKE = 64_000
# Connections of the client beside, the last one and the next.
_OTHERS = 2
_HEAD_SECONDS = 10.0
_FEW_FILES = 300
_MORE_CONNECTIONS = 1000
_SLOW_PROBE_RATE = 20
_BUSY_PERCENT = 20.0
_CONNECTS = 20_000
_BOMB_KIB = 4 * 1024
_BOMB_ROUNDS = 10


async def silent_clients(stage: Stage) -> None:
    """10,000 connections are opened and say nothing, while another client goes on asking.

    Without a limit of the number of connections, or with one that is higher, all are taken.
    """
    (pod,) = await stage.pods(1)
    proxy = await stage.proxy(pod.port)
    count = min(_SILENT, more_files() - _SPARE_FILES)
    await _connection_limit(stage, proxy, proxy.http, count, _BYTES_PER_SILENT)


async def silent_handshakes(stage: Stage) -> None:
    """2,000 connections are opened to the HTTPS port and never begin their handshake, while another client goes on asking."""
    (pod,) = await stage.pods(1)
    proxy = await stage.proxy(pod.port)
    await _connection_limit(stage, proxy, proxy.site.https, _SILENT_HANDSHAKES, _BYTES_PER_HANDSHAKE)


async def _connection_limit(stage: Stage, proxy: Proxy, port: int, count: int, bytes_of_each: int) -> None:
    idle = await Probe(proxy.http).run(2)
    resident, files = proxy.resident_kib(), proxy.open_files()
    probe = Probe(proxy.http)
    probe.start()
    began = monotonic()
    sockets = []
    for number in range(count):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex((HOST, port))
        sockets.append(one)
        if number % 50 == 49:
            await asyncio.sleep(0.002)
    await asyncio.sleep(1.0)
    taken = proxy.open_files() - files
    stage.checks.note("taken", taken)
    grown = (proxy.resident_kib() - resident) * 1024
    stage.checks.at_most("memory of each", grown / max(taken, 1), bytes_of_each, "B")
    # Those that a limit keeps waiting are taken when the first ones have ended, and end themselves later.
    waves = ceil(count / max(taken, 1))
    allowed = monotonic() - began + waves * _HEAD_SECONDS + 2
    while established(port) > _OTHERS and monotonic() - began < allowed + 2:
        await asyncio.sleep(0.2)
    await probe.stop()
    stage.checks.at_most("all ended after", monotonic() - began, allowed, "s")
    stage.checks.none("failed of another client", probe.failed)
    stage.checks.holds("another client was served", len(probe.latencies) > 100)
    stage.checks.note("p99 of it at rest", idle.p99_ms, "ms")
    stage.checks.note("beside them", probe.p99_ms, "ms")
    for one in sockets:
        one.close()
    told = await ask(proxy.http, get())
    stage.checks.equal("status afterwards", told.status, 200)


async def few_files(stage: Stage) -> None:
    """The proxy may open no more than 300 files, and 1,000 connections are opened that say nothing."""
    (pod,) = await stage.pods(1)
    proxy = await stage.start(evolve(stage.site(pod.port), max_files=_FEW_FILES))
    probe = Probe(proxy.http, _SLOW_PROBE_RATE)
    probe.start()
    await asyncio.sleep(1)
    sockets = []
    for _ in range(_MORE_CONNECTIONS):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex((HOST, proxy.http))
        sockets.append(one)
    began = monotonic()
    await asyncio.sleep(1)
    stage.checks.at_most("files open", proxy.open_files(), _FEW_FILES)
    busy = gauges.cpu_seconds(proxy.pid)
    await asyncio.sleep(4)
    busy = gauges.cpu_seconds(proxy.pid) - busy
    stage.checks.at_most("busy meanwhile", busy / 4 * 100, _BUSY_PERCENT, "% of a CPU")
    await probe.stop()
    stage.checks.none("failed of a client who was there before", probe.failed)
    stage.checks.holds("it was served", len(probe.latencies) > _SLOW_PROBE_RATE)
    for one in sockets:
        one.close()
    while (told := await ask(proxy.http, get(), 2)).status != 200 and monotonic() - began < 20:
        await asyncio.sleep(0.1)
    stage.checks.equal("status once they are gone", told.status, 200)
    stage.checks.holds("it still runs", proxy.running.popen.poll() is None)


async def connects(stage: Stage) -> None:
    """20,000 connections are opened and closed at once, as fast as one process can."""
    (pod,) = await stage.pods(1)
    proxy = await stage.proxy(pod.port)
    await Load(proxy.http).send(200)
    rest = await Probe(proxy.http).run(2)
    files = proxy.open_files()
    probe = Probe(proxy.http)
    probe.start()
    flood = [
        stage.python,
        "-m",
        "bench.disruptions.faults.flood",
        f"--port={proxy.http}",
        f"--count={_CONNECTS}",
    ]
    done, failed, seconds = map(float, (await run_beside(stage, "flood", flood)).split())
    await probe.stop()
    stage.checks.note("connects", done)
    stage.checks.note("a second", done / seconds)
    stage.checks.none("refused", int(failed))
    check_p99(stage.checks, rest, probe)
    stage.checks.none("failed of it", probe.failed)
    settled = monotonic()
    while proxy.open_files() > files and monotonic() - settled < 5:
        await asyncio.sleep(0.1)
    stage.checks.at_most("descriptors left", proxy.open_files() - files, 1)


_START = b"GET / HTTP/1.1\r\nHost: fault.test\r\n"
_BOMBS: dict[str, bytes] = {
    "field of 64 kB": _START + b"X: " + b"a" * 65536 + b"\r\n\r\n",
    "1000 fields": _START + b"".join(b"X-%d: a\r\n" % number for number in range(1000)) + b"\r\n",
    "10,000 fields of one name": _START + b"X: a\r\n" * 10_000 + b"\r\n",
    "target of 64 kB": b"GET /" + b"a" * 65536 + b" HTTP/1.1\r\nHost: fault.test\r\n\r\n",
    "name of 64 kB": _START + b"X" * 65536 + b": a\r\n\r\n",
    "method of 64 kB": b"A" * 65536 + b" / HTTP/1.1\r\nHost: fault.test\r\n\r\n",
    "folds": _START + b"X: a\r\n" + b" a\r\n" * 20_000 + b"\r\n",
    "endless field": _START + b"X: " + b"a" * 4_000_000,
    "endless target": b"GET /" + b"a" * 4_000_000,
    "endless fields": _START + b"X: a\r\n" * 600_000,
    "empty lines": b"\r\n" * 100_000,
    "chunk extension of 1 MB": b"POST / HTTP/1.1\r\nHost: fault.test\r\nTransfer-Encoding: chunked\r\n\r\n1;"
    + b"a" * 1_000_000,
    "trailers of 4 MB": b"POST / HTTP/1.1\r\nHost: fault.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    + b"X: a\r\n" * 600_000,
}
_REFUSALS = (400, 413, 414, 431)


async def header_bombs(stage: Stage) -> None:
    """Heads that are too long, have too many fields, too many folds, or no end, ten at once of each."""
    (pod,) = await stage.pods(1)
    proxy = await stage.proxy(pod.port)
    await Load(proxy.http).send(400)
    # What is loaded and made once, for the first refusal, is not what a bomb costs.
    for refused in (b"GET / HTTP/1.1\r\n\r\n", _START + b"X: " + b"a" * 40_000 + b"\r\n\r\n"):
        await ask(proxy.http, refused)
    resident = proxy.resident_kib()
    gauges.reset_peak(proxy.pid)
    wrong = []
    for name, bomb in _BOMBS.items():
        told = await asyncio.gather(*(ask(proxy.http, bomb, 12) for _ in range(_BOMB_ROUNDS)))
        bad = [one for one in told if one.status not in _REFUSALS and one.end not in ("nothing", "cut")]
        # A connection that is ended without a word is safe; an answer is better.
        mute = sum(one.status == 0 for one in told)
        if bad or mute == len(told):
            wrong.append(f"{name}: {bad[0] if bad else told[0]}")
    grown = gauges.peak_kib(proxy.pid) - resident
    stage.checks.none("bombs not refused with 400, 413, 414 or 431", len(wrong))
    if wrong:
        stage.checks.note("namely", ", ".join(wrong))
    stage.checks.at_most("memory grew by", max(0, grown) / 1024, _BOMB_KIB / 1024, "MiB")
    told_after = await Visitor.arrive(proxy.http)
    stage.checks.equal("status afterwards", (await told_after.ask(get())).status, 200)
    told_after.leave()


FAULTS = (
    Fault("silent-clients", "others served; under 20 kB each; ended after 10 s", silent_clients),
    Fault("silent-handshakes", "others served; under 64 kB each; ended after 10 s", silent_handshakes, OURS),
    Fault("few-files", "no crash; clients who are there are served", few_files, OURS),
    Fault("connects", f"{REQUIRED}; no descriptor lost", connects),
    Fault("header-bombs", "431, 414 or 400; memory +4 MiB at most", header_bombs),
)
