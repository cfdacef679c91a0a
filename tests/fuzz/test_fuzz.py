"""A short run of what ``make fuzz`` does for longer, and that it finds what is wrong."""

from collections.abc import Callable
from random import Random

from attrs import evolve
from twisted.logger import Logger
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.field_blocks import Layout
from ingress.http2.hpack.field_decoder import FieldDecoder
from tests.corpus.judge import WrongError
from tests.fakes.plain_code import need_plain_code
from tests.fuzz.alike_heads import fuzz_heads
from tests.fuzz.field_blocks import Decodes, Field, agree, field_decoder, generated
from tests.fuzz.mutations import WORDS, conversation, mutated
from tests.fuzz.parsers import FILLED_TABLE, parse_one
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

    def test_alike_heads(self) -> None:
        """Heads mean the same with layouts as without, and many of these are known."""
        self.assertGreater(sum(fuzz_heads(number) for number in range(40)), 40)

    def test_alike_heads_differ(self) -> None:
        """A head that means something else by its layout is found."""
        need_plain_code()

        def read(self: Layout[object], block: bytes, at: int) -> tuple[bytes, list[bytes]] | None:
            found = known(self, block, at)
            return found and (found[0].replace(b"c ", b"d "), found[1])

        known = Layout.read
        self.patch(Layout, "read", read)
        with self.assertRaises(WrongError):
            for number in range(40):
                fuzz_heads(number)

    def test_field_blocks(self) -> None:
        """Decoders agree on blocks that were changed; many of them are read, and many are not."""
        self.assertEqual(agree([FILLED_TABLE, b"\xbe\xbf\xc0", b"\xc1"]), 2)
        read = refused = 0
        for number in range(400):
            blocks = generated(Random(number), 0.25)
            known = agree(blocks)
            read += known
            refused += known < len(blocks)
        self.assertGreater(read, 800)
        self.assertGreater(refused, 160)

    def test_field_blocks_differ(self) -> None:
        """Decoders that do not agree are found: in a field, in what is too large, in what is refused."""

        class Wrong:
            def __init__(self) -> None:
                self._right = field_decoder()

            @property
            def list_size(self) -> int:
                return self._right.list_size

            def decode(self, block: bytes) -> list[Field]:
                return [(name, value[:3]) for name, value in self._right.decode(block.rstrip(b"!"))]

        def small() -> FieldDecoder[Field]:
            return FieldDecoder(lambda name, value: (name, value), most_bytes=41)

        self.assertEqual(agree([b"\x82"]), 1)
        makes: list[tuple[Callable[[], Decodes], bytes]] = [
            (Wrong, b"\x87"),
            (Wrong, b"\x82!"),
            (small, b"\x82"),
        ]
        for make, block in makes:
            self.assertRaises(WrongError, agree, [block], make)

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
