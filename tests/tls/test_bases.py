"""Tests for ``ingress.tls.bases``: which sessions are resumed by whom, in processes that are forked from one."""

from __future__ import annotations

import gc
import weakref

from OpenSSL import SSL
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.certificates import CertificateTable
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.tls.bases import TICKET_KEYS_SECONDS, BaseRow, Bases, BegunConnection
from ingress.tls.contexts import ServerContexts
from tests.fakes.certificates import make_authority
from tests.tls.forked_server import ForkedServer, SetClock, inherited_of
from tests.tls.test_contexts import Client, certificate

VERSIONS = (SSL.TLS1_2_VERSION, SSL.TLS1_3_VERSION)
ASKED = ClientAuthentication("Secret shop/people", make_authority("Visitors").pem)
TABLE = CertificateTable({name: (certificate(name),) for name in ("open.com", "closed.com")})


def client_context(version: int) -> SSL.Context:
    """A client's context for one version."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_min_proto_version(version)
    context.set_max_proto_version(version)
    return context


class ForkedTests(SynchronousTestCase):
    """Several processes that were forked from one."""

    def setUp(self) -> None:
        """Have what is inherited, of which three contexts have their turn one after the other."""
        self.clock = SetClock()
        self.inherited = inherited_of(self.clock, 3)

    def fork(self, name: str = "") -> ForkedServer:
        """Fork another server, for the listeners of the table *name*."""
        server = ForkedServer(self.inherited, self.clock, TABLE, ASKED, name)
        self.addCleanup(server.end)
        return server

    def test_every_worker(self) -> None:
        """A session that began at one worker is resumed by another, and by one that is forked later; also of the default certificate."""
        for name in (b"open.com", b"unknown.com"):
            one, other = self.fork(), self.fork()
            for version in VERSIONS:
                context = client_context(version)
                is_resumed, session = one.connect(context, name=name)
                self.assertFalse(is_resumed)
                later = self.fork()
                for server in (one, other, later):
                    self.assertTrue(server.connect(context, session, name)[0])

    def test_renewal(self) -> None:
        """Keys have the same turns in all processes, and nothing is resumed beyond that, whenever a process began."""
        one, other = self.fork(), self.fork()
        for version in VERSIONS:
            context = client_context(version)
            for turn in range(2):
                begun, last = turn * TICKET_KEYS_SECONDS, (turn + 1) * TICKET_KEYS_SECONDS - 1
                session = one.connect(context, at=begun)[1]
                self.assertTrue(other.connect(context, session, at=last)[0])
                self.assertTrue(self.fork().connect(context, session, at=last)[0])
                for server in (one, other, self.fork()):
                    self.assertFalse(server.connect(context, session, at=last + 1)[0])
            one, other = self.fork(), self.fork()

    def test_demands(self) -> None:
        """What began before any host asked for something else is resumed by nobody who knows, nor the other way round by who does not."""
        one, other = self.fork(), self.fork()
        for version in VERSIONS:
            context = client_context(version)
            before = one.connect(context)[1]
            after = other.connect(context, asking=("closed.com",))[1]
            self.assertFalse(other.connect(context, before, asking=("closed.com",))[0])
            self.assertFalse(one.connect(context, after)[0])
            self.assertTrue(one.connect(context, after, asking=("closed.com",))[0])

    def test_asking(self) -> None:
        """A host that asks for client certificates has no session that anybody resumes."""
        one, other = self.fork(), self.fork()
        for version in VERSIONS:
            context = client_context(version)
            session = one.connect(context, name=b"closed.com", asking=("closed.com",))[1]
            for server in (one, other):
                for name in (b"closed.com", b"open.com"):
                    self.assertFalse(server.connect(context, session, name, asking=("closed.com",))[0])

    def test_other_tables(self) -> None:
        """Listeners of another table resume nothing, though their connections begin on the same context."""
        one, other = self.fork("one"), self.fork("other")
        for version in VERSIONS:
            context = client_context(version)
            session = one.connect(context)[1]
            self.assertFalse(other.connect(context, session)[0])
            self.assertTrue(one.connect(context, session)[0])

    def test_used_up(self) -> None:
        """After the last turn each process has keys of its own."""
        one, other = self.fork(), self.fork()
        at = 3 * TICKET_KEYS_SECONDS
        for version in VERSIONS:
            context = client_context(version)
            session = one.connect(context, at=at)[1]
            self.assertTrue(one.connect(context, session, at=at + 1)[0])
            self.assertFalse(other.connect(context, session, at=at + 1)[0])


class BasesTests(SynchronousTestCase):
    """What connections begin on."""

    def test_told_once(self) -> None:
        """That the row is used up is told once, and keys are renewed as often as before."""
        clock = SetClock()
        bases = Bases(row=BaseRow(clock, 1))
        contexts = ServerContexts(certificate("default"), bases=bases)
        seen = []
        with capturedLogs() as events:
            for clock.now in (0, TICKET_KEYS_SECONDS - 1, TICKET_KEYS_SECONDS, 3 * TICKET_KEYS_SECONDS):
                seen.append(contexts.connection_on(None).get_context())
        self.assertEqual([seen[0] is one for one in seen], [True, True, False, False])
        self.assertIsNot(seen[2], seen[3])
        (event,) = events
        self.assertIn("are used up", formatEvent(event))

    def test_forgotten(self) -> None:
        """Keys of former times are kept by nobody, once the connections are over that they were used for."""
        clock = SetClock()
        row = BaseRow(clock, 3)
        bases = Bases(row=row)
        first = weakref.ref(bases.begin(BegunConnection, None, lambda _: None, b"x").get_context())
        gc.collect()
        self.assertIsNotNone(first())
        clock.now = 2 * TICKET_KEYS_SECONDS
        bases.begin(BegunConnection, None, lambda _: None, b"x")
        gc.collect()
        self.assertIsNone(first())
        self.assertEqual(repr(row), "<BaseRow, 1 of 3 left>")

    def test_backwards(self) -> None:
        """A clock that is behind that of who made the row has the first context."""
        clock = SetClock()
        row = BaseRow(clock, 2)
        first = row.take()
        clock.now = -5.0
        self.assertIsNotNone(first)
        self.assertEqual(row.take(), first)

    def test_own(self) -> None:
        """Bases without a row have keys of their own."""
        one, other = (ServerContexts(certificate("default"), bases=Bases()) for _ in range(2))
        context = client_context(SSL.TLS1_2_VERSION)
        first = Client(one, b"a.com", context=context).handshake().connection
        for contexts, is_same in ((one, True), (other, False)):
            again = Client(contexts, b"a.com", context=context, session=first.get_session()).handshake()
            self.assertIs(again.connection.master_key() == first.master_key(), is_same)
