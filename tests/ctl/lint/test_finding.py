"""The values of a lint."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.input import Place
from ingress.ctl.lint.finding import Change, Finding, Level
from ingress.model.cluster.objects import Kind, ObjectKey

WEB = (Kind.INGRESS, ObjectKey("shop", "web"))


class ChangeTests(SynchronousTestCase):
    def test_the_way_to_a_field_has_members_by_name_and_places_in_lists_by_number(self) -> None:
        """A path of the specification is taken apart."""
        self.assertEqual(
            Change("spec.rules[0].http.paths[12].path", "/").steps,
            ("spec", "rules", 0, "http", "paths", 12, "path"),
        )

    def test_the_name_of_an_annotation_is_one_step(self) -> None:
        """Its dots and slashes do not divide it."""
        self.assertEqual(
            Change("metadata.annotations[nginx.ingress.kubernetes.io/x]", None).steps,
            ("metadata", "annotations", "nginx.ingress.kubernetes.io/x"),
        )


class FindingTests(SynchronousTestCase):
    def test_findings_that_differ_in_place_and_changes_alone_have_an_order(self) -> None:
        """Removing and setting, here and there: sorting them raises nothing."""
        one = Finding(Level.NOTE, "X", WEB, "m", changes=(Change("a", None),))
        other = Finding(Level.NOTE, "X", WEB, "m", place=Place("f", 1), changes=(Change("a", "b"),))
        self.assertEqual(len(sorted([one, other])), 2)
