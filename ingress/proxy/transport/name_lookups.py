"""Looking up the addresses of names, so that a name whose servers are silent keeps nobody waiting but who asks for it.

The system is asked by ``getaddrinfo``, which blocks for as long as its resolver waits: ten seconds where nothing answers, unless
``resolv.conf`` says otherwise.  So each lookup has a thread, each name one lookup at a time, whose answer is for all who wait
for it then, and there are *lanes*: so many threads for names of the operator, so many for those of tenants, and a few for those that
were slow the last time, whoever's they are.  A lookup that finds its lane full waits, in order, as long as anybody waits for it.

Nothing is remembered of answers: a name may have another one the next time.  No thread keeps the process from ending.
"""

import socket
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any, Final

OPERATORS_THREADS: Final = 8
TENANTS_THREADS: Final = 16
SLOW_THREADS: Final = 8
SLOW_SECONDS: Final = 2.0
"""A lookup that takes longer makes its name a slow one, until one is quick."""
MOST_SLOW: Final = 4096
"""Slow names that are known as such; the one that was slow longest ago is forgotten first."""

Found = Callable[[Sequence[str]], None]
"""Is told the addresses of a name, in the order of the system; none where it has none, or nobody knows."""


def addresses_of(name: str) -> Sequence[str]:
    """Ask the system for the addresses of *name*, each once; may take long."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        # A label that is too long is refused by the encoding of names.
        return ()
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


class _Lane:
    """Lookups of one sort, of which *most* may be under way; *waiting* are those whose turn is to come, in order."""

    __slots__ = ("most", "under_way", "waiting")

    def __init__(self, most: int) -> None:
        self.most = most
        self.under_way = 0
        self.waiting: dict[str, None] = {}


class _Lookup:
    """One name that is looked up, and who is to be told."""

    __slots__ = ("begun_at", "lane", "name", "told")

    def __init__(self, name: str, lane: _Lane) -> None:
        self.name = name
        self.lane = lane
        self.begun_at: float | None = None
        self.told: dict[object, Found] = {}


class NameLookups:
    """All lookups of a process: *reactor* has the clock, and is told by threads; *ask* is called in these."""

    def __init__(self, reactor: Any, ask: Callable[[str], Sequence[str]] = addresses_of) -> None:
        self._reactor = reactor
        self._ask = ask
        self._lookups: dict[str, _Lookup] = {}
        self._operators, self._tenants = _Lane(OPERATORS_THREADS), _Lane(TENANTS_THREADS)
        self._slow = _Lane(SLOW_THREADS)
        self._slow_names: dict[str, None] = {}

    def __repr__(self) -> str:
        waiting = sum(len(lane.waiting) for lane in (self._operators, self._tenants, self._slow))
        return f"<NameLookups {len(self._lookups) - waiting} under way, {waiting} waiting>"

    def find(self, name: str, found: Found, *, is_tenants: bool) -> Callable[[], None]:
        """Have *found* told the addresses of *name*, never before this returns; return what ends the wait.

        *is_tenants* says whose name it is.
        """
        lookup = self._lookups.get(name)
        if lookup is None:
            lane = self._tenants if is_tenants else self._operators
            lookup = _Lookup(name, self._slow if name in self._slow_names else lane)
            self._lookups[name] = lookup
            lookup.lane.waiting[name] = None
            self._go_on(lookup.lane)
        ticket = object()
        lookup.told[ticket] = found
        return lambda: self._leave(lookup, ticket)

    def _leave(self, lookup: _Lookup, ticket: object) -> None:
        lookup.told.pop(ticket, None)
        if not lookup.told and lookup.name in lookup.lane.waiting:
            del lookup.lane.waiting[lookup.name], self._lookups[lookup.name]

    def _go_on(self, lane: _Lane) -> None:
        """Begin as many lookups of *lane* as there are threads for."""
        while lane.waiting and lane.under_way < lane.most:
            name = next(iter(lane.waiting))
            del lane.waiting[name]
            lane.under_way += 1
            lookup = self._lookups[name]
            lookup.begun_at = self._reactor.seconds()
            try:
                Thread(target=self._look_up, args=(lookup,), name="name lookup", daemon=True).start()
            except RuntimeError:
                # The system has no thread left.
                self._reactor.callLater(0, self._ended, lookup, ())

    def _look_up(self, lookup: _Lookup) -> None:
        addresses = self._ask(lookup.name)
        self._reactor.callFromThread(self._ended, lookup, addresses)

    def _ended(self, lookup: _Lookup, addresses: Sequence[str]) -> None:
        assert lookup.begun_at is not None
        del self._lookups[lookup.name]
        self._slow_names.pop(lookup.name, None)
        if self._reactor.seconds() - lookup.begun_at > SLOW_SECONDS:
            self._slow_names[lookup.name] = None
            if len(self._slow_names) > MOST_SLOW:
                del self._slow_names[next(iter(self._slow_names))]
        lookup.lane.under_way -= 1
        self._go_on(lookup.lane)
        told = lookup.told
        while told:
            told.pop(next(iter(told)))(addresses)
