"""Tests of which upgrades are asked of endpoints, and what these may agree to."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.upgrades import is_web_socket, may_switch, relayed_upgrade
from tests.properties import examples

RELAYED = (
    b"websocket",
    b"WebSocket",
    b"SPDY/3.1",
    b"tcp",
    b"tailscale-control-protocol",
    b"DERP",
    b"SPDY/3.1, websocket",
    b"SPDY/3.1\t,websocket , tcp",
)
OTHERS = (
    b"h2c",
    b"H2C",
    b"h2",
    b"h2c-14",
    b"h3-29",
    b"HTTP/2.0",
    b"http/1.1",
    b"HTTP",
    b"https",
    b"TLS/1.0",
    b"TLS/1.2, HTTP/1.1",
    b"tls",
    b"SSL/3.0",
    b"foo/1",
    b"connect-udp",
    b"tcp2",
    b"x-websocket",
)
UNREADABLE = (
    b"",
    b" ",
    b",",
    b"tcp,",
    b", tcp",
    b"tcp,, spdy",
    b"tcp spdy",
    b"a/b/c",
    b"/1.0",
    b"tcp/",
    b'"h2c"',
    b"tcp;q=1",
    b"tcp, (h2c)",
    b"tcp\xff",
    b"tcp\x0bh2c",
)


class UpgradesTests(SynchronousTestCase):
    """What goes on, and what is agreed on."""

    def test_relayed(self) -> None:
        """A protocol that is known goes on as it came, also several."""
        for value in RELAYED:
            self.assertEqual(relayed_upgrade(value), value)

    def test_others(self) -> None:
        """What would carry further requests past the rules, or may, is not asked for, nor is a list with it."""
        for value in OTHERS:
            self.assertEqual(relayed_upgrade(value), b"", value)
            for listed in (b"tcp, %b", b"%b, tcp", b"tcp,%b,spdy", b"tcp\t,\t%b"):
                self.assertEqual(relayed_upgrade(listed % value), b"", listed % value)

    def test_unreadable(self) -> None:
        """What is no list of protocols is not asked for: endpoints might read something else in it."""
        for value in UNREADABLE:
            self.assertEqual(relayed_upgrade(value), b"", value)

    @settings(max_examples=examples(300), deadline=None)
    @given(
        st.lists(st.sampled_from([*RELAYED, *OTHERS, *UNREADABLE]), max_size=4),
        st.sampled_from([b",", b", ", b" , ", b"\t", b" ", b"/", b""]),
    )
    def test_any(self, values: list[bytes], between: bytes) -> None:
        """However it is put together, what goes on is what came, and names nothing but those."""
        value = between.join(values)
        found = relayed_upgrade(value)
        self.assertIn(found, (b"", value))
        for name in found.lower().split(b","):
            self.assertIn(
                name.strip().partition(b"/")[0], (b"", *(one.lower().partition(b"/")[0] for one in RELAYED))
            )

    def test_may_switch(self) -> None:
        """A 101 names what was asked for, in any case of letters, and nothing else."""
        for asked, agreed, expected in (
            (b"SPDY/3.1", b"SPDY/3.1", True),
            (b"SPDY/3.1", b"spdy/3.1", True),
            (b"SPDY/3.1, tcp", b"tcp", True),
            (b"SPDY/3.1, tcp", b"tcp,spdy/3.1", True),
            (b"SPDY/3.1", b"SPDY/3", False),
            (b"SPDY/3.1", b"SPDY", False),
            (b"SPDY", b"SPDY/3.1", False),
            (b"SPDY/3.1", b"SPDY/3.1, h2c", False),
            (b"SPDY/3.1", b"h2c", False),
            (b"SPDY/3.1", b"", False),
            (b"SPDY/3.1", b"SPDY/3.1,", False),
            (b"", b"", False),
            (b"", b"tcp", False),
        ):
            self.assertEqual(may_switch(asked, agreed), expected, (asked, agreed))

    def test_web_socket(self) -> None:
        """A WebSocket alone is one."""
        self.assertTrue(is_web_socket(b"WebSocket"))
        for other in (b"", b"websocket, tcp", b"tcp"):
            self.assertFalse(is_web_socket(other))
