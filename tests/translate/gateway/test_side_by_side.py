"""What routes of Gateways are told that share a port with Ingresses."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.problems import Reason
from ingress.model.upstream.backends import BackendReference
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from ingress.translate.caches.bookkeeping import ProblemIndex
from ingress.translate.gateway.side_by_side import SideBySideProblems, lost_hosts
from ingress.translate.readers.gateway.objects.names import HTTP_ROUTE
from tests.properties import examples

_OLD, _YOUNG = (
    Owner(Kind.INGRESS, ObjectKey("shop", name), created) for name, created in (("z", "1"), ("a", "2"))
)
_ROUTE, _OTHER = (Owner(HTTP_ROUTE, ObjectKey("apps", name)) for name in ("r", "s"))
_BACKEND = BackendReference("shop", "web", 80)
_TABLES = ("gateway *:80", "gateway *:443")


def _routes(host: str, *owners: Owner | None) -> HostRoutes:
    return HostRoutes(
        tuple(Route(host, f"/{at}", Match.PREFIX, owner, _BACKEND) for at, owner in enumerate(owners))
    )


def _table(**hosts: tuple[Owner | None, ...]) -> RouteTable:
    return RouteTable().patched({host: _routes(host, *owners) for host, owners in hosts.items()})


_CHANGES = st.lists(
    st.tuples(
        st.sampled_from(("main", *_TABLES)),
        st.sampled_from(["", "a.io", "*.io"]),
        st.sampled_from([(), (_OLD,), (_YOUNG, _OLD), (_ROUTE,), (_ROUTE, _OTHER), (None,), None, "gone"]),
    ),
    max_size=12,
)


class LostHostsTests(SynchronousTestCase):
    """Which routes lose a host to an Ingress."""

    def test_told(self) -> None:
        """Each route of a host that an Ingress has, too, is told once whose it is: the oldest one's."""
        found = sorted(
            lost_hosts(_table(a=(_YOUNG, _OLD), b=(_OLD,)), _table(a=(_ROUTE, _ROUTE, _OTHER), c=(_ROUTE,)))
        )
        self.assertEqual(
            [(one.name, one.reason, one.field) for one in found],
            [("r", Reason.HOST_CONFLICT, "spec.hostnames"), ("s", Reason.HOST_CONFLICT, "spec.hostnames")],
        )
        self.assertEqual(
            found[0].message,
            "a: requests for it go to Ingress shop/z, since Ingresses come first on the ports of the command line",
        )

    def test_wildcards_and_all_hosts(self) -> None:
        """A wildcard loses names of one label, and all hosts are lost to a default backend of the controller, too."""
        messages = [
            one.message.partition(", since")[0]
            for one in lost_hosts(
                _table(**{"*.io": (_OLD,), "": (None,)}), _table(**{"*.io": (_ROUTE,), "": (_OTHER,)})
            )
        ]
        self.assertEqual(
            sorted(messages),
            [
                "*.io: requests for names of one more label go to Ingress shop/z",
                "requests for hosts that nobody names go to the controller's default backend",
            ],
        )

    def test_host_of_a_listener(self) -> None:
        """A host that a listener has, and no route, costs nobody anything."""
        self.assertEqual(list(lost_hosts(_table(a=(_OLD,)), _table(a=()))), [])

    @settings(max_examples=examples(60))
    @given(st.lists(_CHANGES, max_size=5))
    def test_incrementally(self, rounds: list[list[tuple[str, str, object]]]) -> None:
        """Followed change by change it comes to the same as looked at once, whatever comes and goes."""
        index = ProblemIndex()
        followed = SideBySideProblems(index)
        tables = {name: RouteTable() for name in ("main", *_TABLES)}
        present: set[str] = set()
        for changes in rounds:
            for name, host, owners in changes:
                if owners == "gone":
                    tables[name] = RouteTable()
                    present.discard(name)
                else:
                    present.add(name)
                    assert owners is None or isinstance(owners, tuple)
                    found = None if owners is None else _routes(host, *owners)
                    tables[name] = tables[name].patched({host: found})
            beside = {name: tables[name] for name in _TABLES if name in present}
            for _ in followed.round(tables["main"], beside):
                pass
            told = {problem for some in index.by_source().values() for problem in some}
            expected = {one for table in beside.values() for one in lost_hosts(tables["main"], table)}
            self.assertEqual(told, expected)
