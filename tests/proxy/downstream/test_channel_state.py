"""Tests for ``ingress.proxy.downstream.channel_state``: when a channel reads, and how long it waits."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.serving.limits import Limits
from ingress.proxy.contract.deadlines import NEVER
from ingress.proxy.contract.limits import MAX_AHEAD
from ingress.proxy.downstream.channel_state import (
    EXCHANGE,
    HEAD,
    LINGERING,
    PREFACE,
    TUNNEL,
    seconds_allowed,
    wants_reading,
)

LIMITS = Limits()


class ReadingTests(SynchronousTestCase):
    """Whether somebody can take what the peer sends."""

    def test_reading(self) -> None:
        """A body is read while upstream takes it, requests while the peer takes answers and little is ahead."""
        for state, in_body, paused, full, ahead, expected in (
            (HEAD, False, False, False, 0, True),
            (HEAD, False, False, True, 0, False),
            (EXCHANGE, False, True, False, 0, True),
            (EXCHANGE, False, False, False, MAX_AHEAD, True),
            (EXCHANGE, False, False, False, MAX_AHEAD + 1, False),
            (EXCHANGE, True, False, True, 0, True),
            (EXCHANGE, True, True, False, 0, False),
            (TUNNEL, False, False, True, 0, True),
            (TUNNEL, False, True, False, 0, False),
            (LINGERING, True, True, True, MAX_AHEAD + 1, True),
        ):
            found = wants_reading(state, in_body, paused, full, ahead)
            self.assertIs(found, expected, (state, in_body, paused, full, ahead))


class WaitingTests(SynchronousTestCase):
    """How long the peer may take for what is awaited of it."""

    def test_seconds(self) -> None:
        """Each part of a request has its own time, and what is awaited of upstream has none here."""
        for state, in_body, paused, ahead, expected in (
            (PREFACE, False, False, 3, LIMITS.head_seconds),
            (HEAD, False, False, 0, LIMITS.keep_alive_seconds),
            (HEAD, False, False, 3, LIMITS.head_seconds),
            (EXCHANGE, True, False, 0, LIMITS.body_seconds),
            (EXCHANGE, True, True, 0, NEVER),
            (EXCHANGE, False, False, 0, NEVER),
            (TUNNEL, False, False, 0, NEVER),
        ):
            found = seconds_allowed(state, in_body, paused, ahead, LIMITS)
            self.assertEqual(found, expected, (state, in_body, paused, ahead))
