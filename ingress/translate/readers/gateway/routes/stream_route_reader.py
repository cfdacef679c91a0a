"""The reader of TLSRoutes, TCPRoutes and UDPRoutes."""

from collections.abc import Hashable

from ingress.model.cluster.objects import ClusterObject, Kind
from ingress.model.cluster.secrets import Needs
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise, known
from ingress.translate.claims import ParsedObject
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.names import TCP_ROUTE, TLS_ROUTE, UDP_ROUTE
from ingress.translate.readers.gateway.objects.routes import AnyStreamRoute
from ingress.translate.readers.gateway.routes.route_relations import (
    RouteRelations,
    decides_class,
    judge_route,
    why_no_route,
)
from ingress.translate.readers.gateway.routes.stream_routes import read_stream_route
from ingress.translate.readers.reader import Verdict


class StreamRouteReader:
    """Reads routes of streams: parents, hostnames and backends."""

    def __init__(self, options: TranslateOptions, kind: Kind) -> None:
        self._options = options
        self._kind = kind

    def judge(self, value: ClusterObject, state: ClusterState, /) -> Verdict:
        """A route is ours if one of its parents is."""
        assert isinstance(value, AnyStreamRoute)
        return judge_route(value, state, self._options)

    def class_of(self, value: ClusterObject, /) -> Hashable:
        """Its parents decide."""
        assert isinstance(value, AnyStreamRoute)
        return decides_class(value)

    def read(self, value: ClusterObject, related: Hashable, /) -> ParsedObject:
        """Return where its streams lead."""
        assert isinstance(value, AnyStreamRoute)
        assert isinstance(related, RouteRelations)
        return read_stream_route(value, related)

    def needs(self, value: ClusterObject, kind: Kind, /) -> Needs:
        """Nothing: certificates are those of listeners."""
        return {}

    def why_nothing(self, state: ClusterState, /) -> Stepwise[str]:
        """They attach to no listener, or their problems say why."""
        return known(why_no_route(self._kind, state))


def tls_route_reader(options: TranslateOptions) -> StreamRouteReader:
    """Return the reader of TLSRoutes."""
    return StreamRouteReader(options, TLS_ROUTE)


def tcp_route_reader(options: TranslateOptions) -> StreamRouteReader:
    """Return the reader of TCPRoutes."""
    return StreamRouteReader(options, TCP_ROUTE)


def udp_route_reader(options: TranslateOptions) -> StreamRouteReader:
    """Return the reader of UDPRoutes."""
    return StreamRouteReader(options, UDP_ROUTE)
