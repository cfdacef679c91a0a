"""What finding a route costs, by the number of hosts: ``python -m bench.requests.lookup`` prints it as JSON.

In this process, without any network.  Two patterns, for each number of hosts:

- ``ten_hosts_ns``: the same ten hosts again and again, spread over the table.  It shows
  what the algorithm costs;
- ``all_hosts_ns``: every host as likely as any other.  With many hosts this is mostly
  memory that no cache holds, which no table escapes.

Hosts are fresh objects each time, as in requests: their hash is not known yet.
"""

import json
import random
from collections.abc import Sequence
from statistics import median
from time import perf_counter_ns

from attrs import frozen

from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.upstream.backends import BackendReference
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable

SIZES = (10, 100, 1_000, 10_000, 100_000)
ROUNDS = 15
LOOKUPS = 20_000
FEW = 10
SEED = 1
PATH = b"/catalog/shoes/42"


def host(number: int) -> str:
    """The name of host *number*."""
    return f"shop-{number:06}.customers.example.com"


def table(size: int) -> RouteTable:
    """A table of *size* hosts, each with two paths."""
    backend = BackendReference("bench", "backend", 80)
    owner = Owner(Kind.INGRESS, ObjectKey("bench", "bench"))
    return RouteTable(
        Route(host(number), path, Match.PREFIX, owner, backend)
        for number in range(size)
        for path in ("/", "/catalog")
    )


@frozen
class Pattern:
    """Which hosts are asked for."""

    name: str
    hosts: int | None
    """So many, spread over the table; None for all of them."""

    def numbers(self, size: int, generator: random.Random) -> list[int]:
        """The hosts of one batch of lookups in a table of *size*."""
        few = self.hosts or size
        return [generator.randrange(few) * (size // few) for _ in range(LOOKUPS)]


PATTERNS = (Pattern("ten_hosts_ns", FEW), Pattern("all_hosts_ns", None))


def nanoseconds(routes: RouteTable, numbers: Sequence[int]) -> float:
    """What one lookup took on average; the loop itself, some 10 ns, included."""
    names = [host(number).encode("ascii") for number in numbers]
    find = routes.find
    begun = perf_counter_ns()
    for name in names:
        find(name, PATH)
    return (perf_counter_ns() - begun) / len(names)


def lookup_results() -> dict[str, dict[str, float]]:
    """The median of each pattern, by the number of hosts, measured in interleaved rounds."""
    generator = random.Random(SEED)
    tables = {size: table(size) for size in SIZES}
    for size, routes in tables.items():
        if routes.find(host(size - 1).encode("ascii"), PATH) is None:
            raise AssertionError("a lookup that finds nothing measures nothing")
    taken: dict[tuple[int, str], list[float]] = {}
    for _ in range(ROUNDS):
        for size, routes in tables.items():
            for pattern in PATTERNS:
                spent = nanoseconds(routes, pattern.numbers(size, generator))
                taken.setdefault((size, pattern.name), []).append(spent)
    return {
        str(size): {pattern.name: round(median(taken[size, pattern.name]), 1) for pattern in PATTERNS}
        for size in SIZES
    }


if __name__ == "__main__":
    print(json.dumps(lookup_results()))
