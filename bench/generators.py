"""The load generators h2load and wrk: their command lines, and what their output says.

Pure, but for ``latencies``, which reads the log that h2load wrote.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from bench.errors import BenchError
from bench.loads import Generator, Load
from bench.processes import HOST

SCRIPTS = Path(__file__).parent / "wrk"


@frozen
class Outcome:
    """What a generator counted: answers with status 2xx, and everything else."""

    succeeded: int
    failed: int


def command(load: Load, port: int, requests: int, seconds: int, body: Path, log: Path) -> list[str]:
    """The command that sends *load* to *port*.

    h2load sends *requests*, with *body* as the content of each if the load uploads,
    and logs every request of a load of fixed rate to *log*.  wrk runs for *seconds*.
    """
    if load.generator is Generator.WRK:
        return [
            "wrk",
            "--threads=1",
            f"--connections={load.connections}",
            f"--duration={seconds}s",
            f"--script={SCRIPTS / load.script}",
            f"{load.scheme}://{load.host}:{port}{load.path}",
        ]
    words = [
        "h2load",
        "--h1",
        "--threads=1",
        f"--clients={load.connections}",
        f"--requests={requests}",
        f"--connect-to={HOST}:{port}",
    ]
    if load.upload_bytes:
        words.append(f"--data={body}")
    if load.rate:
        words += [f"--rps={load.rate / load.connections}", f"--log-file={log}"]
    return [*words, f"{load.scheme}://{load.host}{load.path}"]


def outcome(generator: Generator, output: str) -> Outcome:
    """Read what *generator* printed.  Raises BenchError when the counts are not there."""
    return _h2load_outcome(output) if generator is Generator.H2LOAD else _wrk_outcome(output)


def _h2load_outcome(output: str) -> Outcome:
    total = re.search(r"^requests: (\d+) total", output, re.MULTILINE)
    good = re.search(r"^status codes: (\d+) 2xx", output, re.MULTILINE)
    if total is None or good is None:
        raise BenchError("h2load printed no counts")
    succeeded = int(good[1])
    return Outcome(succeeded, int(total[1]) - succeeded)


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
