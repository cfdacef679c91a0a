"""The page of annotations is that of the families, and these keep to what they say of themselves."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import FAMILIES
from ingress.annotations.host_facts import EVERY_HOST, HostFacts
from ingress.annotations.route_facts import RouteFacts
from scripts.annotations_page import annotations_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "annotations.md"


class PageTests(SynchronousTestCase):
    """``docs/annotations.md`` and the families say the same."""

    def test_page(self) -> None:
        """The page is what the program makes of the families; ``make docs`` writes it anew."""
        self.assertEqual(PAGE.read_text("utf-8"), annotations_page())

    def test_phases(self) -> None:
        """What a family makes stands in one of the phases that the page says."""
        facts = RouteFacts(HostFacts("a.test", certified=EVERY_HOST))
        for family in FAMILIES:
            for spec in () if family.filters is None else family.filters(family.settings, facts):
                self.assertIn(spec.phase, family.phases)
