"""Watches: how each kind of objects is kept equal to the cluster; none where objects come from manifests."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

from ingress.admin.contract.listing import Filter, Listing, Position
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_row import listing_rows
from ingress.admin.contract.parameters import Parameter
from ingress.admin.contract.schemas import Schema, fields_of, moment, numbers_by, or_null, text, whole_number
from ingress.metrics.series.watch import RELIST_CAUSES, ReflectorCounts
from ingress.process.timestamps import rfc3339

WATCH: Final[Schema] = fields_of(
    {
        "kind": text("The kind of the objects."),
        "namespace": text("The namespace that is read; empty for the whole cluster."),
        "objects": whole_number("How many there are."),
        "lastContact": or_null(moment("When anything last came from the API server; null before that.")),
        "refusedSince": or_null(moment("Since when it forbids to read them; null where it does not.")),
        "events": whole_number("Objects and changes that came."),
        "reconnects": whole_number("Requests that followed one which was cut."),
        "relists": numbers_by(RELIST_CAUSES, "How often all of them were listed again, by cause."),
    }
)

_NAMESPACE: Final = Parameter("namespace", "Only what is read of this namespace alone.", most=253)
_KIND: Final = Parameter("kind", "Only those of this kind.", most=253)


def _entries(asked: PageRequest) -> Iterable[ReflectorCounts]:
    return tuple(asked.sources.metrics.watch.reflectors)


def _position(counts: ReflectorCounts) -> Position:
    return counts.kind, counts.namespace


def _as_data(counts: ReflectorCounts, asked: PageRequest) -> dict[str, object]:
    return watch_as_data(counts, asked.now)


def watch_as_data(counts: ReflectorCounts, now: datetime) -> dict[str, object]:
    """Return what is known *now* of a watch as ``WATCH`` describes it."""

    def at(seconds: float | None) -> str | None:
        if seconds is None:
            return None
        return rfc3339(now - timedelta(seconds=counts.clock() - seconds))

    return {
        "kind": counts.kind,
        "namespace": counts.namespace,
        "objects": counts.objects,
        "lastContact": at(counts.last_contact),
        "refusedSince": at(counts.refused_since),
        "events": counts.events,
        "reconnects": counts.reconnects,
        "relists": dict(counts.relists),
    }


def _in_namespace(namespace: str, asked: PageRequest) -> Callable[[ReflectorCounts], bool]:
    return lambda counts: counts.namespace == namespace


def _of_kind(kind: str, asked: PageRequest) -> Callable[[ReflectorCounts], bool]:
    return lambda counts: counts.kind == kind


WATCHES: Final = Listing(
    "watches",
    (str, str),
    _entries,
    _position,
    _as_data,
    (Filter(_NAMESPACE, _in_namespace), Filter(_KIND, _of_kind)),
    is_of_snapshot=False,
)
"""Sorted by kind and namespace."""

ROWS: Final = listing_rows(WATCHES, "how each kind of objects is kept equal to the cluster", WATCH)
