"""Which requests belong on a TLS connection, as its channel finds out."""

import sys
from typing import cast

from attrs import frozen
from OpenSSL import SSL
from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.misdirected import LONGEST_FITTING, MOST_FITTING, ServerNames
from ingress.identity.server_names import HandshakeSettings, HandshakeSettingsTable
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.proxy.contract.security import Security
from ingress.proxy.contract.transport import Transport
from ingress.tls.handshake import Handshake

ASKS = ClientAuthentication("Secret shop/people", b"PEM")


@frozen
class Connected:
    """As much of a transport as is asked about TLS."""

    tls: SSL.Connection


def begun(server_name: bytes | None, asked: ClientAuthentication | None = None) -> Security:
    """Return the security of a connection that was begun with *server_name* and asked the client for that."""
    connection = SSL.Connection(SSL.Context(SSL.TLS_METHOD), None)
    connection.set_app_data(Handshake(server_name, asked))
    return Security(cast(Transport, Connected(connection)))


def names(**asking: ClientAuthentication | None) -> ServerNames:
    """Return tables in which these hosts ask clients for something, or for nothing."""
    settings = {
        f"{host}.test": HandshakeSettings(client_authentication=asks) for host, asks in asking.items()
    }
    return ServerNames(handshake_settings=HandshakeSettingsTable(settings))


class SecurityTests(SynchronousTestCase):
    """``Security.serves``, on one connection after the other."""

    def test_remembered_by_table(self) -> None:
        """What belongs on a connection does so on the next one like it; other tables may have it otherwise."""
        before, after = names(a=None), names(a=ASKS)
        for table, expected in ((before, True), (before, True), (after, False), (before, True)):
            self.assertIs(begun(b"a.test").serves(b"a.test", table), expected)

    def test_who_was_asked(self) -> None:
        """What clients were asked for counts each time: who was asked for nothing opens nothing for others, nor the other way round."""
        table = names(a=None, b=ASKS)
        for _ in range(2):
            self.assertTrue(begun(b"a.test").serves(b"a.test", table))
            self.assertFalse(begun(b"a.test", ASKS).serves(b"a.test", table))
            self.assertTrue(begun(b"b.test", ASKS).serves(b"b.test", table))
            self.assertFalse(begun(b"b.test").serves(b"b.test", table))

    def test_bound(self) -> None:
        """However many names clients invent, no more are remembered than there may be."""
        table = names(a=None)
        for number in range(MOST_FITTING + 2):
            self.assertTrue(begun(b"%d.test" % number).serves(b"a.test", table))
            self.assertLessEqual(len(table.fitting), MOST_FITTING)

    def test_long_hosts(self) -> None:
        """Of a host that no name is as long as, nothing is remembered, neither for others nor for the connection; it is judged each time."""
        table = names(a=None)
        longest, longer = (b"x" * length for length in (LONGEST_FITTING, LONGEST_FITTING + 1))
        for _ in range(2):
            self.assertTrue(begun(None).serves(longest, table))
            self.assertTrue(begun(None).serves(longer, table))
        self.assertEqual(table.fitting, {(longest, None)})
        security = begun(None)
        references = sys.getrefcount(longer)
        self.assertTrue(security.serves(longer, table))
        self.assertEqual(sys.getrefcount(longer), references)
