"""Tests for ``ingress.http2.hpack.static_table``."""

from hpack.table import HeaderTable
from twisted.trial.unittest import SynchronousTestCase

from ingress.http2.hpack.static_table import STATIC_TABLE


class StaticTableTests(SynchronousTestCase):
    """RFC 7541 Appendix A."""

    def test_same_as_others(self) -> None:
        """The table has 61 fields, those that other implementations have, in the same order."""
        self.assertEqual(len(STATIC_TABLE), 61)
        self.assertEqual(STATIC_TABLE, HeaderTable.STATIC_TABLE)
