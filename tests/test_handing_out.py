"""How the tests themselves are handed out to several processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from tests.handing_out import from_both_ends, hand_out_modules, in_order, shares


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

    def test_waiting(self) -> None:
        """Modules that wait for other processes are begun soon, and between them others; none is missing."""
        for names, order in (
            ("a b c d e W X Y", "W a e X b d Y c"),
            ("a W b X c Y", "W a c X b Y"),
            ("a b c", "a c b"),
            ("W X", "W X"),
            ("", ""),
        ):
            modules = [f"tests.end_to_end.{name}" if name.isupper() else name for name in names.split()]
            found = [share.name.rpartition(".")[2] for share in in_order(shares(tests_of(*modules)))]
            self.assertEqual(found, order.split())


class HandOutTests(SynchronousTestCase):
    """``hand_out_modules``, with what stands for trial."""

    def setUp(self) -> None:
        self.ran: list[object] = []
        self.prepared: list[int] = []
        self.lost: object = None

        class Process:
            """Runs tests, unless it is gone."""

            async def run(process, test: object, result: object) -> None:  # noqa: N805 - the test is self
                if test is self.lost:
                    raise ConnectionError
                self.ran.append(test)

        self.process: Any = Process()
        self.disttrial: Any = SimpleNamespace(_iterateTests=iter)
        worker = SimpleNamespace(LocalWorkerAMP=Process)
        hand_out_modules(self.disttrial, worker, lambda: self.prepared.append(len(self.ran)))

    def test_share(self) -> None:
        """A process runs all tests of its share, and what they need was prepared before."""
        tests = tests_of("a", "b", "a")
        first, _ = self.disttrial._iterateTests(tests)
        self.successResultOf(Deferred.fromCoroutine(self.process.run(first, None)))
        self.assertEqual(self.ran, [tests[0], tests[2]])
        self.assertEqual(self.prepared, [0])

    def test_process_that_is_gone(self) -> None:
        """Each test of a share that could not be run is an error of its own."""
        tests = tests_of("a", "a", "a")
        self.lost = tests[1]
        errors: list[object] = []
        result = SimpleNamespace(original=SimpleNamespace(addError=lambda test, failure: errors.append(test)))
        (share,) = self.disttrial._iterateTests(tests)
        self.successResultOf(Deferred.fromCoroutine(self.process.run(share, result)))
        self.assertEqual((self.ran, errors), ([tests[0], tests[2]], [tests[1]]))
