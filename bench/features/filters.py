"""What filters of the operator's cost a GET: ``make bench-filters`` prints it, in calls and in microseconds.

Each filter is switched on by ``--filter`` for all requests, as an operator would.  Calls are counted as ``bench.requests.calls``
does, for HTTP/1.1 on both sides; times are what the reactor's thread needs of the processor, so that neither the client nor other
programs count.  The least of several batches in several processes is shown: whatever else the machine does makes it
more, never less.  Calls are the same in each run.
"""

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Flag
from threading import Thread
from time import thread_time
from typing import Any, ClassVar

from attrs import frozen

from bench.requests.calls import OVER_HTTP1, Http1Peer, Measured, measure_here, run_here
from bench.setup.own_process import forked_processes, fresh_process
from ingress.annotations.access.address_ranges import AddressRanges, parse_ranges
from ingress.annotations.answers.custom_errors import CustomErrors
from ingress.annotations.rate_limits.family import ConnectionLimit, RequestLimit
from ingress.filters import (
    AnswerEdit,
    ChangesBy,
    Facts,
    FieldChanges,
    Filter,
    FilterSpec,
    Phase,
    Reply,
    RequestEdit,
    Services,
)
from ingress.options.installed_filters import GROUP

REQUESTS = 500
BATCHES = 10
RUNS = 2
CALL_ROUNDS = 9
_HOST = b"one.bench.test"
_REQUEST = b"GET / HTTP/1.1\r\nHost: %b\r\nAccept: */*\r\n\r\n" % _HOST
_BODY = b"<h1>One of the pages that a shop has</h1>\n"
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)


_RANGES = parse_ranges(",".join(("127.0.0.0/8", *(f"10.{n % 256}.{n // 256}.0/25" for n in range(999)))))
SEVEN = FieldChanges(put=tuple((b"X-Team-%d" % number, b"blue") for number in range(7)))


class Passes(Filter):
    """Looks at each request, and lets it pass."""

    def on_request(self, facts: Facts) -> Reply | None:
        """Let it pass."""
        return None


class AsksOfOptions(Filter):
    """Looks at each request whose method is OPTIONS."""

    asked_methods = frozenset({b"OPTIONS"})

    def on_request(self, facts: Facts) -> Reply | None:
        """Let it pass."""
        return None


class PutsOnAnswer(Filter):
    """Sets a header on answers."""

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        """Set it."""
        edit.put(b"X-Team", b"blue")


class ChangesAnswers(Filter):
    """Sets seven headers on answers, the same on each."""

    answer_changes = SEVEN


class ChangesSome(Filter):
    """Sets seven headers on answers to those who ask in a certain way."""

    answer_changes = ChangesBy(lambda origin: None if origin else SEVEN, b"origin")


class PutsOnRequest(Filter):
    """Sets a header on requests to endpoints."""

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        """Set it."""
        edit.put(b"X-Team", b"blue")


FILTERS: dict[str, tuple[str, type[Filter] | FilterSpec | None]] = {
    "none": ("no filter", None),
    "empty": ("an empty one: no hook", Filter),
    "passes": ("one that lets requests pass", Passes),
    "asks-of-options": ("one that lets OPTIONS pass", AsksOfOptions),
    "puts-on-request": ("one that sets a header to endpoints", PutsOnRequest),
    "puts-on-answer": ("one that sets a header on answers", PutsOnAnswer),
    "changes-answers": ("seven headers on answers, always the same", ChangesAnswers),
    "changes-some": ("seven headers, by a field of the request", ChangesSome),
    "limits-rate": ("a limit by the second", RequestLimit("bench", 1_000_000)),
    "limits-rates": ("limits by the second and the minute", RequestLimit("bench", 1_000_000, 10_000_000)),
    "limits-connections": ("a limit of connections", ConnectionLimit("bench", 1_000_000)),
    "custom-errors": ("statuses of error pages", CustomErrors((404, 502, 503))),
    "lets-in": ("a thousand address ranges", AddressRanges(_RANGES)),
}
"""By the arguments of the one filter that this module brings: what it is, and the class, or the spec of ours."""


@frozen
class BenchSpec:
    """Asks for one of the filters above."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "bench"

    which: str

    def describe(self) -> str:
        """Say which."""
        return FILTERS[self.which][0]

    def make(self, services: Services) -> Filter:
        """Make it."""
        kind = FILTERS[self.which][1]
        assert kind is not None
        return kind() if isinstance(kind, type) else kind.make(services)


@frozen
class Cost:
    """What one GET costs with a filter."""

    calls_in: int
    calls_out: int
    calls_of_others: int
    """The filter's own are among these."""
    microseconds: float
    """Of the processor, in the reactor's thread."""


def answer_gets(endpoint: socket.socket) -> None:
    """Answer each request on each connection to *endpoint*, for ever."""
    while True:
        try:
            connection, _ = endpoint.accept()
        except TimeoutError:
            continue
        except OSError:
            return
        Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    heard = b""
    while octets := connection.recv(65536):
        heard += octets
        while b"\r\n\r\n" in heard:
            heard = heard.partition(b"\r\n\r\n")[2]
            connection.sendall(_ANSWER)


def thread_time_of(reactor: Any) -> float:
    """Return what the reactor's thread has had of the processor so far, in seconds."""
    found: list[float] = []
    known = Flag()

    def look() -> None:
        found.append(thread_time())
        known.set()

    reactor.callFromThread(look)
    if not known.wait(30):
        raise TimeoutError("the reactor does not answer")
    return found[0]


def time_here(more: list[str]) -> float:
    """Return how many microseconds a GET takes of the processor in a controller with *more* options."""

    def drive(reactor: Any, port: int, endpoints: tuple[socket.socket, socket.socket]) -> float:
        Thread(target=answer_gets, args=endpoints[:1], daemon=True).start()
        client = Http1Peer(socket.create_connection(("127.0.0.1", port), 10), _REQUEST, _BODY)
        taken = []
        for batch in range(BATCHES + 1):
            before = thread_time_of(reactor)
            for _ in range(REQUESTS):
                client.say()
                client.hear()
            if batch:
                taken.append((thread_time_of(reactor) - before) / REQUESTS * 1e6)
        return min(taken)

    return run_here([*more, "--keep-alive-requests=1000000000"], drive)


@contextmanager
def brought() -> Iterator[None]:
    """Have processes find the filter here as if a package brought it: they get the path of this one."""
    with TemporaryDirectory() as folder:
        package = Path(folder, "bench_filters-1.dist-info")
        package.mkdir()
        (package / "METADATA").write_text("Metadata-Version: 2.1\nName: bench-filters\nVersion: 1\n")
        (package / "entry_points.txt").write_text(f"[{GROUP}]\nbench = bench.features.filters:BenchSpec\n")
        sys.path.append(folder)
        try:
            yield
        finally:
            sys.path.remove(folder)


def _options(which: str) -> list[str]:
    return [] if FILTERS[which][1] is None else [f"--filter=bench={which}"]


def count(which: str) -> Measured:
    """Count the calls of a GET with one filter, in a process of its own."""
    with forked_processes() as pool:
        (counted,) = pool.submit(measure_here, OVER_HTTP1[:1], CALL_ROUNDS, _options(which)).result()
    return counted


def measure(which: str) -> Cost:
    """Measure one filter, each way in a process of its own."""
    with brought(), fresh_process() as pool:
        figures = count(which).figures()
        seconds = min(pool.submit(time_here, _options(which)).result() for _ in range(RUNS))
    others = figures["others_in"] + figures["others_out"]
    return Cost(figures["in"], figures["out"], others, seconds)


def table(costs: dict[str, Cost]) -> str:
    """Return *costs* as lines, each beside what no filter costs."""
    lines = [f"{'':38}{'calls in':>9}{'out':>5}{'of others':>11}{'µs':>8}{'more':>7}"]
    plain = costs["none"]
    for which, cost in costs.items():
        more = cost.microseconds - plain.microseconds
        lines.append(
            f"{FILTERS[which][0]:38}{cost.calls_in:9}{cost.calls_out:5}{cost.calls_of_others:11}"
            f"{cost.microseconds:8.1f}{more:+7.1f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    print(table({which: measure(which) for which in FILTERS}))


if __name__ == "__main__":
    main()
