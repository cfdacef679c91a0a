"""Tests for ``ingress.cluster.api.api_status``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_status import (
    MOST_RETRY_AFTER_SECONDS,
    error_from_status,
    is_expired,
    is_of_the_server,
    one_line,
)
from ingress.errors import KubernetesError


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

    def test_impossible_codes(self) -> None:
        """A code that is no status of HTTP says nothing."""
        for code in (True, 5, 99, 600, 10**400, 410.0):
            self.assertEqual(error_from_status({"code": code}, 503).status, 503, code)
            self.assertEqual(error_from_status({"code": code}).status, 0, code)

    def test_nothing_that_a_terminal_obeys(self) -> None:
        """What somebody says who answers for the API server reaches neither a terminal nor the log as it is."""
        odd = "no \x1b]0;owned\x07\x1b[2J \ud800 \u202ex"
        error = error_from_status({"code": 422, "reason": odd, "message": odd})
        seen = r"no \x1B]0;owned\x07\x1B[2J \uD800 \u202Ex"
        self.assertEqual(str(error), f"422 {seen}: {seen}")
        self.assertTrue(str(error_from_status(None, 502, "Bad\x1b[31m Gateway")).isprintable())

    def test_expired(self) -> None:
        """Code 410 and the reasons Expired and Gone mean the same."""
        for status in ({"code": 410}, {"code": 500, "reason": "Expired"}, {"reason": "Gone"}):
            self.assertTrue(is_expired(error_from_status(status)), repr(status))
        self.assertFalse(is_expired(error_from_status({"code": 500, "reason": "InternalError"})))

    def test_of_the_server(self) -> None:
        """No connection, no credentials, overload and 5xx concern everybody; refusals of a request are about one object."""
        about = {
            status
            for status in (0, 400, 401, 403, 404, 409, 410, 422, 429, 500, 502, 503, 504)
            if is_of_the_server(KubernetesError(status, "x", "y"))
        }
        self.assertEqual(about, {0, 401, 429, 500, 502, 503, 504})

    def test_one_line(self) -> None:
        """Text of others is one line of bounded length."""
        self.assertEqual(one_line("two\n  lines\t"), "two lines")
        self.assertEqual(len(one_line("x" * 10000)), 300)
