"""The firewall behind a route: what firewall processes judge of its answers.

Answers wait for their verdicts where a rule may refuse them, and then their bodies do, as far as these are inspected: nothing of
such an answer is sent before.  Where rules only tell, nothing waits: a body is copied while it passes, and what comes of it is for the
log.

It has answers before they are compressed, and behind whatever puts another one in their place.
"""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Final

from ingress.annotations.firewall.filters import TICKET, inspector_of, reply_to
from ingress.filters import (
    AnswerEdit,
    AnswerHead,
    BodyFlow,
    BodyStage,
    Facts,
    Filter,
    MoreBody,
    Phase,
    Record,
    Reply,
    ScheduledCall,
    Scope,
    Services,
)
from ingress.model.exchanges.firewall import InspectedAnswer, RuleSet, Verdict
from ingress.model.frozen import frozen

MOST_HELD_BYTES: Final = 32 * 1024 * 1024
"""Of bodies of answers in one process that serves, until they are judged, ..."""
MOST_OF_ONE: Final = MOST_HELD_BYTES // 2
"""... and of these for the same rules, lest others find no room."""
FIRST_BYTES: Final = 32 * 1024
"""Of a body whose length is not known; what is waited for besides is as much again, and so on."""
COPYING_SECONDS: Final = 10.0
"""How long a body is copied while it passes: a client may take its time, and firewall processes know only so many requests at once."""
_ROOM: Final = "room for answers"
_NO_ROOM: Final = Verdict(failure="holds as many bodies of answers as it may")
_BODILESS: Final = (204, 304)


@frozen(cache_hash=True)
class InspectAnswers:
    """Has answers judged by *rules*; plain data."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "firewall"

    rules: RuleSet

    def describe(self) -> str:
        """Say what is inspected, and what comes of it."""
        what = "refuses" if self.rules.may_refuse else "tells of"
        bodies, body = self.rules.answer_bodies, ""
        if bodies is not None:
            of = ", ".join(bodies.types) or "any type that ends"
            body = f", and {bodies.size} bytes of bodies of {of}"
        return f"{what} answers that rules of ModSecurity match: their heads{body}"

    def make(self, services: Services) -> Filter:
        """Make the filter that asks firewall processes."""
        return (_Judges if self.rules.may_refuse else _Tells)(self.rules, services)


class Room:
    """How many bytes there may be."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, size: int) -> bool:
        """Take so many; return whether there were as many."""
        if size > self._left:
            return False
        self._left -= size
        return True

    def give_back(self, size: int) -> None:
        """Have so many again."""
        self._left += size


class _Held:
    """What one answer takes of *rooms*."""

    def __init__(self, rooms: tuple[Room, Room]) -> None:
        self._own, self._shared = rooms
        self._size = 0

    def grow(self, size: int) -> bool:
        """Take *size* bytes in all; return whether there is room."""
        more = max(0, size - self._size)
        if not self._own.take(more):
            return False
        if not self._shared.take(more):
            self._own.give_back(more)
            return False
        self._size += more
        return True

    def free(self) -> None:
        """Take nothing any more."""
        size, self._size = self._size, 0
        self._own.give_back(size)
        self._shared.give_back(size)


class _Answers(Filter):
    def __init__(self, rules: RuleSet, services: Services) -> None:
        self._rules = rules
        self._services = services
        self._inspector = inspector_of(services)
        self._bodies = rules.answer_bodies
        shared = services.state(Scope.WORKER, _ROOM, lambda: Room(MOST_HELD_BYTES))
        self._rooms = Room(MOST_OF_ONE), shared

    def _most(self, facts: Facts, edit: AnswerEdit) -> int:
        """Return how many bytes of the body are inspected, and one more, which tells of a body that is longer; 0 for none."""
        bodies = self._bodies
        if bodies is None or facts.method == b"HEAD" or edit.status < 200 or edit.status in _BODILESS:
            return 0
        # The library goes by the last one, too.
        said = edit.values(b"content-type")
        return bodies.size + 1 if bodies.include(said[-1] if said else b"") else 0

    def _leave(self, facts: Facts) -> None:
        ticket = facts.notes.pop(TICKET, None)
        if isinstance(ticket, int):
            self._inspector.leave(ticket)


class _Judges(_Answers):
    """For rules that may refuse answers."""

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> MoreBody | Reply | Awaitable[Reply | None] | None:
        """Have the answer to a request judged that passed, once as much of its body is there as is inspected."""
        ticket = facts.notes.get(TICKET)
        if not isinstance(ticket, int):
            return None
        most, body = self._most(facts, edit), None
        if most:
            body = edit.body
            if body is None or (len(body) < most and not edit.is_body_whole):
                wanted = _first(edit, most) if body is None else min(most, max(2 * len(body), FIRST_BYTES))
                if self._held(facts).grow(wanted):
                    return MoreBody(wanted)
                self._services.count("full")
                self._free(facts)
                self._leave(facts)
                return reply_to(_NO_ROOM, self._rules, self._services, "answer")
            body = body[:most]
        del facts.notes[TICKET]
        return self._judge(facts, InspectedAnswer(ticket, edit.status, _lines_of(edit), body))

    async def _judge(self, facts: Facts, answer: InspectedAnswer) -> Reply | None:
        verdict = await self._inspector.inspect_answer(answer)
        self._free(facts)
        return reply_to(verdict, self._rules, self._services, "answer")

    def on_end(self, facts: Facts, record: Record) -> None:
        """Be done with a request that got no answer."""
        self._free(facts)
        self._leave(facts)

    def _held(self, facts: Facts) -> _Held:
        held = facts.notes.get(self)
        if not isinstance(held, _Held):
            held = facts.notes[self] = _Held(self._rooms)
        return held

    def _free(self, facts: Facts) -> None:
        held = facts.notes.pop(self, None)
        if isinstance(held, _Held):
            held.free()


class _Tells(_Answers):
    """For rules that only tell of answers: nobody waits for them."""

    watches_bodies = True

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        """Have the answer to a request reported that passed; with its body when that has passed, where it is inspected."""
        before = facts.notes.pop(self, None)
        if isinstance(before, _Copied):
            before.drop()
        ticket = facts.notes.get(TICKET)
        if not isinstance(ticket, int):
            return
        answer = InspectedAnswer(ticket, edit.status, _lines_of(edit))
        most = self._most(facts, edit)
        if most:
            facts.notes[self] = _Copied(self, facts, answer, most)
        else:
            self.report(facts, answer)

    def on_answer_body(self, facts: Facts, head: AnswerHead, flow: BodyFlow) -> BodyStage | None:
        """Return what copies the body, where it is inspected."""
        copied = facts.notes.get(self)
        return copied if isinstance(copied, _Copied) else None

    def on_end(self, facts: Facts, record: Record) -> None:
        """Have as much reported as has passed, and be done with a request that got no answer."""
        copied = facts.notes.pop(self, None)
        if isinstance(copied, _Copied):
            copied.finish()
        self._leave(facts)

    def held(self) -> _Held:
        """Return what takes room."""
        return _Held(self._rooms)

    def later(self, call: Callable[[], object]) -> ScheduledCall:
        """Have *call* called when a body was copied for long enough."""
        return self._services.clock.call_later(COPYING_SECONDS, call)

    def report(self, facts: Facts, answer: InspectedAnswer, held: _Held | None = None) -> None:
        """Have *answer* reported, with what is *held* of it until then."""
        del facts.notes[TICKET]

        def judged(verdict: Verdict) -> None:
            if held is not None:
                held.free()
            reply_to(verdict, self._rules, self._services, "answer")

        self._inspector.report_answer(answer, judged)

    def find_no_room(self, facts: Facts) -> None:
        """Report nothing of an answer whose body there is no room for."""
        self._services.count("full")
        self._leave(facts)
        reply_to(_NO_ROOM, self._rules, self._services, "answer")


class _Copied:
    """Copies the beginning of a body that passes; satisfies ``ingress.filters.BodyStage``."""

    def __init__(self, tells: _Tells, facts: Facts, answer: InspectedAnswer, most: int) -> None:
        self._tells = tells
        self._facts = facts
        self._answer = answer
        self._left = most
        self._pieces: list[bytes] = []
        self._size = 0
        self._held = tells.held()
        self._is_over = False
        self._timer: ScheduledCall | None = tells.later(self._late)

    def feed(self, piece: bytes) -> bytes:
        """Keep it, and have the answer reported once that is enough."""
        if self._is_over:
            return piece
        kept = piece[: self._left]
        self._size += len(kept)
        if not self._held.grow(self._size):
            self._end()
            self._pieces = []
            self._held.free()
            self._tells.find_no_room(self._facts)
            return piece
        self._pieces.append(kept)
        self._left -= len(kept)
        if not self._left:
            self.finish()
        return piece

    def finish(self) -> bytes:
        """Have the answer reported, with as much of its body as has passed."""
        if not self._is_over:
            self._end()
            body, self._pieces = b"".join(self._pieces), []
            self._tells.report(self._facts, self._answer._replace(body=body), self._held)
        return b""

    def drop(self) -> None:
        """Report nothing: another answer comes in its place."""
        self._end()
        self._held.free()

    def _late(self) -> None:
        self._timer = None
        self.finish()

    def _end(self) -> None:
        self._is_over = True
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()


def _first(edit: AnswerEdit, most: int) -> int:
    """Return how much of a body is waited for first: all of it, where it says how long it is."""
    length = edit.field(b"content-length")
    return min(most, max(1, int(length))) if length.isdigit() else min(most, FIRST_BYTES)


def _lines_of(edit: AnswerEdit) -> bytes:
    return b"".join(
        b"%b: %b\r\n" % (name, value) for name in dict.fromkeys(edit.names()) for value in edit.values(name)
    )
