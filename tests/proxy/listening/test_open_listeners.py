"""Which listeners are open, whatever is asked for and whatever cannot be opened."""

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ingress.errors import StartError
from ingress.model.network.listeners import Listener
from ingress.proxy.listening.open_listeners import (
    LETTING_GO_SECONDS,
    RETRY_SECONDS,
    SOON_SECONDS,
    OpenListeners,
)

MAIN = Listener("tcp:80", is_required=True)
ONE, TWO = Listener("tcp:8001", table="one"), Listener("tcp:8002", table="two")


class FakeListener:
    """An open listener, that notes its end."""

    def __init__(self, case: "OpenListenersTests", name: str) -> None:
        self._case = case
        self._name = name

    def fileno(self) -> int:
        return 7

    async def close(self) -> None:
        self._case.did.append(f"closed {self._name}")


class OpenListenersTests(SynchronousTestCase):
    """Opening and closing, one at a time."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.did: list[str] = []
        self.taken: set[Listener] = set()
        self.slow: dict[Listener, Deferred[None]] = {}
        self.bugs: list[Failure] = []
        self.refused: list[dict[Listener, str]] = []
        self.listeners = OpenListeners(
            self.open, self.clock, self.bugs.append, lambda refused: self.refused.append(dict(refused))
        )

    async def open(self, listener: Listener) -> FakeListener:
        if listener in self.slow:
            await self.slow[listener]
        if listener in self.taken:
            raise StartError(f"cannot listen on {listener.description}: taken")
        self.did.append(f"opened {listener.description}")
        return FakeListener(self, listener.description)

    def follow(self, *listeners: Listener) -> Deferred[Any]:
        return Deferred.fromCoroutine(self.listeners.follow(listeners))

    def take(self) -> Sequence[str]:
        """What was done since this was last asked."""
        did, self.did = self.did, []
        return did

    def test_follows(self) -> None:
        """What is asked for is opened in its order, what is not any more is closed first, and what stays is left alone."""
        self.successResultOf(self.follow(MAIN, ONE))
        self.assertEqual(self.take(), ["opened tcp:80", "opened tcp:8001"])
        self.successResultOf(self.follow(MAIN, TWO))
        self.assertEqual(self.take(), ["closed tcp:8001", "opened tcp:8002"])
        self.successResultOf(self.follow(MAIN, TWO))
        self.assertEqual(self.take(), [])
        self.assertEqual(self.listeners.open, (MAIN, TWO))

    def test_another_table(self) -> None:
        """An address whose table or TLS is another one is closed and opened anew."""
        self.successResultOf(self.follow(ONE))
        self.successResultOf(self.follow(Listener("tcp:8001", is_secure=True, table="one")))
        self.assertEqual(self.take(), ["opened tcp:8001", "closed tcp:8001", "opened tcp:8001"])

    def test_required(self) -> None:
        """One that the process cannot do without is an error of the start, in one line."""
        self.taken.add(MAIN)
        error = self.failureResultOf(self.follow(MAIN, ONE), StartError).value
        self.assertEqual(str(error), "cannot listen on tcp:80: taken")

    def test_refused(self) -> None:
        """Another one that cannot be opened harms none, is told once, and is tried again until it can."""
        self.taken.add(ONE)
        with capturedLogs() as events:
            self.successResultOf(self.follow(MAIN, ONE, TWO))
            self.assertEqual(self.take(), ["opened tcp:80", "opened tcp:8002"])
            self.clock.advance(RETRY_SECONDS)
            self.successResultOf(self.follow(MAIN, ONE, TWO))
        told = [text for event in events if "taken" in (text := str(formatEvent(event)))]
        self.assertEqual(
            told, ["cannot listen on tcp:8001: taken; all else is served, and it is tried again every 30 s"]
        )
        self.taken.clear()
        self.clock.advance(RETRY_SECONDS)
        self.assertEqual(self.take(), ["opened tcp:8001"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_let_go_by_others(self) -> None:
        """One at the address of another that was closed is tried again soon, and nobody is told, unless that does not help."""
        other = Listener("tcp:8001", table="other")
        self.taken.add(TWO)
        self.successResultOf(self.follow(ONE, TWO))
        self.taken.add(other)
        self.take()
        with capturedLogs() as events:
            self.successResultOf(self.follow(other, TWO))
            self.clock.advance(SOON_SECONDS)
            self.assertEqual(self.take(), ["closed tcp:8001"])
            self.taken.remove(other)
            self.clock.advance(SOON_SECONDS)
        self.assertEqual(self.take(), ["opened tcp:8001"])
        self.assertNotIn("taken", str([formatEvent(event) for event in events]))
        self.assertEqual(self.refused, [{TWO: "cannot listen on tcp:8002: taken"}])
        self.taken.add(ONE)
        with capturedLogs() as events:
            self.successResultOf(self.follow(ONE, TWO))
            self.clock.pump([SOON_SECONDS] * round(LETTING_GO_SECONDS / SOON_SECONDS))
        self.assertIn("cannot listen on tcp:8001: taken", str([formatEvent(event) for event in events]))
        self.assertEqual(set(self.refused[-1]), {ONE, TWO})
        (retry,) = self.clock.getDelayedCalls()
        self.assertGreater(retry.getTime() - self.clock.seconds(), RETRY_SECONDS - 1)
        self.successResultOf(Deferred.fromCoroutine(self.listeners.close()))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_back_before_it_was_closed(self) -> None:
        """One that was not asked for once is closed and opened anew, also where it is asked for again while others are opened."""
        self.successResultOf(self.follow(ONE))
        self.slow[TWO] = Deferred()
        self.follow(ONE, TWO)
        for wanted in ((TWO,), (ONE, TWO)):
            self.successResultOf(self.follow(*wanted))
        self.take()
        self.slow[TWO].callback(None)
        self.assertEqual(self.take(), ["opened tcp:8002", "closed tcp:8001", "opened tcp:8001"])
        self.assertEqual(set(self.listeners.open), {ONE, TWO})

    def test_back_while_it_is_opened(self) -> None:
        """So is one that was not asked for once while it was being opened; one that cannot be opened is not closed later for that."""
        for taken in ((), (ONE,)):
            self.taken = set(taken)
            self.slow[ONE] = Deferred()
            self.follow(ONE)
            self.successResultOf(self.follow(TWO))
            self.successResultOf(self.follow(ONE, TWO))
            self.slow.pop(ONE).callback(None)
            one = "tcp:8001"
            expected = [f"opened {one}", f"closed {one}", f"opened {one}", "opened tcp:8002"]
            self.assertEqual(self.take(), expected[3:] if taken else expected)
            self.taken.clear()
            self.clock.advance(RETRY_SECONDS)
            self.assertEqual(self.take(), [f"opened {one}"] if taken else [])
            self.assertEqual(set(self.listeners.open), {ONE, TWO})
            self.successResultOf(self.follow())
            self.take()

    def test_sockets(self) -> None:
        """The sockets of those that are open are found by their descriptions."""
        self.taken.add(TWO)
        self.successResultOf(self.follow(MAIN, ONE, TWO))
        self.assertEqual(self.listeners.sockets(), {"tcp:80": 7, "tcp:8001": 7})
        self.successResultOf(self.follow())

    def test_tells_what_is_refused(self) -> None:
        """Whoever asks for listeners learns which cannot be opened, and when they can, or nobody asks any more; each once."""
        self.taken |= {ONE, TWO}
        self.successResultOf(self.follow(MAIN, ONE, TWO))
        self.clock.advance(RETRY_SECONDS)
        why = {one: f"cannot listen on {one.description}: taken" for one in (ONE, TWO)}
        self.assertEqual(self.refused, [why])
        self.taken.discard(ONE)
        self.clock.advance(RETRY_SECONDS)
        self.assertEqual(self.refused[1:], [{TWO: why[TWO]}])
        self.successResultOf(self.follow(MAIN, ONE))
        self.assertEqual(self.refused[2:], [{}])

    def test_many(self) -> None:
        """Of many listeners some are opened in each turn, so that requests need not wait for all; what is asked for last counts."""
        many = [Listener(f"tcp:{port}") for port in range(20)]
        following = self.follow(*many)
        self.assertNoResult(following)
        self.assertEqual(len(self.take()), 5)
        self.follow(*many[:8])
        turns = 0
        while not following.called:
            self.clock.advance(0)
            turns += 1
            self.assertLessEqual(len(self.did), 5 * turns)
        self.assertEqual(self.listeners.open, tuple(many[:8]))

    def test_refused_and_gone(self) -> None:
        """What could not be opened is not tried any more once nobody asks for it."""
        self.taken.add(ONE)
        self.successResultOf(self.follow(ONE))
        self.successResultOf(self.follow())
        self.taken.clear()
        self.clock.advance(RETRY_SECONDS)
        self.assertEqual(self.take(), [])

    def test_refused_when_nobody_wants_it(self) -> None:
        """One that was given up while it was to be opened, and then cannot be, is told of to nobody and not tried again."""
        self.slow[ONE] = Deferred()
        self.taken.add(ONE)
        working = self.follow(ONE, TWO)
        self.successResultOf(self.follow(TWO))
        with capturedLogs() as events:
            self.slow[ONE].callback(None)
            self.successResultOf(working)
        self.assertNotIn("taken", str([formatEvent(event) for event in events]))
        self.assertEqual((self.take(), self.refused), (["opened tcp:8002"], []))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_meanwhile(self) -> None:
        """What is asked for while one is being opened is done by whoever works, and a listener that came too late is closed."""
        slow = self.slow[ONE] = Deferred()
        first = self.follow(ONE)
        self.assertTrue(self.listeners.is_working)
        self.successResultOf(self.follow(TWO))
        self.assertNoResult(first)
        slow.callback(None)
        self.successResultOf(first)
        self.assertEqual(self.take(), ["opened tcp:8001", "closed tcp:8001", "opened tcp:8002"])

    def test_close(self) -> None:
        """At the end all are closed, and neither what was on its way nor what waits for a retry is opened."""
        self.taken.add(TWO)
        slow = self.slow[ONE] = Deferred()
        following = self.follow(MAIN, TWO, ONE)
        self.successResultOf(Deferred.fromCoroutine(self.listeners.close()))
        slow.callback(None)
        self.successResultOf(following)
        self.assertEqual(
            self.take(), ["opened tcp:80", "closed tcp:80", "opened tcp:8001", "closed tcp:8001"]
        )
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_bug_of_a_retry(self) -> None:
        """A bug while one is tried again is told to whoever asked for that."""
        self.taken.add(ONE)
        self.successResultOf(self.follow(ONE))
        broken: Deferred[None] = Deferred()
        broken.errback(ValueError("a bug"))
        self.slow[ONE] = broken
        self.clock.advance(RETRY_SECONDS)
        [failure] = self.bugs
        self.assertIsInstance(failure.value, ValueError)
