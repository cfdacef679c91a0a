"""Routes that take whatever begins with their text, beside all others."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from ingress.routing.text_routes import TextRoutes
from tests.routing.test_expression_routes import plain

paths = st.sampled_from(["/a", "/a/b", "/ab", "/abc", "/a/bc", "/b"])
routes = st.lists(
    st.builds(plain, paths, st.sampled_from([Match.EXACT, Match.PREFIX, Match.TEXT])),
    max_size=6,
    # A path of both other types has what it takes for the first of them.
    unique_by=lambda one: (one.path, one.match is Match.EXACT),
)
asked = st.text("abc/", max_size=6).map(lambda text: f"/{text}")


def in_nginx(table: list[Route], path: str) -> Route | None:
    """Return whose location nginx would choose: an exact one, or else the one whose text is the longest that the path begins with."""
    exact = [one for one in table if one.match is Match.EXACT and one.path == path]
    locations = [
        (text, one)
        for one in table
        if one.match is not Match.EXACT
        for text in ((f"{one.path}/",) if one.match is Match.PREFIX else (one.path,))
        if path.startswith(text) or path == one.path
    ]
    return next(iter(exact), None) or max(locations, key=lambda pair: len(pair[0]), default=("", None))[1]


class TextRoutesTests(SynchronousTestCase):
    @given(routes, asked)
    def test_as_nginx(self, some: list[Route], path: str) -> None:
        """Each path has the route whose location nginx would choose."""
        self.assertIs(RouteTable(some).find(b"h", path.encode()), in_nginx(some, path))

    def test_a_look_for_each_length(self) -> None:
        """A thousand texts cost no more than the lengths that they have."""
        many = [plain(f"/app-{number:04}", Match.TEXT) for number in range(1000)]
        found = TextRoutes(many)
        self.assertEqual(found._lengths, [9])
        self.assertIs(found.before(None, b"/app-0900-x"), many[900])
        self.assertIsNone(found.before(None, b"/app-1000"))
        self.assertIsNone(found.before(None, b"/app"))
