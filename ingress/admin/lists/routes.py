"""Routes: which host and path lead where, through which filters."""

from collections.abc import Callable, Iterator
from typing import Final

from ingress.admin.contract.listing import Filter, Listing, Position
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_row import listing_rows
from ingress.admin.contract.parameters import Given
from ingress.admin.contract.schemas import (
    Schema,
    anything,
    fields_of,
    list_of,
    one_of,
    or_null,
    text,
    whole_number,
)
from ingress.admin.lists.parameters import HOST, NAMESPACE
from ingress.filters import Phase
from ingress.model.upstream.backends import BackendState
from ingress.plain_data.values import filter_as_data, spoken, variant_as_data, weighted_as_data
from ingress.routing.route import Match, Route

NO_STATE: Final = BackendState(reason="unknown backend")

_Entry = tuple[str, int, Route]
"""A route, the name of its table, and its place among those of its host there."""

_FILTERS: Final = list_of(
    fields_of(
        {
            "filter": text("Its name."),
            "phase": one_of([phase.name for phase in Phase], "When it is asked."),
            "does": text("What it does, in a sentence."),
            "settings": anything("What it was made with, by names of its own; nothing secret."),
        }
    ),
    "What requests meet on the way, in that order.",
)
_WEIGHTED: Final = list_of(
    fields_of(
        {
            "backend": text("`NAMESPACE/SERVICE:PORT`."),
            "weight": whole_number("Its share, beside the weights of the others."),
            "filters": _FILTERS,
        }
    ),
    "Backends that share the requests; empty for most.",
)
_CONDITIONS: Final = list_of(text(), "What requests have to say besides, a sentence each.")

ROUTE: Final[Schema] = fields_of(
    {
        "host": text("In lower case; `*.example.com` for a wildcard, empty for all hosts."),
        "path": text("As its owner wrote it."),
        "match": one_of(
            [match.value for match in Match],
            "How the path is compared; `Beginning` is that of a regular expression of which nothing is served.",
        ),
        "ingress": or_null(
            text(
                "`NAMESPACE/NAME` of the object that asked for it; null for the controller's own default backend."
            )
        ),
        "backend": text("`NAMESPACE/SERVICE:PORT`."),
        "endpoints": list_of(text(), "`ADDRESS:PORT` of each."),
        "reason": text("Why there are no endpoints; empty where there are some."),
        "protocol": one_of(
            ["HTTP/1.1", "HTTP/2", "FastCGI", ""], "What is spoken to the endpoints; empty without any."
        ),
        "secureBackend": or_null(text("The backend of what came over TLS, where that is another one.")),
        "passthrough": or_null(text("The backend that TLS for the host goes to as it is, if it does.")),
        "standIn": or_null(
            text("The backend that gets the requests when there are no endpoints, if one does.")
        ),
        "filters": _FILTERS,
        "weighted": _WEIGHTED,
        "variants": list_of(
            fields_of({"conditions": _CONDITIONS, "weighted": _WEIGHTED, "filters": _FILTERS}),
            "Requests that lead elsewhere by what else they say, such as canaries; empty for most.",
        ),
        "conditions": _CONDITIONS,
        "field": text("Of a Gateway's route: which match of its object this is; empty for others."),
    }
)


def _entries(asked: PageRequest) -> Iterator[_Entry]:
    for name, table in asked.snapshot.tables():
        for _, some in table.routes.by_host():
            for number, route in enumerate(some.routes):
                yield name, number, route


def _position(entry: _Entry) -> Position:
    table, number, route = entry
    return route.host, route.path, route.match.value, table, number


def _as_data(entry: _Entry, asked: PageRequest) -> dict[str, object]:
    route = entry[2]
    state = asked.snapshot.backends.get(route.backend, NO_STATE)
    return {
        "host": route.host,
        "path": route.path,
        "match": route.match.value,
        "ingress": None if route.owner is None else str(route.owner.key),
        "backend": str(route.backend),
        "endpoints": map(str, state.endpoints),
        "reason": state.reason,
        "protocol": spoken(state),
        "secureBackend": None if route.secure_backend is None else str(route.secure_backend),
        "passthrough": None if route.passthrough is None else str(route.passthrough),
        "standIn": None if route.stand_in is None else str(route.stand_in.backend),
        "filters": map(filter_as_data, route.filters),
        "weighted": map(weighted_as_data, route.weighted),
        "variants": map(variant_as_data, route.variants),
        "conditions": map(str, route.conditions),
        "field": route.place,
    }


def _in_namespace(namespace: str, asked: PageRequest) -> Callable[[_Entry], bool]:
    return lambda entry: entry[2].owner is not None and entry[2].owner.key.namespace == namespace


def _of_host(host: str, asked: PageRequest) -> Callable[[_Entry], bool]:
    host = host.lower()
    return lambda entry: entry[2].host == host


def _beginning(given: Given) -> Position:
    host = given.text(HOST.name)
    return () if host is None else (host.lower(),)


ROUTES: Final = Listing(
    "routes",
    (str, str, str, str, int),
    _entries,
    _position,
    _as_data,
    (Filter(NAMESPACE, _in_namespace), Filter(HOST, _of_host)),
    _beginning,
)
"""Sorted by host, path and match; of several that have the same, in the order in which they are tried."""

ROWS: Final = listing_rows(ROUTES, "routes with their endpoints", ROUTE, has_alias=True, is_of_snapshot=True)
