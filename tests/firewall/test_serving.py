"""What a firewall process does with frames."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.firewall.messages import (
    Kind,
    answer_head_to_bytes,
    loaded_of,
    parts_to_bytes,
    request_head_to_bytes,
    said_of,
)
from ingress.firewall.serving import MOST_RULES_BYTES, Inspection
from ingress.model.exchanges.firewall import InspectedAnswer, InspectedRequest
from ingress.process.framing import Frame, NonsenseError
from tests.firewall.fake_library import FakeLibrary


def request(target: bytes, stays: bool = False) -> InspectedRequest:
    """Return a request."""
    return InspectedRequest(b"id", b"10.0.0.1", b"shop.test", 80, b"GET", target, b"", b"", stays)


class InspectionTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.library = FakeLibrary()
        self.inspection = Inspection(self.library)

    def load(self, number: int, *parts: str | None) -> tuple[int, str]:
        """Load a rule set; return what it takes of memory, and why it is refused."""
        said = self.inspection.take(Frame(Kind.LOAD, number, parts_to_bytes(parts)))
        assert said is not None
        self.assertEqual((said.kind, said.number), (Kind.LOADED, number))
        return loaded_of(said.payload)

    def ask(self, ticket: int, target: bytes, rules: int = 1, stays: bool = False) -> int:
        """Have a request judged; return the status that it is to be answered with."""
        said = self.inspection.take(
            Frame(Kind.REQUEST, ticket, request_head_to_bytes(rules, request(target, stays)))
        )
        assert said is not None
        self.assertEqual((said.kind, said.number), (Kind.VERDICT, ticket))
        return said_of(said.payload).status

    def test_a_request_alone(self) -> None:
        """It is judged, and its transaction is closed at once, whether it passes or not."""
        self.assertEqual(self.load(1, "x", None), (0, ""))
        self.assertEqual([self.ask(1, b"/"), self.ask(2, b"/deny")], [0, 403])
        self.assertEqual(self.library.closed, 2)

    def test_a_request_with_its_answer(self) -> None:
        """Its transaction waits for the answer, unless it was refused."""
        self.load(1, "x")
        self.assertEqual([self.ask(5, b"/", stays=True), self.ask(6, b"/deny", stays=True)], [0, 403])
        self.assertEqual(self.library.closed, 1)
        said = self.inspection.take(
            Frame(Kind.ANSWER, 5, answer_head_to_bytes(InspectedAnswer(5, 200, b"X-Leak: 1\r\n")))
        )
        assert said is not None
        self.assertEqual(said_of(said.payload).status, 502)
        self.assertEqual(self.library.closed, 2)

    def test_the_body_of_an_answer(self) -> None:
        """It is judged with its head, where it is looked at."""
        self.load(1, "x")
        for ticket, body, status in ((5, b"a secret", 502), (6, b"", 0), (7, None, 0)):
            self.ask(ticket, b"/", stays=True)
            head = answer_head_to_bytes(InspectedAnswer(ticket, 200, b"", body))
            said = self.inspection.take(Frame(Kind.ANSWER, ticket, head + (body or b"")))
            assert said is not None
            self.assertEqual(said_of(said.payload).status, status)
        self.assertEqual(self.library.closed, 3)

    def test_leaving(self) -> None:
        """What nobody waits for any more is closed, and what is not there is nobody's mistake."""
        self.load(1, "x")
        self.ask(5, b"/", stays=True)
        for _ in range(2):
            self.assertIsNone(self.inspection.take(Frame(Kind.LEAVE, 5)))
        self.assertEqual(self.library.closed, 1)

    def test_rules(self) -> None:
        """Those that are refused say why, and those that are unloaded are closed."""
        self.assertEqual(self.load(1, "refused"), (0, "line 1 is no rule"))
        self.assertEqual(self.load(2, "x"), (0, ""))
        self.assertEqual(self.library.rules, 1)
        self.inspection.take(Frame(Kind.UNLOAD, 2))
        self.assertEqual(self.library.rules, 0)

    def test_memory(self) -> None:
        """It is told what a rule set takes, and one that takes too much is given up at once."""
        self.assertEqual(self.load(1, "4096"), (4096, ""))
        self.assertEqual(
            self.load(2, str(MOST_RULES_BYTES + 1)), (0, "they take 32 MiB of memory, and may take 32")
        )
        self.assertEqual(self.library.rules, 1)
        self.assertEqual(self.ask(1, b"/", rules=1), 0)
        self.assertRaises(NonsenseError, self.ask, 2, b"/", rules=2)

    def test_nonsense(self) -> None:
        """Rules and requests that are not there, and frames of no kind, are nonsense."""
        for frame in (
            Frame(Kind.REQUEST, 1, request_head_to_bytes(9, request(b"/"))),
            Frame(Kind.ANSWER, 1, answer_head_to_bytes(InspectedAnswer(1, 200, b""))),
            Frame(99),
            Frame(Kind.REQUEST, 1, b"x"),
        ):
            self.assertRaises(NonsenseError, self.inspection.take, frame)
