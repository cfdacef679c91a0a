"""Which settings a server name gets."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.server_names import PLAIN_HANDSHAKE, HandshakeSettings, HandshakeSettingsTable

EXACT, WILD, REST = (HandshakeSettings(ciphers=(name,)) for name in ("exact", "wild", "rest"))


class HandshakeSettingsTableTests(SynchronousTestCase):
    """``HandshakeSettingsTable``."""

    def test_find(self) -> None:
        """The exact host goes before the wildcard of one label, and that before all hosts."""
        table = HandshakeSettingsTable(
            {"a.b.com": EXACT, "plain.b.com": PLAIN_HANDSHAKE, "*.b.com": WILD, "": REST}
        )
        for name, expected in (
            ("a.b.com", EXACT),
            ("A.B.com.", EXACT),
            ("plain.b.com", PLAIN_HANDSHAKE),
            ("x.b.com", WILD),
            ("b.com", REST),
            ("x.y.b.com", REST),
            (".b.com", REST),
            ("*", REST),
            ("", REST),
            (None, REST),
        ):
            self.assertIs(table.find(name), expected, name)

    def test_none(self) -> None:
        """Nobody has settings in an empty table."""
        self.assertIs(HandshakeSettingsTable().find("a.com"), PLAIN_HANDSHAKE)
        self.assertIs(HandshakeSettingsTable().find(None), PLAIN_HANDSHAKE)

    def test_has(self) -> None:
        """A name is known when an Ingress names it, or a wildcard that takes it; all hosts are no name."""
        table = HandshakeSettingsTable({"a.com": PLAIN_HANDSHAKE, "*.b.com": PLAIN_HANDSHAKE, "": REST})
        for name in ("a.com", "A.com.", "x.b.com"):
            self.assertTrue(table.has(name), name)
        for unknown in ("b.com", "x.y.b.com", "c.com", "", None):
            self.assertFalse(table.has(unknown), unknown)

    def test_deep(self) -> None:
        """Of Gateways a wildcard stands for several labels, and the longest goes first."""
        table = HandshakeSettingsTable({"*.b.com": EXACT, "*.com": WILD}, covers_labels=True)
        for name, expected in (("x.y.b.com", EXACT), ("b.com", WILD), ("x.c.com", WILD)):
            self.assertIs(table.find(name), expected, name)
        for unknown in ("com", "org", "", None):
            self.assertIsNone(table.host_of(unknown), unknown)
        self.assertEqual(table.host_of("." * 250 + "b.com"), None)
