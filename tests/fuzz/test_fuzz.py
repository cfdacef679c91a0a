"""A short run of what ``make fuzz`` does for longer, and that it finds what is wrong."""

from random import Random

from attrs import evolve
from twisted.logger import Logger
from twisted.trial.unittest import SynchronousTestCase

from tests.corpus.judge import WrongError
from tests.fuzz.mutations import WORDS, conversation, mutated
from tests.fuzz.parsers import parse_one
from tests.fuzz.streams import check, fuzz_one, nothing_logged

HALF = b"HTTP/1.1 200 OK\r\nServer: txingress\r\nContent-Length: 99\r\n\r\n"


class FuzzTests(SynchronousTestCase):
    """The first conversations."""

    def test_first(self) -> None:
        """The first six hundred conversations go well; many of them reach upstream, and many do not."""
        reached = sum(bool(fuzz_one(number)[1].requests) for number in range(600))
        self.assertGreater(reached, 120)
        self.assertLess(reached, 480)

    def test_parsers(self) -> None:
        """Parsers raise nothing but their own errors."""
        random = Random(1)
        for number in range(3000):
            octets = conversation(Random(number)).sent if number % 2 else random.randbytes(number % 97)
            parse_one(mutated(random, octets, WORDS))

    def test_same_again(self) -> None:
        """A number stands for one conversation."""
        self.assertEqual(conversation(Random(5)), conversation(Random(5)))
        self.assertNotEqual(conversation(Random(5)), conversation(Random(6)))

    def test_finds(self) -> None:
        """What is wrong with an outcome is found."""
        number = next(number for number in range(100) if fuzz_one(number)[1].requests)
        case, outcome = fuzz_one(number)
        request = outcome.requests[0]
        forged = evolve(outcome)
        for wrong in (
            evolve(outcome, unfinished=[(b"GET / HTTP/1.1\r\n", False)]),
            evolve(outcome, unfinished=[(b"GET / HTTP/1.1\r\nA : b\r\n\r\n", True)]),
            evolve(outcome, peer=b"192.0.2.9"),
            evolve(outcome, received=HALF * 2),
        ):
            with self.assertRaises(WrongError):
                check(evolve(case, sent=b"", hangs_up=True), wrong)
        request.fields.append((b"X_Y", b"z"))
        with self.assertRaises(WrongError):
            check(case, forged)
        with self.assertRaises(WrongError), nothing_logged():
            try:
                raise KeyError
            except KeyError:
                Logger().failure("wrong")
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)
