"""Endpoints of all backends, and how each is: whoever serves is asked when somebody looks, and nothing is kept for that.

Which there are the snapshot says; how they are, those who serve (``ingress.model.observability.endpoint_states``); and which pods are not
ready, the EndpointSlices.  An endpoint that no backend has any more is there as long as there are connections to it.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Final, NamedTuple

from twisted.internet.defer import Deferred

from ingress.admin.contract.answers import LargeAnswer
from ingress.admin.contract.listing import Filter, Listing, Position, paged
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_row import V1, Made, PageRow
from ingress.admin.contract.parameters import Given, Parameter
from ingress.admin.contract.schemas import (
    Schema,
    fields_of,
    list_of,
    moment,
    number,
    one_of,
    or_null,
    page_of,
    text,
    truth,
    whole_number,
)
from ingress.admin.lists.parameters import HOST, NAMESPACE
from ingress.model.observability.endpoint_states import Ejection, EndpointsSeen, EndpointStage, EndpointState
from ingress.plain_data.steps import AT_ONCE, NOT_YET, NotYet
from ingress.process.timestamps import rfc3339
from ingress.routing.balancing.health import FAILURES, MISSES
from ingress.translate.endpoints.unready import Unready
from ingress.wording import number_of

_STAGES: Final = tuple(stage.value for stage in EndpointStage)

ENDPOINT: Final[Schema] = fields_of(
    {
        "endpoint": text("`ADDRESS:PORT`."),
        "backend": text("`NAMESPACE/SERVICE:PORT`; empty of one that no backend has any more."),
        "state": one_of(_STAGES, "Whether requests are sent to it."),
        "until": or_null(moment("When that is over, if that is known.")),
        "why": text("Why it is not just in rotation, in a sentence; empty where it is."),
        "connections": whole_number(
            "Those to its address and port, idle ones included, for whatever backend."
        ),
        "requests": whole_number("Those under way there."),
        "latencySeconds": or_null(
            number(
                "How long it took to answer of late; null where nothing goes by that (`load-balance: ewma`)."
            )
        ),
    }
)
_BESIDES: Final[Mapping[str, Schema]] = {
    "leftOut": list_of(
        whole_number(), "The slots of workers that did not answer within a second, and are not in it."
    ),
    "whole": truth("Whether those that did answer have told all that they know."),
}

STATE: Final = Parameter("state", "Only those in this state.", choices=_STAGES)
BACKEND: Final = Parameter(
    "backend",
    "Only those of this backend, `NAMESPACE/SERVICE:PORT`, or of all ports of `NAMESPACE/SERVICE`.",
    most=700,
)


class _Entry(NamedTuple):
    namespace: str
    backend: str
    endpoint: str


def _entries(asked: PageRequest) -> Iterator[_Entry | NotYet]:
    for count, (reference, state) in enumerate(asked.snapshot.backends.items(), 1):
        backend = str(reference)
        for endpoint in state.endpoints:
            yield _Entry(reference.namespace, backend, str(endpoint))
        if not count % AT_ONCE:
            yield NOT_YET


def _texts(asked: PageRequest) -> Iterator[str | NotYet]:
    for count, state in enumerate(asked.snapshot.backends.values(), 1):
        yield from map(str, state.endpoints)
        if not count % AT_ONCE:
            yield NOT_YET


def _position(entry: _Entry) -> Position:
    return entry


def _in_namespace(namespace: str, asked: PageRequest) -> Callable[[_Entry], bool]:
    return lambda entry: entry.namespace == namespace


def _of_backend(backend: str, asked: PageRequest) -> Callable[[_Entry], bool]:
    # A port, how it is spoken to, or both may follow.
    rest = (f"{backend}:", f"{backend} ")
    return lambda entry: entry.backend == backend or entry.backend.startswith(rest)


def _of_host(host: str, asked: PageRequest) -> Callable[[_Entry], bool]:
    tables = (table.routes.get(host) for _, table in asked.snapshot.tables())
    found = dict.fromkeys(
        backend for some in tables if some is not None for route in some.routes for backend in route.backends
    )
    backends = set(map(str, found))
    return lambda entry: entry.backend in backends


def _beginning(given: Given) -> Position:
    namespace = given.text(NAMESPACE.name)
    return () if namespace is None else (namespace,)


class _Look:
    """What is known when somebody looks."""

    def __init__(self, seen: EndpointsSeen) -> None:
        self._seen = seen
        self._unready: Unready = {}

    def in_state(self, state: str, asked: PageRequest) -> Callable[[_Entry], bool]:
        return lambda entry: self._stage(entry).value == state

    def besides(self, asked: PageRequest) -> Iterator[_Entry | NotYet]:
        """Yield the endpoints that the snapshot does not have."""
        steps = asked.sources.unready()
        while True:
            try:
                next(steps)
            except StopIteration as end:
                self._unready = end.value
                break
            yield NOT_YET
        for backend, endpoint in self._unready:
            yield _Entry(backend.partition("/")[0], backend, endpoint)
        if not self._seen.pool:
            return
        current: list[str] = []
        for step in asked.orders.of(asked.snapshot, "texts of endpoints", lambda: _texts(asked), str):
            if isinstance(step, list):
                current = step
            else:
                yield step
        unready = {endpoint for _, endpoint in self._unready}
        for count, endpoint in enumerate(self._seen.pool, 1):
            place = bisect_left(current, endpoint)
            if current[place : place + 1] != [endpoint] and endpoint not in unready:
                yield _Entry("", "", endpoint)
            elif not count % AT_ONCE:
                yield NOT_YET

    def _stage(self, entry: _Entry) -> EndpointStage:
        if not entry.backend:
            return EndpointStage.TERMINATING
        told = self._seen.states.get(entry[1:])
        known = EndpointStage.IN_ROTATION if told is None else told.stage
        return self._unready.get(entry[1:], known)

    def as_data(self, entry: _Entry, asked: PageRequest) -> dict[str, object]:
        stage = self._stage(entry)
        told = self._seen.states.get(entry[1:])
        connections, requests = self._seen.pool.get(entry.endpoint, (0, 0))
        is_told = told is not None and told.stage is stage
        until = (
            asked.now + timedelta(seconds=told.seconds)
            if told is not None and is_told and told.seconds
            else None
        )
        return {
            "endpoint": entry.endpoint,
            "backend": entry.backend,
            "state": stage.value,
            "until": None if until is None else rfc3339(until),
            "why": self._why(entry, stage, told, asked),
            "connections": connections,
            "requests": requests,
            "latencySeconds": None if told is None else told.latency,
        }

    @staticmethod
    def _why(entry: _Entry, stage: EndpointStage, told: EndpointState | None, asked: PageRequest) -> str:
        if stage is EndpointStage.TERMINATING:
            return (
                "its pod ends, and serves while no other is ready"
                if entry.backend
                else "no backend has it any more; what was begun there goes on"
            )
        if stage is EndpointStage.NOT_READY:
            return "its pod is not ready"
        if stage is EndpointStage.ELSEWHERE:
            return "it is for another zone or node, by the hints of its EndpointSlice, and stands in where those for this one fail"
        if stage is EndpointStage.SLOW_START:
            return "it is new, and has a growing share of the requests"
        if told is None or told.ejection is Ejection.NONE:
            return ""
        if stage is EndpointStage.IN_ROTATION:
            return "it was silent, and gets one request on trial"
        said = {
            Ejection.UNREACHABLE: f"{FAILURES} connections to it failed",
            Ejection.SILENT: f"{MISSES} requests in a row waited in vain, and nothing came from it meanwhile",
        }[told.ejection]
        workers = len(asked.sources.workers.states())
        return f"{said} (by {told.told} of {number_of(workers, 'worker')})" if workers else said


def _listing(look: _Look) -> Listing[_Entry]:
    return Listing(
        "endpoints",
        (str, str, str),
        _entries,
        _position,
        look.as_data,
        (
            Filter(NAMESPACE, _in_namespace),
            Filter(HOST, lambda host, asked: _of_host(host.lower(), asked)),
            Filter(BACKEND, _of_backend),
            Filter(STATE, look.in_state),
        ),
        _beginning,
        besides=look.besides,
    )


def _endpoints(asked: PageRequest) -> Deferred[Made]:
    def found(seen: EndpointsSeen) -> Made:
        listing = _listing(_Look(seen))
        return LargeAnswer(paged(listing, asked, leftOut=iter(seen.left_out), whole=seen.is_whole))

    # What cannot be asked for is refused before anybody is asked.
    paged(_listing(_Look(EndpointsSeen())), asked)
    return asked.sources.endpoints().addCallback(found)


ROW: Final = PageRow(
    f"{V1}endpoints",
    "endpoints of all backends, and how each is",
    _endpoints,
    _listing(_Look(EndpointsSeen())).parameters,
    page_of("endpoints", ENDPOINT, _BESIDES),
)
