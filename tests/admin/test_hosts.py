"""Tests for ``ingress.admin.hosts``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.hosts import is_known_host

NAMES = frozenset({"ingress.internal"})


class KnownHostTests(SynchronousTestCase):
    """``is_known_host``."""

    def test_known(self) -> None:
        """Addresses of both families, localhost, and names that were given, with or without a port, or nothing at all."""
        for host in (
            b"10.0.0.7",
            b"10.0.0.7:10254",
            b"[fd00::7]",
            b"[fd00::7]:10254",
            b"[::ffff:10.0.0.7]",
            b"localhost",
            b"LocalHost:80",
            b"localhost.",
            b"ingress.internal:10254",
            b"INGRESS.internal",
            b"",
        ):
            self.assertTrue(is_known_host([host], NAMES), host)
        self.assertTrue(is_known_host([], NAMES))

    def test_unknown(self) -> None:
        """Whatever else there is, or looks like one of these and is none, or is said twice."""
        for host in (
            b"rebound.example",
            b"10.0.0.7.rebound.example",
            b"localhost.rebound.example",
            b"ingress.internal.rebound.example",
            b"a.localhost",
            b"127.1",
            b"0x7f000001",
            b"2130706433",
            b"[10.0.0.7]",
            b"fd00::7",
            b"[localhost]",
            b"[fe80::1%25eth0]",
            b"rebound.example@10.0.0.7",
            b"10.0.0.7/",
            b"10.0.0.7 rebound.example",
            b"localhost:x",
            b"localhost:80:80",
            "\uff11\uff10.0.0.7".encode(),
            b"..",
        ):
            self.assertFalse(is_known_host([host], NAMES), host)
        self.assertFalse(is_known_host([b"localhost", b"rebound.example"], NAMES))

    @given(st.binary(max_size=40))
    def test_total(self, host: bytes) -> None:
        """Any bytes get an answer."""
        self.assertIn(is_known_host([host], NAMES), (True, False))
