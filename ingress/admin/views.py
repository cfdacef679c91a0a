"""A snapshot as JSON: routes, streams, problems and certificates, for people and programs; and workers.

Pure functions from values to text, which comes in small pieces, each made when it is asked for: there
may be tens of thousands of routes.  A snapshot never changes, so all pieces are of one state.  Names of
fields stay as they are once published; new ones may join.  Key material is never looked at, and a field
that a filter spec keeps out of its ``repr`` is kept out here, too.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain

from ingress.identity.certificates import Certificate
from ingress.model.backends import BackendState
from ingress.model.problems import Problem
from ingress.model.streams import StreamSort
from ingress.model.workers import WorkerEnd, WorkerState
from ingress.plain.steps import AT_ONCE, NOT_YET, NotYet, in_order, json_text
from ingress.plain.values import filter_as_data, spoken, variant_as_data, weighted_as_data
from ingress.routing.route import Route
from ingress.routing.streams import StreamRoute
from ingress.routing.variants import WeightedBackend
from ingress.translate.snapshot import Snapshot

_NO_STATE = BackendState(reason="unknown backend")


def routes_as_json(snapshot: Snapshot) -> Iterator[str]:
    """Yield ``{"routes": [...]}``, sorted by host, path and match.

    Each route has ``host`` (empty: any host), ``path``, ``match`` (``Exact``,
    ``Prefix``, or ``Beginning`` of a closed regular expression), ``ingress`` (``NAMESPACE/NAME``, or null for the controller's own
    default backend), ``backend``, ``endpoints`` (a list of ``ADDRESS:PORT``),
    ``reason`` (why there are no endpoints, else empty), ``protocol`` (what is spoken to
    the endpoints, ``HTTP/1.1`` or ``HTTP/2``; empty without any), ``secureBackend`` (the backend
    of what came over TLS where that is another one, else null), ``passthrough`` (the backend that TLS
    for the host goes to as it is, else null), ``standIn`` (the backend that gets the requests when there are no endpoints,
    else null), ``filters`` (a list of
    ``{"filter": NAME, "phase": NAME, "does": SENTENCE, "settings": {...}}``, in the order in which requests meet them), ``weighted``
    (backends that share the requests, a list of ``{"backend", "weight", "filters"}``) and ``variants`` (a list of
    ``{"conditions": [SENTENCE], "weighted", "filters"}``); these two are empty for most.  Of routes of Gateways ``conditions`` are what
    requests have to say besides (a list of sentences), and ``field`` is the match of their object (empty for others).
    """
    return _page("routes", _routes(snapshot))


def _routes(snapshot: Snapshot) -> Iterator[object]:
    for route in in_order(snapshot.routes(), lambda one: (one.host, one.path, one.match.value)):
        yield route if isinstance(route, NotYet) else _route(route, snapshot)


def _route(route: Route, snapshot: Snapshot) -> dict[str, object]:
    state = snapshot.backends.get(route.backend, _NO_STATE)
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


def streams_as_json(snapshot: Snapshot) -> Iterator[str]:
    """Yield ``{"streams": [...]}``, sorted by table and host: where connections lead of which no request is read.

    Each has ``table`` (that of its listeners), ``host`` (the server name; empty: any, or none), ``sort`` (``tcp``,
    ``passthrough``, ``terminated``), ``kind`` and ``object`` (``NAMESPACE/NAME``) of who asked for it, null where a listener has the host
    and no route does, ``weighted`` (a list of ``{"backend", "weight", "endpoints", "reason"}``) and ``sendsHeader`` (whether endpoints get a
    PROXY header).  What passes through for Ingresses is among the routes.
    """
    return _page("streams", _streams(snapshot))


def _streams(snapshot: Snapshot) -> Iterator[object]:
    found = (
        (name, stream)
        for name, table in snapshot.tables()
        for stream in table.streams
        if stream.sort is not StreamSort.REQUESTS
    )
    for one in in_order(found, lambda entry: (entry[0], entry[1].host)):
        yield one if isinstance(one, NotYet) else _stream(*one, snapshot)


def _stream(table: str, stream: StreamRoute, snapshot: Snapshot) -> dict[str, object]:
    owner = stream.owner
    return {
        "table": table,
        "host": stream.host,
        "sort": stream.sort.value,
        "kind": None if owner is None else str(owner.kind),
        "object": None if owner is None else str(owner.key),
        "weighted": (_stream_backend(entry, snapshot) for entry in stream.weighted),
        "sendsHeader": stream.sends_header,
    }


def _stream_backend(entry: WeightedBackend, snapshot: Snapshot) -> dict[str, object]:
    state = snapshot.backends.get(entry.backend, _NO_STATE)
    return {
        "backend": str(entry.backend),
        "weight": entry.weight,
        "endpoints": map(str, state.endpoints),
        "reason": state.reason,
    }


def problems_as_json(snapshot: Snapshot) -> Iterator[str]:
    """Yield ``{"problems": [...]}``, each once, sorted by object, reason, message and field.

    Each problem has ``kind``, ``namespace``, ``name``, ``field`` (the path of the
    offending field, empty: the whole object), ``reason`` (a code of
    ``docs/problems.md``) and ``message``.
    """
    return _page("problems", _problems(snapshot))


def _problems(snapshot: Snapshot) -> Iterator[object]:
    last: Problem | None = None
    for problem in in_order(snapshot.unordered_problems(), _order):
        if isinstance(problem, NotYet) or problem == last:
            yield NOT_YET
            continue
        last = problem
        yield {
            "kind": problem.kind,
            "namespace": problem.namespace,
            "name": problem.name,
            "field": problem.field,
            "reason": problem.reason.value,
            "message": problem.message,
        }


def _order(problem: Problem) -> tuple[str, ...]:
    """Return what problems are compared by; comparing them themselves takes ten times as long."""
    return (
        problem.kind,
        problem.namespace,
        problem.name,
        problem.reason.value,
        problem.message,
        problem.field,
    )


def certificates_as_json(snapshot: Snapshot, now: datetime) -> Iterator[str]:
    """Yield ``{"certificates": [...]}``, one entry a certificate, sorted by Secret.

    Each has ``secret`` (``NAMESPACE/NAME``), ``keyType``, ``names`` (that it covers), ``hosts``
    (that it is chosen for), ``default`` (whether it serves all other names),
    ``notBefore``, ``notAfter`` (RFC 3339), ``daysLeft`` (whole days until then, negative past it),
    ``endsSoon`` (whether that is two weeks or less) and ``fingerprint``.
    """
    return _page("certificates", _certificates(snapshot, now))


def _certificates(snapshot: Snapshot, now: datetime) -> Iterator[object]:
    table = snapshot.certificates
    hosts: dict[Certificate, list[str]] = {}
    for number, (host, certificate) in enumerate(snapshot.shown(), 1):
        chosen = hosts.setdefault(certificate, [])
        if host:
            chosen.append(host)
        if not number % AT_ONCE:
            yield NOT_YET
    for found in in_order(hosts.items(), lambda entry: (entry[0].secret, entry[0].fingerprint)):
        if isinstance(found, NotYet):
            yield NOT_YET
            continue
        certificate, chosen = found
        yield {
            "secret": str(certificate.secret),
            "keyType": certificate.key_type,
            "names": iter(certificate.names),
            "hosts": in_order(chosen, str),
            "default": certificate == table.default,
            "notBefore": certificate.not_before.isoformat(),
            "notAfter": certificate.not_after.isoformat(),
            "daysLeft": (certificate.not_after - now).days,
            "endsSoon": certificate.ends_soon(now),
            "fingerprint": certificate.fingerprint,
        }


def workers_as_json(workers: Sequence[WorkerState]) -> Iterator[str]:
    """Yield ``{"workers": [...]}``, one entry a slot; none where one process serves by itself.

    Each has ``slot``, ``pid`` (null where there is no worker at the moment), ``state`` (``starting``, ``serving``, ``draining``, ``hung``,
    ``ended``), ``since`` (when that began, RFC 3339), ``connections`` (of clients, open now), ``latenessSeconds`` (by how much its
    reactor came late to what was due), ``snapshot`` (the number of the one in force), ``behindSeconds`` (for how long there has been a
    newer one), ``starts``, ``ends`` (a number for each cause: ``killed``, ``exit``, ``hung``, ``stopped``) and ``lastEnd`` (what ended
    the last one, empty before any ended).
    """
    return _page("workers", map(_worker, workers))


def _worker(worker: WorkerState) -> dict[str, object]:
    return {
        "slot": worker.slot,
        "pid": worker.pid,
        "state": worker.stage.value,
        "since": worker.since.isoformat(),
        "connections": worker.connections,
        "latenessSeconds": worker.lateness_seconds,
        "snapshot": worker.snapshot,
        "behindSeconds": worker.behind_seconds,
        "starts": worker.starts,
        "ends": {cause.value: worker.ends.get(cause, 0) for cause in WorkerEnd},
        "lastEnd": worker.last_end,
    }


def _page(name: str, entries: Iterator[object]) -> Iterator[str]:
    return chain(json_text({name: entries}), ("\n",))
