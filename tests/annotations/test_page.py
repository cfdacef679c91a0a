"""The page of annotations says where each of them stands."""

from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import FAMILIES
from ingress.annotations.guards import GUARDS, HOST_SNIPPET, GuardMissing
from ingress.annotations.host_facts import EVERY_HOST, HostFacts
from ingress.annotations.operator_filters import operator_filters
from ingress.annotations.values import Place
from ingress.filters import Phase

PAGE = Path(__file__).resolve().parents[2] / "docs" / "annotations.md"


def rows() -> Iterator[str]:
    """Yield the rows that the page must have, sorted by annotation."""
    found = []
    for family in (*FAMILIES, operator_filters(())):
        phases = (
            "any" if len(family.phases) == len(Phase) else ", ".join(phase.name for phase in family.phases)
        )
        place = family.place.value if family.phases else ""
        for name in family.annotations:
            found.append(f"| `{name}` | {family.acts} | {phases} | {place} |")
    for name in GUARDS:
        place = (Place.HOST if name == HOST_SNIPPET else Place.ROUTE).value
        acts = "is not honored: closes what it would guard"
        found.append(f"| `{name}` | {acts} | {GuardMissing.phase.name} | {place} |")
    yield from sorted(found)


class PageTests(SynchronousTestCase):
    """``docs/annotations.md`` and the families say the same."""

    def test_table(self) -> None:
        """Each annotation has its row: what it acts on, and phase and place of its filters, if it has any."""
        shown = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]
        self.assertEqual(shown, list(rows()))

    def test_phases(self) -> None:
        """What a family makes stands in one of the phases that the page says."""
        host = HostFacts("a.test", certified=EVERY_HOST)
        for family in FAMILIES:
            for spec in () if family.filters is None else family.filters(family.settings, host):
                self.assertIn(spec.phase, family.phases)
