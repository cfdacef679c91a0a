"""The reader of HTTPRoutes and GRPCRoutes."""

from collections.abc import Hashable

from ingress.model.cluster.objects import ClusterObject, Kind
from ingress.model.cluster.secrets import Needs
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise, finished, known
from ingress.translate.claims import ParsedObject
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.names import GRPC_ROUTE, HTTP_ROUTE
from ingress.translate.readers.gateway.objects.routes import GRPCRoute, HTTPRoute
from ingress.translate.readers.gateway.routes.http_routes import reading_route
from ingress.translate.readers.gateway.routes.route_relations import (
    RouteRelations,
    decides_class,
    judge_route,
    why_no_route,
)
from ingress.translate.readers.reader import Verdict


class HTTPRouteReader:
    """Reads routes of requests: parents, hostnames and rules."""

    def __init__(self, options: TranslateOptions, kind: Kind) -> None:
        self._options = options
        self._kind = kind

    def judge(self, value: ClusterObject, state: ClusterState, /) -> Verdict:
        """A route is ours if one of its parents is."""
        assert isinstance(value, HTTPRoute | GRPCRoute)
        return judge_route(value, state, self._options)

    def class_of(self, value: ClusterObject, /) -> Hashable:
        """Its parents decide."""
        assert isinstance(value, HTTPRoute | GRPCRoute)
        return decides_class(value)

    def read(self, value: ClusterObject, related: Hashable, /) -> ParsedObject:
        """Return what *value* asks for."""
        return finished(self.reading(value, related))

    def reading(self, value: ClusterObject, related: Hashable, /) -> Stepwise[ParsedObject]:
        """Return what *value* asks for, in steps."""
        assert isinstance(value, HTTPRoute | GRPCRoute)
        assert isinstance(related, RouteRelations)
        return reading_route(value, related)

    def needs(self, value: ClusterObject, kind: Kind, /) -> Needs:
        """Nothing: certificates are those of listeners."""
        return {}

    def why_nothing(self, state: ClusterState, /) -> Stepwise[str]:
        """They attach to no listener, or their problems say why."""
        return known(why_no_route(self._kind, state))


def http_route_reader(options: TranslateOptions) -> HTTPRouteReader:
    """Return the reader of HTTPRoutes."""
    return HTTPRouteReader(options, HTTP_ROUTE)


def grpc_route_reader(options: TranslateOptions) -> HTTPRouteReader:
    """Return the reader of GRPCRoutes."""
    return HTTPRouteReader(options, GRPC_ROUTE)
