"""Firewall processes over real sockets and pipes: what they are started with, and what becomes of them when they misbehave."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, cast

from twisted.internet import reactor as real_reactor  # noqa: TID251 - real processes need the real reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import Clock
from twisted.logger import ILogObserver, globalLogPublisher
from twisted.trial.unittest import TestCase

from ingress.errors import StartError
from ingress.firewall import process
from ingress.firewall.pool import Firewall
from ingress.firewall.process import check_installed, environment, firewall_of
from ingress.model.exchanges.firewall import (
    FirewallPlan,
    InspectedAnswer,
    InspectedRequest,
    Loaded,
    RuleSet,
    Verdict,
)

PROGRAM = "tests.firewall.fake_library"
RULES = RuleSet(("SecRuleEngine On",), blocks=True)
PATIENCE = 60.0


def request(target: bytes, stays: bool = False, body: bytes = b"") -> InspectedRequest:
    """Return a request."""
    return InspectedRequest(b"id", b"10.0.0.1", b"shop.test", 80, b"GET", target, b"A: b\r\n", body, stays)


class StartedCase(TestCase):
    """A firewall whose processes judge by targets."""

    timeout = 120
    seconds = 2.0
    processes = 2
    program = PROGRAM

    async def setUp(self) -> None:  # type: ignore[override]
        self.reactor: Any = real_reactor
        self.counted: list[str] = []
        self.logged: list[str] = []

        def observe(event: Any) -> None:
            line = event.get("line") or event.get("why")
            if line is not None:
                self.logged.append(str(line))

        observer = cast(ILogObserver, observe)
        globalLogPublisher.addObserver(observer)
        self.addCleanup(globalLogPublisher.removeObserver, observer)
        plan = FirewallPlan(self.processes, self.seconds)
        self.firewall: Firewall = firewall_of(plan, self.reactor, self.counted.append, self.program)
        self.firewall.start()
        self.addCleanup(self.end)
        await self.until(lambda: all(member.is_ready for member in self.firewall._members))
        self.loaded: Loaded = self.firewall.load(RULES)

    async def end(self) -> None:
        """Stop, and wait until no process is left."""
        pids = self.pids()
        self.firewall.stop()
        await self.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))

    def pids(self) -> list[int]:
        """Return the processes that there are."""
        return [member.link.pid for member in self.firewall._members if member.link is not None]

    async def until(self, condition: Any) -> None:
        """Wait until *condition* holds."""
        deadline = self.reactor.seconds() + PATIENCE
        while not condition():
            if self.reactor.seconds() > deadline:
                self.fail("waited in vain")
            turn: Deferred[None] = Deferred()
            self.reactor.callLater(0.01, turn.callback, None)
            await turn

    async def ask(self, target: bytes, stays: bool = False, body: bytes = b"") -> Verdict:
        """Have a request judged."""
        return await self.firewall.inspect(self.loaded, request(target, stays, body))


class VerdictTests(StartedCase):
    async def test_verdicts(self) -> None:
        """What the library says comes back, with large bodies, and with what is detected alone."""
        self.assertEqual(await self.ask(b"/"), Verdict())
        self.assertEqual(await self.ask(b"/deny"), Verdict(403, matched=1))
        self.assertEqual(await self.ask(b"/detect"), Verdict(matched=1))
        self.assertEqual(await self.ask(b"/redirect"), Verdict(302, b"https://other.test/"))
        self.assertEqual((await self.ask(b"/", body=bytes(4_000_000) + b"evil")).status, 403)
        self.assertIn("denied id", self.logged)
        self.assertIn("detected\\x0aand \\x1b[31m", self.logged)

    async def test_answers(self) -> None:
        """Heads of answers are judged by the process that had the request."""
        tickets = [(await self.ask(b"/", stays=True)).ticket for _ in range(4)]
        statuses = [
            (await self.firewall.inspect_answer(InspectedAnswer(ticket, 200, lines))).status
            for ticket, lines in zip(
                tickets, (b"A: b\r\n", b"X-Leak: 1\r\n", b"", b"X-Leak: 2\r\n"), strict=True
            )
        ]
        self.assertEqual(statuses, [0, 502, 0, 502])

    async def test_what_a_process_writes_is_logged(self) -> None:
        """Lines of its output are lines of the log, and one that is too long is cut."""
        await self.ask(b"/say")
        await self.until(lambda: "last" in self.logged)
        self.assertIn('{"transaction": "audited"}', self.logged)
        self.assertLessEqual(max(map(len, self.logged)), process.MOST_SAID_BYTES)

    async def test_a_process_has_nothing_of_this_one(self) -> None:
        """Neither a descriptor nor anything of the environment, but where the package lies."""
        os.environ["SECRET_OF_THIS_PROCESS"] = "x"
        self.addCleanup(os.environ.pop, "SECRET_OF_THIS_PROCESS")
        self.assertEqual(set(environment()), {"PYTHONPATH", "LC_ALL"})
        for pid in self.pids():
            found = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
            # New versions of libffi, by which the library is called, keep their own file open.
            self.assertEqual(len([one for one in found if "/libffi.so" not in one]), 4, found)
            self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), "/")
            self.assertNotIn(b"SECRET_OF", Path(f"/proc/{pid}/environ").read_bytes())


class MisbehavingTests(StartedCase):
    # A process that ends of itself may take its time for it on a busy machine, and is not to be killed for that.
    seconds = PATIENCE

    async def check(self, target: bytes, why: str) -> None:
        """Check that a request which has its process misbehave fails for *why*, and that others are judged before and after."""
        if why.startswith("status"):
            self.patch(process, "LEAVING_SECONDS", PATIENCE)
        others = [Deferred.fromCoroutine(self.ask(b"/slow/%d" % number)) for number in range(3)]
        bad = Deferred.fromCoroutine(self.ask(target))
        more = [Deferred.fromCoroutine(self.ask(b"/deny")) for _ in range(5)]
        self.assertIn(why, (await bad).failure)
        self.assertEqual({verdict.failure for verdict in await gatherResults(others + more)}, {""})
        await self.until(lambda: all(member.is_ready for member in self.firewall._members))
        verdicts = await gatherResults([Deferred.fromCoroutine(self.ask(b"/deny")) for _ in range(10)])
        self.assertEqual({verdict.status for verdict in verdicts}, {403})
        self.assertIn("process-ended", self.counted)

    async def test_crash(self) -> None:
        """A process that ends by a signal."""
        await self.check(b"/crash", "signal 11")

    async def test_leaving(self) -> None:
        """A process that ends of itself."""
        await self.check(b"/leave", "status 3")

    async def test_garbage(self) -> None:
        """A process that says what is no frame is ended."""
        await self.check(b"/garbage", "ended")

    async def test_endless_frame(self) -> None:
        """A process that announces more than there may be is ended before any of that has come."""
        await self.check(b"/endless", "ended")

    async def test_what_nobody_asked(self) -> None:
        """A process that judges another request than its own is ended."""
        await self.check(b"/unasked", "ended")

    async def test_too_much_memory(self) -> None:
        """A process that wants more than it may have ends, and nothing else does."""
        await self.check(b"/memory", "status 1")

    async def test_files(self) -> None:
        """A process that wants to write a file cannot."""
        written = Path(self.mktemp()).absolute()
        written.parent.mkdir(parents=True, exist_ok=True)
        await self.check(b"/write" + os.fsencode(written), "status 1")
        self.assertFalse(written.exists() and written.stat().st_size)

    async def test_killed_between_requests(self) -> None:
        """A process that somebody kills while it has nothing to do costs nobody anything."""
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
        await self.until(lambda: self.counted.count("process-ended") == 2)
        await self.until(lambda: all(member.is_ready for member in self.firewall._members))
        self.assertEqual((await self.ask(b"/deny")).status, 403)


class SlowTests(StartedCase):
    seconds = PATIENCE

    async def test_hanging(self) -> None:
        """A process that hangs is killed after its time, and nobody else waits behind it until then."""
        clock = self.firewall.clock = Clock()
        hanging = Deferred.fromCoroutine(self.ask(b"/hang"))
        for _ in range(20):
            self.assertEqual((await self.ask(b"/deny")).status, 403)
        clock.advance(self.seconds - 0.1)
        self.assertEqual((await self.ask(b"/deny")).status, 403)
        self.assertFalse(hanging.called)
        clock.advance(0.1)
        self.assertIn("took too long", (await hanging).failure)


class CheckTests(TestCase):
    def test_what_is_missing_is_said_in_one_line(self) -> None:
        """Where the library is not there, the start ends with the name of its package."""
        self.patch(process, "PROGRAM", "tests.firewall.missing_library")
        told = str(self.assertRaises(StartError, check_installed))
        self.assertIn("--firewall-processes: libmodsecurity.so.3 is not there", told)
        self.assertIn("package libmodsecurity3", told)
        self.assertNotIn("\n", told)

    def test_no_program(self) -> None:
        """Where no process can be started, that is said, too."""
        self.patch(sys, "executable", "/no/such/python")
        self.assertIn(
            "no firewall process can be started", str(self.assertRaises(StartError, check_installed))
        )
