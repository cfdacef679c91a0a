"""Tests for ``ingress.cluster.api.api_status``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_status import (
    MOST_RETRY_AFTER_SECONDS,
    error_from_status,
    is_expired,
    one_line,
)


class ErrorFromStatusTests(SynchronousTestCase):
    """``Status`` objects as errors."""

    def test_complete(self) -> None:
        """Code, reason, message and the wait asked for are taken from the object."""
        error = error_from_status(
            {
                "code": 429,
                "reason": "TooManyRequests",
                "message": "slow",
                "details": {"retryAfterSeconds": 3},
            },
            503,
            "Service Unavailable",
        )
        self.assertEqual(
            (error.status, error.reason, error.message, error.retry_after_seconds),
            (429, "TooManyRequests", "slow", 3.0),
        )

    def test_http_fills_the_gaps(self) -> None:
        """Where there is no such object, the status line and Retry-After speak."""
        error = error_from_status(None, 503, "Service Unavailable", "7")
        self.assertEqual(
            (error.status, error.reason, error.retry_after_seconds), (503, "Service Unavailable", 7.0)
        )

    def test_no_longer_than_a_minute(self) -> None:
        """Nobody has us wait for hours, nor for longer than there are numbers."""
        for asked in (3600, 10**400):
            for status, field in (({"details": {"retryAfterSeconds": asked}}, None), ({}, str(asked))):
                seconds = error_from_status(status, 503, "", field).retry_after_seconds
                self.assertEqual(seconds, MOST_RETRY_AFTER_SECONDS)

    def test_the_longer_wait_counts(self) -> None:
        """Of two waits asked for, the longer one is kept."""
        error = error_from_status({"details": {"retryAfterSeconds": 2}}, 429, "", "9")
        self.assertEqual(error.retry_after_seconds, 9.0)

    def test_nonsense(self) -> None:
        """Wrong types and unreadable waits are as good as absent."""
        nonsense: tuple[object, ...] = (
            [],
            "no",
            3,
            {"code": "410", "reason": 5, "message": None, "details": []},
            {"code": -1, "details": {"retryAfterSeconds": "soon"}},
        )
        for status in nonsense:
            error = error_from_status(status, 500, "", "Fri, 20 Nov 2026 10:00:00 GMT")
            self.assertEqual(
                (error.status, error.reason, error.retry_after_seconds), (500, "Unknown", None), repr(status)
            )

    def test_expired(self) -> None:
        """Code 410 and the reasons Expired and Gone mean the same."""
        for status in ({"code": 410}, {"code": 500, "reason": "Expired"}, {"reason": "Gone"}):
            self.assertTrue(is_expired(error_from_status(status)), repr(status))
        self.assertFalse(is_expired(error_from_status({"code": 500, "reason": "InternalError"})))

    def test_one_line(self) -> None:
        """Text of others is one line of bounded length."""
        self.assertEqual(one_line("two\n  lines\t"), "two lines")
        self.assertEqual(len(one_line("x" * 10000)), 300)
