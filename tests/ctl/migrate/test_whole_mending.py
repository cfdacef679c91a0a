"""What is changed is judged again, until nothing is left that can be mended."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.lint.finding import Change
from ingress.ctl.migrate.patching.yaml_places import Unsafe
from ingress.ctl.migrate.raw_ingress import Known, changed, composed
from tests.ctl.lint.lint_case import PREFIX, ingress

RULES = "spec.rules"


class ComposedTests(SynchronousTestCase):
    known = Known(ingress("/a", "/b", "/c", "/d", limit_rps="5"), {"x/limit-rpm": "7"}, PREFIX.rstrip("/"))

    def test_changes_of_changes_come_to_changes_of_what_there_was(self) -> None:
        """Places are those before anything went, wherever that was."""
        at = f"{RULES}[0].http.paths"
        first = (Change(f"{at}[1]", None), Change(f"{at}[3].path", "/e"))
        then = (Change(f"{at}[1]", None), Change(f"{at}[2].path", "/f"), Change(f"{at}[0].path", "/g"))
        both = composed(first, then, self.known)
        self.assertEqual(
            set(both),
            {
                Change(f"{at}[1]", None),
                Change(f"{at}[2]", None),
                Change(f"{at}[3].path", "/f"),
                Change(f"{at}[0].path", "/g"),
            },
        )
        after = changed(self.known, first)
        self.assertEqual(changed(self.known, both), changed(after, then))
        self.assertEqual(changed(self.known, both).value, ingress("/g", "/f", limit_rps="5"))

    def test_what_comes_and_goes_is_no_change(self) -> None:
        """An annotation that was not there, and one that is as it was."""
        one, other = f"metadata.annotations[{PREFIX}x]", f"metadata.annotations[{PREFIX}limit-rps]"
        first = (Change(one, "1"), Change(other, "6"))
        self.assertEqual(composed(first, (Change(one, None), Change(other, "5")), self.known), ())

    def test_annotations_of_another_prefix(self) -> None:
        """They go from beside the others."""
        after = changed(self.known, (Change("metadata.annotations[x/limit-rpm]", None),))
        self.assertEqual((after.strays, after.value), ({}, self.known.value))

    def test_what_is_not_there_cannot_be_changed(self) -> None:
        """A place that nobody knows."""
        self.assertRaises(Unsafe, changed, self.known, (Change(f"{RULES}[7]", None),))
