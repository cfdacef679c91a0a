"""From a report and what the API server shows to the patch that is to be written, if any.  Pure.

Source: RFC 7396 (a merge patch replaces a list as a whole, and null removes a field), ``metav1.Condition``.
"""

from collections.abc import Hashable, Iterable
from datetime import UTC, datetime
from typing import Any

from ingress.model.frozen import frozen
from ingress.model.object_meta import Condition, ObjectMeta, SeenConditions
from ingress.model.reports import Report
from ingress.model.writes import StatusField
from ingress.status.addresses import addresses_to_write, status_patch

_NOTHING_SEEN = SeenConditions()


@frozen
class StatusPatch:
    """A merge patch of an object or its status.

    Two patches that are meant to show the same are equal in *shows*.  *after* is the metadata of the
    object once it is written, as far as we can know.
    """

    body: dict[str, Any]
    shows: Hashable
    after: ObjectMeta
    is_removal: bool


def patch_for(
    report: Report,
    field: StatusField,
    meta: ObjectMeta,
    types: Iterable[str],
    writer: str,
    now: datetime,
    *,
    was_ours: bool,
) -> StatusPatch | None:
    """Return what makes the status of an object say what *report* does, None when it does.

    *field* is what of the status is ours, *types* are those of our conditions.  *writer* is the field
    manager under which we write.  *was_ours* when we have seen the object as one of ours.
    """
    match field:
        case StatusField.ADDRESSES:
            return _addresses_patch(report, meta, writer, was_ours=was_ours)
        case StatusField.CONDITIONS:
            return _conditions_patch(report, meta, frozenset(types), writer, now, was_ours=was_ours)


def _addresses_patch(report: Report, meta: ObjectMeta, writer: str, *, was_ours: bool) -> StatusPatch | None:
    addresses = addresses_to_write(meta, report.addresses, writer, is_ours=report.is_ours, was_ours=was_ours)
    if addresses is None:
        return None
    after = ObjectMeta(meta.uid, addresses, (), writer if addresses else "")
    return StatusPatch(status_patch(addresses), addresses, after, is_removal=not addresses)


def _conditions_patch(
    report: Report, meta: ObjectMeta, types: frozenset[str], writer: str, now: datetime, *, was_ours: bool
) -> StatusPatch | None:
    """Return what replaces our conditions; those of others stay as they are.

    The patch names the version that was seen, so that the API server refuses it when somebody was faster.
    """
    seen = meta.seen or _NOTHING_SEEN
    if report.is_ours:
        known = {one.type: one for one in seen.conditions}
        wanted = tuple(_dated(one, known.get(one.type), seen.generation, now) for one in report.conditions)
    elif meta.writer == writer or (was_ours and not meta.writer):
        wanted = ()
    else:
        return None
    if set(wanted) == {one for one in seen.conditions if one.type in types}:
        return None
    conditions = (*(one for one in seen.conditions if one.type not in types), *wanted)
    body: dict[str, Any] = {"status": {"conditions": [_entry(one) for one in conditions] or None}}
    if seen.version:
        body["metadata"] = {"resourceVersion": seen.version}
    after = meta._replace(seen=seen._replace(conditions=conditions), writer=writer if wanted else meta.writer)
    return StatusPatch(body, report, after, is_removal=not wanted)


def _dated(wanted: Condition, known: Condition | None, generation: int, now: datetime) -> Condition:
    """Return *wanted* with the time of its last transition: that of a change of the status, not of the words."""
    if known is not None and known.status == wanted.status and known.since:
        since = known.since
    else:
        since = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return wanted._replace(generation=generation, since=since)


def _entry(condition: Condition) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": condition.since,
    }
    if condition.generation:
        entry["observedGeneration"] = condition.generation
    return entry
