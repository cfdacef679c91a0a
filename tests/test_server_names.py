"""Which terms a server name gets."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.server_names import PLAIN_TERMS, HandshakeTerms, TermsTable

EXACT, WILD, REST = (HandshakeTerms(ciphers=(name,)) for name in ("exact", "wild", "rest"))


class TermsTableTests(SynchronousTestCase):
    """``TermsTable``."""

    def test_find(self) -> None:
        """The exact host goes before the wildcard of one label, and that before all hosts."""
        table = TermsTable({"a.b.com": EXACT, "plain.b.com": PLAIN_TERMS, "*.b.com": WILD, "": REST})
        for name, expected in (
            ("a.b.com", EXACT),
            ("A.B.com.", EXACT),
            ("plain.b.com", PLAIN_TERMS),
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
        """Nobody has terms in an empty table."""
        self.assertIs(TermsTable().find("a.com"), PLAIN_TERMS)
        self.assertIs(TermsTable().find(None), PLAIN_TERMS)

    def test_has(self) -> None:
        """A name is known when an Ingress names it, or a wildcard that takes it; all hosts are no name."""
        table = TermsTable({"a.com": PLAIN_TERMS, "*.b.com": PLAIN_TERMS, "": REST})
        for name in ("a.com", "A.com.", "x.b.com"):
            self.assertTrue(table.has(name), name)
        for unknown in ("b.com", "x.y.b.com", "c.com", "", None):
            self.assertFalse(table.has(unknown), unknown)
