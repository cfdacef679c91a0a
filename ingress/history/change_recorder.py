"""Records changes: each line of the log that has a mark, and what is told without a line.

Whoever notices a change writes a line of the log, and gives it a ``Mark`` as its field ``change``; it knows nobody here, and what the
log and the pages say is the same sentence.  Lines of workers come with their marks to the parent's log.  What several of them say of
one *state*, such as an endpoint that gets no requests, is one change when it begins, and one when it is over for all.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice
from typing import Any, Final

from twisted.logger import ILogObserver, LogPublisher, formatEvent
from zope.interface import implementer

from ingress.history.rings import Ring
from ingress.model.observability.changes_and_failures import MOST_HOSTS, Change, ChangeSort, Mark, shown

MOST_STATES: Final = 1000
"""How many states are followed at once; of others each worker's word is a change."""
STATE_SECONDS: Final = 600.0
"""A worker that has said for so long that a state has begun, and nothing since, is not counted upon."""

Worker = int | None


@implementer(ILogObserver)
class ChangeRecorder:
    """Observes the log and records changes in *ring*.

    *now* returns the time of day, with its zone, and *seconds* that of a clock that nobody sets.  Lines come in any thread;
    *in_reactor* calls what it gets in that of the reactor, at once if it is that.
    """

    def __init__(
        self,
        ring: Ring[Change],
        now: Callable[[], datetime],
        seconds: Callable[[], float],
        in_reactor: Callable[[Callable[[], object]], object],
    ) -> None:
        self._ring = ring
        self._now = now
        self._seconds = seconds
        self._in_reactor = in_reactor
        self._states: dict[tuple[str, str], dict[Worker, float]] = {}
        """Who says of each state that it lasts, and since when."""

    def follow(self, publisher: LogPublisher) -> None:
        """Have all lines of *publisher* from now on."""
        publisher.addObserver(self)

    def leave(self, publisher: LogPublisher) -> None:
        """Have none any more; once more does nothing."""
        publisher.removeObserver(self)

    def __call__(self, event: dict[str, Any]) -> None:
        """Keep the change that a line tells, if it does.  Any thread."""
        mark = event.get("change")
        if isinstance(mark, Mark):
            text = shown(formatEvent(event))
            self._in_reactor(lambda: self._marked(mark, text, event.get("slot")))

    def _marked(self, mark: Mark, text: str, worker: Worker) -> None:
        if mark.sort is ChangeSort.WORKER and worker is not None:
            self._forget(worker)
        if not mark.state or self._is_news(mark, worker):
            self.tell(mark, text)

    def tell(self, mark: Mark, text: str) -> Change:
        """Keep a change that has no line.  Reactor thread."""
        change = Change(
            self._now(),
            mark.sort,
            shown(mark.verb),
            shown(text),
            shown(mark.kind),
            shown(mark.object),
            mark.is_trouble,
            _few(mark.hosts),
        )
        return self._ring.add(change)

    def _is_news(self, mark: Mark, worker: Worker) -> bool:
        """Whether the state of *mark* begins with this word of *worker*, or is over for all."""
        now, key = self._seconds(), (mark.sort, mark.state)
        says = self._states.pop(key, {})
        others = {
            other: since for other, since in says.items() if other != worker and now - since < STATE_SECONDS
        }
        kept = others if mark.is_over else {**others, worker: now}
        if kept:
            self._states[key] = kept
            if len(self._states) > MOST_STATES:
                del self._states[next(iter(self._states))]
        return not others

    def _forget(self, worker: int) -> None:
        """Something became of *worker*: what it said last counts no more."""
        for state, says in tuple(self._states.items()):
            says.pop(worker, None)
            if not says:
                del self._states[state]


def _few(hosts: Iterable[str]) -> tuple[str, ...]:
    return tuple(shown(host) for host in islice(hosts, MOST_HOSTS))
