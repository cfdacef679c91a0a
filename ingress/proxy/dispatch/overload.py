"""Whether more comes than can be done, and how much of it is begun.  Pure: plain numbers in, decisions out.

A process that has much to do is not overloaded: a hundred clients that each wait for their answers keep it busy, and wait
a little.  It is overloaded when what comes *stays* late: then those who ask now wait behind those who asked before, and the longer
they wait the fewer of them are still there when their turn comes.  From that moment on each turn of the reactor begins
so many requests as it can be done with in ``TURN_SECONDS``: these are answered about as quickly as ever.  The rest is *surplus*.

    calm ── late for ``mark_seconds``, and still so after ``LASTING_SECONDS`` ──▶ overloaded
     ▲                                                                             │
     └── no surplus for ``CALM_SECONDS`` ◀─────────────────────────────────────────┘

Many patient clients, each of which asks again as soon as it is answered, with a refusal or with what it
wants, would keep the process overloaded for ever once something else had made it late.  So there is a *trial* after a while: a
turn has room for what can be done within half the mark.  If somebody is surplus even then, that was in vain, and the
next trial comes after twice the time.
"""

from typing import Final

MARK_SECONDS: Final = 0.1
"""How late is too late, if the operator does not say otherwise."""
LASTING_SECONDS: Final = 0.2
"""A burst, which is over then, makes nobody overloaded."""
GAP_SECONDS: Final = 0.5
"""What was late so long ago says nothing about now."""
TURN_SECONDS: Final = 0.003
"""How long a turn takes while overloaded; what comes waits for about one of them, and its answer for another."""
CALM_SECONDS: Final = 1.0
TRIAL_SECONDS: Final = 10.0
"""After so long, the first trial."""
MOST_TRIAL_SECONDS: Final = 80.0
FIRST_ROOM: Final = 8
MOST_ROOM: Final = 1024
MEMORY_SECONDS: Final = 0.1
"""Of work, after which a turn counts little any more in what a request costs.  The work for a request is done over some turns."""
LONGEST_SECONDS: Final = 10 * TURN_SECONDS
"""What a turn counts for at most: the collector may have had the rest of it."""


class Overload:
    """What is known, of one process; all times are of one clock, in seconds."""

    def __init__(self, mark_seconds: float = MARK_SECONDS, turn_seconds: float = TURN_SECONDS) -> None:
        """It is never overloaded where *mark_seconds* is 0."""
        self.mark_seconds = mark_seconds
        self.is_on = False
        """Whether it is overloaded."""
        self._turn_seconds = turn_seconds
        self.room = FIRST_ROOM
        """How many requests one turn begins; 1 at least."""
        self._worked = self._begun = 0.0
        self._late_since: float | None = None
        self._late_at = 0.0
        self._surplus_at = 0.0
        self._trial_after = TRIAL_SECONDS
        self._trial_at = 0.0
        self.is_trial = False
        """Whether it is tried if there is room for all who come."""
        self._ended_by_trial_at: float | None = None

    def __repr__(self) -> str:
        return f"<Overload {f'on, room for {self.room} a turn' if self.is_on else 'off'}>"

    def late(self, seconds: float, now: float) -> bool:
        """What comes waits for *seconds*; return whether it is overloaded from now on, and was not."""
        if self.is_on or not self.mark_seconds:
            return False
        if seconds < self.mark_seconds:
            self._late_since = None
            return False
        if self._late_since is None or now - self._late_at > GAP_SECONDS:
            self._late_since = now
        self._late_at = now
        if now - self._late_since < LASTING_SECONDS:
            return False
        self._begin(now)
        return True

    def _begin(self, now: float) -> None:
        self.is_on = True
        self._late_since = None
        self.room, self._begun, self._worked = FIRST_ROOM, float(FIRST_ROOM), self._turn_seconds
        self._surplus_at = now
        ended_at = self._ended_by_trial_at
        was_in_vain = ended_at is not None and now - ended_at < self._trial_after
        self._try_after(2 * self._trial_after if was_in_vain else TRIAL_SECONDS, now)

    def _try_after(self, seconds: float, now: float) -> None:
        self.is_trial = False
        self._trial_after = min(seconds, MOST_TRIAL_SECONDS)
        self._trial_at = now + self._trial_after

    def turned(self, seconds: float, began: int) -> None:
        """A turn took *seconds* of the processor's time, with the *began* requests that it began."""
        counted = min(seconds, LONGEST_SECONDS)
        kept = 1 - counted / MEMORY_SECONDS
        self._worked = self._worked * kept + counted
        self._begun = self._begun * kept + began
        self.room = self._room_within(self._turn_seconds)
        if self.is_trial:
            self.room = max(self.room, self._room_within(self.mark_seconds / 2))

    def _room_within(self, seconds: float) -> int:
        return min(max(int(seconds * self._begun / self._worked), 1), MOST_ROOM)

    def left_out(self, now: float) -> None:
        """Somebody came for whom there was no room."""
        self._surplus_at = now
        if self.is_trial:
            self._try_after(2 * self._trial_after, now)
            self.room = self._room_within(self._turn_seconds)

    def is_over(self, now: float, waiting: int) -> bool:
        """Return whether it is overloaded no more, from now on; *waiting* is how many requests are not begun."""
        if now - self._surplus_at >= CALM_SECONDS:
            self._ended_by_trial_at = now if self.is_trial else None
            self.is_on = self.is_trial = False
        elif now >= self._trial_at and not self.is_trial:
            room = self._room_within(self.mark_seconds / 2)
            if waiting <= room:
                self.is_trial = True
                self.room = max(self.room, room)
                self._surplus_at = now
        return not self.is_on
