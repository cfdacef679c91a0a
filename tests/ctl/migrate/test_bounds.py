"""A page has bounds, whatever its input: what is left out is counted."""

from datetime import UTC, datetime

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.coverage import Coverage
from ingress.ctl.inputs.input import Input, Place
from ingress.ctl.lint.finding import AnnotationReport, Finding, Level, LintReport, ObjectReport, Standing
from ingress.ctl.migrate.assessing import assess
from ingress.ctl.migrate.migration import Asked
from ingress.ctl.migrate.patching.patches import FileText, patches_of
from ingress.ctl.migrate.writing import entries_in_detail, write
from ingress.ctl.pages.html import as_html
from ingress.ctl.pages.markdown import as_markdown
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.options.option import DEFAULTS

MEGABYTE = 1_000_000
GIVEN = Input(ClusterState(), DEFAULTS, datetime(2030, 1, 1, tzinfo=UTC), Coverage())


def report(number: int, findings: int, text: str) -> ObjectReport:
    """An object with as many *findings* that no other has, each of them with *text*."""
    object_id = Kind.INGRESS, ObjectKey(f"team-{number}", f"app-{number}")
    return ObjectReport(
        object_id,
        Place("cluster.yaml", number),
        True,
        "",
        (AnnotationReport(f"a{number}", "x", Standing.DIFFERS, f"differs {number}"),),
        tuple(
            Finding(Level.ERROR, "HostConflict", object_id, f"{number} {at} {text}") for at in range(findings)
        ),
        (("team", f"{text[:60]}{number}"),),
    )


def pages(objects: int, findings: int, text: str) -> tuple[str, str]:
    """The pages of so many objects, as HTML and as Markdown."""
    reports = tuple(report(number, findings, text) for number in range(objects))
    migration = assess(GIVEN, LintReport(reports))
    entries = list(entries_in_detail(migration))
    document = write(
        migration,
        Asked("1", ("cluster.yaml",), ()),
        patches_of(entries, lambda name: FileText(name, why_not="no")),
    )
    return as_html(document), as_markdown(document)


class BoundTests(SynchronousTestCase):
    def test_many_objects_give_a_page_that_opens(self) -> None:
        """3,000 Ingresses with something of their own each: the worst 200 are written about, and all are counted."""
        html, markdown = pages(3_000, 1, "is so")
        self.assertLess(len(html.encode()), MEGABYTE)
        self.assertIn("Of 3,000 Ingresses,", markdown)
        self.assertEqual(markdown.count("\n### Ingress "), 200)
        self.assertIn(
            "2,800 more Ingresses are not written about here; `ingressctl migrate cluster.yaml --output json` has all.",
            markdown,
        )
        self.assertIn("2,800 more rows;", markdown)

    def test_long_texts_give_a_page_that_opens(self) -> None:
        """Texts that grow most by being escaped, as long as they may be, and many for each object."""
        for text in ("<&>" * 500, "é|`" * 500):
            for page in pages(220, 25, text):
                self.assertLess(len(page.encode()), 5 * MEGABYTE)
                self.assertIn("more Ingresses are not written about here", page)
                self.assertIn("more findings", page)
