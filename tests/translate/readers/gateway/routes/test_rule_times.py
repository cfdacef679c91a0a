"""Durations, and what rules say about time: as the API has them, and as it has not."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.problems import Reason
from ingress.model.upstream.retries import DEFAULT_RETRIES
from ingress.translate.readers.gateway.objects.routes import HTTPRule, Retry
from ingress.translate.readers.gateway.routes.rule_times import (
    DEFAULT_ATTEMPTS,
    MOST_ATTEMPTS,
    RuleTimes,
    read_duration,
    read_times,
)
from tests.gateway_filters.reading_case import OWNER

FIELD = "spec.rules[2]"


class DurationTests(SynchronousTestCase):
    """GEP-2257."""

    def test_valid(self) -> None:
        """Numbers with units are added up, in whatever order they stand."""
        for text, seconds in (
            ("0h", 0.0),
            ("0s", 0.0),
            ("0h0m0s", 0.0),
            ("1h", 3600.0),
            ("30m", 1800.0),
            ("10s", 10.0),
            ("500ms", 0.5),
            ("2h30m", 9000.0),
            ("150m", 9000.0),
            ("7230s", 7230.0),
            ("1h30m10s", 5410.0),
            ("10s30m1h", 5410.0),
            ("100ms200ms300ms", 0.6),
            ("99999h99999h99999h99999h", 4 * 99999 * 3600.0),
        ):
            self.assertEqual(read_duration(text), seconds, text)

    def test_invalid(self) -> None:
        """Everything else is none, however long it is."""
        for text in (
            "",
            "1",
            "1m1",
            "s",
            "1h30m10s20ms50h",
            "999999h",
            "1.5h",
            "-15m",
            "+1s",
            " 1s",
            "1s ",
            "1s\n",
            "1 s",
            "1S",
            "1d",
            "1us",
            "\u0661s",
            "1\u017f",
            "1s" * 300_000,
        ):
            self.assertIsNone(read_duration(text), text[:20])


class TimesTests(SynchronousTestCase):
    """Rules."""

    def times(self, request: str = "", backend: str = "", retry: Retry | None = None) -> RuleTimes:
        """Return what a rule says."""
        rule = HTTPRule(FIELD, request_timeout=request, backend_timeout=backend, retry=retry)
        return read_times(rule, OWNER)

    def test_nothing(self) -> None:
        """Most rules say nothing, and are as any route."""
        self.assertEqual(self.times(), RuleTimes(None, DEFAULT_RETRIES, (), False))

    def test_refused(self) -> None:
        """What makes no sense refuses the requests of its rule, and names its place."""
        for request, backend, retry, field in (
            ("10", "", None, "timeouts.request"),
            ("\x00" * 300_000, "", None, "timeouts.request"),
            ("", "1.5s", None, "timeouts.backendRequest"),
            ("1s", "1001ms", None, "timeouts.backendRequest"),
            ("", "", Retry(attempts=-1), "retry.attempts"),
            ("", "", Retry(codes=(200,)), "retry.codes"),
            ("", "", Retry(codes=(500, 600)), "retry.codes"),
            ("", "", Retry(codes=(*range(400, 600), 500)), "retry.codes"),
            ("", "", Retry(backoff="soon"), "retry.backoff"),
        ):
            found = self.times(request, backend, retry)
            (problem,) = found.problems
            self.assertTrue(found.is_refused)
            self.assertEqual((problem.reason, problem.field), (Reason.UNSUPPORTED_VALUE, f"{FIELD}.{field}"))
            self.assertTrue(problem.message.isprintable())
            self.assertLess(len(problem.message), 500)
            self.assertIn("500", problem.message)

    def test_bounds(self) -> None:
        """An attempt may take as long as the request, and longer than one that may take for ever."""
        for request, backend, seconds in (
            ("1s", "1000ms", (1.0, 1.0)),
            ("0s", "10h", (0.0, 36000.0)),
            ("10s", "0s", (10.0, 0.0)),
            ("10s", "", (10.0, 0.0)),
            ("", "10s", (0.0, 10.0)),
        ):
            timeouts = self.times(request, backend).timeouts
            assert timeouts is not None
            self.assertEqual((timeouts.request_seconds, timeouts.attempt_seconds), seconds)

    def test_shared(self) -> None:
        """Rules that say the same share what they say."""
        one, two = (self.times("10s", "1s", Retry((500,), 3, "1s")) for _ in range(2))
        self.assertIs(one.timeouts, two.timeouts)
        self.assertIs(one.retries, two.retries)

    def test_attempts(self) -> None:
        """Nothing is one more attempt, 0 is none, and more than a bound is the bound."""
        for attempts, tries in ((None, DEFAULT_ATTEMPTS + 1), (0, 1), (3, 4), (10**12, MOST_ATTEMPTS + 1)):
            self.assertEqual(self.times(retry=Retry(attempts=attempts)).retries.max_tries, tries)
