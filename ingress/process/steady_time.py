"""The reactor's time, taken from a clock that nobody sets.

Twisted's reactors take the time of day, so that whoever sets the clock of the machine moves each deadline with it: a
step of a day ahead ends all that runs, a step back keeps open what should long have ended.  Durations go by
``time.monotonic`` here.  It stands still while the machine sleeps, and so do all deadlines: whoever
waited when it fell asleep still has the time that was left.  The election, where others look at their own clocks
meanwhile, goes by one that does not (``ingress.status.reporting``).

Where a date is meant, of certificates, in logs and in answers, the time of day is asked for by name.
"""

from time import monotonic
from typing import Any

from twisted.internet.base import ReactorBase
from twisted.logger import Logger

log = Logger()


def keep_steady_time(reactor: Any) -> None:
    """Have *reactor*, which does not run yet, go by ``time.monotonic``.

    What was scheduled before keeps its distance.  All reactors that come with Twisted take the time from
    their attribute ``seconds``; of another make, nothing is changed, and the log says so.
    """
    if not isinstance(reactor, ReactorBase):
        log.warn(
            "{reactor} is none of Twisted's reactors: deadlines may move when the clock is set",
            reactor=type(reactor).__name__,
        )
        return
    ahead = monotonic() - reactor.seconds()
    reactor.seconds = monotonic
    # Not by getDelayedCalls, which leaves out what was canceled: that stays in the heap with the others,
    # and nothing behind it would ever be called.
    for call in (*reactor._pendingTimedCalls, *reactor._newTimedCalls):
        call.time += ahead
        call.seconds = monotonic
