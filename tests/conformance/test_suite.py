"""How the official suite is run, and what is read from it."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from conformance import suite
from conformance.binaries import SuitePrograms

PROGRAMS = SuitePrograms(
    "v1.6.1", Path("/cache/conformance.test"), Path("/cache/echo-basic"), Path("/cache/crds")
)


def words(tests: list[str], report: Path | None = None) -> list[str]:
    command = suite.command(
        PROGRAMS, "standard", ["GATEWAY-HTTP"], tests, "0.1.0", report, keep=False, impatient=bool(tests)
    )
    return [str(word) for word in command]


class CommandTests(SynchronousTestCase):
    """The options of the suite."""

    def test_whole_run_has_the_limits_of_the_suite(self) -> None:
        """Nothing of its time limits is changed where a report is written, and no test is left out."""
        found = words([], Path("/docs/report.yaml"))
        self.assertIn("-report-output=/docs/report.yaml", found)
        self.assertFalse([word for word in found if word.startswith(("-timeout", "-skip", "-exempt"))])

    def test_chosen_tests_are_chosen_by_their_whole_names(self) -> None:
        """HTTPRouteWeight is not every test whose name begins so."""
        self.assertIn(
            "^TestConformance$/^(HTTPRouteWeight|GRPCRouteWeight)$",
            words(["HTTPRouteWeight", "GRPCRouteWeight"]),
        )


class ResultsTests(SynchronousTestCase):
    """What Go prints."""

    def test_tests_are_told_from_their_parts(self) -> None:
        """Only results of whole tests count."""
        lines = [
            "--- FAIL: TestConformance (9.00s)\n",
            "    --- FAIL: TestConformance/HTTPRouteWeight (1.50s)\n",
            "        --- FAIL: TestConformance/HTTPRouteWeight/0_request (1.00s)\n",
            "    --- SKIP: TestConformance/UDPRoute (0.00s)\n",
        ]
        found = list(suite.results_in(lines))
        self.assertEqual(
            found, [suite.Result("FAIL", "HTTPRouteWeight", 1.5), suite.Result("SKIP", "UDPRoute", 0.0)]
        )


FAILED = """\
    helpers.go:312:
        \tError Trace:\t/suite/helpers.go:312
        \t            \t\t\t\t/suite/weight.go:20
        \tError:      \tReceived unexpected error:
        \t            \tcontext deadline exceeded
        \tTest:       \tTestConformance/HTTPRouteWeight/Requests
        \tMessages:   \terror waiting for
        \t            \tthe Gateway
=== RUN   TestConformance/Other
"""


class ReasonsTests(SynchronousTestCase):
    """What was wrong, in short."""

    def test_assertions_are_told_once_for_their_test(self) -> None:
        """Those of its parts as well, without where in the suite they stand."""
        found = suite.reasons_in((FAILED + FAILED).splitlines())
        text = "Received unexpected error: context deadline exceeded (error waiting for) the Gateway"
        self.assertEqual(found, {"HTTPRouteWeight": [text]})

    def test_what_a_test_says_is_told(self) -> None:
        """But for news of its progress, which have a time."""
        lines = [
            "=== RUN   TestConformance/HTTPRouteWeight/Requests",
            "    weight.go:77: 2026-11-22T16:21:04.9Z: Making GET request",
            "    weight.go:90: Traffic distribution test failed",
        ]
        self.assertEqual(suite.reasons_in(lines), {"HTTPRouteWeight": ["Traffic distribution test failed"]})


class ReportTests(SynchronousTestCase):
    """Where reports are."""

    def test_report_is_named_like_those_of_others(self) -> None:
        """By channel, version and mode, in the folder of the API's version."""
        path = suite.report_path(Path("docs"), "v1.6.1", "standard", "0.1.0")
        self.assertEqual(path, Path("docs/v1.6.1/standard-0.1.0-default-report.yaml"))


class OrderTests(SynchronousTestCase):
    """What the suite writes."""

    def test_profiles_in_order(self) -> None:
        """Reports of two runs that found the same are the same, and nothing but the order of profiles is changed."""
        http = "- core:\n    result: success\n  name: GATEWAY-HTTP\n  summary: Core tests succeeded.\n"
        tls = "- core:\n    supportedFeatures:\n    - TLSRoute\n  name: GATEWAY-TLS\n"
        for report in (http + tls, tls + http):
            found = suite.profiles_in_order(f"mode: default\nprofiles:\n{report}succeeded: true\n")
            self.assertEqual(found, f"mode: default\nprofiles:\n{http}{tls}succeeded: true\n")
        self.assertEqual(suite.profiles_in_order("mode: default\n"), "mode: default\n")
