"""The scripts say what they break, and results say what was found."""

import json
import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.disruptions.faults import catalog, report
from bench.disruptions.faults.__main__ import chosen_targets
from bench.disruptions.faults.checks import Checks, Finding, Verdict
from bench.setup.errors import BenchError

DOCUMENT = Path(__file__).parents[4] / "docs" / "faults.md"
ALL = (*catalog.FAULTS, *catalog.LONG_FAULTS)


class CatalogTests(SynchronousTestCase):
    """Names and sentences."""

    def test_names(self) -> None:
        """Names are unique and short, and every script says what it breaks and what is required."""
        self.assertEqual(len({fault.name for fault in ALL}), len(ALL))
        for fault in ALL:
            self.assertRegex(fault.name, r"^[a-z]+(-[a-z]+)*$")
            self.assertLessEqual(len(fault.name), 17)
            self.assertTrue(fault.sentence.endswith("."), fault.name)
            self.assertTrue(fault.required)
            self.assertIn("ours", fault.targets)

    def test_chosen(self) -> None:
        """Without names all but the long ones are played; names choose, in the order of the table."""
        self.assertEqual(catalog.chosen(None), catalog.FAULTS)
        self.assertEqual(catalog.chosen(""), catalog.FAULTS)
        self.assertEqual(
            [fault.name for fault in catalog.chosen("soak, down,killed")], ["killed", "down", "soak"]
        )
        error = self.assertRaises(BenchError, catalog.chosen, "killed,nothing")
        self.assertIn("'nothing'", str(error))

    def test_targets(self) -> None:
        """Unknown targets are refused by name."""
        self.assertEqual(chosen_targets("ours"), ("ours",))
        self.assertIn("'apache'", str(self.assertRaises(BenchError, chosen_targets, "ours,apache")))

    def test_documented(self) -> None:
        """``docs/faults.md`` has a row for each script, as it describes itself."""
        lines = DOCUMENT.read_text().splitlines()
        for fault in ALL:
            self.assertIn(f"| `{fault.name}` | {fault.sentence} | {fault.required} |", lines)


class ReportTests(SynchronousTestCase):
    """The table and the JSON."""

    def setUp(self) -> None:
        """Make two findings of one fault."""
        good, bad = Checks(), Checks()
        good.none("failed", 0)
        bad.at_most("back after", float("inf"), 12, "s")
        self.fault = catalog.FAULTS[0]
        self.findings = [
            Finding(self.fault.name, "ours", good.verdict, str(good), tuple(good.found), 1.23),
            Finding(self.fault.name, "nginx", bad.verdict, str(bad), tuple(bad.found), 4.5),
        ]

    def test_rows(self) -> None:
        """A row has the sentence, what is required, and for each proxy what was measured and the verdict."""
        _, ours, nginx = report.rows(self.fault, self.findings).splitlines()
        self.assertEqual(re.split(r"  +", ours.strip()), [self.fault.required, "ours", "failed 0", "pass"])
        self.assertTrue(nginx.strip().startswith("nginx") and nginx.endswith("FAIL"))

    def test_lines_are_aligned(self) -> None:
        """Verdicts stand below each other, however long the texts are."""
        findings = [
            Finding("x", "ours", Verdict.PASSED, "long " * 40),
            Finding("x", "haproxy", Verdict.PASSED, "short"),
        ]
        lines = report.rows(self.fault, findings).splitlines()
        self.assertEqual(len({line.index("pass") for line in lines if line.endswith("pass")}), 1)
        self.assertEqual(report.head().splitlines()[0].index("verdict"), lines[1].index("pass"))

    def test_summary(self) -> None:
        """The summary counts for each proxy, and names what is not passed."""
        self.assertEqual(
            report.summary(self.findings), "ours: 1 of 1 passed\nnginx: 0 of 1 passed; not killed"
        )

    def test_json(self) -> None:
        """The results are plain JSON, without infinities, and every key of theirs is documented."""
        found = report.document([self.fault], self.findings, {"measured_at": "now", "seconds": 1})
        text = json.dumps(found, allow_nan=False)
        self.assertEqual(json.loads(text), found)
        cell = found["faults"]["killed"]["targets"]["nginx"]
        self.assertEqual((cell["verdict"], cell["checks"][0]["value"]), ("failed", None))
        documented = set(re.findall(r"`(\w+)`", DOCUMENT.read_text().split("## Keys")[1]))
        keys = {*found, *found["faults"]["killed"], *cell, *cell["checks"][0]}
        self.assertEqual(keys - documented, set())
