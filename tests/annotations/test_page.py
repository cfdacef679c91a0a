"""The page of annotations is that of the families, and these keep to what they say of themselves."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import FAMILIES
from ingress.annotations.contract.host_facts import EVERY_HOST, HostFacts
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Risk
from ingress.annotations.operator_filters import operator_filters
from ingress.annotations.unhonored import UNHONORED
from ingress.annotations.unknown_names import OF_INGRESS_NGINX
from scripts.annotations_page import annotations_page
from scripts.markdown import cell

PAGE = Path(__file__).resolve().parents[2] / "docs" / "annotations.md"

_RISKS = {
    name: Risk(grade)
    for grade, _, names in (
        line.partition(":") for line in (Path(__file__).parent / "risks.txt").read_text("ascii").splitlines()
    )
    for name in names.split()
}
_UNGRADED = {
    "enable-custom-http-errors",
    "limit-whitelist",
    "proxy-busy-buffers-size",
    "relative-redirects",
    "secure-backends",
    "whitelist-source-range",
}


class PageTests(SynchronousTestCase):
    """``docs/annotations.md`` and the families say the same."""

    def test_page(self) -> None:
        """The page is what the program makes of the families; ``make docs`` writes it anew."""
        self.assertEqual(PAGE.read_text("utf-8"), annotations_page())

    def test_no_row_lacks_words(self) -> None:
        """Each annotation, honored or not, has its values and what it means, in words of its own."""
        rows = [(name, row) for family in FAMILIES for name, row in family.annotations.items()]
        rows += [*operator_filters(()).annotations.items(), *UNHONORED.items()]
        for name, row in rows:
            for words in (row.values, row.meaning):
                self.assertTrue(words.strip(), name)
                # The order is that of names: what a row says of another one it says by its name.
                self.assertNotRegex(words, r"^the same\b", name)

    def test_each_name_has_a_row(self) -> None:
        """Whatever ingress-nginx has is on the page, and nothing is said to be honored and not to be."""
        honored = {name for family in FAMILIES for name in family.annotations}
        self.assertEqual(set(OF_INGRESS_NGINX), (honored | UNHONORED.keys()) & OF_INGRESS_NGINX)
        self.assertFalse(honored & UNHONORED.keys())

    def test_risks(self) -> None:
        """Risks are those that ingress-nginx gives (its annotations-risk.md); what it has no grade for has our own."""
        rows = {name: row for family in FAMILIES for name, row in family.annotations.items()} | dict(
            UNHONORED
        )
        self.assertEqual({}, {name: risk for name, risk in _RISKS.items() if rows[name].risk is not risk})
        self.assertEqual(_UNGRADED, rows.keys() - _RISKS.keys())

    def test_cells(self) -> None:
        """Signs of Markdown are shown as they are, in code and outside of it."""
        self.assertEqual(cell("`~*` or * | `a|b`"), "`~*` or \\* \\| `a\\|b`")

    def test_phases(self) -> None:
        """What a family makes stands in one of the phases that the page says."""
        facts = RouteFacts(HostFacts("a.test", certified=EVERY_HOST))
        for family in FAMILIES:
            for spec in () if family.filters is None else family.filters(family.settings, facts):
                self.assertIn(spec.phase, family.phases)
