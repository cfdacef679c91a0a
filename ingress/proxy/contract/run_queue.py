"""Who has more to do than one turn of the reactor takes.

A connection whose peer has it do much does a turn's work (``ingress.http.work``) and queues up for
more.  One of the queue goes on in each turn, whoever waits longest; in between the reactor serves all others.  So
any number of such connections, of clients and to endpoints, take of each turn what one of them does.
"""

from collections import OrderedDict
from collections.abc import Callable

from mypy_extensions import mypyc_attr
from twisted.internet.interfaces import IReactorTime


@mypyc_attr(allow_interpreted_subclasses=True)
class RunQueue:
    """Calls that wait for their turns, first in, first out."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._waiting: OrderedDict[Callable[[], None], None] = OrderedDict()
        self._is_called_later = False

    def __repr__(self) -> str:
        return f"<RunQueue of {len(self._waiting)}>"

    def put(self, call: Callable[[], None]) -> None:
        """Call back in a turn of its own, behind whoever waits by now; once, however often it is put."""
        self._waiting[call] = None
        self._call_soon()

    def _call_soon(self) -> None:
        if not self._is_called_later:
            self._is_called_later = True
            self._clock.callLater(0, self._run)

    def _run(self) -> None:
        self._is_called_later = False
        call, _ = self._waiting.popitem(last=False)
        try:
            call()
        finally:
            if self._waiting:
                self._call_soon()
