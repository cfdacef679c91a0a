"""Looking up the addresses of names, so that a name whose servers are silent keeps nobody waiting but who asks for it.

The system is asked by ``getaddrinfo``, which blocks for as long as its resolver waits: ten seconds where nothing answers, unless
``resolv.conf`` says otherwise.  So each lookup has a thread, each name one lookup at a time, whose answer is for all who wait
for it then, and there are *lanes*: so many threads for names, and a few for those that were slow the last time.  A lookup that finds
its lane full waits, in order, as long as anybody waits for it.  The operator and tenants have nothing of this in common, be it the
same name: a tenant may name whatever he likes, and any name is slow once when a packet is lost.

Nothing is remembered of answers: a name may have another one the next time.  No thread keeps the process from ending.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Thread
from typing import Any, Final

from ingress.process.in_slices import first_at_once
from ingress.proxy.contract.portions import in_portions

OPERATORS_THREADS: Final = 8
TENANTS_THREADS: Final = 16
SLOW_THREADS: Final = 8
"""For slow names of the operator, and so many for those of tenants."""
SLOW_SECONDS: Final = 2.0
"""A lookup that takes longer makes its name a slow one, until one is quick."""
MOST_SLOW: Final = 4096
"""Slow names that are known as such, of either; the one that was slow longest ago is forgotten first."""

Found = Callable[[Sequence[str]], None]
"""Is told the addresses of a name, in the order of the system; none where it has none, or nobody knows."""

_Asked = tuple[str, bool]
"""A name, and whether a tenant asks."""


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
        self.waiting: dict[_Asked, _Lookup] = {}


class _Lookup:
    """One name that is looked up, and who is to be told."""

    __slots__ = ("asked", "begun_at", "lane", "told")

    def __init__(self, asked: _Asked, lane: _Lane) -> None:
        self.asked = asked
        self.lane = lane
        self.begun_at: float | None = None
        self.told: dict[object, Found] = {}


class _Lanes:
    """Those of the operator, or of tenants: for names at large, with so many *threads*, and for slow ones."""

    __slots__ = ("slow", "usual")

    def __init__(self, threads: int) -> None:
        self.usual = _Lane(threads)
        self.slow = _Lane(SLOW_THREADS)


class NameLookups:
    """All lookups of a process: *reactor* has the clock, and is told by threads; *ask* is called in these."""

    def __init__(self, reactor: Any, ask: Callable[[str], Sequence[str]] = addresses_of) -> None:
        self._reactor = reactor
        self._ask = ask
        self._lookups: dict[_Asked, _Lookup] = {}
        self._operators, self._tenants = _Lanes(OPERATORS_THREADS), _Lanes(TENANTS_THREADS)
        self._slow_names: dict[_Asked, None] = {}

    def __repr__(self) -> str:
        waiting = sum(
            len(lane.waiting)
            for lanes in (self._operators, self._tenants)
            for lane in (lanes.usual, lanes.slow)
        )
        return f"<NameLookups {len(self._lookups) - waiting} under way, {waiting} waiting>"

    def find(self, name: str, found: Found, *, is_tenants: bool) -> Callable[[], None]:
        """Have *found* told the addresses of *name*, never before this returns; return what ends the wait.

        *is_tenants* says whose name it is.
        """
        asked = name, is_tenants
        lookup = self._lookups.get(asked)
        if lookup is None:
            lanes = self._tenants if is_tenants else self._operators
            lookup = _Lookup(asked, lanes.slow if asked in self._slow_names else lanes.usual)
            self._lookups[asked] = lookup
            lookup.lane.waiting[asked] = lookup
            self._go_on(lookup.lane)
        ticket = object()
        lookup.told[ticket] = found
        return partial(self._leave, lookup, ticket)

    def _leave(self, lookup: _Lookup, ticket: object) -> None:
        lookup.told.pop(ticket, None)
        # Who leaves late may do so when the name is looked up anew.
        if not lookup.told and lookup.lane.waiting.get(lookup.asked) is lookup:
            del lookup.lane.waiting[lookup.asked], self._lookups[lookup.asked]

    def _go_on(self, lane: _Lane) -> None:
        """Begin as many lookups of *lane* as there are threads for."""
        while lane.waiting and lane.under_way < lane.most:
            lookup = lane.waiting.pop(next(iter(lane.waiting)))
            lane.under_way += 1
            lookup.begun_at = self._reactor.seconds()
            try:
                Thread(target=self._look_up, args=(lookup,), name="name lookup", daemon=True).start()
            except RuntimeError:
                # The system has no thread left.
                self._reactor.callLater(0, self._ended, lookup, ())

    def _look_up(self, lookup: _Lookup) -> None:
        name, _ = lookup.asked
        addresses: Sequence[str] = ()
        try:
            addresses = self._ask(name)
        finally:
            # Else the name would be looked up for ever, and its lane have a thread less.
            self._reactor.callFromThread(self._ended, lookup, addresses)

    def _ended(self, lookup: _Lookup, addresses: Sequence[str]) -> None:
        assert lookup.begun_at is not None
        asked = lookup.asked
        del self._lookups[asked]
        self._slow_names.pop(asked, None)
        if self._reactor.seconds() - lookup.begun_at > SLOW_SECONDS:
            self._slow_names[asked] = None
            if len(self._slow_names) > MOST_SLOW:
                del self._slow_names[next(iter(self._slow_names))]
        lookup.lane.under_way -= 1
        self._go_on(lookup.lane)
        self._tell(lookup.told, addresses)

    def _tell(self, told: dict[object, Found], addresses: Sequence[str]) -> None:
        """Tell those who have waited, of very many some in each turn: each makes a connection, or lets its request fail."""

        def tell(found: Found) -> None:
            found(addresses)

        first_at_once(self._reactor, in_portions(_taken_off(told), tell, self._reactor.seconds))


def _taken_off(told: dict[object, Found]) -> Iterator[Found]:
    # Who waits for its turn may leave.
    while told:
        yield told.pop(next(iter(told)))
