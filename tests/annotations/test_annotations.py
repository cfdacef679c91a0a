"""The annotation reader."""

from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import DEFAULTS, FAMILIES, AnnotationReader, AnnotationSettings
from ingress.annotations.redirects.https_redirect import REDIRECTS, RedirectSettings
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.translate.readers.ingress.objects import Ingress

PREFIX = "nginx.ingress.kubernetes.io"


def read(
    annotations: Mapping[str, str], prefix: str = PREFIX
) -> tuple[AnnotationSettings, tuple[Problem, ...]]:
    """Read the annotations of an Ingress ``demo/web``."""
    return AnnotationReader(prefix).read(Ingress(ObjectKey("demo", "web"), annotations=annotations))


class AnnotationReaderTests(SynchronousTestCase):
    """Annotations become settings, and what they ask in vain becomes problems."""

    def test_no_annotations_mean_the_defaults(self) -> None:
        """An Ingress without annotations has the default settings."""
        self.assertEqual(read({}), (DEFAULTS, ()))

    def test_values_fill_settings(self) -> None:
        """An accepted value fills the setting of its family; the others keep their default."""
        found, problems = read({f"{PREFIX}/force-ssl-redirect": "true"})
        self.assertEqual(found.of(REDIRECTS), RedirectSettings(force_ssl_redirect=True))
        self.assertEqual(problems, ())

    def test_refused_value_keeps_the_default_and_the_rest(self) -> None:
        """A refused value is reported with object, name, value and reason; other annotations hold."""
        found, (problem,) = read({f"{PREFIX}/ssl-redirect": "nope", f"{PREFIX}/force-ssl-redirect": "1"})
        self.assertEqual(found.of(REDIRECTS), RedirectSettings(force_ssl_redirect=True))
        self.assertEqual(
            problem,
            Problem(
                "Ingress",
                "demo",
                "web",
                Reason.INVALID_ANNOTATION,
                'ssl-redirect: "nope" is not a boolean; write "true" or "false"; the default is used',
                f"metadata.annotations[{PREFIX}/ssl-redirect]",
            ),
        )

    def test_refused_value_is_escaped_and_cut(self) -> None:
        """A refused value cannot spoil a log line, nor fill it."""
        _, (problem,) = read({f"{PREFIX}/ssl-redirect": "a\r\nb" + "x" * 10000})
        self.assertTrue(str(problem).isprintable())
        self.assertLess(len(str(problem)), 400)

    def test_unknown_name_below_the_prefix_is_reported(self) -> None:
        """A name that no family knows is reported, for its owner believes that it works."""
        found, (problem,) = read({f"{PREFIX}/rate-limit": "10"})
        self.assertEqual(found, DEFAULTS)
        self.assertEqual(problem.reason, Reason.UNKNOWN_ANNOTATION)
        self.assertIn("rate-limit: ingress-nginx never had it", problem.message)

    def test_unprintable_name_is_escaped(self) -> None:
        """Not even the name of an annotation can spoil a log line."""
        _, (problem,) = read({f"{PREFIX}/x\ny": "1"})
        self.assertTrue(str(problem).isprintable())

    def test_spaces_around_texts_are_nothing(self) -> None:
        """As in ingress-nginx, a text means what it means without them."""
        for name, value in (
            ("satisfy", "any"),
            ("proxy-ssl-verify", "on"),
            ("proxy-ssl-server-name", "on"),
            ("proxy-ssl-ciphers", "HIGH"),
            ("proxy-request-buffering", "on"),
            ("mirror-request-body", "off"),
            ("auth-secret", "users"),
            ("auth-tls-secret", "demo/people"),
            ("auth-realm", "Staff"),
            ("canary-by-header-pattern", "a|b"),
            ("permanent-redirect-code", "308"),
        ):
            expected, told = read({f"{PREFIX}/{name}": value})
            self.assertNotEqual(expected, DEFAULTS, name)
            self.assertEqual(read({f"{PREFIX}/{name}": f" \t{value} "}), (expected, told), name)

    def test_spaces_around_booleans_are_a_mistake(self) -> None:
        """As in ingress-nginx, whose default holds then."""
        found, (problem,) = read({f"{PREFIX}/ssl-redirect": " false"})
        self.assertEqual((found, problem.reason), (DEFAULTS, Reason.INVALID_ANNOTATION))

    def test_lines_of_snippets_are_counted_as_they_are_written(self) -> None:
        """Spaces that are nothing do not move them."""
        _, (problem,) = read({f"{PREFIX}/configuration-snippet": "  \n\n  proxy_pass http://a.test;\n"})
        self.assertIn("proxy_pass (line 3)", problem.message)

    def test_other_prefixes_are_not_ours(self) -> None:
        """Names below other prefixes, or merely beginning like ours, are left alone."""
        names = ("kubernetes.io/ingress.class", f"{PREFIX}.example.com/ssl-redirect", f"{PREFIX}x/y")
        self.assertEqual(read(dict.fromkeys(names, "x")), (DEFAULTS, ()))

    def test_prefix_is_an_argument(self) -> None:
        """The prefix decides which annotations are ours."""
        found, problems = read(
            {"example.com/ssl-redirect": "false", f"{PREFIX}/ssl-redirect": "x"}, "example.com"
        )
        self.assertEqual((found.of(REDIRECTS).ssl_redirect, problems), (False, ()))


class FamiliesTests(SynchronousTestCase):
    """The table of families is in step with the settings."""

    def test_every_annotation_fills_an_existing_setting(self) -> None:
        """Each family has its settings, and each annotation its attribute there."""
        for family in FAMILIES:
            self.assertIs(DEFAULTS.of(family), family.settings)
            for annotation in family.annotations.values():
                self.assertTrue(hasattr(family.settings, annotation.setting), annotation)

    def test_names_of_families(self) -> None:
        """No two families are called the same, and those with filters say in which phase these stand."""
        self.assertEqual(len({family.name for family in FAMILIES}), len(FAMILIES))
        for family in FAMILIES:
            self.assertTrue(family.phases or family.filters is None, family.name)

    def test_settings_that_are_the_defaults(self) -> None:
        """Who asks for the defaults in words asks for nothing; all such Ingresses have one value."""
        found, problems = read({f"{PREFIX}/proxy-body-size": "1m"})
        self.assertIs(found, DEFAULTS)
        self.assertEqual(problems, ())

    def test_no_annotation_stands_in_two_families(self) -> None:
        """A name has one meaning."""
        names = [name for family in FAMILIES for name in family.annotations]
        self.assertEqual(len(names), len(set(names)))
