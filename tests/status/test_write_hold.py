"""What holds all writes of a leader."""

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_thread import Outcome
from ingress.status.write_hold import WriteHold


class WriteHoldTests(SynchronousTestCase):
    """Off, on, and off again."""

    def setUp(self) -> None:
        self.sent: list[str] = []
        self.answers: list[Callable[[Outcome], None]] = []
        self.write_hold = WriteHold(self.send)
        self.done: list[Outcome] = []

    def send(self, request: ApiRequest, done: Callable[[Outcome], None]) -> None:
        self.sent.append(request.path)
        self.answers.append(done)

    def ask(self, path: str) -> None:
        self.write_hold.ask(ApiRequest("GET", path), self.done.append)

    def test_off(self) -> None:
        """What is asked goes through at once, and it is quiet when all is answered."""
        self.assertTrue(self.write_hold.is_quiet)
        self.ask("/one")
        self.assertEqual(self.sent, ["/one"])
        self.assertFalse(self.write_hold.is_quiet)
        self.answers[0]({"a": 1})
        self.assertEqual(self.done, [{"a": 1}])
        self.assertTrue(self.write_hold.is_quiet)

    def test_on(self) -> None:
        """While it holds, what is under way ends, and what is asked waits, to go in its order later."""
        self.ask("/one")
        self.write_hold.hold()
        self.ask("/two")
        self.ask("/three")
        self.answers[0]({})
        self.assertEqual(self.sent, ["/one"])
        self.assertTrue(self.write_hold.is_quiet)
        self.write_hold.go_on()
        self.assertEqual(self.sent, ["/one", "/two", "/three"])
        self.assertFalse(self.write_hold.is_quiet)
