"""The row of toy routes in the list of readers."""

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.reporting.writes import KindWrite, StatusField
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.reader import KindRead, RouteKind
from ingress.translate.reports import ConditionRule, ReportedKind
from tests.translate.readers.toyroute.projectors import project_toy_door, project_toy_route
from tests.translate.readers.toyroute.reader import ToyRouteReader
from tests.translate.readers.toyroute.values import TOY_DOOR, TOY_ROUTE

_GROUP, _VERSION, _PLURAL = "toys.example", "v1", "toyroutes"


def _is_ours(key: ObjectKey, state: ClusterState, options: TranslateOptions) -> bool | None:
    route = state.of(TOY_ROUTE).get(key)
    return None if route is None else ToyRouteReader(options).judge(route, state).is_ours


REPORTED = ReportedKind(
    TOY_ROUTE,
    "ToyRoutes",
    "nobody sees what became of them",
    KindWrite(_GROUP, _VERSION, _PLURAL, ("patch",), "status"),
    StatusField.DOCUMENT,
    keys=lambda state: state.of(TOY_ROUTE),
    is_ours=_is_ours,
    decided_by=frozenset({TOY_DOOR}),
    conditions=(
        ConditionRule("Accepted", "Accepted", {Reason.INVALID_HOST: "UnsupportedValue"}),
        ConditionRule("ResolvedRefs", "ResolvedRefs", {Reason.SERVICE_NOT_FOUND: "BackendNotFound"}),
    ),
)

TOYS = RouteKind(
    KindRead(TOY_ROUTE, _GROUP, _VERSION, _PLURAL, project_toy_route, reported=REPORTED),
    ToyRouteReader,
    (KindRead(TOY_DOOR, _GROUP, _VERSION, "toydoors", project_toy_door),),
)
