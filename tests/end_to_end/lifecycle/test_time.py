"""Time is another than the process thinks: somebody sets the clock of the machine, or it was stopped for a while."""

from __future__ import annotations

import signal
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from time import monotonic

from twisted.trial.unittest import SkipTest

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.clocks.wall_clocks import MovedClock
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.peers.upstreams import OK, UpstreamWire

PREFIX = "nginx.ingress.kubernetes.io"
DAY = 86_400
SLACK = timedelta(hours=1)
TIMEOUT_SECONDS = 4
STILL_SECONDS = 6


class SetClockTests(EndToEndCase):
    """A controller on the reactor that ``twistd`` chooses."""

    def setUp(self) -> None:
        super().setUp()
        self.wall = MovedClock(self.directory)
        if self.wall.missing:
            raise SkipTest(self.wall.missing)
        self.environment = self.wall.environment
        self.held: list[UpstreamWire] = []

    def answer_or_hold(self, wire: UpstreamWire) -> None:
        """Answer, but what asks for ``/slow``."""
        if wire.heads[-1].startswith(b"GET /slow"):
            self.held.append(wire)
        else:
            wire.write(OK)

    async def running(self, host: bytes = b"shop.test") -> DownstreamWire:
        """Return a connection whose request for a *host* the upstream thinks about."""
        before = len(self.held)
        client = await self.connect(self.http)
        client.get(b"/slow", host)
        await self.until(lambda: len(self.held) > before)
        return client

    async def until_date(self, client: DownstreamWire, days: int) -> datetime:
        """Ask on *client* until answers carry the date of so many days from now, twice; return the later one."""
        dates: set[datetime] = set()
        wanted = datetime.now(UTC) + timedelta(days=days)
        while len(dates) < 2:
            client.get(b"/quick", b"shop.test")
            await client.answer()
            self.assertIsNone(client.lost, "the kept connection was closed")
            lines = client.answers[-1].head.split(b"\r\n")
            [date] = [line[6:].decode() for line in lines if line.lower().startswith(b"date: ")]
            if abs(parsedate_to_datetime(date) - wanted) < SLACK:
                dates.add(parsedate_to_datetime(date))
            await self.turn(0.05)
        return max(dates)

    def days_of_lines(self) -> set[int]:
        """Return which days, counted from today, the lines of the access log tell of."""
        times = [
            datetime.fromisoformat(line.split()[0].decode())
            for line in self.access_log.read_bytes().splitlines()
        ]
        return {round((time - datetime.now(UTC)) / timedelta(days=1)) for time in times}

    async def test_steps(self) -> None:
        """
        After a step of a day running requests end well and kept connections are used again, after one
        back unfinished heads and silent upstreams end in time; Date and the access log follow at once.
        """
        app = self.upstream(b"")
        app.on_request = self.answer_or_hold
        self.write("app", ingress_object("app", "shop.test"), service_object("app"))
        # Where requests are to end well they have the usual minute, which a day is longer than, too.
        silenced = ingress_object("silent", "silent.test")
        silenced["metadata"]["annotations"] = {f"{PREFIX}/proxy-read-timeout": str(TIMEOUT_SECONDS)}
        self.write("silent", silenced, service_object("silent"))
        controller = self.start_with_manifests(
            f"--endpoint={NAMESPACE}/app={app.endpoint}",
            f"--endpoint={NAMESPACE}/silent={app.endpoint}",
            f"--client-header-timeout={TIMEOUT_SECONDS}",
        )
        await self.until_ready(controller)
        kept = await self.connect(self.http)
        await self.until_date(kept, days=0)
        running = [await self.running() for _ in range(5)]

        self.wall.move(DAY)
        # Two dates are two sweeps: whatever is overdue has ended by the second one.
        await self.until_date(kept, days=1)
        for wire in self.held:
            wire.write(OK)
        for client in running:
            await client.answer(1)
            self.assertEqual([answer.status for answer in client.answers], [200])
        self.assertEqual(len(app.open_wires), len(app.wires), "connections to the upstream were kept")

        half = await self.connect(self.http)
        half.send(b"GET / HTTP/1.1\r\nHost: shop.te")
        silent = await self.running(b"silent.test")
        self.wall.move(-DAY)
        begin = monotonic()
        await self.until_date(kept, days=-1)
        await half.answer(1)
        await silent.answer(1)
        self.assertEqual([half.answers[-1].status, silent.answers[-1].status], [408, 504])
        # Far below the day by which a deadline could have moved, far above what a busy machine needs.
        self.assertLess(monotonic() - begin, 10 * TIMEOUT_SECONDS)
        await self.until(lambda: self.days_of_lines() == {-1, 0, 1})
        self.assertIsNone(controller.status)


class SetClockOnPollTests(SetClockTests):
    """The same on ``poll``."""

    runner = ("--reactor=poll",)


class SetClockOnSelectTests(SetClockTests):
    """The same on ``select``."""

    runner = ("--reactor=select",)


class SetClockOnAsyncioTests(SetClockTests):
    """The same on asyncio's event loop."""

    runner = ("--reactor=asyncio",)


class SetClockWithoutEpollTests(SetClockTests):
    """The same on Twisted's own transports."""

    async def test_steps(self) -> None:
        """Deadlines are as steady where Twisted carries the connections."""
        start = self.start_with_manifests
        self.patch(self, "start_with_manifests", lambda *options: start("--no-epoll", *options))
        await super().test_steps()


class StoodStillTests(EndToEndCase):
    """A controller that was stopped for longer than all that it waits for may take."""

    async def test_stopped(self) -> None:
        """What came meanwhile is read before anything ends: the rest of a head, an answer, and a request that takes its time from now."""
        app = self.upstream(b"")
        held: list[UpstreamWire] = []
        app.on_request = lambda wire: held.append(wire) if b"slow" in wire.heads[-1] else wire.write(OK)
        shop = ingress_object("app", "shop.test")
        shop["metadata"]["annotations"] = {f"{PREFIX}/proxy-read-timeout": str(STILL_SECONDS)}
        self.write("app", shop, service_object("app"))
        controller = self.start_with_manifests(
            f"--endpoint={NAMESPACE}/app={app.endpoint}",
            f"--client-header-timeout={STILL_SECONDS}",
            f"--keep-alive-timeout={STILL_SECONDS}",
        )
        await self.until_ready(controller)
        waiting, half, kept = [await self.connect(self.http) for _ in range(3)]
        waiting.get(b"/slow", b"shop.test")
        await self.until(lambda: len(held) == 1)
        half.send(b"GET / HTTP/1.1\r\nHost: shop.te")
        # The last to say something before the stop, so that all had a turn.
        kept.get(b"/quick", b"shop.test")
        await kept.answer(1)

        controller.signal(signal.SIGSTOP)
        stopped_at = monotonic()
        held[0].write(OK)
        half.send(b"st\r\n\r\n")
        kept.get(b"/slow", b"shop.test")
        await self.until(lambda: monotonic() - stopped_at > STILL_SECONDS + 1)
        controller.signal(signal.SIGCONT)
        # Two ticks, of which the second keeps deadlines again.
        goes_on_at = monotonic() + 2

        await waiting.answer(1)
        await half.answer(1)
        self.assertEqual([one.answers[-1].status for one in (waiting, half)], [200, 200])
        await self.until(lambda: len(held) == 2 and monotonic() >= goes_on_at)
        held[1].write(OK)
        await kept.answer(2)
        self.assertEqual(kept.answers[-1].status, 200)
        self.assertEqual(len(held), 2, "asked again")
