"""What the process that serves concludes in a takeover.  Pure.

States::

    ASKED ── hello ──▶ OFFERED ── serving ──▶ HOLDING ── held ──▶ HANDED ── took ──▶ LEFT
      │                   │                      │                   │
      └───────────────────┴──────────────────────┴───────────────────┴── the new one failed, is gone, or is late ──▶ OVER

Invariant: reporting is held in HOLDING and HANDED alone, and goes on in every other way out of them than ``took``.  In HANDED the
new process may report any moment.  So one that is late there is killed, and only what then is known to be gone lets us go on.
"""

from enum import Enum, auto
from typing import Final

from ingress.model.frozen import frozen
from ingress.takeover.messages import Message, Word

HELLO_SECONDS: Final = 10.0
"""How long who connects may take to say who it is."""
READY_SECONDS: Final = 300.0
"""How long the new process may take until it serves: to start, and to read the cluster."""
TAKE_SECONDS: Final = 30.0
"""How long it may take to begin to report, for which it has to wait for nobody."""


class Deed(Enum):
    """What is to be done."""

    OFFER = auto()
    """Send all sockets, and the name."""
    REFUSE = auto()
    """Say why not, and end the connection."""
    HOLD = auto()
    """Report nothing more, and say when that is so."""
    HAND_OVER = auto()
    """Say that the reporting is the other's."""
    GO_ON = auto()
    """Report again."""
    LEAVE = auto()
    """Accept no more, and end."""
    KILL = auto()
    """End the new process, which does not answer."""
    END = auto()
    """End the connection."""
    TELL = auto()
    """Tell the operator that this process serves on, and why."""


@frozen
class Step:
    """One thing to do, with the reason where there is one."""

    deed: Deed
    why: str = ""


Steps = tuple[Step, ...]


class State(Enum):
    """How far a takeover has come, as the process sees it that serves."""

    ASKED = auto()
    OFFERED = auto()
    HOLDING = auto()
    HANDED = auto()
    LEFT = auto()
    OVER = auto()


class Giving:
    """One takeover, from the first word on.

    *hello_seconds* is how long that may take, which is long for a process that is only being started.
    """

    def __init__(self, hello_seconds: float = HELLO_SECONDS) -> None:
        self.state = State.ASKED
        self._hello_seconds = hello_seconds

    def __repr__(self) -> str:
        return f"<Giving {self.state.name}>"

    @property
    def seconds(self) -> float | None:
        """How long the other side may take in this state; None where it is for us to go on."""
        if self.state is State.ASKED:
            return self._hello_seconds
        if self.state is State.OFFERED:
            return READY_SECONDS
        return TAKE_SECONDS if self.state is State.HANDED else None

    def heard(self, message: Message, why_not: str = "") -> Steps:
        """Take a message; *why_not* says why this process cannot be taken over now, if it cannot."""
        word, state = message.word, self.state
        if word is Word.FAILED and state not in (State.LEFT, State.OVER):
            return self._over(message.text or "it gave no reason", Deed.END)
        if word is Word.HELLO and state is State.ASKED:
            if why_not:
                return self._over(why_not, Deed.REFUSE)
            self.state = State.OFFERED
            return (Step(Deed.OFFER),)
        if word is Word.SERVING and state is State.OFFERED:
            if why_not:
                return self._over(why_not, Deed.REFUSE)
            self.state = State.HOLDING
            return (Step(Deed.HOLD),)
        if word is Word.TOOK and state is State.HANDED:
            self.state = State.LEFT
            return (Step(Deed.END), Step(Deed.LEAVE))
        if state in (State.LEFT, State.OVER):
            return ()
        return self.misunderstood(f"it says {word} where that means nothing")

    def held(self) -> Steps:
        """Learn that nothing is reported any more."""
        if self.state is not State.HOLDING:
            return ()
        self.state = State.HANDED
        return (Step(Deed.HAND_OVER),)

    def misunderstood(self, why: str) -> Steps:
        """Learn that something came that cannot be understood."""
        if self.state is State.HANDED:
            # Whether it reports is not known: it does not when it is gone.
            return (Step(Deed.KILL, why),)
        return self._over(why, Deed.REFUSE)

    def ended(self, why: str = "it is gone") -> Steps:
        """Learn that the new process, or its side of the connection, is gone."""
        return self._over(why, Deed.END)

    def late(self) -> Steps:
        """Learn that the time is up that ``seconds`` said."""
        seconds = self.seconds
        if seconds is None:
            return ()
        if self.state is State.HANDED:
            return (Step(Deed.KILL, f"it did not begin to report within {seconds:g} s"),)
        return self._over(f"it was not ready within {seconds:g} s", Deed.REFUSE)

    def _over(self, why: str, deed: Deed) -> Steps:
        state, self.state = self.state, State.OVER
        if state is State.OVER:
            return ()
        if state is State.LEFT:
            self.state = state
            return ()
        steps = [Step(deed, why), Step(Deed.TELL, why)]
        if state in (State.HOLDING, State.HANDED):
            steps.append(Step(Deed.GO_ON))
        return tuple(steps)
