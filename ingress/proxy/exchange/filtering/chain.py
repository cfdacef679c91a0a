"""A chain: what a route's specs become, for each hook the filters that have it, in the order in which they are asked.

Pure: who makes chains, and how long their filters live, is for ``ingress.proxy.exchange.filtering.chains`` to say.
"""

from collections.abc import Awaitable, Callable, Sequence
from types import UnionType
from typing import Any, Final

from ingress.filters import (
    AnswerEdit,
    AnswerHead,
    BodyFlow,
    BodyStage,
    ChangesBy,
    Facts,
    FieldChanges,
    Filter,
    FilterSpec,
    Hook,
    MoreBody,
    Phase,
    RequestEdit,
    used_hooks,
)
from ingress.http.edited_heads import answer_changes
from ingress.model.exchanges.causes import Cause
from ingress.model.exchanges.records import Record
from ingress.model.exchanges.reply import Reply
from ingress.model.frozen import frozen
from ingress.model.observability.tracing_settings import RouteTracing
from ingress.proxy.exchange.filtering.settled_answers import changes_for, settled_answers

Specs = tuple[FilterSpec, ...]

_SETTINGS: Final[dict[str, type | UnionType]] = {
    "holds_body": int,
    "asked_methods": frozenset | None,
    "asked_schemes": frozenset | None,
    "asks_unsized": bool,
}
_OF_PHASE: Final = {Phase.HANDSHAKE: Cause.AUTH, Phase.LIMITS: Cause.LIMIT, Phase.ACCESS: Cause.AUTH}

OnRequest = Callable[[Facts], Reply | Awaitable[Reply | None] | None]
OnUpstream = Callable[[Facts, RequestEdit], None]
OnAnswer = Callable[[Facts, AnswerEdit], Reply | MoreBody | Awaitable[Reply | None] | None]
OnRequestBody = Callable[[Facts, BodyFlow], BodyStage | None]
OnAnswerBody = Callable[[Facts, AnswerHead, BodyFlow], BodyStage | None]
OnEnd = Callable[[Facts, Record], None]


@frozen(eq=False)
class LiveFilter:
    """A filter that lives, and what it is called."""

    name: str
    filter: Filter
    hooks: frozenset[Hook]
    cause: Cause
    """What an error is due to that it answers with."""
    methods: frozenset[bytes] | None = None
    """Those of the requests that it is asked about, ..."""
    schemes: frozenset[bytes] | None = None
    """... and their schemes; None for all."""
    on_answer: OnAnswer | None = None
    """What is called for each answer, if anything is, ..."""
    changes: FieldChanges | ChangesBy | None = None
    """... and what says all of it beforehand, if anything does."""

    def is_asked(self, facts: Facts) -> bool:
        """Whether it is asked about the request of *facts*."""
        return (
            (self.methods is None or facts.method in self.methods)
            and (self.schemes is None or facts.scheme in self.schemes)
            and (not self.filter.asks_unsized or facts.body_length is None)
        )


def live_filter(name: str, made: Filter, phase: Phase = Phase.ANSWER) -> LiveFilter:
    """Return the filter that was *made*, and stands in *phase*.

    Raises ``TypeError`` for settings of other types than ``Filter`` says, ``ValueError`` if it asks for changes that may not be.
    """
    _check_settings(made)
    hooks, asked, cause = used_hooks(made), made.answer_changes, _OF_PHASE.get(phase, Cause.FILTER)
    if asked is None:
        on_answer = made.on_answer if Hook.ANSWER in hooks else None
        return LiveFilter(name, made, hooks, cause, made.asked_methods, made.asked_schemes, on_answer)
    known = asked
    if isinstance(known, FieldChanges):
        answer_changes(known)
    field = known.field if isinstance(known, ChangesBy) else b""

    def change(facts: Facts, edit: AnswerEdit) -> None:
        changes = changes_for(known, facts.field(field) if field else b"", facts.is_secure)
        if changes is not None:
            edit.change(changes)

    return LiveFilter(name, made, hooks, cause, made.asked_methods, made.asked_schemes, change, known)


def _check_settings(made: Any) -> None:
    """Raise ``TypeError`` where a filter, which is whoever's and has been seen by no checker of types, has others than it may."""
    for name, wanted in _SETTINGS.items():
        found = getattr(made, name)
        if not isinstance(found, wanted):
            raise TypeError(f"{name} of a filter is {type(found).__name__}, and not {wanted}")


class FilterNotMade(Exception):  # noqa: N818 - it is raised in place of a filter
    """A spec could not make its filter; *reason* is what it raised."""

    def __init__(self, name: str, reason: Exception) -> None:
        super().__init__(f"filter {name} could not be made")
        self.reason = reason


class NoFilter(Filter):
    """Stands where a filter is missing that could not be made: nothing may pass as if there had been none."""

    def __init__(self, name: str, error: Exception) -> None:
        self._name = name
        self._error = error

    def on_request(self, facts: Facts) -> Reply | Awaitable[Reply | None] | None:
        raise FilterNotMade(self._name, self._error)


def in_order(*some: Specs) -> list[FilterSpec]:
    """Return the specs of *some*, the outermost first, in the order in which their filters stand."""
    return sorted((spec for specs in some for spec in specs), key=lambda spec: spec.phase)


class Chain:
    """The filters of a request, for each hook those that have it.

    Those that look at requests are in order from the outermost to the innermost, those that look at answers the other way
    around.
    """

    def __init__(self, filters: tuple[LiveFilter, ...]) -> None:
        inwards, outwards = filters, filters[::-1]
        self.requests: tuple[tuple[LiveFilter, OnRequest], ...] = tuple(
            (live, live.filter.on_request)
            for live in inwards
            if Hook.REQUEST in live.hooks or live.filter.holds_body
        )
        self.holds_bodies = any(live.filter.holds_body for live, _ in self.requests)
        """Whether any of those wants to have the body before it is asked."""
        self.upstreams: tuple[tuple[LiveFilter, OnUpstream], ...] = _having(Hook.UPSTREAM, inwards)
        self.methods = _of_any([live.methods for live, _ in self.requests])
        """Those of the requests that somebody is asked about; None for all."""
        self.schemes = _of_any([live.schemes for live, _ in self.requests])
        """And their schemes."""
        self.answers: tuple[tuple[LiveFilter, OnAnswer], ...] = tuple(
            (live, live.on_answer) for live in outwards if live.on_answer is not None
        )
        self.request_bodies: tuple[tuple[LiveFilter, OnRequestBody], ...] = _having(
            Hook.REQUEST_BODY, inwards
        )
        self.answer_bodies: tuple[tuple[LiveFilter, OnAnswerBody], ...] = _having(Hook.ANSWER_BODY, outwards)
        self.ends: tuple[tuple[LiveFilter, OnEnd], ...] = _having(Hook.END, outwards)
        self.sees_answers = bool(self.answers or self.answer_bodies)
        self.settled = (
            None if self.answer_bodies else settled_answers([one.changes for one, _ in self.answers])
        )
        """What becomes of the head of each answer, if that is settled before one comes; None where it is for filters to say."""
        said = [live.filter.tracing for live in inwards if live.filter.tracing is not None]
        self.tracing: RouteTracing | None = said[-1] if said else None
        """What its route says of traces; None for nothing."""


def _of_any(asked: Sequence[frozenset[bytes] | None]) -> frozenset[bytes] | None:
    """Return what one of several filters at least is *asked* about; None where that is everything."""
    together: frozenset[bytes] = frozenset()
    for each in asked:
        if each is None:
            return None
        together |= each
    return together


def _having(hook: Hook, filters: tuple[LiveFilter, ...]) -> tuple[tuple[LiveFilter, Any], ...]:
    return tuple((live, getattr(live.filter, hook.value)) for live in filters if hook in live.hooks)
