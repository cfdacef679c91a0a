"""What is counted, as it is at one moment: the one place here that knows what ``ingress.metrics`` is like.

With workers what they told is in it: they tell each second (``ingress.metrics.totals.totals``).
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from ingress.metrics.exchanges.exchange_rows import CAUSES, FAILED, TOOK, UPSTREAM_TOOK, Row
from ingress.metrics.metrics import Metrics
from ingress.model.exchanges.causes import Cause
from ingress.model.network.streams import StreamSort

NOT_THE_SERVICES: Final = frozenset((Cause.LIMIT, Cause.AUTH, Cause.NO_ROUTE, Cause.REQUEST, Cause.CLIENT))
"""Failures that say nothing of how well a service is: whoever asked got what was meant for that."""

_PLACES: Final = tuple(FAILED + place for place, cause in enumerate(CAUSES) if cause not in NOT_THE_SERVICES)
_CLIENTS: Final = "ingress_downstream_connections"
_CONNECTIONS: Final = "ingress_upstream_connections"
_EJECTED: Final = "ingress_endpoints_ejected"
_STREAMS: Final = "ingress_stream_connections"
_PASSING: Final = "ingress_passthrough_connections"
_DATAGRAMS: Final = "ingress_udp_datagrams"
_DROPPED: Final = "ingress_udp_datagrams_dropped"
_SUMMED: Final = (_CLIENTS, _CONNECTIONS, _EJECTED, _STREAMS, _PASSING, _DATAGRAMS, _DROPPED)


class Counted(NamedTuple):
    """Of the whole house."""

    requests: int
    failures: Mapping[str, int]
    """By cause."""
    durations: Sequence[int]
    """A histogram (``ingress.metrics.exchanges.histograms``) of how long exchanges took."""
    upstream_durations: Sequence[int]
    """The same of the time that endpoints took."""
    clients: int
    endpoint_connections: int
    ejected: int
    streams: int = 0
    """Connections that are streams, of TCP and TLS."""
    udp_sessions: int = 0
    datagrams: int = 0
    """Those of sessions of UDP that have ended, both ways."""
    dropped: int = 0
    """Datagrams of UDP that went nowhere."""


class RowReader(NamedTuple):
    """How rows are read, of one backend of one Ingress each, whatever they are.  Their numbers grow."""

    name: Callable[[Any], str]
    """``NAMESPACE/INGRESS/SERVICE``."""
    mark: Callable[[Any], float]
    """Another number after each exchange: what is looked at most, and so what costs least."""
    requests: Callable[[Any], int]
    """How many exchanges there were."""
    failed: Callable[[Any], int]
    """How many of them the service or the proxy failed."""
    durations: Callable[[Any], Sequence[int]]
    """How many took how long, as in ``Counted``."""


def _name(row: Row) -> str:
    return "/".join(row.labels)


def _requests(row: Row) -> int:
    return sum(row.counts[:FAILED])


def _failed(row: Row) -> int:
    counts = row.counts
    return sum(counts[place] for place in _PLACES)


def _durations(row: Row) -> Sequence[int]:
    return row.counts[TOOK:UPSTREAM_TOOK]


ROWS: Final = RowReader(_name, attrgetter("seconds"), _requests, _failed, _durations)
"""How those of ``Metrics`` are read."""


def counted(metrics: Metrics) -> Counted:
    """Return what *metrics* have counted, workers included."""
    exchanges = metrics.exchanges
    gauges = dict.fromkeys(_SUMMED, 0)
    sessions = 0
    for family in metrics.added(metrics.serving_families()):
        if family is not None and family.name in gauges:
            gauges[family.name] = int(sum(sample.value for sample in family.samples))
            if family.name == _STREAMS:
                of_udp = [one.value for one in family.samples if one.labels["sort"] == StreamSort.UDP.value]
                sessions = int(sum(of_udp))
    return Counted(
        requests=sum(exchanges.durations),
        failures={cause.value: count for cause, count in zip(CAUSES, exchanges.failures, strict=True)},
        durations=tuple(exchanges.durations),
        upstream_durations=tuple(exchanges.upstream_durations),
        clients=gauges[_CLIENTS],
        endpoint_connections=gauges[_CONNECTIONS],
        ejected=gauges[_EJECTED],
        streams=gauges[_STREAMS] - sessions + gauges[_PASSING],
        udp_sessions=sessions,
        datagrams=gauges[_DATAGRAMS],
        dropped=gauges[_DROPPED],
    )
