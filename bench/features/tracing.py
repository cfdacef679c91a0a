"""What tracing costs a GET: ``make bench-tracing`` prints it, in calls and in microseconds of the processor.

The controller runs as ``twistd ingress``, three times beside each other: without tracing, with one request in a hundred sampled, and with
all of them.  A collector of the tests' own takes their spans by OTLP and decodes them.  One nginx, on the other CPU, is the
endpoint.  Measured is the processor time of the proxy, of all its threads and in the kernel, so what makes and sends
spans counts, too.  The three take turns, and the least of several runs is shown: whatever else the machine does makes it more, never less.
Calls are those of the reactor's thread on the way in and out, as ``bench.requests.calls`` counts them.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.features.auth import OTHER_CPU, PEER, PROXY_CPU, SITE, load, nginx_command, our_command
from bench.measuring.gauges import cpu_seconds
from bench.peers.install import ensure_programs, search_system_folders
from bench.requests.calls import OVER_HTTP1, measure_here
from bench.setup.ending import status_of
from bench.setup.own_process import forked_processes
from bench.setup.processes import HOST, Processes, free_ports, pause, wait_until_it_answers
from tests.tracing.receiver import Receiver

REQUESTS = 20_000
RUNS = 5
CALL_ROUNDS = 25
SETTLE_SECONDS = 1.0
"""After a load: what waits is sent after half of that."""
_ENDPOINT = "--tracing-endpoint={url}"
_ALWAYS = ("--tracing-most-per-second=0", "--tracing-delay=0.5", "--tracing-queue-size=65536")
CANDIDATES = {
    "without tracing": (),
    "none sampled": (_ENDPOINT, *_ALWAYS, "--tracing-ratio=0"),
    "1 % sampled": (_ENDPOINT, *_ALWAYS, "--tracing-ratio=0.01"),
    "all sampled": (_ENDPOINT, *_ALWAYS, "--tracing-ratio=1"),
}
"""Options by what is shown; ``{url}`` stands for the collector."""


def calls(url: str) -> dict[str, dict[str, int]]:
    """Count the calls of a GET for each candidate, each in a process of its own."""
    found = {}
    for title, options in CANDIDATES.items():
        with forked_processes() as pool:
            more = [option.format(url=url) for option in options]
            [measured] = pool.submit(measure_here, OVER_HTTP1[:1], CALL_ROUNDS, more).result()
        found[title] = measured.figures()
    return found


def times(folder: Path, receiver: Receiver) -> tuple[dict[str, float], dict[str, float]]:
    """Return microseconds of the processor for a request, and spans that came for one, by candidate."""
    least: dict[str, float] = {}
    spans = dict.fromkeys(CANDIDATES, 0.0)
    with Processes.logging_to(folder) as processes:
        peer, *ports = free_ports(1 + len(CANDIDATES))
        content = PEER.format(host=HOST, peer=peer, answer="x" * 99 + "\\n")
        backend = processes.start("peer", nginx_command(folder, "peer", content), OTHER_CPU)
        wait_until_it_answers(backend, peer, SITE)
        running = {}
        for (title, options), port in zip(CANDIDATES.items(), ports, strict=True):
            more = [option.replace("{url}", receiver.url) for option in options]
            command = our_command("{{}}", *more)(folder, port, peer)
            process = processes.start(f"candidate-{port}", command, PROXY_CPU)
            wait_until_it_answers(process, port, SITE)
            load(port, REQUESTS // 10)
            running[title] = process, port
        for _ in range(RUNS):
            for title, (process, port) in running.items():
                pause(SETTLE_SECONDS)
                receiver.forget()
                before = cpu_seconds(process.pid)
                load(port, REQUESTS)
                pause(SETTLE_SECONDS)
                taken = (cpu_seconds(process.pid) - before) / REQUESTS * 1e6
                least[title] = min(taken, least.get(title, taken))
                spans[title] = max(spans[title], len(receiver.spans()) / REQUESTS)
    return least, spans


def main() -> None:
    """Print the table."""
    search_system_folders()
    ensure_programs(["nginx", "h2load", "taskset"])
    receiver = Receiver()
    counted = calls(receiver.url)
    with TemporaryDirectory() as name:
        least, spans = times(Path(name), receiver)
    receiver.stop()
    plain = next(iter(CANDIDATES))
    print(f"{'':18}{'calls in':>10}{'out':>6}{'µs':>8}{'ratio':>8}{'spans of a request':>20}")
    for title in CANDIDATES:
        figures, taken = counted[title], least[title]
        print(
            f"{title:18}{figures['in']:10}{figures['out']:6}{taken:8.1f}{taken / least[plain]:8.2f}{spans[title]:20.3f}"
        )


if __name__ == "__main__":
    sys.exit(status_of("bench", main))
