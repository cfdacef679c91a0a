"""The load generators: h2load, wrk, and programs of this folder; their command lines, and what they print.

Pure, but for ``latencies``, which reads the log that h2load wrote.
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from bench.loads.catalog import Generator, Load, Protocol
from bench.loads.handshake_client import RESUMED, WHOLE
from bench.setup.errors import BenchError
from bench.setup.processes import HOST

SCRIPTS = Path(__file__).parent / "wrk"


@frozen
class Outcome:
    """What a generator counted: answers with status 2xx, and everything else."""

    succeeded: int
    failed: int
    reason: str = ""
    """Why something failed, where the generator says it."""
    protocol: Protocol | None = None
    """What was spoken, where that was agreed on and the generator says it."""


def command(
    load: Load, port: int, requests: int, seconds: int, body: Path, log: Path, certificate: Path
) -> list[str]:
    """The command that sends *load* to *port*.

    h2load sends *requests*, with *body* as the content of each if the load uploads,
    and logs every request of a load of fixed rate to *log*.  wrk runs for *seconds*.
    grpcio trusts *certificate*, and who makes a handshake for each request wants to be shown just that; the others trust
    whomever they meet.
    """
    match load.generator:
        case Generator.WRK:
            return [
                "wrk",
                "--threads=1",
                f"--connections={load.connections}",
                f"--duration={seconds}s",
                f"--script={SCRIPTS / load.script}",
                f"{load.scheme}://{load.host}:{port}{load.path}",
            ]
        case Generator.UNIQUE:
            counts = f"{load.connections} {load.streams} {requests}".split()
            return [*_program("unique_client"), str(port), load.host, *counts]
        case Generator.UNIQUE_HTTP1:
            counts = f"{load.connections} {requests}".split()
            return [*_program("unique_http1_client"), str(port), load.host, *counts]
        case Generator.HANDSHAKE:
            kind = RESUMED if load.resumes else WHOLE
            what = [str(port), load.host, str(certificate), load.tls_version, kind]
            return [*_program("handshake_client"), *what, str(load.connections), str(requests)]
        case Generator.GRPC_UNARY | Generator.GRPC_BIDI:
            kind = load.generator.value.split()[-1]
            counts = [str(load.streams), str(requests)]
            return [*_program("grpc_client"), kind, str(port), load.host, str(certificate), *counts]
        case Generator.H2LOAD:
            return _h2load(load, port, requests, body, log)


def _program(name: str) -> list[str]:
    return [sys.executable, "-m", f"bench.loads.{name}"]


def _h2load(load: Load, port: int, requests: int, body: Path, log: Path) -> list[str]:
    words = [
        "h2load",
        # Nothing else is offered, so that no load changes its protocol with what a proxy can do.
        "--h1" if load.protocol is Protocol.HTTP1 else "--npn-list=h2",
        "--threads=1",
        f"--clients={load.connections}",
        f"--max-concurrent-streams={load.streams}",
        f"--requests={requests}",
        f"--connect-to={HOST}:{port}",
        *(f"--header={name}: {value}" for name, value in load.fields),
    ]
    if load.upload_bytes:
        words.append(f"--data={body}")
    if load.rate:
        words += [f"--rps={load.rate / load.connections}", f"--log-file={log}"]
    return [*words, f"{load.scheme}://{load.host}{load.path}"]


def outcome(generator: Generator, output: str) -> Outcome:
    """Read what *generator* printed.  Raises BenchError when the counts are not there."""
    match generator:
        case Generator.H2LOAD:
            return _h2load_outcome(output)
        case Generator.WRK:
            return _wrk_outcome(output)
        case _:
            return _own_outcome(output)


def _own_outcome(output: str) -> Outcome:
    """Of the programs of this folder; before their last line anything may stand that libraries print."""
    try:
        counted = json.loads(output.strip().splitlines()[-1])
        return Outcome(counted["succeeded"], counted["failed"], counted["reason"])
    except (IndexError, KeyError, TypeError, ValueError):
        raise BenchError(f"a generator printed no counts: {output.strip()[-200:]}") from None


def _h2load_outcome(output: str) -> Outcome:
    total = re.search(r"^requests: (\d+) total", output, re.MULTILINE)
    good = re.search(r"^status codes: (\d+) 2xx", output, re.MULTILINE)
    if total is None or good is None:
        raise BenchError("h2load printed no counts")
    succeeded = int(good[1])
    agreed = re.search(r"^Application protocol: (\S+)", output, re.MULTILINE)
    known = {one.value: one for one in Protocol}
    return Outcome(
        succeeded, int(total[1]) - succeeded, protocol=known.get(agreed[1]) if agreed is not None else None
    )


def _wrk_outcome(output: str) -> Outcome:
    total = re.search(r"^\s*(\d+) requests in ", output, re.MULTILINE)
    if total is None:
        raise BenchError("wrk printed no counts")
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    bad_status = int(refused[1]) if refused else 0
    lost = sum(int(count) for count in broken.groups()) if broken else 0
    # wrk counts an answer with another status among its requests, a broken socket not.
    return Outcome(int(total[1]) - bad_status, bad_status + lost)


def latencies(lines: Sequence[str]) -> list[int]:
    """The microseconds that each request took, from the *lines* of h2load's log."""
    return [int(line.split("\t")[2]) for line in lines if line.strip()]
