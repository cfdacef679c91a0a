"""The row of toy routes in the list of readers."""

from ingress.translate.readers.reader import KindRead, RouteKind
from tests.readers.toyroute.projectors import project_toy_door, project_toy_route
from tests.readers.toyroute.reader import ToyRouteReader
from tests.readers.toyroute.values import TOY_DOOR, TOY_ROUTE

TOYS = RouteKind(
    KindRead(TOY_ROUTE, "toys.example", "v1", "toyroutes", project_toy_route),
    ToyRouteReader,
    (KindRead(TOY_DOOR, "toys.example", "v1", "toydoors", project_toy_door),),
)
