"""How trial's processes are forked from the one that has found the tests."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from ast import literal_eval
from collections.abc import Callable
from io import StringIO
from types import SimpleNamespace
from typing import Any

from twisted.internet import process, reactor  # noqa: TID251 - a real process needs the real reactor
from twisted.internet.defer import Deferred
from twisted.internet.epollreactor import EPollReactor
from twisted.internet.error import ProcessDone, ProcessTerminated
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure
from twisted.python.filepath import FilePath
from twisted.trial._dist import _WORKER_AMP_STDIN, _WORKER_AMP_STDOUT
from twisted.trial.unittest import SynchronousTestCase, TestCase

from tests.forking import FileObserver, Fork, Refreezing, begin_anew, fork_processes

PATIENCE = 60.0


class Told(ProcessProtocol):
    """What the fork has written to each of its descriptors, and how it ended."""

    def __init__(self, directory: str = "") -> None:
        self.said: dict[int, bytes] = {}
        self.over: Deferred[Any] = Deferred()
        self._logDirectory = FilePath(directory)

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        self.said[childFD] = self.said.get(childFD, b"") + data

    def processEnded(self, reason: Failure) -> None:
        self.over.callback(reason.value)


class ForkTests(TestCase):
    """``Fork``, from a process whose reactor runs: it is made anew in the fork alone."""

    def setUp(self) -> None:
        self.own = frozenset(process._listOpenFDs())

    def fork(self, run: Callable[[int, int], None]) -> Told:
        """Fork a process that runs *run*; the test's end ends it."""
        told = Told()
        running = Fork(reactor, told, self.own, run)

        def end() -> Deferred[Any]:
            if not told.over.called:
                running.signalProcess("KILL")
            return told.over

        self.addCleanup(end)
        return told

    async def test_end(self) -> None:
        """It says what it has to, to each descriptor, and ends well, as soon as there is nothing more to read, whoever runs besides."""

        def echo(commands: int, answers: int) -> None:
            sys.stdout.write("out\n")
            sys.stderr.write("errors\n")
            while octets := os.read(commands, 100):
                os.write(answers, octets.upper())

        first, second = self.fork(echo), self.fork(echo)
        for told in (first, second):
            transport: Any = told.transport
            transport.writeToChild(_WORKER_AMP_STDIN, b"word")
            transport.closeChildFD(_WORKER_AMP_STDIN)
            self.assertIsInstance(await told.over.addTimeout(PATIENCE, reactor), ProcessDone)
            self.assertEqual(told.said, {1: b"out\n", 2: b"errors\n", _WORKER_AMP_STDOUT: b"WORD"})

    async def test_failure(self) -> None:
        """One that fails says why, and ends with a status."""

        def fail(commands: int, answers: int) -> None:
            raise ValueError("no such luck")

        told = self.fork(fail)
        ended = await told.over.addTimeout(PATIENCE, reactor)
        self.assertIsInstance(ended, ProcessTerminated)
        self.assertEqual(ended.exitCode, 1)
        self.assertIn(b"no such luck", told.said[2])

    async def test_signals(self) -> None:
        """It heeds what an interpreter heeds, also where a shell has ignored some of that for what it runs in the background."""

        def tell(commands: int, answers: int) -> None:
            handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)]
            wanted = [signal.default_int_handler, signal.SIG_DFL, signal.SIG_IGN]
            os.write(
                answers, repr([one is other for one, other in zip(handlers, wanted, strict=True)]).encode()
            )

        for number in (signal.SIGINT, signal.SIGHUP):
            self.addCleanup(signal.signal, number, signal.signal(number, signal.SIG_IGN))
        told = self.fork(tell)
        self.assertIsInstance(await told.over.addTimeout(PATIENCE, reactor), ProcessDone)
        self.assertEqual(told.said[_WORKER_AMP_STDOUT], b"[True, True, True]")

    async def test_only_its_own(self) -> None:
        """Of the pipes of another one, none is open in it."""

        def wait(commands: int, answers: int) -> None:
            os.read(commands, 1)

        def tell(commands: int, answers: int) -> None:
            os.write(answers, repr(opened()).encode())

        def opened() -> set[int]:
            found = set()
            for fd in process._listOpenFDs():
                with contextlib.suppress(OSError):  # It was open to list them.
                    found.add(os.fstat(fd).st_ino)
            return found

        other: Any = self.fork(wait).transport
        pipes = {os.fstat(pipe.fileno()).st_ino for pipe in other.pipes.values()}
        self.assertEqual(len(pipes), 5)
        self.assertEqual(pipes - opened(), set())
        told = self.fork(tell)
        self.assertIsInstance(await told.over.addTimeout(PATIENCE, reactor), ProcessDone)
        self.assertEqual(literal_eval(told.said[_WORKER_AMP_STDOUT].decode()) & pipes, set())


class ReactorTests(SynchronousTestCase):
    """``begin_anew``."""

    def test_nothing_is_left(self) -> None:
        """A reactor that had something to do and to wait for has neither any more, and runs."""
        one = EPollReactor()
        ran: list[str] = []
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        reader: Any = SimpleNamespace(fileno=lambda: reading, doRead=lambda: ran.append("read"))
        one.addReader(reader)
        one.callLater(0, ran.append, "before")
        os.write(writing, b"x")
        waits_for = dict(process.reapProcessHandlers)
        self.addCleanup(process.reapProcessHandlers.update, waits_for)
        begin_anew(one)
        self.assertEqual((one.getDelayedCalls(), reader in one.getReaders()), ([], False))
        self.assertEqual(process.reapProcessHandlers, {})
        one.callLater(0, ran.append, "after")
        one.callLater(0, one.crash)
        one.run(installSignalHandlers=False)
        self.assertEqual(ran, ["after"])


class LaunchTests(SynchronousTestCase):
    """``fork_processes``, with what stands for trial."""

    def setUp(self) -> None:
        self.started: list[tuple[object, ...]] = []
        pool = type("Pool", (), {"_launchWorkerProcesses": lambda *words: self.started.append(words[1:])})
        self.pool: Any = pool
        fork_processes(SimpleNamespace(WorkerPool=pool))

    def test_arguments(self) -> None:
        """Processes that are told something at their start are started."""
        self.pool._launchWorkerProcesses(self, "spawner", ["protocol"], ["--reactor", "poll"])
        self.assertEqual(self.started, [("spawner", ["protocol"], ["--reactor", "poll"])])


class ObserverTests(SynchronousTestCase):
    """``FileObserver``."""

    def test_lines(self) -> None:
        """Each event that has a text is a line of the file."""
        file = StringIO()
        observer = FileObserver(file)
        observer.emit({"message": ("first",), "isError": 0})
        observer.emit({"message": (), "isError": 0})
        observer.emit({"message": ("second", "word"), "isError": 0})
        self.assertEqual(file.getvalue(), "first\nsecond word\n")


class RefreezingTests(SynchronousTestCase):
    """What a test has thawed."""

    def test_frozen_anew(self) -> None:
        """It is frozen before the first test of another module, and nothing is that came after, as long as nobody thaws again."""
        refreezing = Refreezing()
        self.patch(gc, "unfreeze", refreezing.unfreeze)
        refreezing.comes("tests.one.ThingTests.test_a")
        gc.freeze()
        gc.unfreeze()
        refreezing.comes("tests.one.OtherTests.test_b")
        self.assertEqual(gc.get_freeze_count(), 0)
        refreezing.comes("tests.other.ThingTests.test_a")
        frozen = gc.get_freeze_count()
        self.assertGreater(frozen, 10_000)
        came_after: list[list[int]] = [[] for _ in range(1000)]
        refreezing.comes("tests.another.ThingTests.test_a")
        self.assertLess(gc.get_freeze_count() - frozen, len(came_after))
