"""Answers whose change was settled before they came: by nothing, by one field of the request, or by whether that came over TLS.

Most of what filters do to answers is the same each time: security headers, CORS, ``Strict-Transport-Security``.  Where that is
all that the filters of a route do, no filter is asked: what was found for a value is found again.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from ingress.filters import ChangesBy, FieldChanges
from ingress.http.edited_heads import LineChange, answer_changes, changed_head
from ingress.http.field_values import joined_value
from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead

MAX_VALUES: Final = 256
"""Values of the field that are remembered at a time."""
MAX_VALUE: Final = 512
"""Bytes of one that is: visitors choose it."""


class Connected(Protocol):
    """The side that a request came from."""

    @property
    def security(self) -> object | None:
        """What its TLS is; None without."""


class SettledAnswers:
    """What becomes of all answers of a route."""

    def __init__(self, asked: Sequence[FieldChanges | ChangesBy]) -> None:
        """*asked* are in the order in which they are done, and go by one field at most."""
        self._asked = tuple(asked)
        by = [one for one in asked if isinstance(one, ChangesBy)]
        self._field = next((one.field for one in by if one.field), b"")
        self._minds_tls = any(one.over_tls for one in by)
        self._known: dict[tuple[bytes, bool], tuple[LineChange, ...]] = {}

    def changed(self, head: ResponseHead, request: RequestHead, downstream: Connected) -> ResponseHead | None:
        """Return what goes to the client in place of *head*; None where somebody failed, so that all have to be asked."""
        value = b""
        if self._field:
            value = request.forwarded.get(self._field) or joined_value(request.forward, self._field)
        key = value, self._minds_tls and downstream.security is not None
        changes = self._known.get(key)
        if changes is None:
            changes = self._find(*key)
            if changes is None:
                return None
        last = head.changed
        if last is not None and last[0] is changes and last[1].status == head.status:
            return last[1]
        return changed_head(head, changes, head.status) if changes else head

    def _find(self, value: bytes, is_secure: bool) -> tuple[LineChange, ...] | None:
        """Ask filters what they do to answers to such a request; None if one fails."""
        found: list[LineChange] = []
        try:
            for one in self._asked:
                wanted = changes_for(one, value, is_secure)
                if wanted is not None:
                    found.append(answer_changes(wanted))
        except Exception:  # It is raised again where it is known whose it is.
            return None
        changes = tuple(found)
        if len(value) <= MAX_VALUE:
            if len(self._known) >= MAX_VALUES:
                self._known.clear()
            self._known[value, is_secure] = changes
        return changes


def changes_for(asked: FieldChanges | ChangesBy, value: bytes, is_secure: bool) -> FieldChanges | None:
    """Return what is done to an answer to a request whose field has *value*, None for nothing."""
    if isinstance(asked, FieldChanges):
        return asked
    return None if asked.over_tls and not is_secure else asked.changes(value)


def settled_answers(asked: Sequence[FieldChanges | ChangesBy | None]) -> SettledAnswers | None:
    """Return what settles answers by *asked*; None where one of them does not say it beforehand, or two go by different fields."""
    known = [one for one in asked if one is not None]
    fields = {one.field for one in known if isinstance(one, ChangesBy) and one.field}
    return SettledAnswers(known) if known and len(known) == len(asked) and len(fields) <= 1 else None
