"""One client that has as much done as it may, by the rules; another one must hardly notice."""

import asyncio
from time import monotonic

from bench.disruptions.faults.backends import Peer, Request
from bench.disruptions.faults.beside import REQUIRED, check_p99
from bench.disruptions.faults.fault import OURS, Fault
from bench.disruptions.faults.load import Load
from bench.disruptions.faults.stage import Stage, run_beside
from bench.disruptions.faults.visitors import Probe
from bench.measuring.summary import percentile

_SECONDS = 4.0
_CALM_SECONDS = 2.0
# It asks again once it is answered, and at most so many times a second; with turns bounded by frames it was 5 to 30 %.
_LEAST_SHARE = 50
# The median, since single waits are the machine's as well: up to twice as long, where it was 60 times.
_TIMES = 8
_LEAST_MS = 1.0
_OVER_TLS = ("fields", "bombs", "octets")


async def _beside(kind: str, stage: Stage) -> None:
    backend = await stage.backend(_ok)
    proxy = await stage.proxy(backend.port)
    await Load(proxy.http).send(200)
    calm = await Probe(proxy.http).run(_CALM_SECONDS)
    probe = Probe(proxy.http)
    began = monotonic()
    probe.start()
    port = proxy.site.https if kind in _OVER_TLS else proxy.http
    command = [stage.python, "-m", "bench.disruptions.faults.greedy", kind, str(port), str(_SECONDS)]
    done = int(await run_beside(stage, f"greedy-{kind}", command))
    await probe.stop()
    asked = len(probe.latencies) / (monotonic() - began)
    stage.checks.holds("the greedy one was served", done > 0)
    stage.checks.none("failed of another client", probe.failed)
    share = 100 * asked * _CALM_SECONDS / max(1, len(calm.latencies))
    stage.checks.between("answered of what it usually asks", share, _LEAST_SHARE, 200, "%")
    usual = max(_median_ms(calm), _LEAST_MS)
    stage.checks.at_most("times its usual wait", _median_ms(probe) / usual, _TIMES)
    check_p99(stage.checks, calm, probe)
    await asyncio.sleep(0.5)
    later = await Probe(proxy.http).run(1)
    stage.checks.at_most("times its usual wait afterwards", _median_ms(later) / usual, _TIMES)


def _median_ms(probe: Probe) -> float:
    return percentile(probe.latencies, 0.5) * 1000 if probe.latencies else float("inf")


async def _ok(request: Request, peer: Peer) -> None:
    await peer.answer(b"ok")


async def fields(stage: Stage) -> None:
    """A client asks over HTTP/2 with 26 kB of fields that have to be decoded, 50 requests at once."""
    await _beside("fields", stage)


async def bombs(stage: Stage) -> None:
    """A client names a field of 4 kB seven times by an octet each, just below the bound, in each request."""
    await _beside("bombs", stage)


async def octets(stage: Stage) -> None:
    """A client sends a body over HTTP/2 in frames of an octet."""
    await _beside("octets", stage)


async def chunks(stage: Stage) -> None:
    """A client sends a body in chunks of an octet."""
    await _beside("chunks", stage)


async def pipeline(stage: Stage) -> None:
    """A client sends 1,000 requests in one breath that the proxy answers itself."""
    await _beside("pipeline", stage)


_REQUIRED = f"{_LEAST_SHARE} % of its requests answered, the median within {_TIMES} times the usual; none failed; {REQUIRED}"
FAULTS = (
    Fault("greedy-fields", _REQUIRED, fields, OURS),
    Fault("greedy-bombs", _REQUIRED, bombs, OURS),
    Fault("greedy-octets", _REQUIRED, octets, OURS),
    Fault("greedy-chunks", _REQUIRED, chunks, OURS),
    Fault("greedy-pipeline", _REQUIRED, pipeline, OURS),
)
