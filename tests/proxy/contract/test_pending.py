"""Tests for ``ingress.proxy.contract.pending``: what is still to come, for one who waits for it."""

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.contract.pending import Pending


class PendingTests(SynchronousTestCase):
    """One thing to come."""

    def setUp(self) -> None:
        self.heard: list[object] = []
        self.pending: Pending[str] = Pending(lambda: self.heard.append("cancelled"))

    def listen(self) -> None:
        """Wait for it."""
        self.pending.listen(self.heard.append, self.heard.append)

    def test_comes(self) -> None:
        """What comes is told, whether it is waited for before or after; and once."""
        for is_early in (True, False):
            self.setUp()
            if is_early:
                self.listen()
            self.pending.come("it")
            self.pending.come("again")
            self.pending.fail(ValueError())
            self.pending.cancel()
            if not is_early:
                self.listen()
            self.listen()
            self.assertEqual(self.heard, ["it"])

    def test_fails(self) -> None:
        """What was raised in its place is told in the same way."""
        for is_early in (True, False):
            self.setUp()
            error = ValueError()
            if is_early:
                self.listen()
            self.pending.fail(error)
            if not is_early:
                self.listen()
            self.assertEqual(self.heard, [error])

    def test_cancelled(self) -> None:
        """Who brings it is told once that nobody wants it any more, and whatever comes then is told nobody."""
        self.listen()
        self.pending.cancel()
        self.pending.cancel()
        self.pending.come("it")
        self.pending.fail(ValueError())
        self.assertEqual(self.heard, ["cancelled"])

    def test_awaited(self) -> None:
        """A coroutine may wait for it, and is cancelled with it."""

        async def wait() -> str:
            return await self.pending + "!"

        waiting = Deferred.fromCoroutine(wait())
        self.pending.come("it")
        self.assertEqual(self.successResultOf(waiting), "it!")
        self.setUp()
        waiting = Deferred.fromCoroutine(wait())
        self.pending.fail(ValueError())
        self.failureResultOf(waiting, ValueError)
        self.setUp()
        waiting = Deferred.fromCoroutine(wait())
        waiting.cancel()
        self.assertEqual(self.heard, ["cancelled"])
        self.failureResultOf(waiting, CancelledError)
