"""Streams: where connections, and datagrams of UDP, lead of which no request is read.  What passes through for Ingresses is among the routes."""

from collections.abc import Callable, Iterator
from typing import Final

from ingress.admin.contract.listing import Filter, Listing, Position
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_row import listing_rows
from ingress.admin.contract.schemas import (
    Schema,
    fields_of,
    list_of,
    one_of,
    or_null,
    text,
    truth,
    whole_number,
)
from ingress.admin.lists.parameters import HOST, NAMESPACE
from ingress.admin.lists.routes import NO_STATE
from ingress.model.network.streams import StreamSort
from ingress.routing.streams import StreamRoute
from ingress.routing.variants import WeightedBackend

_Entry = tuple[str, StreamRoute]
"""A stream, and the name of its table."""

STREAM: Final[Schema] = fields_of(
    {
        "table": text("That of its listeners."),
        "host": text("The server name; empty for any, or none."),
        "sort": one_of(
            [sort.value for sort in StreamSort if sort is not StreamSort.REQUESTS], "What is known of it."
        ),
        "kind": or_null(
            text("The kind of the object that asked for it; null where a listener has the host alone.")
        ),
        "object": or_null(text("`NAMESPACE/NAME` of that object.")),
        "weighted": list_of(
            fields_of(
                {
                    "backend": text("`NAMESPACE/SERVICE:PORT`."),
                    "weight": whole_number("Its share, beside the weights of the others."),
                    "endpoints": list_of(text(), "`ADDRESS:PORT` of each."),
                    "reason": text("Why there are no endpoints; empty where there are some."),
                }
            ),
            "Where it leads; nowhere where there is none.",
        ),
        "sendsHeader": truth("Whether endpoints get a PROXY header before anything else."),
    }
)


def _entries(asked: PageRequest) -> Iterator[_Entry]:
    for name, table in asked.snapshot.tables():
        for stream in table.streams:
            if stream.sort is not StreamSort.REQUESTS:
                yield name, stream


def _position(entry: _Entry) -> Position:
    table, stream = entry
    return table, stream.host, stream.sort.value


def _as_data(entry: _Entry, asked: PageRequest) -> dict[str, object]:
    table, stream = entry
    owner = stream.owner
    return {
        "table": table,
        "host": stream.host,
        "sort": stream.sort.value,
        "kind": None if owner is None else str(owner.kind),
        "object": None if owner is None else str(owner.key),
        "weighted": (_backend(one, asked) for one in stream.weighted),
        "sendsHeader": stream.sends_header,
    }


def _backend(entry: WeightedBackend, asked: PageRequest) -> dict[str, object]:
    state = asked.snapshot.backends.get(entry.backend, NO_STATE)
    return {
        "backend": str(entry.backend),
        "weight": entry.weight,
        "endpoints": map(str, state.endpoints),
        "reason": state.reason,
    }


def _in_namespace(namespace: str, asked: PageRequest) -> Callable[[_Entry], bool]:
    return lambda entry: entry[1].owner is not None and entry[1].owner.key.namespace == namespace


def _of_host(host: str, asked: PageRequest) -> Callable[[_Entry], bool]:
    host = host.lower()
    return lambda entry: entry[1].host == host


STREAMS: Final = Listing(
    "streams",
    (str, str, str),
    _entries,
    _position,
    _as_data,
    (Filter(NAMESPACE, _in_namespace), Filter(HOST, _of_host)),
)
"""Sorted by table and host."""

ROWS: Final = listing_rows(
    STREAMS, "streams of TCP, UDP and TLS with their endpoints", STREAM, has_alias=True, is_of_snapshot=True
)
