"""Tests of two tables side by side."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.upstream.backends import BackendReference
from ingress.routing.route import Match, Route
from ingress.routing.side_by_side import is_of_second
from ingress.routing.table import RouteTable

_NAMES = st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=4).map(".".join)
_HOSTS = st.sets(st.one_of(_NAMES, _NAMES.map("*.{}".format), st.just("")), max_size=5)


def _table(hosts: set[str], *, covers_labels: bool) -> RouteTable:
    backend = BackendReference("shop", "web", 80)
    return RouteTable(
        (Route(host, "/", Match.PREFIX, None, backend) for host in hosts), covers_labels=covers_labels
    )


def _covers(key: str, host: str, *, labels: bool) -> bool:
    if key in ("", host):
        return True
    below = host.removesuffix(key[1:])
    return key.startswith("*.") and below != host and bool(below) and (labels or "." not in below)


class SideBySideTests(SynchronousTestCase):
    """Whose a request is."""

    def test_table(self) -> None:
        """The more specific host has it; at a tie the first table does, and where neither has the host."""
        for first, second, host, expected in (
            ({"a.io"}, {"a.io"}, "a.io", False),
            ({"*.io"}, {"a.io"}, "a.io", True),
            ({"a.io"}, {"*.io"}, "a.io", False),
            ({"*.io"}, {"*.io"}, "a.io", False),
            ({"*.io"}, {"*.io"}, "b.a.io", True),
            ({"*.a.io"}, {"*.io"}, "b.a.io", False),
            ({"*.a.io"}, {"*.io"}, "c.b.a.io", True),
            ({""}, {"*.io"}, "a.io", True),
            ({""}, {""}, "a.io", False),
            (set[str](), {""}, "a.io", True),
            ({"*.io"}, {""}, "a.io", False),
            (set[str](), {"b.io"}, "a.io", False),
        ):
            with self.subTest(first=first, second=second, host=host):
                found = is_of_second(
                    _table(first, covers_labels=False), _table(second, covers_labels=True), host.encode()
                )
                self.assertIs(found, expected)

    @given(_HOSTS, _HOSTS, _NAMES)
    def test_rule(self, first: set[str], second: set[str], host: str) -> None:
        """It is of the second where the best of all that cover the host is in it alone."""
        covering = {one for one in first if _covers(one, host, labels=False)}
        beside = {one for one in second if _covers(one, host, labels=True)}
        best = max(covering | beside, key=lambda one: (one != "" and one[0] != "*", len(one)), default=None)
        found = is_of_second(
            _table(first, covers_labels=False), _table(second, covers_labels=True), host.encode()
        )
        self.assertIs(found, best is not None and best not in covering)
