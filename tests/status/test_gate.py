"""The gate that all writes of a leader pass."""

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_thread import Outcome
from ingress.status.gate import Gate


class GateTests(SynchronousTestCase):
    """Open, closed, and open again."""

    def setUp(self) -> None:
        self.sent: list[str] = []
        self.answers: list[Callable[[Outcome], None]] = []
        self.gate = Gate(self.send)
        self.done: list[Outcome] = []

    def send(self, request: ApiRequest, done: Callable[[Outcome], None]) -> None:
        self.sent.append(request.path)
        self.answers.append(done)

    def ask(self, path: str) -> None:
        self.gate.ask(ApiRequest("GET", path), self.done.append)

    def test_open(self) -> None:
        """What is asked goes through at once, and it is quiet when all is answered."""
        self.assertTrue(self.gate.is_quiet)
        self.ask("/one")
        self.assertEqual(self.sent, ["/one"])
        self.assertFalse(self.gate.is_quiet)
        self.answers[0]({"a": 1})
        self.assertEqual(self.done, [{"a": 1}])
        self.assertTrue(self.gate.is_quiet)

    def test_closed(self) -> None:
        """While it is closed, what is under way ends, and what is asked waits, to go in its order later."""
        self.ask("/one")
        self.gate.close()
        self.ask("/two")
        self.ask("/three")
        self.answers[0]({})
        self.assertEqual(self.sent, ["/one"])
        self.assertTrue(self.gate.is_quiet)
        self.gate.open()
        self.assertEqual(self.sent, ["/one", "/two", "/three"])
        self.assertFalse(self.gate.is_quiet)
