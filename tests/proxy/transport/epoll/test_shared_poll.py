"""Tests for ``ingress.proxy.transport.epoll.shared_poll``, on epoll reactors of their own, whose turns the tests take."""

from __future__ import annotations

import os
import select
from threading import Thread
from time import monotonic
from typing import Any

from twisted.internet.epollreactor import EPollReactor
from twisted.internet.error import ConnectionDone
from twisted.internet.pollreactor import PollReactor
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.transport.epoll.epoll_set import (
    BATCH,
    LONG_SECONDS,
    MAX_BATCHES,
    READ,
    TURN_SECONDS,
    EpollSet,
)
from ingress.proxy.transport.epoll.shared_poll import MOST_WAITS, SharedPoll, poller_of

SECONDS = 5.0
"""How long a turn waits at most for what must come."""


class Told:
    """A descriptor of the epoll set that counts how often it is told, and leaves what came where it is."""

    def __init__(self) -> None:
        self.times = 0

    def ready(self, events: int) -> None:
        """Something came."""
        self.times += 1

    def failed(self, failure: Failure) -> None:
        """Never."""
        raise AssertionError(failure)


class Stopping(Told):
    """Has its epoll set leave the reactor when it is told."""

    def __init__(self, epoll_set: EpollSet) -> None:
        super().__init__()
        self._epoll_set = epoll_set

    def ready(self, events: int) -> None:
        super().ready(events)
        self._epoll_set.stop()


class Reader:
    """A reader of the reactor's own that counts how often it is told, and reads nothing."""

    def __init__(self, fileno: int) -> None:
        self._fileno = fileno
        self.times = 0

    def fileno(self) -> int:
        """The descriptor."""
        return self._fileno

    def logPrefix(self) -> str:
        """Its name in the log."""
        return "reader"

    def doRead(self) -> None:
        """Something came."""
        self.times += 1

    def connectionLost(self, reason: Failure) -> None:
        """Never."""
        raise AssertionError(reason)


class SharedPollCase(SynchronousTestCase):
    """An epoll set in a reactor of its own."""

    kind: type[Any] = EPollReactor

    def setUp(self) -> None:
        self.reactor = self.make(self.kind)
        self.poller: Any = getattr(self.reactor, "_poller", None)
        self.epoll_set = EpollSet(self.reactor)
        self.epoll_set.start()
        self.addCleanup(self.epoll_set.stop)

    def make(self, kind: type[Any]) -> Any:
        """Return a new reactor, whose descriptors are closed in the end."""
        reactor = kind()
        poller = getattr(reactor, "_poller", None)
        if isinstance(poller, select.epoll):
            self.addCleanup(poller.close)
        # That of calls from threads, which a reactor never lets go of.
        for waker in tuple(reactor._internalReaders):
            self.addCleanup(waker.connectionLost, Failure(ConnectionDone()))
        return reactor

    def pipe(self) -> tuple[int, int]:
        """Return the ends of a pipe."""
        ends = os.pipe()
        for end in ends:
            self.addCleanup(os.close, end)
        return ends

    def watched(self, told: Told | None = None) -> tuple[Told, int]:
        """Put a descriptor into the epoll set; return it, and where to write for it."""
        told = told or Told()
        reading, writing = self.pipe()
        self.epoll_set.add(told, reading, READ)
        self.addCleanup(self.epoll_set.remove, reading)
        return told, writing

    def reader(self) -> tuple[Reader, int]:
        """Give the reactor a reader; return it, and where to write for it."""
        reading, writing = self.pipe()
        reader = Reader(reading)
        self.reactor.addReader(reader)
        self.addCleanup(self.reactor.removeReader, reader)
        return reader, writing

    def turn(self, seconds: float = SECONDS) -> None:
        """Take one turn of the reactor, as its main loop does, which waits for so long if nothing comes."""
        self.reactor.runUntilCurrent()
        wanted = self.reactor.timeout()
        self.reactor.doIteration(seconds if wanted is None else min(wanted, seconds))


class SharedPollTests(SharedPollCase):
    """Twisted's epoll reactor, which waits on the epoll set."""

    def test_nothing(self) -> None:
        """A turn that finds nothing is known: what others do between such turns makes nobody late who comes behind them."""
        _, writing = self.watched()
        self.epoll_set.work_off([])
        for _ in range(5):
            until = monotonic() + 4 * LONG_SECONDS
            while monotonic() < until:
                pass
            self.turn(0)
        os.write(writing, b"x")
        self.turn()
        self.assertEqual(self.epoll_set.lateness.seconds(self.reactor.seconds()), 0.0)

    def test_waits_once(self) -> None:
        """What comes for the epoll set alone is told without another look at what the reactor has."""
        self.assertIsInstance(self.reactor._poller, SharedPoll)
        self.assertNotIn(self.epoll_set, self.reactor.getReaders())
        asked: list[int] = []

        class Poller:
            """The reactor's poller, whose questions are counted."""

            def poll(inner, seconds: float, most: int) -> list[tuple[int, int]]:  # noqa: N805 - "self" is the test
                asked.append(most)
                found: list[tuple[int, int]] = self.poller.poll(seconds, most)
                return found

        self.reactor._poller._poller = Poller()
        self.addCleanup(setattr, self.reactor._poller, "_poller", self.poller)
        reader, writing_to_reader = self.reader()
        told, writing = self.watched()
        os.write(writing, b"x")
        self.turn()
        self.assertEqual((told.times, reader.times, asked), (1, 0, []))
        os.write(writing_to_reader, b"x")
        self.turn()
        self.assertEqual((told.times, reader.times, len(asked)), (2, 1, 1))

    def test_next_wait(self) -> None:
        """A reactor that runs and has nothing to do takes no turn of its own between two waits, and so not for ever."""
        self.reactor.running = True
        told, writing = self.watched()
        os.write(writing, b"x")
        for turns in (1, 2):
            self.turn()
            self.assertEqual(told.times, turns * MOST_WAITS)

    def test_next_wait_and_timers(self) -> None:
        """No wait begins while a timer is due, be it made by what the last one brought, and none is longer than to the next one."""
        self.reactor.running = True
        called: list[float] = []

        class Calling(Told):
            """Has the reactor call back soon, and takes what came."""

            def ready(inner, events: int) -> None:  # noqa: N805 - "self" is the test here
                super().ready(events)
                os.read(reading, 1)
                self.reactor.callLater(delays.pop(0), called.append, inner.times)

        reading, writing = self.pipe()
        told = Calling()
        self.epoll_set.add(told, reading, READ)
        self.addCleanup(self.epoll_set.remove, reading)
        delays = [0.0, 0.01]
        os.write(writing, b"xx")
        self.turn()
        self.assertEqual((told.times, called), (1, []))
        self.turn()
        self.assertEqual((told.times, called), (2, [1]))
        self.reactor.runUntilCurrent()
        self.assertEqual(called, [1, 2])

    def test_next_wait_and_calls(self) -> None:
        """A call that comes from a thread meanwhile, and a reader of the reactor, end the row of waits."""
        self.reactor.running = True
        reader, writing_to_reader = self.reader()

        class Calling(Told):
            """Has something for the reactor the third time."""

            def ready(inner, events: int) -> None:  # noqa: N805 - "self" is the test here
                super().ready(events)
                if inner.times == 3:
                    os.write(writing_to_reader, b"x")

        told, writing = self.watched(Calling())
        os.write(writing, b"x")
        self.turn()
        self.assertEqual((told.times, reader.times), (4, 1))

    def test_next_wait_at_the_end(self) -> None:
        """A reactor that no longer runs has its turn at once."""
        self.reactor.running = True

        class Crashing(Told):
            """Ends the main loop, as the end of a process does."""

            def ready(inner, events: int) -> None:  # noqa: N805 - "self" is the test here
                super().ready(events)
                self.reactor.running = False

        told, writing = self.watched(Crashing())
        os.write(writing, b"x")
        self.turn()
        self.assertEqual(told.times, 1)

    def test_next_wait_and_stop(self) -> None:
        """A reactor that is told to stop by what came stops in its turn, which begins at once."""
        self.reactor.running = True
        self.reactor._stopped = False

        class Ending(Told):
            """Stops the reactor."""

            def ready(inner, events: int) -> None:  # noqa: N805 - "self" is the test here
                super().ready(events)
                if inner.times == 1:
                    self.reactor.stop()

        told, writing = self.watched(Ending())
        os.write(writing, b"x")
        self.turn()
        self.assertEqual(told.times, 1)

    def test_next_wait_without_the_epoll_set(self) -> None:
        """A reactor that the epoll set has left waits by itself from then on."""
        self.reactor.running = True
        stopping, writing = self.watched(Stopping(self.epoll_set))
        os.write(writing, b"x")
        self.turn(0)
        self.assertEqual(stopping.times, 1)
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_readers_of_the_reactor(self) -> None:
        """Whoever else has come and gone at the reactor is told as before, together with the epoll set or without."""
        reader, writing = self.reader()
        os.write(writing, b"x")
        self.turn()
        self.assertEqual(reader.times, 1)
        told, other = self.watched()
        os.write(other, b"x")
        self.turn()
        self.assertEqual((reader.times, told.times), (2, 1))
        self.reactor.removeReader(reader)
        self.turn()
        self.assertEqual((reader.times, told.times), (2, 2))

    def test_nothing_comes(self) -> None:
        """A turn in which nothing comes ends when the next timer is due."""
        called: list[bool] = []
        self.reactor.callLater(0.001, called.append, True)
        self.turn()
        self.turn(0)
        self.assertEqual(called, [True])

    def test_stood_still(self) -> None:
        """What came while the process was stopped amid a wait is told before timers that are over by then."""
        told, writing = self.watched()
        shared, ahead = self.reactor._poller, 0.0
        self.reactor.seconds = lambda: monotonic() + ahead
        self.epoll_set.work_off([])
        times: list[int] = []
        self.reactor.callLater(30, lambda: times.append(told.times))
        self.epoll_set.stood_still = lambda: times.append(told.times)

        class Stopped:
            """A wait that is interrupted, a minute later."""

            def poll(inner, seconds: float, most: int) -> list[tuple[int, int]]:  # noqa: N805 - "self" is the test
                nonlocal ahead
                ahead += 60
                os.write(writing, b"x")
                shared._epoll = epoll
                return []

        epoll, shared._epoll = shared._epoll, Stopped()
        self.turn()
        self.turn(0)
        self.assertEqual(times, [0, 1])

    def test_stood_still_elsewhere(self) -> None:
        """That the process stood still amid something else is known before the next event is told, and a rest between two ticks is none."""
        told, writing = self.watched()
        ahead = 0.0
        self.reactor.seconds = lambda: monotonic() + ahead
        self.epoll_set.work_off([])
        times: list[int] = []
        self.epoll_set.stood_still = lambda: times.append(told.times)
        os.write(writing, b"x")
        for seconds in (1, 60):
            ahead += seconds
            self.turn()
        self.assertEqual((told.times, times), (2, [1]))

    def test_calls_of_threads(self) -> None:
        """A call from another thread ends the wait."""
        called: list[bool] = []
        thread = Thread(target=self.reactor.callFromThread, args=(called.append, True))
        thread.start()
        self.addCleanup(thread.join)
        self.turn()
        self.turn(0)
        self.assertEqual(called, [True])

    def test_full_load(self) -> None:
        """While more is ready than one turn takes, timers and readers of the reactor have theirs after each, and all descriptors in turn."""
        now = self.reactor.seconds()
        self.patch(self.reactor, "seconds", lambda: now)
        crowd = [self.watched() for _ in range(BATCH * MAX_BATCHES + 40)]
        for _, writing in crowd:
            os.write(writing, b"x")
        reader, writing = self.reader()
        os.write(writing, b"x")
        called: list[int] = []
        turns = 4
        for number in range(turns):
            self.reactor.callLater(0, called.append, number)
            before = sum(told.times for told, _ in crowd)
            self.turn(0)
            self.assertLessEqual(sum(told.times for told, _ in crowd) - before, BATCH * MAX_BATCHES)
            self.assertEqual((reader.times, called), (number + 1, list(range(number + 1))))
        times = [told.times for told, _ in crowd]
        self.assertLessEqual(max(times) - min(times), 1)
        self.assertGreater(min(times), 1)

    def test_long_turn(self) -> None:
        """A turn has no further batch once it has taken long, and what is left has the next one, behind timers and readers of the reactor."""
        now = self.reactor.seconds()
        self.patch(self.reactor, "seconds", lambda: now)

        class Slow(Told):
            """Takes so long that two batches of its kind are a turn."""

            def ready(inner, events: int) -> None:  # noqa: N805 - "self" is the test here
                nonlocal now
                super().ready(events)
                now += TURN_SECONDS / (BATCH + BATCH // 2)

        crowd = [self.watched(Slow()) for _ in range(4 * BATCH)]
        for _, writing in crowd:
            os.write(writing, b"x")
        reader, writing = self.reader()
        os.write(writing, b"x")
        for turns in (1, 2):
            self.turn(0)
            # The probe, and what the reactor waits on, are two more.
            most = 2 * BATCH * turns
            self.assertIn(sum(told.times for told, _ in crowd), range(most - 2 * turns, most + 1))
            self.assertEqual(reader.times, turns)

    def test_stopped(self) -> None:
        """Once the epoll set has left, the reactor waits by itself, and all that it watches is still there."""
        reader, writing = self.reader()
        os.write(writing, b"x")
        self.epoll_set.stop()
        self.assertIs(self.reactor._poller, self.poller)
        self.turn()
        self.assertEqual(reader.times, 1)

    def test_stopped_in_its_turn(self) -> None:
        """An epoll set that leaves amid a full turn of its own tells nobody any more, and the turn ends in order."""
        stopping, writing = self.watched(Stopping(self.epoll_set))
        os.write(writing, b"x")
        for _ in range(3 * BATCH):
            _, writing = self.watched()
            os.write(writing, b"x")
        for _ in range(5):
            self.turn(0)
        self.assertEqual(stopping.times, 1)
        self.assertIs(self.reactor._poller, self.poller)
        self.assertEqual(self.flushLoggedErrors(), [])

    def test_two(self) -> None:
        """A second epoll set in the same reactor is a reader of it, and both are told."""
        second = EpollSet(self.reactor)
        second.start()
        self.addCleanup(second.stop)
        self.assertIn(second, self.reactor.getReaders())
        told, writing = self.watched()
        other = Told()
        reading, writing_to_other = self.pipe()
        second.add(other, reading, READ)
        self.addCleanup(second.remove, reading)
        for end in (writing, writing_to_other):
            os.write(end, b"x")
        self.turn()
        self.assertEqual((told.times, other.times), (1, 1))


class OtherReactorTests(SharedPollCase):
    """A reactor that waits in another way."""

    kind = SelectReactor

    def test_reader(self) -> None:
        """The epoll set is a reader like any other."""
        self.assertIn(self.epoll_set, self.reactor.getReaders())
        told, writing = self.watched()
        os.write(writing, b"x")
        self.turn()
        self.assertEqual(told.times, 1)

    def test_refused(self) -> None:
        """A poller is taken from nobody but Twisted's epoll reactor, and only if it is the kernel's."""
        self.assertIsNone(poller_of(self.reactor))
        self.assertIsNone(poller_of(self.make(PollReactor)))
        self.assertIsNone(poller_of(Clock()))

        class Own(EPollReactor):
            """Somebody's own reactor, which may poll as it likes."""

        for kind, is_taken in ((EPollReactor, True), (Own, False)):
            reactor = self.make(kind)
            self.assertEqual(type(poller_of(reactor)) is select.epoll, is_taken)
            reactor._poller = object()
            self.assertIsNone(poller_of(reactor))
