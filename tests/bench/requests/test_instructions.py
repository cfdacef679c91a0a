"""Instructions of a request, from what two runs took."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.loads.catalog import LOADS, Generator
from bench.measuring.counting import Callgrind, HardwareCounter
from bench.measuring.measure import least_requests
from bench.peers.targets import TARGETS, Target
from bench.reports import tables
from bench.requests.instructions import (
    TIMES_MORE,
    USUAL_LOADS,
    USUAL_TARGETS,
    Count,
    cell,
    countable,
    per_request,
    requests_of,
    under,
)
from bench.setup.choosing import chosen
from bench.setup.errors import BenchError


class PerRequestTests(SynchronousTestCase):
    """The difference of two runs."""

    def test_start_cancels(self) -> None:
        """What is done once, however many requests there are, does not count."""
        once, each = 5_000_000, 1000
        fewer, more = Count(once + 100 * each, 100, 0.0), Count(once + 300 * each, 300, 0.0)
        self.assertEqual(per_request(fewer, more, 0.0), 1000.0)

    def test_clock_cancels(self) -> None:
        """What would have been done without requests, too, does not count either, however long it took."""
        fewer, more = Count(100_000 + 7000, 100, 7.0), Count(300_000 + 90_000, 300, 90.0)
        self.assertEqual(per_request(fewer, more, 1000.0), 1000.0)

    def test_no_more(self) -> None:
        """Where the longer run had no more requests, nothing is divided."""
        self.assertRaises(BenchError, per_request, Count(1, 100, 0.0), Count(2, 100, 0.0), 0.0)

    def test_cell(self) -> None:
        """A figure is the median of its rounds, beside nginx, with how far they lie apart."""
        self.assertEqual(
            cell([1000.0, 1020.0, 1010.0], [500.0, 510.0]),
            {"per_request": 1010, "samples": [1000, 1020, 1010], "spread": 0.0198, "to_nginx": 2.0},
        )
        self.assertIsNone(cell([1.0], [])["to_nginx"])

    def test_rows(self) -> None:
        """Each target has a row, and who could not be counted says why."""
        targets = {"ours": cell([2000.0], [1000.0]), "nginx": {"failure": "h2 was not spoken"}}
        found = {"loads": {"x": {"title": "a load", "targets": targets}}}
        self.assertEqual(
            tables.instruction_rows(found)[1:],
            [["a load", "ours", "2,000", "2.00", "0.0%"], ["", "nginx", "h2 was not spoken", "-", "-"]],
        )


class LoadTests(SynchronousTestCase):
    """What is sent to programs that are counted."""

    def test_usual(self) -> None:
        """Both protocols are counted, with heads that repeat and that do not, with a body, and HTTP/2 on both sides."""
        loads = chosen(USUAL_LOADS, LOADS, False)
        self.assertEqual(len(loads), 6)
        self.assertEqual(
            [one.name for one in chosen(USUAL_TARGETS, TARGETS, False)], ["ours", "ours-compiled", "nginx"]
        )

    def test_exact_numbers(self) -> None:
        """Every load of these has a generator that sends an exact number of requests."""
        generators = {countable(one).generator for one in chosen(USUAL_LOADS, LOADS, False)}
        self.assertNotIn(Generator.WRK, generators)

    def test_more_than_connections(self) -> None:
        """Also the shorter run has more requests than are under way at once, and the longer no more than connections last."""
        for load in chosen(USUAL_LOADS, LOADS, False):
            for is_slow in (True, False):
                few = requests_of(load, is_slow)
                self.assertGreater(few, load.connections * load.streams, load.name)
                self.assertLess(few * TIMES_MORE / load.connections, 1000, load.name)

    def test_longer_is_longer(self) -> None:
        """Also of large bodies, of which there are few, the longer run has more requests than are sent at least."""
        for load in LOADS:
            for is_slow in (True, False):
                self.assertGreaterEqual(requests_of(load, is_slow), least_requests(load), load.name)

    def test_slow(self) -> None:
        """Ours is told not to mind that it is slow, where it is."""
        target = Target("x", "x", "", lambda site: ["program"], when_slow=("--patient",))
        site = None  # no command of this test looks at it
        slow, quick = under(Callgrind(Path("/folder")), target), under(HardwareCounter(), target)
        self.assertEqual(slow.command(site)[-2:], ["program", "--patient"])  # type: ignore[arg-type]
        self.assertEqual(quick.command(site), ["program"])  # type: ignore[arg-type]
