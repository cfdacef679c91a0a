"""A snapshot as a worker has it, and one of many hosts to send."""

from attrs import evolve

from ingress.annotations.operator_filters import InstalledFilter
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.upstream.backends import BackendReference
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from ingress.translate.snapshot import Snapshot
from ingress.workers.feed.follower import Follower
from ingress.workers.feed.sending import pieces


def sent(snapshot: Snapshot, *allowed: InstalledFilter) -> Snapshot:
    """Return what a worker that has nothing makes of *snapshot*; filters of the operator's are *allowed* there."""
    follower = Follower(allowed)
    assert [follower.take(piece) for piece in pieces(None, snapshot)][-1]
    return follower.snapshot


def many_hosts(count: int, path: str) -> Snapshot:
    """Return one of so many hosts, each with a route for *path*."""
    owner = Owner(Kind.INGRESS, ObjectKey("demo", "web"))
    route = Route("", path, Match.PREFIX, owner, BackendReference("demo", "web", 80))
    names = (f"h{one}.test" for one in range(count))
    return Snapshot(RouteTable().patched({one: HostRoutes((evolve(route, host=one),)) for one in names}))
