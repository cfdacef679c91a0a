"""What lint says of rewrites, and what its changes make of them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ingress.annotations.requests.path_rewrites import PathRewrite
from ingress.model.text.path_expressions import Capturing, read_path_expression
from ingress.routing.paths import normal_path
from ingress.translate.readers.ingress.objects import Ingress
from tests.ctl.lint.lint_case import HOST, SPECIFIC, LintCase, changed, ingress, input_of
from tests.properties import examples


def asked_for(value: Ingress, path: bytes) -> bytes | None:
    """Return the path that an endpoint is asked for when *path* is; None where nobody takes it."""
    route = input_of(value).snapshot.table.find(HOST.encode(), normal_path(path))
    if route is None:
        return None
    rewrite = next((spec for spec in route.filters if isinstance(spec, PathRewrite)), None)
    if rewrite is None:
        return path
    found = Capturing(read_path_expression(route.path), rewrite.target.captures).captured(path) or {}
    return b"".join(
        found.get(part.variable, b"") if part.variable else part.text for part in rewrite.target.path.parts
    )


class RewritesTests(LintCase):
    def test_a_target_that_repeats_nothing(self) -> None:
        """Every request goes to one path, whatever way that is written; the advice has the form that keeps the rest."""
        for path, target in (
            (("/api", "Prefix"), "/"),
            (("/api", SPECIFIC), "/"),
            (("/api/", "Prefix"), "/"),
            (("/api/.*", SPECIFIC), "/"),
            (("/api/(.*)", SPECIFIC), "/v1"),
            (("/api", "Prefix"), "/$1"),
            (("/api/(.*)", SPECIFIC), "/$2"),
        ):
            finding = self.found("RewriteToOnePath", ingress(path, rewrite_target=target))
            self.assertIn("/api(/|$)(.*)", finding.advice, path)
            self.assertEqual(
                finding.field, "metadata.annotations[nginx.ingress.kubernetes.io/rewrite-target]"
            )

    def test_a_target_that_is_the_path_itself(self) -> None:
        """Nothing is rewritten here, and in ingress-nginx all that is below, unless the path is exact or ends in a slash."""
        for path, kind, is_told in (
            ("/api", "Prefix", True),
            ("/api", SPECIFIC, True),
            ("/api", "Exact", False),
            ("/api/", "Prefix", False),
            ("/", "Prefix", False),
        ):
            value = ingress((path, kind), rewrite_target=path)
            if is_told:
                self.assertIn('"/api/login"', self.found("RewriteToItself", value).message)
                self.assertEqual(asked_for(value, b"/api/login"), b"/api/login")
            else:
                self.assert_not_found("RewriteToItself", value)

    def test_an_example_is_a_path_that_is_meant(self) -> None:
        """Beside the root it is the other path; for the root alone one group does."""
        both = self.found(
            "RewriteToOnePath", ingress(("/", "Prefix"), ("/api", "Prefix"), rewrite_target="/")
        )
        self.assertIn("/api(/|$)(.*)", both.advice)
        value = ingress(("/", "Prefix"), rewrite_target="/v1")
        root = self.found("RewriteToOnePath", value)
        self.assertIn("write it as in /(.*) with rewrite-target: /v1/$1", root.advice)
        self.assertEqual(asked_for(changed(value, root.changes), b"/a/b"), b"/v1/a/b")

    def test_a_group_that_holds_a_slash_at_most(self) -> None:
        """The path has the form that keeps the rest, and the target names the wrong group: it alone is changed."""
        value = ingress(("/api(/|$)(.*)", SPECIFIC), rewrite_target="/$1")
        finding = self.found("RewriteToOnePath", value)
        self.assertIn('below "/api"', finding.message)
        self.assertEqual([change.value for change in finding.changes], ["/$2"])
        self.assertEqual(self.lint(changed(value, finding.changes)).findings, ())

    def test_what_is_meant_so(self) -> None:
        """What follows is kept, a path is rewritten to itself, an exact path, a page for everything, and a redirect."""
        for path, target in (
            (("/api(/|$)(.*)", SPECIFIC), "/$2"),
            (("/api/(.*)", SPECIFIC), "/$1"),
            (("/api/(?<rest>.*)", SPECIFIC), "/$rest"),
            (("/api(?:/v1)?/(v[0-9](x|y)/.*)", SPECIFIC), "/$1"),
            (("/a[(]/(.*)", SPECIFIC), "/$1"),
            (("/", "Prefix"), "/"),
            (("/api", "Exact"), "/"),
            (("/api$", SPECIFIC), "/"),
            (("/app", "Prefix"), "/index.html"),
            (("/api", "Prefix"), "/v1$uri"),
            (("/api", "Prefix"), "https://b.example.com/"),
        ):
            self.assert_not_found("RewriteToOnePath", ingress(path, rewrite_target=target))

    def test_no_change_where_a_path_is_of_no_usual_form(self) -> None:
        """What a change would make of it cannot be said."""
        value = ingress(("/api", "Prefix"), ("/x[0-9]+", SPECIFIC), rewrite_target="/")
        self.assertEqual(self.found("RewriteToOnePath", value).changes, ())

    @settings(max_examples=examples(60), deadline=None)
    @given(
        st.lists(
            st.sampled_from(["/", "/api", "/api/", "/a/b", "/static/.*", "/v1/(.*)", "/x/?(.*)"]),
            min_size=1,
            max_size=3,
            unique_by=lambda path: path.strip("/"),
        ),
        st.sampled_from(["/", "/base", "/base/", "/$1x"]),
        st.sampled_from(["", "login", "a/b/c"]),
    )
    def test_changes_keep_what_follows_each_path(self, paths: list[str], target: str, rest: str) -> None:
        """With all changes made, the endpoint is asked for the target and the rest of the path, and nothing is found any more."""
        value = ingress(*((path, SPECIFIC) for path in paths), rewrite_target=target)
        some = [one for one in self.lint(value).findings if one.rule == "RewriteToOnePath"]
        for finding in some:
            self.assertTrue(finding.changes)
            mended = changed(value, finding.changes)
            self.assert_not_found("RewriteToOnePath", mended)
            kept = str(finding.changes[0].value).removesuffix("$2").removesuffix("$1").rstrip("/")
            for path in paths:
                plain = path.partition("(")[0].partition(".")[0].rstrip("/?")
                asked = f"{plain}/{rest}".encode()
                if plain or rest not in ("login", "a/b/c"):
                    self.assertEqual(
                        asked_for(mended, asked), f"{kept}/{rest}".encode(), (paths, target, asked)
                    )
