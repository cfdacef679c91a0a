"""Opens and closes listeners as they are asked for.

One at a time, and in the order asked for; whatever is asked for meanwhile is done afterwards.  A listener that
cannot be opened harms no other: it is logged, told, and tried again every ``RETRY_SECONDS`` as long as it is asked for.
One that the process cannot do without is another matter: that is an error of the start.

Where a listener was closed, and another one is to be opened at the same address, other processes that share the socket may still have
it for a moment: then it is tried again soon.  One that was not asked for once is closed, also where it is asked for again before
there was time for that: the table that it had is gone.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from math import inf
from typing import Any, Protocol

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.errors import StartError
from ingress.model.network.listeners import Listener
from ingress.model.observability.changes_and_failures import ChangeSort, Mark

RETRY_SECONDS = 30.0
LETTING_GO_SECONDS = 10.0
"""How long after its end others may still have the socket of a listener, and ..."""
SOON_SECONDS = 0.25
"""... when another one at its address is tried again meanwhile."""
AT_ONCE = 5
"""Listeners that are opened or closed in one turn of the reactor."""


class OpenListener(Protocol):
    """A listener that accepts connections."""

    def fileno(self) -> int:
        """Return the descriptor of its socket."""

    async def close(self) -> None:
        """Accept no more; connections that are open end once what runs is over."""


class OpenListeners:
    """Keeps those listeners open that were asked for last.  *open_one* opens one, or raises ``StartError``."""

    log = Logger()

    def __init__(
        self,
        open_one: Callable[[Listener], Coroutine[Any, Any, OpenListener]],
        clock: IReactorTime,
        failed: Callable[[Failure], None],
        refused: Callable[[Mapping[Listener, str]], None] = lambda refused: None,
    ) -> None:
        """*failed* is told when trying again ends in a bug, *refused* which ones cannot be opened, and why, when that changes."""
        self._open_one = open_one
        self._clock = clock
        self._failed = failed
        self._tell_refused = refused
        self._wanted: dict[Listener, None] = {}
        self._open: dict[Listener, OpenListener] = {}
        self._left: set[Listener] = set()
        """Those among them that were not asked for once, ..."""
        self._opening: tuple[Listener, ...] = ()
        """... and the one that is being opened, where it is not among them yet."""
        self._let_go: dict[str, float] = {}
        """When listeners were closed of late, by their descriptions."""
        # Those that could not be opened: whether they are left alone until the next try, and why it was.
        self._refused: set[Listener] = set()
        self._told: dict[Listener, str] = {}
        self._last_told: dict[Listener, str] = {}
        self.is_working = False
        """Whether one is being opened or closed."""
        self._is_closed = False
        self._retry: IDelayedCall | None = None

    @property
    def open(self) -> tuple[Listener, ...]:
        """Those that are open."""
        return tuple(self._open)

    def sockets(self) -> dict[str, int]:
        """Return the descriptors of those that are open, by their descriptions."""
        return {listener.description: opened.fileno() for listener, opened in self._open.items()}

    async def follow(self, listeners: Sequence[Listener]) -> None:
        """Have just *listeners* open; raises ``StartError`` for one that is required and cannot be opened."""
        self._wanted = dict.fromkeys(listeners)
        self._left.update(one for one in (*self._open, *self._opening) if one not in self._wanted)
        self._refused.intersection_update(listeners)
        self._told = {one: why for one, why in self._told.items() if one in self._wanted}
        if self.is_working:
            # Whoever works does this, too.
            return
        self.is_working = True
        try:
            done = 0
            while await self._work():
                done += 1
                if not done % AT_ONCE:
                    # Requests go on meanwhile, however many ports there are.
                    await deferLater(self._clock, 0, lambda: None)
        finally:
            self.is_working = False
        if self._told != self._last_told and not self._is_closed:
            self._last_told = dict(self._told)
            self._tell_refused(self._last_told)

    async def close(self) -> None:
        """Close all, and open none from now on."""
        self._is_closed = True
        self._wanted = {}
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        while self._open:
            _, opened = self._open.popitem()
            await opened.close()

    async def _work(self) -> bool:
        """Close or open one; return whether there may be more to do."""
        for listener in self._open:
            if listener in self._left:
                self._left.remove(listener)
                now = self._clock.seconds()
                since = now - LETTING_GO_SECONDS
                self._let_go = {one: when for one, when in self._let_go.items() if when > since}
                self._let_go[listener.description] = now
                await self._open.pop(listener).close()
                self.log.info(
                    "No longer serving {listener}",
                    listener=str(listener),
                    change=Mark(ChangeSort.LISTENER, "closed"),
                )
                return True
        for listener in self._wanted:
            if listener not in self._open and listener not in self._refused:
                self._opening = (listener,)
                try:
                    await self._open_listener(listener)
                finally:
                    self._opening = ()
                    if listener not in self._open:
                        self._left.discard(listener)
                return True
        return False

    async def _open_listener(self, listener: Listener) -> None:
        try:
            opened = await self._open_one(listener)
        except StartError as error:
            if listener.is_required:
                raise
            if listener not in self._wanted:
                return  # It was given up meanwhile.
            self._refused.add(listener)
            if self._clock.seconds() - self._let_go.get(listener.description, -inf) < LETTING_GO_SECONDS:
                self._try_in(SOON_SECONDS)
                return
            if self._told.get(listener) != str(error):
                self.log.error(
                    "{error}; all else is served, and it is tried again every {seconds:g} s",
                    error=str(error),
                    seconds=RETRY_SECONDS,
                    change=Mark(ChangeSort.LISTENER, "refused", is_trouble=True),
                )
            self._told[listener] = str(error)
            self._try_in(RETRY_SECONDS)
            return
        if self._is_closed:
            await opened.close()
            return
        self._told.pop(listener, None)
        self._open[listener] = opened
        if not listener.is_required:
            self.log.info(
                "Serving {listener}", listener=str(listener), change=Mark(ChangeSort.LISTENER, "opened")
            )

    def _try_in(self, seconds: float) -> None:
        """Try those again that were refused, after so many *seconds* or before."""
        if self._is_closed:
            return
        if self._retry is None:
            self._retry = self._clock.callLater(seconds, self._try_again)
        elif self._retry.getTime() > self._clock.seconds() + seconds:
            self._retry.reset(seconds)

    def _try_again(self) -> None:
        self._retry = None
        self._refused.clear()
        Deferred.fromCoroutine(self.follow(tuple(self._wanted))).addErrback(self._failed)
