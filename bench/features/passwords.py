"""What passwords cost: ``make bench-passwords`` prints it.

A filter is asked as the proxy asks it, with the real threads.  Times of requests are what the thread that asks needs
of the processor.  The flood is of 10,000 wrong passwords a second from a thousand clients, in portions of a millisecond as the reactor would
have them; the longest portion is how long all other requests would have waited.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from inspect import iscoroutine
from queue import Empty, SimpleQueue
from sys import setswitchinterval
from threading import Event
from time import monotonic, thread_time
from typing import Any

from twisted.internet.defer import Deferred

from ingress.annotations.passwords.basic_check import PasswordCheck
from ingress.annotations.passwords.htpasswd import accounts_of, read_accounts, verify
from ingress.filters import Filter, Reply
from ingress.process.computing import ComputingThreads
from ingress.process.interpreter import SWITCH_SECONDS
from tests.fakes.filter_parts import FakeFacts, FakeServices

_APR1 = b"$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/"
FLOOD_SECONDS = 5
A_SECOND = 10_000


class _Loop:
    """What threads say, done when it is asked for."""

    def __init__(self) -> None:
        self._said: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        self.threads = ComputingThreads(lambda call, *arguments: self._said.put((call, *arguments)))

    def compute(
        self, call: Callable[[], object], whose: Hashable = None, once: Hashable = None
    ) -> Awaitable[Any]:
        """Compute in the threads."""
        return self.threads.compute(call, whose, once)

    def turn(self) -> int:
        """Do what was said; return how much that was."""
        count = 0
        try:
            while True:
                call, *arguments = self._said.get_nowait()
                call(*arguments)
                count += 1
        except Empty:
            return count


def _basic(password: bytes) -> dict[bytes, bytes]:
    return {b"authorization": b"Basic " + b64encode(b"bob:" + password)}


def _ask(live: Filter, facts: FakeFacts) -> int:
    """Return the status, 0 for who gets in, -1 for who waits."""
    verdict: Any = live.on_request(facts)
    if iscoroutine(verdict):
        Deferred.fromCoroutine(verdict)
        return -1
    return verdict.status if isinstance(verdict, Reply) else 0


def _microseconds(call: Callable[[], object], times: int = 20_000) -> float:
    best = float("inf")
    for _ in range(5):
        began = thread_time()
        for _ in range(times):
            call()
        best = min(best, (thread_time() - began) / times)
    return best * 1e6


def main() -> None:
    """Print all figures."""
    import bcrypt

    # As in a process that serves.
    setswitchinterval(SWITCH_SECONDS)
    rest = Event().wait
    hashed = bcrypt.hashpw(b"secret", bcrypt.gensalt(10))
    for name, one in (("apr1", _APR1), ("bcrypt, cost 10", hashed)):
        began = monotonic()
        verify(b"secret", one)
        print(f"one hash, {name}: {(monotonic() - began) * 1000:.1f} ms, in a thread")
    file = b"".join(b"user%d:%b\n" % (number, _APR1[:-1] + b"/") for number in range(22_000))
    steps, last = [], monotonic()
    for _ in read_accounts(file):
        now = monotonic()
        steps.append(now - last)
        last = now
    print(
        f"a Secret of {len(file):,} bytes, {22_000:,} users: {len(steps)} steps, the longest "
        f"{max(steps) * 1000:.1f} ms, all {sum(steps) * 1000:.0f} ms"
    )
    accounts_of(file)
    loop = _Loop()
    services = FakeServices(computing=loop)  # type: ignore[arg-type]
    live = PasswordCheck(b"bob:" + _APR1).make(services)
    good = FakeFacts(fields=_basic(b"secret"))
    _ask(live, good)
    while not loop.turn():
        rest(0.001)
    print(
        f"a request with a password that is remembered: {_microseconds(lambda: live.on_request(good)):.1f} us"
    )
    nobody = FakeFacts()
    print(f"a request without any: {_microseconds(lambda: live.on_request(nobody)):.1f} us")
    answers: Counter[int] = Counter()
    portions, computed, number = [], 0, 0
    began = monotonic()
    while (now := monotonic()) - began < FLOOD_SECONDS:
        due = int((now - began) * A_SECOND)
        at = monotonic()
        computed += loop.turn()
        while number < due:
            client = b"10.0.%d.%d" % (number % 4, number % 250)
            answers[_ask(live, FakeFacts(fields=_basic(b"%d" % number), client=client))] += 1
            number += 1
        portions.append(monotonic() - at)
        rest(0.001)
    portions.sort()
    print(
        f"a flood of {number / FLOOD_SECONDS:,.0f} wrong passwords a second: {computed / FLOOD_SECONDS:,.0f} hashed, "
        f"{(answers[503] + answers[429]) / FLOOD_SECONDS:,.0f} refused at once; of the thread that asks "
        f"{sum(portions) / FLOOD_SECONDS * 100:.0f} % taken, half of the portions within {portions[len(portions) // 2] * 1000:.2f} ms, "
        f"99 % within {portions[len(portions) * 99 // 100] * 1000:.2f} ms"
    )
    loop.threads.stop()


if __name__ == "__main__":
    main()
