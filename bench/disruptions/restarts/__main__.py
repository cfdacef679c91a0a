"""``python -m bench.disruptions.restarts``: kill, freeze, restart and replace processes under a bounded load, and count what clients lose."""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from bench.disruptions.restarts.acts import ACTS, ALL, Act
from bench.disruptions.restarts.clients import KINDS, Crowd
from bench.disruptions.restarts.configurations import ADDED, Site
from bench.disruptions.restarts.report import figures, reasons, rows, summary_rows, unforgiven
from bench.disruptions.restarts.subjects import HAProxy, Nginx, Ours, Subject, installed
from bench.disruptions.takeover.loads import NAME, Ports
from bench.peers.install import search_system_folders
from bench.reports.tables import markdown_table, text_table
from bench.setup.certificate import KeyPair, write_key_pair
from bench.setup.ending import status_of
from bench.setup.errors import BenchError
from bench.setup.processes import Processes, free_ports, pause, wait_until_it_listens

PATIENCE_SECONDS = 6.0
_UNHURRIED_SECONDS = 60.0
"""What a client waits for at most: where the machine has other things to do all of it may stand still for seconds."""
_BEFORE_SECONDS = 1.5
_AFTER_SECONDS = 1.0
_MOST_SECONDS = 20.0
_LOOK_SECONDS = 0.02
TITLES = {
    "ours-1": "ours, one process",
    "ours-2": "ours, 2 workers",
    "nginx": "nginx, 2 workers",
    "haproxy": "HAProxy, 2 threads",
}


def _subject(name: str, act: Act, site: Site, processes: Processes, *, unhurried: bool) -> Subject:
    if name == "nginx":
        return Nginx(site, processes, detached=act.exchanges)
    if name == "haproxy":
        return HAProxy(site, processes)
    workers = 2 if name == "ours-2" else 0
    return Ours(
        site, processes, workers, activated=act.ours_activated, first=act.ours_first, unhurried=unhurried
    )


def _play(act: Act, name: str, folder: Path, pair: KeyPair, arguments: argparse.Namespace) -> dict[str, Any]:
    """Play one act to one proxy, and return what came of it."""
    folder.mkdir()
    http, https, admin, backend = free_ports(4)
    with Processes.logging_to(folder) as processes:
        pod = processes.start(
            "pod",
            [sys.executable, "-m", "bench.disruptions.restarts.pod", str(backend)],
            arguments.cpus,
            {"PYTHONPATH": str(Path(__file__).parents[3])},
        )
        wait_until_it_listens(pod, backend)
        ports = Ports(http, https)
        site = Site(folder, ports, admin, backend, pair)
        subject = _subject(name, act, site, processes, unhurried=arguments.unhurried)
        subject.start()
        patience = _UNHURRIED_SECONDS if arguments.unhurried else PATIENCE_SECONDS
        crowd = Crowd(ports, tuple(KINDS), arguments.clients, arguments.rate, patience)
        pause(_BEFORE_SECONDS)
        starts, began = subject.starts, monotonic()
        own = act.play(subject)
        whole_after = None
        while monotonic() - began < _MOST_SECONDS:
            subject.supervise()
            if subject.is_whole:
                whole_after = monotonic() - began
                break
            pause(_LOOK_SECONDS)
        pause(max(_AFTER_SECONDS, arguments.seconds - (monotonic() - began)))
        kinds = {kind: figures(seen, own) for kind, seen in crowd.stop().items()}
    started = subject.starts - starts - (act.name == "take-over")
    return {"kinds": kinds, "whole_after": whole_after, "started_anew": started, "own": len(own)}


def _run(arguments: argparse.Namespace, folder: Path) -> bool:
    """Play all that is asked for; return whether ours lost nothing that it may not lose."""
    pair = write_key_pair(folder, (NAME, ADDED))
    columns = arguments.targets.split(",")
    acts = [act for act in ACTS if not arguments.only or act.name in arguments.only.split(",")]
    results: dict[str, dict[str, Any]] = {}
    wrong = []
    for act in acts:
        found = results[act.name] = {}
        for name in columns:
            if name in act.columns:
                found[name] = _play(act, name, folder / f"{act.name}-{name}", pair, arguments)
        if not found:
            del results[act.name]
            continue
        print(f"{act.name}: {act.sentence}\n{text_table(rows(found, TITLES))}")
        for name, one in found.items():
            why = reasons(one["kinds"])
            print(f"  {TITLES[name]}: {why or 'nothing lost'}")
            if name in act.loses_nothing and unforgiven(act, one["kinds"]):
                wrong.append(f"{act.name}, {TITLES[name]}: {unforgiven(act, one['kinds'])}")
        print(flush=True)
    played = [act for act in acts if act.name in results]
    print(markdown_table(summary_rows(played, results, {name: TITLES[name] for name in columns})))
    print(f"\nlost of ours what may not be lost: {'; '.join(wrong) or 'nothing'}")
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(results, indent=1) + "\n")
    return not wrong


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python -m bench.disruptions.restarts", description=__doc__)
    made.add_argument("--only", metavar="NAMES", help=f"of {','.join(act.name for act in ACTS)}")
    made.add_argument("--targets", default=",".join(ALL), metavar="NAMES", help="what is asked, of these")
    made.add_argument("--rate", type=float, default=200.0, help="requests a second of each kind")
    made.add_argument("--seconds", type=float, default=4.0, help="how long each act is watched, at least")
    made.add_argument("--clients", type=int, default=8, help="of each kind, with a connection each")
    made.add_argument(
        "--unhurried",
        action="store_true",
        help="where the machine has other things to do: clients wait, ours has time to start, and refuses nobody for want of it",
    )
    made.add_argument("--cpus", default="0,1", help="where the endpoint runs")
    made.add_argument("--keep", type=Path, metavar="FOLDER", help="keep configurations and logs there")
    made.add_argument("--output", type=Path, metavar="FILE", help="write what came out there, as JSON")
    return made


def main(given: Sequence[str]) -> int:
    """Measure and print; the status is 0 if ours lost nothing that it may not lose."""
    arguments = parser().parse_args(given)
    search_system_folders()
    for name in arguments.targets.split(","):
        if name not in ALL:
            raise BenchError(f"there is no {name!r}; there are {', '.join(ALL)}")
        if not name.startswith("ours") and not installed(name):
            raise BenchError(f"{name} is not installed")
    if arguments.keep is not None:
        arguments.keep.mkdir(parents=True)
        return 0 if _run(arguments, arguments.keep.absolute()) else 1
    # The name of a socket is short.
    with tempfile.TemporaryDirectory() as folder:
        return 0 if _run(arguments, Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(status_of("bench", lambda: main(sys.argv[1:])))
