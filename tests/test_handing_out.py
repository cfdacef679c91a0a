"""How the tests themselves are handed out to several processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from tests.handing_out import LONG, WAITING, Share, Shares, from_both_ends, hand_out_modules, shares


def tests_of(*modules: str) -> list[object]:
    """A test for each of *modules*, of a class there."""
    return [type("Tests", (), {"__module__": module})() for module in modules]


LIGHT = "import sys; import tests; print([one for one in ('hypothesis', 'twisted') if one in sys.modules])"


class ProgramTests(SynchronousTestCase):
    """Programs that tests start, which are of this package, too."""

    def test_light(self) -> None:
        """They begin without what is for tests alone."""
        repository = Path(__file__).parents[1]
        done = subprocess.run([sys.executable, "-c", LIGHT], cwd=repository, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("[]\n", ""))


class SharesTests(SynchronousTestCase):
    """``shares``."""

    def test_modules(self) -> None:
        """Each module is one share, in which no test is missing, and both keep their order."""
        one, two, three, four = tests_of("b", "a", "b", "c")
        self.assertEqual(
            [share.tests for share in shares([one, two, three, four])], [[one, three], [two], [four]]
        )


class OrderTests(SynchronousTestCase):
    """``from_both_ends``."""

    def test_all(self) -> None:
        """None is missing, however many there are."""
        self.assertEqual(
            ["".join(from_both_ends("abcde"[:size])) for size in range(6)],
            ["", "a", "ab", "acb", "adbc", "aebdc"],
        )


class TakingTests(SynchronousTestCase):
    """``Shares``: modules named in capitals wait for other processes."""

    def taken(self, names: str, busy: int) -> tuple[Shares, list[Share]]:
        """Return all shares, and as many of them as three processes begin with."""
        modules = [f"tests.end_to_end.{name}" if name.isupper() else name for name in names.split()]
        pool = Shares(shares(tests_of(*modules)), busy)
        return pool, [pool.take() for _ in range(3)]

    def names(self, some: Sequence[Share]) -> str:
        """Return the names of modules."""
        return "".join(share.name.rpartition(".")[2] for share in some)

    def test_some_are_always_busy(self) -> None:
        """As many processes as are to be busy have modules that do not wait, the others those that do, until there are none of one sort."""
        pool, running = self.taken("a b c d W X Y Z", busy=2)
        self.assertEqual(self.names(running), "adW")
        for ended, next_one in ((0, "b"), (2, "X"), (1, "c"), (0, "Y"), (2, "Z")):
            pool.ended(running[ended])
            running[ended] = pool.take()
            self.assertEqual(running[ended].name.rpartition(".")[2], next_one)

    def test_long_ones(self) -> None:
        """What takes long is begun before all that does not."""
        _, running = self.taken(f"a b {LONG[0]} c", busy=3)
        self.assertEqual([share.name for share in running], [LONG[0], "a", "c"])

    def test_names(self) -> None:
        """Each name is that of a module, or of a folder of some."""
        repository = Path(__file__).parents[1]
        for name in (*WAITING, *LONG):
            path = repository / name.replace(".", "/")
            self.assertTrue(path.is_dir() or [*path.parent.glob(f"{path.name}*.py")], name)

    def test_nothing_that_waits(self) -> None:
        """Where nothing waits any more, all processes are busy."""
        pool, running = self.taken("a b c d W", busy=1)
        self.assertEqual(self.names(running), "aWd")
        self.assertEqual(self.names([pool.take(), pool.take()]), "bc")


class HandOutTests(SynchronousTestCase):
    """``hand_out_modules``, with what stands for trial."""

    def setUp(self) -> None:
        self.ran: list[object] = []
        self.prepared: list[int] = []
        self.lost: object = None
        self.hold: Callable[[], Awaitable[None]] | None = None

        class Process:
            """Runs tests, unless it is gone."""

            async def run(process, test: object, result: object) -> None:  # noqa: N805 - the test is self
                if test is self.lost:
                    raise ConnectionError
                self.ran.append(test)
                if self.hold is not None:
                    await self.hold()

        self.process: Any = Process()
        self.disttrial: Any = SimpleNamespace(_iterateTests=iter)
        worker = SimpleNamespace(LocalWorkerAMP=Process)
        hand_out_modules(self.disttrial, worker, lambda: self.prepared.append(len(self.ran)), busy=1)

    def test_share(self) -> None:
        """A process runs all tests of its share, and what they need was prepared before."""
        tests = tests_of("a", "b", "a")
        for turn in self.disttrial._iterateTests(tests):
            self.successResultOf(Deferred.fromCoroutine(self.process.run(turn, None)))
        self.assertEqual(self.ran, [tests[0], tests[2], tests[1]])
        self.assertEqual(self.prepared, [0])

    def test_again(self) -> None:
        """They can be run once more, as they are until something fails."""
        tests = tests_of("a", "tests.end_to_end.b")
        turns = self.disttrial._iterateTests(tests)
        for turn in (*turns, *turns):
            self.successResultOf(Deferred.fromCoroutine(self.process.run(turn, None)))
        self.assertEqual(self.ran, [*tests, *tests])

    def test_side_by_side(self) -> None:
        """Whichever of them is next is decided when a process asks: one that waits where another is busy."""
        tests = tests_of("a", "b", "tests.end_to_end.c")
        held: list[Deferred[None]] = []

        def hold() -> Deferred[None]:
            held.append(Deferred())
            return held[-1]

        self.hold = hold
        running = [
            Deferred.fromCoroutine(self.process.run(turn, None))
            for turn in self.disttrial._iterateTests(tests)[:2]
        ]
        self.assertEqual(self.ran, [tests[0], tests[2]])
        for one, end in zip(running, held, strict=True):
            end.callback(None)
            self.successResultOf(one)

    def test_process_that_is_gone(self) -> None:
        """Each test of a share that could not be run is an error of its own."""
        tests = tests_of("a", "a", "a")
        self.lost = tests[1]
        errors: list[object] = []
        result = SimpleNamespace(original=SimpleNamespace(addError=lambda test, failure: errors.append(test)))
        (turn,) = self.disttrial._iterateTests(tests)
        self.successResultOf(Deferred.fromCoroutine(self.process.run(turn, result)))
        self.assertEqual((self.ran, errors), ([tests[0], tests[2]], [tests[1]]))
