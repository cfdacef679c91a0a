"""Lookups of names: each once at a time, in lanes, and nobody keeps others waiting."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Event, Thread, current_thread
from typing import Any
from unittest.mock import patch

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.contract.portions import PORTION_SECONDS
from ingress.proxy.transport import name_lookups
from ingress.proxy.transport.name_lookups import (
    MOST_SLOW,
    OPERATORS_THREADS,
    SLOW_SECONDS,
    SLOW_THREADS,
    TENANTS_THREADS,
    NameLookups,
    addresses_of,
)

PATIENCE_SECONDS = 60.0


class Reactor(Clock):
    """A clock, and what threads have said."""

    def __init__(self) -> None:
        super().__init__()
        self._said: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]] = SimpleQueue()

    def callFromThread(self, call: Callable[..., Any], *arguments: Any) -> None:
        self._said.put((call, arguments))

    def hear(self) -> None:
        """Do what the next thread asks for."""
        call, arguments = self._said.get(timeout=PATIENCE_SECONDS)
        call(*arguments)


class LookupCase(SynchronousTestCase):
    """A system whose answers a test gives, name by name."""

    def setUp(self) -> None:
        self.reactor = Reactor()
        self.asked: list[str] = []
        self.answers: dict[str, Event] = {}
        self.begun: SimpleQueue[str] = SimpleQueue()
        self.threads: list[Thread] = []
        self.names = NameLookups(self.reactor, self._ask)
        self.told: list[tuple[str, Sequence[str]]] = []
        self.addCleanup(self._answer_all)

    def _answer_all(self) -> None:
        for event in self.answers.values():
            event.set()

    def _ask(self, name: str) -> Sequence[str]:
        # Before it is known to have begun, for then it may be answered, and the name be asked for anew.
        answered = self.answers[name]
        self.threads.append(current_thread())
        self.begun.put(name)
        assert answered.wait(PATIENCE_SECONDS)
        return (f"address of {name}",)

    def find(self, *names: str, is_tenants: bool = True) -> list[Callable[[], None]]:
        """Ask for these names; return what ends each wait."""
        leave = []
        for name in names:
            self.answers.setdefault(name, Event())
            found = lambda addresses, name=name: self.told.append((name, addresses))  # noqa: E731
            leave.append(self.names.find(name, found, is_tenants=is_tenants))
        return leave

    def assert_begun(self, *names: str) -> None:
        """Check that these lookups have begun since, and no others."""
        found = [self.begun.get(timeout=PATIENCE_SECONDS) for _ in names]
        self.assertEqual((sorted(found), self.begun.empty()), (sorted(names), True))

    def answer(self, name: str, after: float = 0.0) -> None:
        """Have the system answer, so many seconds later."""
        self.reactor.advance(after)
        self.answers.pop(name).set()
        self.reactor.hear()


class LaneTests(LookupCase):
    """Who waits for whom."""

    def test_once_at_a_time(self) -> None:
        """All who ask for a name while it is looked up are told by one lookup; who asks later has another one."""
        self.find("a.test", "a.test", "a.test")
        self.assert_begun("a.test")
        self.assertEqual(self.told, [])
        self.answer("a.test")
        self.assertEqual(self.told, [("a.test", ("address of a.test",))] * 3)
        self.find("a.test")
        self.assert_begun("a.test")
        self.answer("a.test")
        self.assertEqual(len(self.told), 4)
        self.assertEqual(repr(self.names), "<NameLookups 0 under way, 0 waiting>")

    def test_many_wait(self) -> None:
        """Of very many who waited for a name some are told in each turn, in their order; who leaves before is not."""
        order: list[int] = []
        leave = []
        self.answers["a.test"] = Event()

        def connect(number: int) -> None:
            order.append(number)
            self.reactor.rightNow += PORTION_SECONDS / 10

        for number in range(100):
            found = lambda addresses, number=number: connect(number)  # noqa: E731
            leave.append(self.names.find("a.test", found, is_tenants=True))
        self.assert_begun("a.test")
        self.answer("a.test")
        self.assertIn(len(order), (10, 11))
        leave[50]()
        # Whoever comes now waits for another lookup.
        self.find("a.test")
        self.assert_begun("a.test")
        self.reactor.advance(0)
        self.assertEqual(order, [number for number in range(100) if number != 50])
        self.answer("a.test")
        self.assertEqual(len(self.told), 1)

    def test_silent_names_of_tenants(self) -> None:
        """However many names are silent, the operator's are found; other tenants' once one is over, in their order."""
        silent = [f"silent-{number}.test" for number in range(TENANTS_THREADS)]
        self.find(*silent)
        self.assert_begun(*silent)
        self.find("b.test", "c.test")
        self.find("operators.test", is_tenants=False)
        self.assert_begun("operators.test")
        self.answer("operators.test")
        self.answer(silent[0], after=1)
        self.assert_begun("b.test")
        self.assertEqual([name for name, _ in self.told], ["operators.test", silent[0]])

    def test_slow_names(self) -> None:
        """Names that were slow have threads of their own the next time, until they are quick again."""
        silent = [f"silent-{number}.test" for number in range(SLOW_THREADS + 1)]
        self.find(*silent)
        self.assert_begun(*silent)
        self.reactor.advance(SLOW_SECONDS + 0.1)
        for name in silent:
            self.answer(name)
        self.find(*silent)
        self.assert_begun(*silent[:SLOW_THREADS])
        quick = [f"quick-{number}.test" for number in range(TENANTS_THREADS)]
        self.find(*quick)
        self.assert_begun(*quick)
        self.answer(silent[0])
        self.assert_begun(silent[-1])
        # The first was quick this time, and is no slow one any more; all threads for others are busy.
        self.answer(quick[0])
        self.find(silent[0])
        self.assert_begun(silent[0])

    def test_operators_slow_names(self) -> None:
        """A slow name of the operator's takes no thread from the others of his."""
        slow = [f"slow-{number}.test" for number in range(OPERATORS_THREADS)]
        self.find(*slow, is_tenants=False)
        self.assert_begun(*slow)
        self.reactor.advance(SLOW_SECONDS + 0.1)
        for name in slow:
            self.answer(name)
        self.find(*slow, "quick.test", is_tenants=False)
        self.assert_begun(*slow, "quick.test")

    def test_slow_names_of_tenants(self) -> None:
        """A name of the operator's that was slow once does not wait for those of tenants that always are."""
        silent = [f"silent-{number}.test" for number in range(SLOW_THREADS)]
        self.find(*silent)
        self.find("operators.test", is_tenants=False)
        self.assert_begun(*silent, "operators.test")
        self.reactor.advance(SLOW_SECONDS + 0.1)
        for name in (*silent, "operators.test"):
            self.answer(name)
        self.find(*silent)
        self.find("operators.test", is_tenants=False)
        self.assert_begun(*silent, "operators.test")

    def test_the_same_name(self) -> None:
        """A tenant that asks for a name of the operator's has it waiting in his own lane alone, and is told by his own lookup."""
        silent = [f"silent-{number}.test" for number in range(TENANTS_THREADS)]
        self.find(*silent, "operators.test")
        self.find("operators.test", is_tenants=False)
        self.assert_begun(*silent, "operators.test")
        self.answer("operators.test")
        self.assertEqual(len(self.told), 1)
        self.find("operators.test", is_tenants=False)
        self.assert_begun("operators.test")
        self.assertEqual(repr(self.names), f"<NameLookups {TENANTS_THREADS + 1} under way, 1 waiting>")

    def test_nobody_waits(self) -> None:
        """What nobody waits for any more is not begun; what is under way tells who comes meanwhile."""
        busy = [f"busy-{number}.test" for number in range(TENANTS_THREADS)]
        leave = self.find(*busy)
        self.assert_begun(*busy)
        first, second, _ = self.find("a.test", "a.test", "b.test")
        first()
        second()
        self.assertEqual(repr(self.names), f"<NameLookups {TENANTS_THREADS} under way, 1 waiting>")
        leave[0]()
        self.find(busy[0])
        self.answer(busy[0])
        self.assertEqual(self.told, [(busy[0], (f"address of {busy[0]}",))])
        self.assert_begun("b.test")

    def test_one_leaves_by_another(self) -> None:
        """Who is told may have others leave, and who has left is not told."""
        leave: list[Callable[[], None]] = []
        self.answers["a.test"] = Event()
        self.names.find("a.test", lambda addresses: leave[0](), is_tenants=True)
        leave += self.find("a.test")
        self.answer("a.test")
        self.assertEqual(self.told, [])

    def test_bug(self) -> None:
        """Where somebody who is told raises, the others are told all the same."""
        self.answers["a.test"] = Event()
        self.names.find("a.test", lambda addresses: self.fail("a bug"), is_tenants=True)
        self.find("a.test")
        self.answer("a.test")
        self.assertEqual(len(self.told), 1)
        self.assertEqual(len(self.flushLoggedErrors(AssertionError)), 1)

    def test_leaving_late(self) -> None:
        """Who leaves once he was told takes nothing away from who waits for the name by then."""
        (leave,) = self.find("a.test")
        self.assert_begun("a.test")
        self.answer("a.test")
        busy = [f"busy-{number}.test" for number in range(TENANTS_THREADS)]
        self.find(*busy)
        self.assert_begun(*busy)
        self.find("a.test")
        leave()
        self.answer(busy[0])
        self.assert_begun("a.test")

    def test_memory(self) -> None:
        """So many slow names are known, and no more."""
        with patch.object(name_lookups, "Thread", side_effect=RuntimeError("can't start new thread")):
            for number in range(MOST_SLOW + 8):
                self.find(f"{number}.test")
                # Nobody could start a thread, so that nothing is found; a clock that stands says that it took long.
                self.reactor.advance(SLOW_SECONDS + 0.1)
        self.assertEqual(len(self.told), MOST_SLOW + 8)
        self.assertEqual(len(self.names._slow_names), MOST_SLOW)
        self.assertNotIn(("0.test", True), self.names._slow_names)


class ThreadTests(LookupCase):
    """The threads."""

    def test_no_thread(self) -> None:
        """Where the system has no thread left, nothing is found, which is told in the next turn."""
        with patch.object(name_lookups, "Thread", side_effect=RuntimeError("can't start new thread")):
            self.find("a.test")
        self.assertEqual(self.told, [])
        self.reactor.advance(0)
        self.assertEqual(self.told, [("a.test", ())])

    def test_end(self) -> None:
        """No thread keeps the process from ending, and none is left behind."""
        self.find("a.test")
        self.assert_begun("a.test")
        (thread,) = self.threads
        self.assertTrue(thread.daemon)
        self.answer("a.test")
        thread.join(PATIENCE_SECONDS)
        self.assertFalse(thread.is_alive())

    def test_bug(self) -> None:
        """A lookup that raises finds nothing, and gives its place back."""
        raised: SimpleQueue[Any] = SimpleQueue()
        self.patch(threading, "excepthook", raised.put)
        names = NameLookups(self.reactor, self._raise)
        told: list[Sequence[str]] = []
        for _ in range(TENANTS_THREADS + 1):
            names.find("a.test", told.append, is_tenants=True)
            self.reactor.hear()
            self.assertIs(raised.get(timeout=PATIENCE_SECONDS).exc_type, ZeroDivisionError)
        self.assertEqual(told, [()] * (TENANTS_THREADS + 1))

    def _raise(self, name: str) -> Sequence[str]:
        raise ZeroDivisionError(name)


class SystemTests(SynchronousTestCase):
    """What the system is asked."""

    def test_addresses(self) -> None:
        """Each address once; none for a name that is not known, is none, or is too long."""
        stream, family = socket.SOCK_STREAM, socket.AF_INET
        answers = [(family, stream, 6, "", (one, 0)) for one in ("192.0.2.1", "192.0.2.1", "192.0.2.2")]
        with patch.object(socket, "getaddrinfo", return_value=answers):
            self.assertEqual(addresses_of("a.test"), ("192.0.2.1", "192.0.2.2"))
        self.assertIn("127.0.0.1", addresses_of("127.0.0.1"))
        with patch.object(socket, "getaddrinfo", side_effect=socket.gaierror(socket.EAI_NONAME, "unknown")):
            self.assertEqual(addresses_of("none.test"), ())
        self.assertEqual(addresses_of("a" * 64 + ".test"), ())
