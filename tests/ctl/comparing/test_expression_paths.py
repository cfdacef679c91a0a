"""Tests for ingress.ctl.comparing.expression_paths."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.comparing.expression_paths import ExpressionPaths, paths_beside
from ingress.model.text.expressions import ExpressionRefused
from ingress.model.text.path_expressions import read_path_expression
from ingress.model.upstream.backends import BackendReference
from ingress.routing.beginnings import regex_beginnings
from ingress.routing.route import Match, Route

PARTS = st.sampled_from(
    [
        "/",
        "a",
        "api",
        "(/|$)",
        "(.*)",
        ".*",
        "[0-9]+",
        "[^/]+",
        r"\d",
        "(x|y)",
        "$",
        "?",
        "{2}",
        "|",
        "+",
        "^",
    ]
)


def route(text: str, is_run: bool = True) -> Route:
    """A route of the expression *text*."""
    expressions = (read_path_expression(text),) if is_run else ()
    match = Match.EXPRESSION if is_run else Match.BEGINNING
    backend = BackendReference("shop", "web")
    return Route("", text, match, None, backend, beginnings=regex_beginnings(text), expressions=expressions)


class ExpressionPathsTests(SynchronousTestCase):
    """Paths that are taken, and paths that are not."""

    def test_usual_expressions(self) -> None:
        """Of expressions as people write them there are paths of both sorts, also where captures are empty."""
        expected = {
            "/api(/|$)(.*)": ("/api", "/apibeside"),
            r"/v[0-9]+/users/(\d+)": ("/v0/users/1", "/v/"),
            r"/files/[^/]+\.(css|js)$": ("/files/x.css", "/files/x.css/"),
            r"/\w{4}-\w+": ("/xxxx-x", "/beside"),
            "/x{2,3}y": ("/xxy", "/1"),
        }
        for text, (taken, left) in expected.items():
            found = paths_beside(route(text))
            self.assertIn(taken, found.taken, text)
            self.assertIn(left, found.left, text)

    def test_everything(self) -> None:
        """An expression that takes all leaves nothing."""
        found = paths_beside(route("/(.*)"))
        self.assertEqual((found.taken[0], found.left), ("/", ()))

    def test_not_run(self) -> None:
        """Of one that is not run there is what it may take, and nothing is said of the rest."""
        self.assertEqual(
            paths_beside(route("/(?!no)abc", is_run=False)),
            ExpressionPaths(("/abc", "/abc/", "/abc/below", "/abc/1"), ()),
        )

    @given(st.lists(PARTS, min_size=1, max_size=12))
    def test_sound(self, parts: list[str]) -> None:
        """Whatever the expression: what is said to be taken is, and what is said to be left is left."""
        text = "/" + "".join(parts)
        try:
            expression = read_path_expression(text)
        except ExpressionRefused:
            return
        found = paths_beside(route(text))
        for path in found.taken:
            self.assertTrue(expression.takes(path.encode()), (text, path))
        for path in found.left:
            self.assertFalse(expression.takes(path.encode()), (text, path))
