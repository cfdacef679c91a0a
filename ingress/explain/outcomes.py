"""Outcomes: what becomes of a request, or of a stream, in one line."""

from collections.abc import Sequence
from typing import Final

from ingress.explain.backends import shown_backend, shown_place
from ingress.explain.explanation import BackendSeen, End, Outcome
from ingress.explain.filters import Answered
from ingress.model.network.streams import StreamSort
from ingress.proxy.exchange.replies import phrase_of
from ingress.routing.streams import StreamRoute

NOT_KNOWN: Final = Outcome(End.CLOSED, "", False)
"""Stands where an outcome is not known yet."""
_NOBODY: Final = (404, 421, 503)
"""What says that nobody takes the request, whoever says it."""


def closed(why: str) -> Outcome:
    """Return that of a connection which is closed."""
    return Outcome(End.CLOSED, f"closed without an answer: {why}", False)


def answered(answer: Answered, why: str = "", conditions: Sequence[str] = ()) -> Outcome:
    """Return that of a request which gets *answer*; *why* says what for, where the proxy itself answers."""
    status, location = answer.status, answer.location
    said = f"{status} {phrase_of(status)}".rstrip()
    if answer.by:
        to = f" to {location}" if location else ""
        sentence = f"answered {said}{to} by {answer.by}" + (f": {why}" if why else "")
    else:
        sentence = f"{said}: {why}" if why else said
    is_taken = bool(answer.by) and status not in _NOBODY
    return Outcome(
        End.ANSWERED, sentence, is_taken, status, answer.by, location, (*conditions, *answer.conditions)
    )


def sent(backends: Sequence[BackendSeen], conditions: Sequence[str]) -> Outcome:
    """Return that of a request which goes to one of *backends*."""
    condition = f", if {_count(conditions)}" if conditions else ""
    return Outcome(End.SENT, f"sent to {_places(backends)}{condition}", True, conditions=tuple(conditions))


def _places(backends: Sequence[BackendSeen], without: str = "503") -> str:
    if len(backends) == 1:
        return shown_place(backends[0], without)
    return "; ".join(f"{one.share:g}% {shown_place(one, without)}" for one in backends)


def led(stream: StreamRoute, backends: Sequence[BackendSeen]) -> Outcome:
    """Return that of a *stream* which goes to one of *backends*: a connection, or a datagram of UDP."""
    ended = "dropped" if stream.sort is StreamSort.UDP else "closed"
    if not backends:
        return Outcome(End.CLOSED, f"{ended} without an answer: no route leads anywhere from there", False)
    if not any(one.endpoints or one.unknown for one in backends):
        why = "; ".join(f"{shown_backend(one)} has no endpoints: {one.reason}" for one in backends)
        return Outcome(End.CLOSED, f"{ended} without an answer: {why}", False)
    places = _places(backends, ended)
    if stream.sort is StreamSort.PASSTHROUGH:
        return Outcome(End.PASSED_THROUGH, f"passed through as TLS to {places}", True)
    return Outcome(End.SENT, f"sent to {places}", True)


def _count(conditions: Sequence[str]) -> str:
    return "one condition holds" if len(conditions) == 1 else f"{len(conditions)} conditions hold"
