"""What the new process concludes in a takeover.  Pure.

States::

    ASKING ── offered ──▶ STARTING ── ready ──▶ SERVING ── yours ──▶ ALONE
      │                      │                     │                   ▲
      ├──────────────────────┴─────────────────────┤                   │
      │ refused                                    │ the old one is gone
      ▼                                            └── where it does not serve yet: at once, once it does ──┘
    FAILED

The old process says why before it gives a takeover up.  So when it is gone without a word, it is gone for all, and nobody serves
or reports but us.
"""

from enum import Enum, auto
from typing import Final

from ingress.model.frozen import frozen
from ingress.takeover.messages import Message, Word

ANSWER_SECONDS: Final = 10.0
"""How long the old process may take to offer its sockets."""
PATIENCE_SECONDS: Final = 60.0
"""After how long it is told that the old process does not hand over."""


class Deed(Enum):
    """What is to be done."""

    BEGIN = auto()
    """Begin to start: the sockets are here, or there is nobody to get them from."""
    SAY_SERVING = auto()
    """Tell the old process that connections are accepted."""
    REPORT = auto()
    """Begin to report, under the name that was offered."""
    SAY_TOOK = auto()
    """Tell the old process that it may end."""
    SHOW = auto()
    """Open the pages for operators, since nobody else answers there."""
    FAIL = auto()
    """End this process: the other one serves on."""
    TELL = auto()
    """Tell the operator."""


@frozen
class Step:
    """One thing to do, with the reason where there is one."""

    deed: Deed
    why: str = ""


Steps = tuple[Step, ...]


class State(Enum):
    """How far a takeover has come, as the new process sees it."""

    ASKING = auto()
    STARTING = auto()
    SERVING = auto()
    ALONE = auto()
    FAILED = auto()


class Taking:
    """One takeover, after hello was said.  *identity* is what was offered."""

    def __init__(self) -> None:
        self.state = State.ASKING
        self.identity = ""
        self._serves = False

    def __repr__(self) -> str:
        return f"<Taking {self.state.name}>"

    @property
    def is_following(self) -> bool:
        """Whether the old process serves and reports."""
        return self.state in (State.ASKING, State.STARTING, State.SERVING)

    @property
    def seconds(self) -> float | None:
        """How long the old process may take in this state; None where it is for us to go on."""
        return {State.ASKING: ANSWER_SECONDS, State.SERVING: PATIENCE_SECONDS}.get(self.state)

    def heard(self, message: Message) -> Steps:
        """Take a message, whose sockets were taken already."""
        word, state = message.word, self.state
        if not self.is_following:
            return ()
        if word is Word.REFUSED:
            return self.failed(message.text or "it gave no reason")
        if word is Word.SOCKETS and state is State.ASKING:
            return ()
        if word is Word.OFFERED and state is State.ASKING:
            self.identity = message.text
            self.state = State.STARTING
            return (Step(Deed.BEGIN),)
        if word is Word.YOURS and state is State.SERVING:
            self.state = State.ALONE
            return (Step(Deed.REPORT), Step(Deed.SAY_TOOK))
        return self.failed(f"it says {word} where that means nothing")

    def ready(self) -> Steps:
        """Learn that we accept connections."""
        self._serves = True
        if self.state is State.STARTING:
            self.state = State.SERVING
            return (Step(Deed.SAY_SERVING),)
        return (Step(Deed.REPORT),) if self.state is State.ALONE else ()

    def failed(self, why: str) -> Steps:
        """Learn that the takeover cannot go on, while the old process serves."""
        if not self.is_following:
            return ()
        self.state = State.FAILED
        return (Step(Deed.FAIL, why),)

    def ended(self) -> Steps:
        """Learn that the old process is gone, without a word."""
        state = self.state
        if not self.is_following:
            return ()
        self.state = State.ALONE
        told = Step(Deed.TELL, "The process that was to be taken over is gone: going on without it")
        if state is State.ASKING:
            return (told, Step(Deed.BEGIN))
        return (told, Step(Deed.REPORT if self._serves else Deed.SHOW))

    def late(self) -> Steps:
        """Learn that the time is up that ``seconds`` said."""
        if self.state is State.ASKING:
            return self.failed(f"it did not answer within {ANSWER_SECONDS:g} s")
        if self.state is State.SERVING:
            return (
                Step(
                    Deed.TELL,
                    "The process that is taken over does not say that it reports no more: serving beside it",
                ),
            )
        return ()
