"""A load that counts honestly: each request that is sent ends as exactly one answer or one failure.

Nothing is repeated and nothing is forgiven: a connection that ends while a request waits
is a failure of that request, also where a browser would try again.  An answer counts
when it is whole, well formed and from one of the expected backends.
"""

import asyncio
from collections import Counter
from collections.abc import Collection
from time import monotonic

from attrs import define, field

from bench.disruptions.faults.answers import AnswerError, AnswerReader
from bench.measuring.summary import percentile
from bench.setup.errors import BenchError
from bench.setup.processes import HOST

PATIENCE_SECONDS = 15.0
_SWEEP_SECONDS = 0.25


@define
class Tally:
    """What became of the requests."""

    sent: int = 0
    answered: Counter[int] = field(factory=Counter)
    """By status."""
    failed: Counter[str] = field(factory=Counter)
    """By reason."""
    latencies: list[float] = field(factory=list)
    """Seconds, of answers with a status of 2xx."""
    unasked: int = 0
    """Connections on which bytes came that nobody had asked for."""
    moments: dict[bytes, float] = field(factory=dict)
    """When the last one of them was complete, on the monotonic clock, by its body."""
    shares: Counter[bytes] = field(factory=Counter)
    """How many of them had each body."""

    @property
    def bad(self) -> int:
        """Requests without an answer of 2xx, and answers without a request."""
        good = sum(count for status, count in self.answered.items() if 200 <= status < 300)
        return self.sent - good + self.unasked

    @property
    def p99_ms(self) -> float:
        """The latency that 99 of 100 answers do not exceed; infinite without answers."""
        return percentile(self.latencies, 0.99) * 1000 if self.latencies else float("inf")

    def last_from(self, body: bytes) -> float:
        """When the last answer with *body* was complete; minus infinity if there is none."""
        return self.moments.get(body, float("-inf"))

    def check(self) -> None:
        """Raise BenchError if a request is lost in the caches."""
        ended = self.answered.total() + self.failed.total()
        if ended != self.sent:
            raise BenchError(f"the load has miscounted: {self.sent} requests sent, but {ended} ended")

    def reasons(self) -> str:
        """What went wrong, in a few words; empty if nothing did."""
        bad = {str(status): count for status, count in self.answered.items() if not 200 <= status < 300}
        return ", ".join(f"{count} x {why}" for why, count in (Counter(bad) + self.failed).most_common(4))


class _Connection(asyncio.Protocol):
    """One connection with at most one request on it."""

    def __init__(self, tally: Tally) -> None:
        self.is_open = True
        self._tally = tally
        self.transport: asyncio.Transport | None = None
        self._ended: asyncio.Future[str] | None = None
        """Fires with the reason of a failure, or with nothing."""
        self.reader = AnswerReader()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def ask(self, request: bytes, method: bytes) -> "asyncio.Future[str]":
        """Send *request*; the result says why it failed, and is empty if it did not."""
        assert self.transport is not None
        self._ended = asyncio.get_running_loop().create_future()
        self.reader = AnswerReader(method)
        self.transport.write(request)
        return self._ended

    def data_received(self, data: bytes) -> None:
        try:
            self.reader.feed(data)
        except AnswerError:
            self.abort("malformed answer")
            return
        if self._ended is None or self._ended.done():
            self._tally.unasked += 1
            self.abort("")
        elif self.reader.is_whole:
            if self.reader.rest:
                self.abort("more than one answer")
            else:
                self._end("")

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        self.reader.end()
        if self.reader.is_whole:
            self._end("")
        elif self.reader.is_begun:
            self._end("cut answer")
        else:
            self._end("reset" if error else "closed without an answer")

    def abort(self, why: str) -> None:
        """End the connection, and the request with it."""
        self.is_open = False
        self._end(why)
        assert self.transport is not None
        self.transport.abort()

    def _end(self, why: str) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(why)


class Load:
    """*connections* clients that ask the proxy at *port*, one request at a time each.

    *rate* is that of all together, in requests a second; without it they ask as fast as they
    get answers.  *bodies* are those that may be answered; without them any.
    """

    def __init__(
        self,
        port: int,
        *,
        connections: int = 20,
        rate: float | None = None,
        request: bytes = b"GET / HTTP/1.1\r\nHost: fault.test\r\n\r\n",
        bodies: Collection[bytes] | None = None,
        keeps_latencies: bool = True,
    ) -> None:
        self.tally = Tally()
        self._port = port
        self._count = connections
        self._pause = connections / rate if rate else 0.0
        self._request = request
        self._method = request.split(b" ", 1)[0]
        self._bodies = bodies
        self._keeps_latencies = keeps_latencies
        """An hour of them is much."""
        self._is_over = False
        self._limit: int | None = None
        self._waiting: dict[_Connection, float] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> Tally:
        """Send no more, wait for all answers, and return what became of everything."""
        self._is_over = True
        assert self._task is not None
        await self._task
        self.tally.check()
        return self.tally

    async def run(self, seconds: float) -> Tally:
        """Ask for so long."""
        self.start()
        await asyncio.sleep(seconds)
        return await self.stop()

    async def send(self, count: int) -> Tally:
        """Ask so many times."""
        self._limit = count
        await self._run()
        self.tally.check()
        return self.tally

    async def _run(self) -> None:
        deadlines = asyncio.create_task(self._end_overdue())
        try:
            await asyncio.gather(*(self._client(number) for number in range(self._count)))
        finally:
            deadlines.cancel()

    async def _end_overdue(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            late = monotonic() - PATIENCE_SECONDS
            for connection in [one for one, began in self._waiting.items() if began < late]:
                connection.abort(f"no answer in {PATIENCE_SECONDS:g} s")

    def _may_send(self) -> bool:
        return not self._is_over and (self._limit is None or self.tally.sent < self._limit)

    async def _client(self, number: int) -> None:
        connection: _Connection | None = None
        due = monotonic() + self._pause * number / self._count
        while self._may_send():
            if self._pause:
                due = max(due + self._pause, monotonic() - self._pause)
                await asyncio.sleep(max(0.0, due - monotonic()))
                if not self._may_send():
                    break
            connection = await self._ask(connection)
            if connection is None and not self._pause:
                await asyncio.sleep(0.001)  # whoever is refused at once lets others have a turn
        if connection is not None:
            assert connection.transport is not None
            connection.transport.abort()

    async def _ask(self, connection: _Connection | None) -> _Connection | None:
        """Send one request and count what becomes of it; return the connection if it is good for another."""
        tally = self.tally
        tally.sent += 1
        began = monotonic()
        if connection is None or not connection.is_open:
            loop = asyncio.get_running_loop()
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    _, connection = await loop.create_connection(lambda: _Connection(tally), HOST, self._port)
            except (OSError, TimeoutError):
                tally.failed["not connected"] += 1
                return None
        self._waiting[connection] = began
        why = await connection.ask(self._request, self._method)
        del self._waiting[connection]
        if why:
            tally.failed[why] += 1
            connection.abort("")
            return None
        self._count_answer(connection.reader, began)
        if connection.reader.says_close or not connection.is_open:
            connection.abort("")
            return None
        return connection

    def _count_answer(self, answer: AnswerReader, began: float) -> None:
        tally, now, body = self.tally, monotonic(), bytes(answer.body)
        is_good = 200 <= answer.status < 300
        if is_good and self._bodies is not None and body not in self._bodies:
            tally.failed["answer of somebody else"] += 1
            return
        tally.answered[answer.status] += 1
        if is_good:
            tally.shares[body] += 1
            tally.moments[body] = now
            if self._keeps_latencies:
                tally.latencies.append(now - began)
