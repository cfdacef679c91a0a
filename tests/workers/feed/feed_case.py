"""What tests of the feed share: a follower that is told of snapshots, and some to tell it of."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import ClassVar

from attrs import evolve, frozen
from hypothesis import HealthCheck
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.operator_filters import InstalledFilter
from ingress.filters import Filter, FilterSpec, Phase, Services
from ingress.model.shared_map import SharedMap
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from ingress.translate.self_check import differences
from ingress.translate.snapshot import NOTHING_ATTACHED, Snapshot
from ingress.translate.translate import translate
from ingress.workers.feed.follower import Follower
from ingress.workers.feed.sending import pieces
from tests.translate import golden

ROOT = Path(__file__).resolve().parents[3]
HEALTH = list(HealthCheck)
WEB, CANARY = BackendReference("demo", "web", 80), BackendReference("demo", "canary", 80)
ENDPOINTS = tuple(Endpoint(f"10.0.{number // 256}.{number % 256}", 80) for number in range(3000))


@frozen
class Hello:
    """A spec of a package that is not ours."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "hello"
    text: str = ""

    def describe(self) -> str:
        """Say hello."""
        return f"says {self.text}"

    def make(self, services: Services) -> Filter:
        """Make a filter that does nothing."""
        return Filter()


HELLO = InstalledFilter("hello", Hello)


def travelling(snapshot: Snapshot) -> Snapshot:
    """Return *snapshot* with what travels of it."""
    return evolve(snapshot, problems=(), attached=NOTHING_ATTACHED)


@cache
def fixtures() -> tuple[Snapshot, ...]:
    """Translate all fixtures."""
    return tuple(
        translate(golden.state_of_case(case), golden.options_of_case(case), golden.NOW)
        for case in golden.cases()
    )


def table_of(routes: Iterable[Route]) -> RouteTable:
    """Return a table of *routes*, host by host, as translation makes it."""
    by_host: dict[str, list[Route]] = {}
    for one in routes:
        by_host.setdefault(one.host, []).append(one)
    return RouteTable().patched({host: HostRoutes(tuple(some)) for host, some in by_host.items()})


def of_routes(*routes: Route) -> Snapshot:
    """Return a snapshot of routes alone."""
    return Snapshot(table=table_of(routes))


def a_route(host: str, path: str = "/", backend: BackendReference = WEB, *filters: FilterSpec) -> Route:
    """Return a route."""
    return Route(host, path, Match.PREFIX, None, backend, filters=filters)


def wide(hosts: int, routes: int = 1) -> Snapshot:
    """Return a snapshot of so many hosts, each with so many routes and one backend."""
    return Snapshot(
        table=table_of(a_route(f"{host}.test", f"/{n}") for host in range(hosts) for n in range(routes)),
        backends=SharedMap({WEB._replace(port=host): BackendState(ENDPOINTS[:2]) for host in range(hosts)}),
    )


class FeedCase(SynchronousTestCase):
    """A follower, and what it is told."""

    def setUp(self) -> None:
        self.follower = Follower([HELLO])
        self.has: Snapshot | None = None
        """What it was told last."""

    def tell(self, snapshot: Snapshot) -> list[bytes]:
        """Tell it of *snapshot*, and compare; return the pieces."""
        told = list(pieces(self.has, snapshot))
        complete = [self.follower.take(piece) for piece in told]
        self.assertEqual(complete, [False] * (len(told) - 1) + [True])
        self.assertEqual(differences(self.follower.snapshot, travelling(snapshot)), ())
        self.assertEqual(self.follower.snapshot.serving, snapshot.serving)
        self.assertEqual(self.follower.snapshot.listeners, snapshot.listeners)
        self.has = snapshot
        return told
