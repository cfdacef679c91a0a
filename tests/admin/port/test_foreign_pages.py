"""Tests for ``ingress.admin.port.foreign_pages``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.port.foreign_pages import is_cross_origin, is_followed_link, is_known_host

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


HOST = [b"10.0.0.7:10254"]


class CrossOriginTests(SynchronousTestCase):
    """``is_cross_origin``."""

    def test_ours(self) -> None:
        """Programs say neither; a person who typed the address, and our own page, are none of another origin."""
        for sites, origins in (
            ([], []),
            ([b"none"], []),
            ([b"same-origin"], []),
            ([b"Same-Origin "], [b"http://10.0.0.7:10254"]),
            ([], [b"https://10.0.0.7:10254"]),
        ):
            self.assertFalse(is_cross_origin(sites, origins, HOST), (sites, origins))

    def test_of_others(self) -> None:
        """Pages of other sites, of other ports of the same one, and of nowhere are; and whatever is said twice has to be ours twice."""
        for sites, origins in (
            ([b"cross-site"], []),
            ([b"same-site"], []),
            ([b""], []),
            ([b"same-origin", b"cross-site"], []),
            ([], [b"http://evil.example"]),
            ([], [b"http://10.0.0.7"]),
            ([], [b"http://10.0.0.7:10254.evil.example"]),
            ([], [b"null"]),
            ([], [b""]),
            ([b"same-origin"], [b"http://evil.example"]),
            ([], [b"http://10.0.0.7:10254", b"http://evil.example"]),
        ):
            self.assertTrue(is_cross_origin(sites, origins, HOST), (sites, origins))
        self.assertTrue(is_cross_origin([], [b"http://a"], []))

    @given(st.lists(st.binary(max_size=12)), st.lists(st.binary(max_size=12)))
    def test_total(self, sites: list[bytes], origins: list[bytes]) -> None:
        """Any bytes get an answer."""
        self.assertIn(is_cross_origin(sites, origins, HOST), (True, False))


class FollowedLinkTests(SynchronousTestCase):
    """``is_followed_link``."""

    def test_tabs_alone(self) -> None:
        """A link that fills a tab is followed; what a page fetches, frames or posts is not, and neither is who says less."""
        navigate, document = [b"navigate"], [b"document"]
        self.assertTrue(is_followed_link(navigate, document, []))
        for modes, destinations, origins in (
            ([b"cors"], document, []),
            ([b"no-cors"], [b"image"], []),
            (navigate, [b"iframe"], []),
            (navigate, document, [b"http://evil.example"]),
            ([], document, []),
            (navigate, [], []),
            (navigate * 2, document, []),
        ):
            self.assertFalse(is_followed_link(modes, destinations, origins), (modes, destinations, origins))
