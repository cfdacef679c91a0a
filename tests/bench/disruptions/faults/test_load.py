"""The load counts every request once, and forgives nothing."""

import asyncio
from collections.abc import Awaitable, Callable

from twisted.trial.unittest import SynchronousTestCase

from bench.disruptions.faults.backends import Backend, Behavior, BlackHole, Peer, Request
from bench.disruptions.faults.load import Load, Tally
from bench.disruptions.faults.visitors import ask, get
from bench.setup.errors import BenchError
from bench.setup.processes import free_ports

_ANSWER = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"


async def well(request: Request, peer: Peer) -> None:
    """Answer."""
    await peer.answer(b"ok")


def writing(sent: bytes) -> Behavior:
    """Return a behavior that writes *sent*, and ends the connection."""

    async def write(request: Request, peer: Peer) -> None:
        await peer.write(sent)
        peer.close()

    return write


def played(behavior: Behavior, script: Callable[[Backend], Awaitable[None]]) -> Backend:
    """Play *script* to a backend; return it."""

    async def play() -> Backend:
        backend = Backend(behavior)
        await backend.start(free_ports(1)[0])
        try:
            async with asyncio.timeout(20):
                await script(backend)
        finally:
            await backend.stop()
        return backend

    return asyncio.run(play())


class LoadTests(SynchronousTestCase):
    """Real sockets, and backends that behave as told."""

    def tally(self, behavior: Behavior, count: int = 20, **options: object) -> tuple[Tally, Backend]:
        """Send *count* requests to a backend; return what was counted, and the backend."""
        tallies = []

        async def script(backend: Backend) -> None:
            load = Load(backend.port, connections=4, **options)  # type: ignore[arg-type]
            tallies.append(await load.send(count))

        backend = played(behavior, script)
        return tallies[0], backend

    def test_good(self) -> None:
        """Answers are counted by status and by body, and each request reached the backend once."""
        tally, backend = self.tally(well, 200)
        self.assertEqual((tally.sent, tally.answered[200], tally.bad), (200, 200, 0))
        self.assertEqual(len(backend.seen), 200)
        self.assertEqual((dict(tally.shares), len(tally.latencies)), ({b"ok": 200}, 200))
        self.assertLessEqual(backend.connections, 4)

    def test_status(self) -> None:
        """An answer with an error is an answer, and bad."""
        tally, _ = self.tally(writing(_ANSWER.replace(b"200 OK", b"502 No")))
        self.assertEqual((tally.answered[502], tally.failed.total(), tally.bad), (20, 0, 20))

    def test_failures(self) -> None:
        """Cut, malformed, missing and foreign answers are failures, each by its name."""
        for sent, reason in (
            (_ANSWER[:-1], "cut answer"),
            (b"what\r\n\r\n", "malformed answer"),
            (b"", "closed without an answer"),
            (_ANSWER + _ANSWER, "more than one answer"),
            (_ANSWER.replace(b"ok", b"no"), "answer of somebody else"),
        ):
            tally, _ = self.tally(writing(sent), bodies=[b"ok"])
            self.assertEqual((dict(tally.failed), tally.bad), ({reason: 20}, 20))

    def test_stale_connection(self) -> None:
        """A connection that ends where it was promised to be kept costs a request: nothing is tried again."""

        async def close_at_second(request: Request, peer: Peer) -> None:
            if request.number == 2:
                peer.close()
            else:
                await peer.answer(b"ok")

        tally, backend = self.tally(close_at_second)
        self.assertEqual(len(backend.seen), 20)
        self.assertEqual(tally.answered[200], sum(request.number == 1 for request in backend.seen))
        self.assertEqual(tally.failed.total(), sum(request.number == 2 for request in backend.seen))

    def test_bytes_that_nobody_asked_for(self) -> None:
        """An answer without a request is seen."""

        async def twice(request: Request, peer: Peer) -> None:
            await peer.answer(b"ok")
            if request.connection == 1 and request.number == 1:
                await asyncio.sleep(0.05)
                await peer.answer(b"more")

        tallies = []

        async def script(backend: Backend) -> None:
            tallies.append(await Load(backend.port, connections=1, rate=5).run(0.7))

        played(twice, script)
        self.assertEqual(tallies[0].unasked, 1)
        self.assertEqual(tallies[0].bad, 1)

    def test_refused(self) -> None:
        """Where nobody listens, every request fails."""

        async def script() -> Tally:
            return await Load(free_ports(1)[0], connections=2).send(6)

        tally = asyncio.run(script())
        self.assertEqual((tally.sent, tally.failed["not connected"], tally.bad), (6, 6, 6))
        self.assertEqual(tally.reasons(), "6 x not connected")

    def test_stop_waits(self) -> None:
        """Stopping loses no request: those under way are waited for."""

        async def slowly(request: Request, peer: Peer) -> None:
            await asyncio.sleep(0.2)
            await peer.answer(b"ok")

        tallies = []

        async def script(backend: Backend) -> None:
            tallies.append(await Load(backend.port, connections=3).run(0.1))

        backend = played(slowly, script)
        self.assertEqual((tallies[0].sent, tallies[0].answered[200]), (3, 3))
        self.assertEqual(len(backend.seen), 3)

    def test_books(self) -> None:
        """A request that got lost in the caches is an error of the benchmark."""
        tally = Tally(sent=2)
        tally.answered[200] = 1
        self.assertRaises(BenchError, tally.check)


class VisitorTests(SynchronousTestCase):
    """Single requests."""

    def test_ends(self) -> None:
        """What came back is told as what it is."""
        for sent, end in (
            (_ANSWER, "whole"),
            (_ANSWER[:-1], "cut"),
            (b"", "nothing"),
            (b"what\r\n\r\n", "malformed"),
        ):
            told: list[str] = []

            async def script(backend: Backend, told: list[str] = told) -> None:
                told.append((await ask(backend.port, get())).end)

            played(writing(sent), script)
            self.assertEqual(told, [end])

    def test_late_and_refused(self) -> None:
        """A backend that says nothing is late, one that is not there refuses, a black hole lets nobody in."""

        async def silent(request: Request, peer: Peer) -> None:
            await peer.reader.read()

        told = []

        async def script(backend: Backend) -> None:
            told.append((await ask(backend.port, get(), 0.2)).end)
            told.append((await ask(free_ports(1)[0], get())).end)
            hole = BlackHole(free_ports(1)[0])
            try:
                async with asyncio.timeout(0.3):
                    await asyncio.open_connection("127.0.0.1", hole.port)
            except TimeoutError:
                told.append("hole")
            finally:
                hole.close()

        played(silent, script)
        self.assertEqual(told, ["late", "refused", "hole"])


class BackendTests(SynchronousTestCase):
    """What backends remember."""

    def test_requests(self) -> None:
        """A request is remembered as it came, with its body in either framing."""

        async def script(backend: Backend) -> None:
            await ask(backend.port, get("/a", "POST", b"body"))
            chunks = b"POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n"
            await ask(backend.port, chunks)

        backend = played(well, script)
        found = [(one.method, one.target, one.body, one.connection, one.number) for one in backend.seen]
        self.assertEqual(found, [(b"POST", b"/a", b"body", 1, 1), (b"POST", b"/b", b"body", 2, 1)])
        self.assertEqual((backend.open, len(backend.ended_at)), (0, 2))
