"""``bench/results.json``: what is in it, made from what was measured.  Pure, but for ``write``.

The keys, which ``docs/performance.md`` describes for readers:

- ``schema``: number of this description, 1;
- ``command``: ``bench`` or ``bench-quick``; ``measured_at``: UTC, ISO 8601;
- ``machine``, ``python``, ``programs``: what it was measured with;
- ``rounds``: how many were measured;
- ``targets``: by name, ``title`` and ``access_log``;
- ``loads``: by name, ``title``, ``unit``, ``protocol`` (``http/1.1``, ``h2``, or ``h2 to h2c``: HTTP/2 on both
  sides of the proxy), ``connections``, ``streams`` on each, ``rounds``, and ``targets`` by name (below);
- ``figures``: one for each goal: ``load``, ``reference``, ``ratio``, ``must``, ``aim``, ``met``;
- ``idle`` and, of HTTP/2 over TLS, ``idle_h2``, only after ``bench``: ``connections``, ``targets`` with
  ``kib_per_connection`` or ``failure``, ``goal``;
- ``lookup``, only after ``bench``: ``hosts``, by their number ``ten_hosts_ns`` and ``all_hosts_ns``, and ``goal``.

Each ``goal`` has ``measured``, ``must``, ``aim`` and ``met``.

Of a load, each target has ``median`` and ``samples`` in the unit of the load,
``us_per_request``, ``to_nginx``, ``to_go``, ``user_share``, ``peak_mib``, ``noise``, at a
fixed rate ``p50_us`` and ``p99_us``; or nothing but ``failure``.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from statistics import fmean, median
from typing import Any

from bench.loads.catalog import GOALS, IDLE_GOALS, LOOKUP_MUST, Load
from bench.measuring.campaign import Measured
from bench.measuring.idle import IdleKind
from bench.measuring.summary import Sample, is_met, ratio, user_ratio, user_share, user_us, value
from bench.peers.targets import Target
from bench.setup.errors import BenchError

SCHEMA = 2
RESULTS = Path(__file__).parents[1] / "results.json"


def _rounded(number: float | None) -> float | None:
    """Four significant digits, which is more than the machine is worth."""
    return None if number is None else float(f"{number:.4g}")


def target_results(load: Load, target: str, samples: Mapping[str, Mapping[int, Sample]]) -> dict[str, Any]:
    """The figures of one target on one load."""
    own = samples[target]
    values = {
        name: {number: value(load, sample) for number, sample in rounds.items()}
        for name, rounds in samples.items()
    }
    found: dict[str, Any] = {
        "median": _rounded(median(values[target].values())),
        "samples": [_rounded(one) for one in values[target].values()],
        "us_per_request": _rounded(median(one.cpu_seconds * 1e6 / one.requests for one in own.values())),
        "to_nginx": _rounded(ratio(values[target], values.get("nginx", {}))),
        "to_ingress_nginx": _rounded(ratio(values[target], values.get("ingress-nginx-like", {}))),
        "to_go": _rounded(ratio(values[target], values.get("go", {}))),
        "user_us": _rounded(user_us(own)),
        "user_to_nginx": _rounded(user_ratio(own, samples.get("nginx", {}))),
        "user_to_go": _rounded(user_ratio(own, samples.get("go", {}))),
        "user_share": _rounded(user_share(own.values())),
        "peak_mib": _rounded(max(one.peak_kib for one in own.values()) / 1024),
        "noise": _rounded(fmean(one.noise for one in own.values())),
    }
    if load.rate:
        found["p50_us"] = _rounded(median(one.p50_us or 0.0 for one in own.values()))
        found["p99_us"] = _rounded(median(one.p99_us or 0.0 for one in own.values()))
    return found


def load_results(load: Load, measured: Measured) -> dict[str, Any]:
    """The figures of all targets on one load."""
    samples = measured.samples.get(load.name, {})
    targets: dict[str, Any] = {name: target_results(load, name, samples) for name in samples}
    for name, failure in measured.failures.get(load.name, {}).items():
        targets[name] = {"failure": failure}
    return {
        "title": load.title,
        "unit": load.unit.value,
        "protocol": load.protocol.value,
        "connections": load.connections,
        "streams": load.streams,
        "rounds": min(measured.rounds, load.most_rounds or measured.rounds),
        "targets": targets,
    }


def figures(
    loads: Iterable[Load], results: Mapping[str, Any], targets: Collection[str]
) -> list[dict[str, Any]]:
    """The goals beside what was measured; those of other loads are left out, and those of who did not run."""
    units = {load.name: load.unit for load in loads}
    rows = []
    for goal in GOALS:
        if goal.load not in results or goal.target not in targets:
            continue
        found = results[goal.load]["targets"].get(goal.target, {}).get(f"to_{goal.reference}")
        rows.append(
            {
                "load": goal.load,
                "target": goal.target,
                "reference": goal.reference,
                "ratio": found,
                "must": goal.must,
                "aim": goal.aim,
                "met": found is not None and is_met(goal, units[goal.load], found),
            }
        )
    return rows


def document(
    command: str,
    loads: tuple[Load, ...],
    targets: tuple[Target, ...],
    measured: Measured,
    setting: Mapping[str, Any],
) -> dict[str, Any]:
    """The whole document; *setting* is ``measured_at``, ``machine``, ``python``, ``code``, ``programs`` and ``busy``."""
    results = {load.name: load_results(load, measured) for load in loads}
    return {
        "schema": SCHEMA,
        "command": command,
        **setting,
        "rounds": measured.rounds,
        "targets": {one.name: {"title": one.title, "access_log": one.access_log} for one in targets},
        "loads": results,
        "figures": figures(loads, results, [one.name for one in targets]),
    }


def _goal(measured: float | None, must: float, aim: float | None) -> dict[str, Any]:
    met = measured is not None and measured <= must
    return {"measured": _rounded(measured), "must": must, "aim": aim, "met": met}


def idle_results(kind: IdleKind, found: Mapping[str, float | str]) -> dict[str, Any]:
    """The memory of idle connections of *kind*; *found* has bytes by target, or why there are none."""
    targets = {
        name: {"failure": one} if isinstance(one, str) else {"kib_per_connection": _rounded(one / 1024)}
        for name, one in found.items()
    }
    ours = found.get("ours")
    kib = ours / 1024 if isinstance(ours, float) else None
    must, aim = IDLE_GOALS[kind.name]
    return {"connections": kind.counted, "targets": targets, "goal": _goal(kib, must / 1024, aim / 1024)}


def lookup_results(hosts: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Route lookups, by the number of hosts, as ``bench.requests.lookup`` prints them."""
    fewest, most = min(hosts, key=int), max(hosts, key=int)
    measured = hosts[most]["ten_hosts_ns"] / hosts[fewest]["ten_hosts_ns"]
    return {"hosts": hosts, "goal": _goal(measured, LOOKUP_MUST, None)}


def checked(found: Any, path: Path) -> dict[str, Any]:
    """Return *found*, the content of *path*, if it is of the present form.  Raises BenchError."""
    schema = found.get("schema") if isinstance(found, dict) else None
    if schema != SCHEMA or not isinstance(found, dict):
        raise BenchError(
            f"{path.name} has schema {schema}, not {SCHEMA}: another version wrote it; run make bench"
        )
    return found


def read(path: Path = RESULTS) -> dict[str, Any]:
    """Read what ``write`` has written.  Raises BenchError when it cannot be, or another version wrote it."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BenchError(f"{path.name} cannot be read: {error}") from None
    return checked(found, path)


def write(found: Mapping[str, Any], path: Path = RESULTS) -> None:
    """Write the document, whole or not at all."""
    unfinished = path.with_suffix(".json.new")
    unfinished.write_text(json.dumps(found, indent=1) + "\n")
    unfinished.replace(path)
