"""Tests for ``ingress.model.text.usual_paths``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.text import path_expressions
from ingress.model.text.path_expressions import Capturing, read_path_expression
from ingress.model.text.usual_paths import usual_path
from tests.properties import examples

TEXTS = ("", "/", "/api", "/API/v1", "/a-b_c~")
SLASHES = ("", "(/|$)", "/?")
RESTS = ("", "(.*)")
PATHS = st.one_of(
    st.tuples(
        st.sampled_from(["", "/api", "/Api", "/api/v1", "/A-b_C~", "/x"]), st.text("/aA1.-é\n", max_size=6)
    ).map(lambda parts: "".join(parts).encode("latin-1")),
    st.binary(max_size=12),
)


class UsualPathTests(SynchronousTestCase):
    """Expressions that no program is run for."""

    @settings(derandomize=True, deadline=None, max_examples=examples(500))
    @given(st.sampled_from(TEXTS), st.sampled_from(SLASHES), st.sampled_from(RESTS), PATHS)
    def test_as_the_program(self, text: str, slash: str, rest: str, path: bytes) -> None:
        """They take and capture what their program would."""
        expression = text + slash + rest
        usual = usual_path(expression)
        assert usual is not None
        groups = usual.groups(path)
        found = path_expressions._found(path_expressions._fixed(expression).search, path)
        self.assertEqual(groups is not None, found is not None)
        if groups is not None:
            found = path_expressions._found(path_expressions._capturing(expression).search, path)
            self.assertEqual(found.groups(b""), groups)

    def test_no_program(self) -> None:
        """Paths are compared and captured without running one, or making one."""
        one = read_path_expression("/Without-a-program(/|$)(.*)")
        path_expressions._programs.pop(one.text, None)
        capturing = Capturing(one, ("1", "2"))

        def found(*_: object) -> None:
            raise AssertionError("a program is run")

        self.patch(path_expressions, "_found", found)
        path = b"/without-A-program"
        taken = [one.takes(path + more) for more in (b"", b"\n", b"/x", b"x", b"\nx")]
        self.assertEqual(taken, [True, True, True, False, False])
        self.assertEqual(capturing.captured(path + b"/x/\n"), {"1": b"/", "2": b"x/"})
        self.assertEqual((one.is_made, one.text in path_expressions._programs), (True, False))

    def test_read_once(self) -> None:
        """An expression, usual or not, is read where it comes from and by no lookup, whose budgets do not count that."""
        texts = ("/read-once(/|$)(.*)", "/read-once(.+)")
        expressions = [read_path_expression(text) for text in texts]

        def read(*_: object) -> None:
            raise AssertionError("an expression is read")

        self.patch(path_expressions, "usual_path", read)
        for one in expressions:
            self.assertEqual((one.is_made, one.takes(b"/read-once/a"), one.takes(b"/a")), (True, True, False))
            self.assertIsNotNone(Capturing(one, ("1",)).captured(b"/read-once/a"))

    def test_found_further_on(self) -> None:
        """What a path does not begin with may stand in it all the same, as where its route goes by the text of a path."""
        capturing = Capturing(read_path_expression("/b/(.*)"), ("1",))
        self.assertEqual(capturing.captured(b"/a/b/c"), {"1": b"c"})
        self.assertIsNone(capturing.captured(b"/a/c"))

    def test_others(self) -> None:
        """Whatever else there is has its program run."""
        for text in (
            "/a.b",
            "/a(.*)/b",
            "/(a)",
            "/a(.+)",
            "/a(.*)$",
            "/a(/|$)(/|$)",
            "/a|/b",
            "(?i)/a",
            "/é",
            "/a(.*)(.*)",
        ):
            self.assertIsNone(usual_path(text), text)
