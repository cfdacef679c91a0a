"""Somebody sets the clock of the machine while the controller serves: no deadline moves, and dates do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from time import monotonic

from twisted.trial.unittest import SkipTest

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.downstreams import DownstreamWire
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.upstreams import OK, UpstreamWire
from tests.fakes.wall_clocks import MovedClock

PREFIX = "nginx.ingress.kubernetes.io"
DAY = 86_400
SLACK = timedelta(hours=1)
TIMEOUT_SECONDS = 4


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
