"""The table, played against the proxy: every row, strictly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from tests.http2.conformance.judge import judge
from tests.http2.conformance.rows import Row
from tests.http2.conformance.table import ACCEPTED, MORE, REFUSED, ROWS, UNDECODABLE
from tests.proxy.h2_playing import Http2Stage


class TableTests(SynchronousTestCase):
    """The table itself."""

    def test_is_complete(self) -> None:
        """It has the 146 well-known cases, and each row a name of its own."""
        self.assertEqual([len(rows) for rows in (ACCEPTED, REFUSED, UNDECODABLE)], [44, 94, 8])
        self.assertEqual(
            [name for name, count in Counter(row.name for row in ROWS + MORE).items() if count > 1], []
        )


def play(row: Row, on_epoll: bool) -> None:
    """Play *row*; nothing may be left of the connection once its client is gone."""
    stage = Http2Stage(on_epoll)
    client = stage.connect()
    judge(row, client, strict=True)
    client.wire.close()
    stage.reactor.pass_time(5)
    assert not stage.sessions, stage.sessions
    assert " 0 busy" in repr(stage.pool), stage.pool


def testing(row: Row, on_epoll: bool) -> Callable[[SynchronousTestCase], None]:
    """Return the test of one row."""

    def test(self: SynchronousTestCase) -> None:
        play(row, on_epoll)

    test.__doc__ = f"RFC 9113 section {row.section}: {row.what}."
    return test


class ConformanceTests(SynchronousTestCase):
    """One test for each row, on Twisted's transports."""


class EpollConformanceTests(SynchronousTestCase):
    """The same on the epoll set."""


for _row in ROWS + MORE:
    setattr(ConformanceTests, f"test_{_row.name}", testing(_row, False))
    setattr(EpollConformanceTests, f"test_{_row.name}", testing(_row, True))
