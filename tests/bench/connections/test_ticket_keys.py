"""Tests for ``bench.connections.ticket_keys``: that there is still no way to set ticket keys."""

from __future__ import annotations

from OpenSSL import SSL
from twisted.trial.unittest import SynchronousTestCase

from bench.connections.ticket_keys import pair, ways
from ingress.tls.bases import Bases
from ingress.tls.binding import is_resumed
from ingress.tls.contexts import ServerContexts
from tests.tls.test_contexts import certificate


class WaysTests(SynchronousTestCase):
    """What the installed wheels offer."""

    def test_none(self) -> None:
        """No function that sets ticket keys is bound; once one is, ``docs/tls.md`` says what can be built on it."""
        found = {name: where for _, name, where in ways()}
        self.assertIn("SSL_CTX_set_tlsext_ticket_keys", found)
        del found["SSLContext"]
        self.assertEqual(set(found.values()), {"not bound, hidden in the library"})

    def test_pair(self) -> None:
        """A handshake in memory counts the server's time alone, and is resumed where it can be."""
        contexts = ServerContexts(certificate("a.com"), bases=Bases())
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        first, spent = pair(contexts.connection_on(None), context, "a.com", None)
        self.assertGreaterEqual(spent, 0)
        self.assertFalse(is_resumed(first))
        again, _ = pair(contexts.connection_on(None), context, "a.com", first.get_session())
        self.assertTrue(is_resumed(again))
