"""What two versions are started with, and what is said of them."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.loads.catalog import LOADS
from bench.measuring.summary import Sample
from bench.requests.compare import AFTER, BEFORE, report, sides

[GET] = [one for one in LOADS if one.name == "get-repeating"]
[DOWNLOAD] = [one for one in LOADS if one.name == "download"]


def samples(**costs: float) -> dict[str, dict[int, Sample]]:
    """Ten rounds; by name, microseconds of a request, of which half are outside of the kernel."""
    return {
        name: {number: Sample(1000, cost / 1000, 1.0, 1, 0.0, 1.0, 1.0) for number in range(10)}
        for name, cost in costs.items()
    }


class SideTests(SynchronousTestCase):
    """The processes."""

    def test_folders(self) -> None:
        """Both versions of ours differ in nothing but where their code is found; nginx stands beside them."""
        before, after, nginx = sides(Path("/before"), Path("/after"))
        self.assertEqual((before.name, after.name, nginx.name), (BEFORE, AFTER, "nginx"))
        self.assertEqual(before.environment, {"PYTHONPATH": "/before"})
        self.assertEqual(after.environment, {"PYTHONPATH": "/after"})
        self.assertEqual(before.command, after.command)


class ReportTests(SynchronousTestCase):
    """What is printed about a load."""

    def test_changed(self) -> None:
        """Each figure has its change, the interval, and a verdict; the ratios to nginx stand below."""
        counted = {BEFORE: [2000.0, 2010.0], AFTER: [2002.0, 2008.0]}
        text = report(GET, samples(before=20.0, after=18.0, nginx=10.0), {}, counted)
        lines = [" ".join(line.split()) for line in text.splitlines()]
        self.assertEqual(lines[0], "small GET, repeating headers, keep-alive")
        self.assertEqual(lines[2], "CPU-us per request 20 18 -10.0% -10.0% to -10.0% better")
        self.assertEqual(lines[3], "user us 10 9 -10.0% -10.0% to -10.0% better")
        self.assertRegex(lines[4], "^instructions 2005 2005 .* no change beyond noise$")
        self.assertEqual(lines[5], "to nginx: 2.00 before, 1.80 after")

    def test_more_is_better(self) -> None:
        """Of megabytes more is better, while their user time is still to become less."""
        text = report(DOWNLOAD, samples(before=20.0, after=18.0), {}, {})
        lines = text.splitlines()
        self.assertIn("+11.1%", lines[2])
        self.assertTrue(lines[2].endswith(" better"))
        self.assertTrue(lines[3].endswith(" better"))
        self.assertEqual(lines[-1], "to nginx: - before, - after")

    def test_failure(self) -> None:
        """Whoever could not serve the load says why."""
        text = report(GET, {}, {"before": "10 of 10 requests failed"}, {})
        self.assertIn("  before: 10 of 10 requests failed", text.splitlines())
