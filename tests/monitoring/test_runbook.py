"""The runbook has an entry for each alert, and says nothing that the code does not."""

import re
from functools import cache
from typing import Final

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.exchanges.causes import Cause
from ingress.proxy.contract.faults import Fault
from tests.monitoring.files import REPOSITORY, alert_rules
from tests.monitoring.test_expressions import checker

RUNBOOK: Final = REPOSITORY / "docs" / "runbook.md"
_TITLE: Final = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
_PROMQL: Final = re.compile(r"^```promql\n(.*?)^```", re.MULTILINE | re.DOTALL)
_QUOTED: Final = re.compile(r"`([^`\n]+)`")
_TEXTS_OF_OTHERS: Final = ("Too many open files", "Cannot assign requested address")


def text() -> str:
    """Return the runbook."""
    return RUNBOOK.read_text("utf-8")


def section(title: str) -> str:
    """Return what stands below a heading, up to the next one."""
    (found,) = re.findall(rf"^### {re.escape(title)}\n(.*?)(?=^##|\Z)", text(), re.MULTILINE | re.DOTALL)
    return str(found)


def anchor(title: str) -> str:
    """Return how a heading is linked to."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def cells(title: str, column: int) -> list[str]:
    """Return what is quoted in a column of the table of a section, its heading left out."""
    rows = [line.strip("|").split("|") for line in section(title).splitlines() if line.startswith("|")][2:]
    return [quoted for row in rows for quoted in _QUOTED.findall(row[column])]


@cache
def source() -> str:
    """Return all code of the package, with strings that go over lines put together."""
    code = "\n".join(path.read_text("utf-8") for path in sorted((REPOSITORY / "ingress").rglob("*.py")))
    return re.sub(r'"\s*\n\s*f?"', "", code)


class RunbookTests(SynchronousTestCase):
    """``docs/runbook.md``."""

    def test_entries(self) -> None:
        """Each alert has an entry, to which its URL leads: what it means, what users see, how to find the cause, what to do; no entry is of any other."""
        alerts = [rule.name for rule in alert_rules()]
        entries = [title for title in _TITLE.findall(text()) if title.startswith("Txingress")]
        self.assertEqual(sorted(entries), sorted(alerts))
        for rule in alert_rules():
            self.assertEqual(rule.texts["runbook_url"], f"docs/runbook.md#{anchor(rule.name)}")
            self.assertIn(rule.severity, ("critical", "warning"))
            self.assertTrue(rule.texts["summary"] and rule.texts["description"], rule.name)
            said = section(rule.name).lower()
            missing = [part for part in ("means", "users see", "find", "do") if f"**{part}**" not in said]
            self.assertEqual(missing, [], rule.name)

    def test_links(self) -> None:
        """Links within the page lead to headings."""
        known = {anchor(title) for title in _TITLE.findall(text())}
        self.assertLessEqual(set(re.findall(r"\]\(#([^)]+)\)", text())), known)

    def test_queries(self) -> None:
        """Each query names series and labels that there are."""
        known = checker()
        blocks = _PROMQL.findall(text())
        self.assertGreater(len(blocks), 8)
        for block in blocks:
            known.labels(block)

    def test_causes(self) -> None:
        """The table of causes has all of them, and each that is spoken of is one."""
        table = text().partition("| `cause` | Whose failure |")[2].partition("\n\n")[0]
        self.assertEqual(re.findall(r"^\| `([^`]+)`", table, re.MULTILINE), [cause.value for cause in Cause])
        named = set(cells("503: which of these causes", 0))
        self.assertLessEqual(named, {cause.value for cause in Cause})

    def test_faults(self) -> None:
        """What attempts are said to have come to is what the table of faults calls it."""
        faults = {fault.value for fault in Fault}
        for status in ("502", "504"):
            found = [one for one in cells(status, 0) if one not in ("outcome", "filter")]
            self.assertGreater(len(found), 3)
            self.assertLessEqual(set(found), faults)

    def test_words(self) -> None:
        """Reasons, names of filters and lines of the log are words of the code; three dots stand for what differs."""
        quoted = [*cells("503: which of these causes", 1), *cells("401, 403, 429", 0)]
        quoted += [one for one in _QUOTED.findall(text()) if "…" in one and "/" not in one]
        self.assertGreater(len(quoted), 40)
        unknown = []
        for one in quoted:
            if one in _TEXTS_OF_OTHERS or one.isdigit() or one.startswith("Retry-After"):
                continue
            for part in re.split(r"…|[A-Z]{4,}|\b\d+\b", one):
                words = part.strip(" .:,()")
                if len(words) > 3 and words not in source():
                    unknown.append((one, words))
        self.assertEqual(unknown, [])
