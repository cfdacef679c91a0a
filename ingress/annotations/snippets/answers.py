"""What a level does to an answer: ``more_set_headers``, ``expires`` and ``add_header``, worked out beforehand as far as can be.

The order is that of nginx's modules: fields of endpoints are hidden first, then the ``more_...`` directives act, then
``expires``, then ``add_header``.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from ingress.annotations.contract.snippet_blocks import LISTED_STATUSES, AnswerField, Expires, Expiry, Level
from ingress.annotations.nginx.field_directives import DirectiveRefused, expires_by
from ingress.annotations.snippets.field_room import FieldRoom
from ingress.filters import AnswerEdit, FieldChanges
from ingress.model.requests.templates import NO_VALUES, TemplateFacts

_CACHE: Final = b"Cache-Control"
_EXPIRES: Final = b"Expires"
_NO_CACHE: Final = b"no-cache"
_EPOCH: Final = b"Thu, 01 Jan 1970 00:00:01 GMT"
_MAX: Final = b"Thu, 31 Dec 2037 23:55:55 GMT"
_MAX_AGE: Final = b"max-age=315360000"
_SINGLE: Final = frozenset((b"strict-transport-security", b"last-modified", b"etag"))
"""Fields of which ``add_header`` takes the place, or which it clears where nothing is to be added: as in nginx, but for the
first, which must not come twice (RFC 6797 section 7.1)."""
_NO_CHANGES: Final = FieldChanges()
_NEVER: Final = Expires(Expiry.OFF)
_LONGEST_TIME: Final = 128
"""Bytes of a time that variables come to: each unit may come once with ten digits; a visitor may have said it, and it is read for each answer."""


class AnswerPlan:
    """What *level* does to answers."""

    def __init__(self, level: Level) -> None:
        self._level = level
        self._hidden = FieldChanges(drop=tuple(sorted(level.hidden)))
        texts = _texts(level.fields)
        self._fixed: dict[tuple[bool, bool], FieldChanges] | None = None
        """By whether the answer is our own, and whether its status is listed: what is done then, if that is always the same."""
        if (
            texts is not None
            and level.expires is None
            and all(one.value.text is not None for one in level.added)
        ):
            self._fixed = {
                (is_ours, is_listed): _joined(level, texts, is_ours=is_ours, is_listed=is_listed)
                for is_ours in (False, True)
                for is_listed in (False, True)
            }

    @property
    def changes(self) -> FieldChanges | None:
        """What is done to each answer, where that is the same for all of them."""
        if self._fixed is None:
            return None
        first, *others = self._fixed.values()
        return first if all(other == first for other in others) else None

    @property
    def usual(self) -> FieldChanges | None:
        """What is done to answers of endpoints that have one of ``LISTED_STATUSES``, where that is always the same."""
        return None if self._fixed is None else self._fixed[False, True]

    def apply(
        self,
        edit: AnswerEdit,
        facts: TemplateFacts,
        now: Callable[[], datetime],
        values: Mapping[str, bytes] = NO_VALUES,
    ) -> None:
        """Do it to *edit*; *now* says what time it is, in UTC."""
        is_listed = edit.status in LISTED_STATUSES
        if self._fixed is not None:
            changes = self._fixed[edit.is_ours, is_listed]
            if changes != _NO_CHANGES:
                edit.change(changes)
            return
        if self._hidden.drop and not edit.is_ours:
            edit.change(self._hidden)
        room = FieldRoom()
        for field in self._level.fields:
            if not field.statuses or edit.status in field.statuses:
                _set(field, edit, facts, values, room)
        if self._level.expires is not None and is_listed:
            expires = _known(self._level.expires, facts, edit, values, room)
            _expire(expires, edit, now())
        for added in self._level.added:
            if added.always or is_listed:
                value = room.value(added.value, facts, edit, values)
                lower = added.name.lower()
                if value and lower in _SINGLE:
                    edit.put(added.name, value)
                elif value:
                    edit.add(added.name, value)
                elif lower in _SINGLE:
                    edit.drop(lower)


def _texts(fields: tuple[AnswerField, ...]) -> tuple[tuple[AnswerField, bytes], ...] | None:
    """Return *fields* with their values, where all of them are always the same."""
    found = []
    for field in fields:
        text = b"" if field.value is None else field.value.text
        if text is None or field.statuses or field.types or field.is_prefix or field.adds:
            return None
        found.append((field, text.strip(b" \t")))
    return tuple(found)


def _joined(
    level: Level, texts: tuple[tuple[AnswerField, bytes], ...], *, is_ours: bool, is_listed: bool
) -> FieldChanges:
    last: dict[bytes, tuple[bytes, bytes]] = {}
    for field, text in texts:
        lower = field.name.lower()
        last.pop(lower, None)
        last[lower] = (field.name, text)
    drop = [] if is_ours else sorted(level.hidden)
    added = []
    for one in level.added:
        text = (one.value.text or b"").strip(b" \t")
        lower = one.name.lower()
        if not one.always and not is_listed:
            continue
        if lower in _SINGLE:
            last[lower] = (one.name, text)
        elif text:
            added.append((one.name, text))
    drop += [lower for lower, (_, text) in last.items() if not text]
    return FieldChanges(
        tuple(dict.fromkeys(drop)), tuple(field for field in last.values() if field[1]), tuple(added)
    )


def _set(
    field: AnswerField, edit: AnswerEdit, facts: TemplateFacts, values: Mapping[str, bytes], room: FieldRoom
) -> None:
    if field.types and edit.field(b"content-type").partition(b";")[0].strip().lower() not in field.types:
        return
    if field.is_prefix:
        edit.change(FieldChanges(drop=tuple(one for one in edit.names() if one.startswith(field.name))))
        return
    value = room.value(field.value, facts, edit, values)
    if not value:
        if not field.adds:
            edit.drop(field.name)
    elif field.adds:
        edit.add(field.name, value)
    else:
        edit.put(field.name, value)


def _known(
    expires: Expires, facts: TemplateFacts, edit: AnswerEdit, values: Mapping[str, bytes], room: FieldRoom
) -> Expires:
    """Return what *expires* says of this answer; as in nginx, variables that come to no time change nothing."""
    if expires.text is None:
        return expires
    word = room.value(expires.text, facts, edit, values)
    if len(word) > _LONGEST_TIME:
        return _NEVER
    try:
        return expires_by(word.decode("latin-1"), is_modified=expires.expiry is Expiry.MODIFIED)
    except DirectiveRefused:
        return _NEVER


def _expire(expires: Expires, edit: AnswerEdit, now: datetime) -> None:
    if expires.expiry is Expiry.OFF:
        return
    when, cache = _when(expires, edit, now)
    edit.change(FieldChanges(put=((_EXPIRES, when), (_CACHE, cache))))


def _when(expires: Expires, edit: AnswerEdit, now: datetime) -> tuple[bytes, bytes]:
    """Return what ``Expires`` and ``Cache-Control`` say."""
    if expires.expiry is Expiry.EPOCH:
        return _EPOCH, _NO_CACHE
    if expires.expiry is Expiry.MAX:
        return _MAX, _MAX_AGE
    now = now.replace(microsecond=0)
    seconds = expires.seconds
    if expires.expiry is Expiry.DAILY:
        midnight = now.replace(hour=0, minute=0, second=0)
        seconds = (seconds - int((now - midnight).total_seconds())) % 86400
        return _date(now + timedelta(seconds=seconds)), b"max-age=%d" % seconds
    if not seconds and expires.expiry is Expiry.NOW:
        return _date(now), b"max-age=0"
    then = now + timedelta(seconds=seconds)
    if expires.expiry is Expiry.MODIFIED:
        then = _after_modified(edit, seconds) or then
    age = int((then - now).total_seconds())
    return _date(then), (b"max-age=%d" % age if seconds >= 0 and age >= 0 else _NO_CACHE)


def _after_modified(edit: AnswerEdit, seconds: int) -> datetime | None:
    """Return what is so many *seconds* after what the endpoint says of its last change; None where it says no such time."""
    from email.utils import parsedate_to_datetime

    try:
        found = parsedate_to_datetime(edit.field(b"last-modified").decode("ascii"))
        return found.astimezone(UTC) + timedelta(seconds=seconds) if found.tzinfo is not None else None
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _date(when: datetime) -> bytes:
    # Only who meets such an answer pays for what writes dates.
    from email.utils import format_datetime

    return format_datetime(when, usegmt=True).encode()
