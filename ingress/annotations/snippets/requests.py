"""What a level does to a request on its way to an endpoint: ``more_set_input_headers`` and ``proxy_set_header``."""

import re
from collections.abc import Mapping
from typing import Final

from ingress.annotations.contract.snippet_blocks import Level, RequestField
from ingress.annotations.nginx.field_directives import HOST
from ingress.annotations.snippets.field_room import FieldRoom
from ingress.filters import Facts, FieldChanges, RequestEdit
from ingress.model.requests.templates import NO_VALUES, Part, Template

_SENT_ANYWAY: Final = {
    b"host": ({"best_http_host": b""},),
    b"x-forwarded-for": ({"proxy_add_x_forwarded_for": b""},),
    b"x-real-ip": ({"remote_addr": b""}, {"the_real_ip": b""}),
    b"x-request-id": ({"request_id": b""}, {"req_id": b""}),
}
"""What the proxy says by itself, by the variables that have it."""
_is_authority = re.compile(rb"[A-Za-z0-9\-._~!$&'()*+,;=%:\[\]]{1,255}").fullmatch


class RequestPlan:
    """What *level* does to requests."""

    def __init__(self, level: Level) -> None:
        self._fields = tuple(
            field for field in (*level.inputs, *level.sent) if not _is_sent_anyway(field, level)
        )
        self._changes: FieldChanges | None = _changes(self._fields)

    @property
    def fixed(self) -> FieldChanges | None:
        """What is done to each request, where that is the same for all of them."""
        return self._changes

    def apply(self, edit: RequestEdit, facts: Facts, values: Mapping[str, bytes] = NO_VALUES) -> None:
        """Do it to *edit*."""
        if self._changes is not None:
            if self._fields:
                edit.change(self._changes)
            return
        room = FieldRoom()
        for field in self._fields:
            _send(field, edit, facts, values, room)


def _is_sent_anyway(field: RequestField, level: Level) -> bool:
    known = _SENT_ANYWAY.get(field.name.lower(), ())
    if field.value is None or field.types or field.only_present:
        return False
    once = sum(1 for one in (*level.inputs, *level.sent) if one.name.lower() == field.name.lower()) == 1
    return once and any(
        field.value == Template((Part(name, text),)) for each in known for name, text in each.items()
    )


def _changes(fields: tuple[RequestField, ...]) -> FieldChanges | None:
    """Return what *fields* come to where that is always the same."""
    last: dict[bytes, tuple[bytes, bytes]] = {}
    for field in fields:
        text = b"" if field.value is None else field.value.text
        if text is None or field.types or field.only_present or field.is_prefix or field.name == HOST:
            return None
        lower = field.name.lower()
        last.pop(lower, None)
        last[lower] = (field.name, text.strip(b" \t"))
    return FieldChanges(
        tuple(lower for lower, (_, text) in last.items() if not text),
        tuple(one for one in last.values() if one[1]),
    )


def _send(
    field: RequestField, edit: RequestEdit, facts: Facts, values: Mapping[str, bytes], room: FieldRoom
) -> None:
    if field.types and facts.field(b"content-type").partition(b";")[0].strip().lower() not in field.types:
        return
    if field.is_prefix:
        edit.change(FieldChanges(drop=tuple(one for one in edit.names() if one.startswith(field.name))))
        return
    lower = field.name.lower()
    if field.only_present and lower not in edit.names():
        return
    value = room.value(field.value, facts, None, values)
    if lower == HOST:
        # What is no host cannot be asked for; then the one that came is.
        if _is_authority(value):
            edit.rewrite(authority=value)
    elif value:
        edit.put(field.name, value)
    else:
        edit.drop(field.name)
