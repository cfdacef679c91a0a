"""Tests for ``ingress.annotations.upstream.retries``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.upstream.retries import (
    MOST_TRIES,
    RetrySettings,
    parse_conditions,
    parse_seconds,
    parse_tries,
)
from ingress.model.upstream.retries import DEFAULT_RETRIES, RetryRule


class ParseConditionsTests(SynchronousTestCase):
    """``proxy-next-upstream``."""

    def test_default(self) -> None:
        """The default of ingress-nginx is ours."""
        self.assertEqual(parse_conditions("error timeout"), DEFAULT_RETRIES)

    def test_words(self) -> None:
        """Each word turns one thing on, and what is not named is off."""
        off = RetryRule(on_error=False, on_timeout=False)
        self.assertEqual(parse_conditions("off"), off)
        self.assertEqual(parse_conditions("error"), RetryRule(on_timeout=False))
        self.assertEqual(parse_conditions("timeout"), RetryRule(on_error=False))
        self.assertEqual(
            parse_conditions(" http_502  http_503\tinvalid_header "),
            RetryRule(on_error=False, on_timeout=False, on_invalid=True, statuses=frozenset({502, 503})),
        )
        self.assertEqual(parse_conditions("error timeout non_idempotent"), RetryRule(non_idempotent=True))

    def test_refused(self) -> None:
        """Nothing, words that nginx does not know, and ``off`` beside others are refused."""
        for text in ("", " ", "on", "error off", "error;", "http_418", "http_5xx", "Error", "error,timeout"):
            with self.assertRaises(ValueRefused, msg=text):
                parse_conditions(text)


class ParseNumberTests(SynchronousTestCase):
    """``proxy-next-upstream-tries`` and ``proxy-next-upstream-timeout``."""

    def test_tries(self) -> None:
        """A number, or nothing."""
        for text, tries in (
            ("0", 0),
            ("3", 3),
            (" 12 ", 12),
            ("888888", 888_888),
            ("2147483647", 2_147_483_647),
        ):
            self.assertEqual(parse_tries(text), tries)
        for text in ("", "-1", "1.5", "three", "9" * 20, "٣", "1_0"):
            with self.assertRaises(ValueRefused, msg=text):
                parse_tries(text)

    def test_seconds(self) -> None:
        """Seconds, with or without their unit."""
        for text, seconds in (("0", 0), ("10", 10), ("5s", 5), (" 7 ", 7), ("2147483647", 2_147_483_647)):
            self.assertEqual(parse_seconds(text), float(seconds))
        for text in ("", "-1", "1m", "5 s", "1e3", "9" * 20, "٣"):
            with self.assertRaises(ValueRefused, msg=text):
                parse_seconds(text)


class SettingsTests(SynchronousTestCase):
    """What the settings of an Ingress come to."""

    def test_rule(self) -> None:
        """Conditions, number and time make one rule; the usual one is shared."""
        self.assertIs(RetrySettings().rule(), DEFAULT_RETRIES)
        settings = RetrySettings(parse_conditions("error"), 5, 2.0)
        self.assertEqual(settings.rule(), RetryRule(on_timeout=False, max_tries=5, max_seconds=2.0))

    def test_most(self) -> None:
        """Who asks for no limit, or a high one, does not have each of thousands of endpoints tried by one request."""
        for tries in (0, MOST_TRIES + 1, 9999):
            self.assertEqual(RetrySettings(tries=tries).rule(), RetryRule(max_tries=MOST_TRIES))
        self.assertEqual(RetrySettings(tries=MOST_TRIES - 1).rule(), RetryRule(max_tries=MOST_TRIES - 1))
