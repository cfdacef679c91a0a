"""From a report and what the API server shows to the patch that is to be written, if any.  Pure.

Source: RFC 7396 (a merge patch replaces a list as a whole, and null removes a field).
"""

from collections.abc import Hashable
from datetime import UTC, datetime
from typing import Any

import orjson

from ingress.cluster.json_text import decoded
from ingress.model.cluster.object_meta import ObjectMeta, SeenStatus
from ingress.model.frozen import frozen
from ingress.model.reporting.reports import Report, StatusDocument
from ingress.model.reporting.writes import StatusField, StatusShape
from ingress.object_fields import is_object
from ingress.status.addresses import addresses_to_write, status_patch
from ingress.status.status_merging import Moment, merged_fields

_NOTHING_SEEN = SeenStatus()
_NOTHING_SAID = StatusDocument()


@frozen
class StatusPatch:
    """A merge patch of an object or its status.

    Two patches that are meant to show the same are equal in *shows*, and those that do so of the same desired state in *about*.  *after* is the metadata of the
    object once it is written, as far as we can know.
    """

    body: dict[str, Any]
    shows: Hashable
    after: ObjectMeta
    is_removal: bool
    about: int = 0


def patch_for(
    report: Report,
    field: StatusField,
    shape: StatusShape,
    meta: ObjectMeta,
    writer: str,
    now: datetime,
    *,
    was_ours: bool,
) -> StatusPatch | None:
    """Return what makes the status of an object say what *report* does, None when it does.

    *field* is what of the status is ours, *shape* which parts of a document.  *writer* is the field
    manager under which we write.  *was_ours* when we have seen the object as one of ours.
    """
    match field:
        case StatusField.ADDRESSES:
            return _addresses_patch(report, meta, writer, was_ours=was_ours)
        case StatusField.DOCUMENT:
            return _document_patch(report, shape, meta, writer, now, was_ours=was_ours)


def _addresses_patch(report: Report, meta: ObjectMeta, writer: str, *, was_ours: bool) -> StatusPatch | None:
    addresses = addresses_to_write(meta, report.addresses, writer, is_ours=report.is_ours, was_ours=was_ours)
    if addresses is None:
        return None
    after = ObjectMeta(meta.uid, addresses, (), writer if addresses else "")
    return StatusPatch(status_patch(addresses), addresses, after, is_removal=not addresses)


def _document_patch(
    report: Report, shape: StatusShape, meta: ObjectMeta, writer: str, now: datetime, *, was_ours: bool
) -> StatusPatch | None:
    """Return what replaces our part of a status; that of others stays as it is.

    The patch names the version that was seen, so that the API server refuses it when somebody was faster.
    What of a status cannot be read is not written either, or we should undo what others said.
    """
    seen = meta.seen or _NOTHING_SEEN
    status = decoded(seen.text) if seen.text else {} if seen.text is not None else None
    if not is_object(status):
        return None
    if not report.is_ours and not (meta.writer == writer or (was_ours and not meta.writer)):
        return None
    wanted = report.document if report.is_ours else _NOTHING_SAID
    moment = Moment(seen.generation, now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    changed = merged_fields(status, wanted, shape, moment)
    if not changed:
        return None
    body: dict[str, Any] = {"status": changed}
    if seen.version:
        body["metadata"] = {"resourceVersion": seen.version}
    is_removal = wanted == _NOTHING_SAID
    text = orjson.dumps({name: value for name, value in {**status, **changed}.items() if value is not None})
    after = meta._replace(seen=seen._replace(text=text), writer=meta.writer if is_removal else writer)
    return StatusPatch(body, wanted, after, is_removal, seen.generation)
