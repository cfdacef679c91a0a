"""The tables of docs/gateway-api.md are those of the reports."""

from dataclasses import replace

from twisted.trial.unittest import SynchronousTestCase

from scripts.gateway_api_page import (
    PAGE,
    REPORTS,
    Profile,
    Report,
    gateway_api_page,
    read_reports,
)

EMPTY = "before\n<!-- features -->\nold\n<!-- /features -->\nafter\n"
HTTP = Profile(
    core={"Passed": 37, "Failed": 0, "Skipped": 0},
    extended={"Passed": 2, "Failed": 1, "Skipped": 0},
    failed=("HTTPRouteCORS",),
    supported=frozenset({"HTTPRouteCORS", "ListenerSet"}),
    unsupported=frozenset({"HTTPRouteRetry"}),
)
STANDARD = Report("v1.6.1", "standard", "conformance/v1.6.1/a.yaml", {"GATEWAY-HTTP": HTTP})
EXPERIMENTAL = replace(
    STANDARD,
    channel="experimental",
    profiles={
        "GATEWAY-HTTP": replace(
            HTTP, supported=HTTP.supported | {"HTTPRouteRetry"}, unsupported=frozenset(), failed=()
        )
    },
)


class PageTests(SynchronousTestCase):
    """What is written between the two comments."""

    def test_page_is_as_its_reports(self) -> None:
        """If this fails: make docs."""
        text = PAGE.read_text("utf-8")
        self.assertEqual(gateway_api_page(text, read_reports(REPORTS)), text)

    def test_profiles_are_counted(self) -> None:
        """What failed is named, and nothing is rounded."""
        page = gateway_api_page(EMPTY, [STANDARD])
        self.assertIn(
            "| [v1.6.1](conformance/v1.6.1/a.yaml) | standard | GATEWAY-HTTP | 37 of 37 | 2 of 3 |\n", page
        )
        self.assertIn("What failed with the suite of v1.6.1 and the standard CRDs: HTTPRouteCORS.\n", page)
        self.assertTrue(
            page.startswith("before\n<!-- features -->\n") and page.endswith("<!-- /features -->\nafter\n")
        )
        self.assertNotIn("old", page)

    def test_features_are_told_by_version(self) -> None:
        """What only the experimental CRDs have is named so; what is not supported, too."""
        page = gateway_api_page(EMPTY, [STANDARD, replace(STANDARD, version="v1.7.0")])
        self.assertIn("| Extended feature | v1.6.1 | v1.7.0 |\n", page)
        self.assertIn("| HTTPRouteRetry | no | no |\n", page)
        self.assertIn("| ListenerSet | yes | yes |\n", page)
        page = gateway_api_page(EMPTY, [STANDARD, EXPERIMENTAL])
        self.assertIn("| HTTPRouteRetry | with the experimental CRDs |\n", page)

    def test_page_without_reports_says_so(self) -> None:
        """No table is empty."""
        self.assertIn("There is no report yet.", gateway_api_page(EMPTY, []))
