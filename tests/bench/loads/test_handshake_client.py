"""What the load generator of handshakes takes for a success."""

import ssl
from datetime import UTC, datetime

from OpenSSL import SSL
from twisted.trial.unittest import SynchronousTestCase

from bench.loads.handshake_client import Refused, Visits
from ingress.identity.certificates import Certificate
from ingress.tls.binding import is_resumed
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def shown(certificate: Certificate) -> bytes:
    """Return the leaf as DER."""
    return ssl.PEM_cert_to_DER_cert(certificate.chain_pem.decode())


class VisitTests(SynchronousTestCase):
    """Visits at a server in memory."""

    def setUp(self) -> None:
        """Make the server."""
        self.certificate = generate_certificate(datetime.now(UTC))
        self.contexts = ServerContexts(self.certificate)

    def visits(self, *, version: str = "1.3", resumes: bool = False) -> Visits:
        """What visits have in common that trust in the server's certificate."""
        return Visits("a.test", shown(self.certificate), version, resumes)

    def make(self, visits: Visits, answer: bytes = ANSWER) -> bool:
        """Make one visit, which is answered by *answer* if it asks; return whether its session was resumed."""
        server = self.contexts.connection_on(None)
        server.set_accept_state()
        asked = b""
        steps = visits.visit()
        try:
            octets = next(steps)
            while True:
                if octets:
                    server.bio_write(octets)
                try:
                    server.do_handshake()
                    asked += server.recv(65536)
                except SSL.WantReadError:
                    pass
                if b"\r\n\r\n" in asked:
                    server.sendall(answer)
                    server.shutdown()
                octets = steps.send(server.bio_read(65536))
        except StopIteration:
            return is_resumed(server)

    def test_whole(self) -> None:
        """Visits that are not to resume make a whole handshake each time."""
        visits = self.visits()
        self.assertEqual([self.make(visits), self.make(visits)], [False, False])

    def test_resumed(self) -> None:
        """Visits that are to resume do so from the second one on, in either version."""
        for version in ("1.2", "1.3"):
            visits = self.visits(version=version, resumes=True)
            self.assertEqual([self.make(visits) for _ in range(3)], [False, True, True], version)

    def test_not_resumed(self) -> None:
        """A server that resumes nothing is told of."""
        visits = self.visits(resumes=True)
        self.make(visits)
        self.contexts = ServerContexts(self.certificate)
        self.assertRaisesRegex(Refused, "no session was resumed", self.make, visits)

    def test_other_certificate(self) -> None:
        """A certificate that is not the one which is measured is told of."""
        visits = self.visits()
        self.contexts = ServerContexts(generate_certificate(datetime.now(UTC)))
        self.assertRaisesRegex(Refused, "another certificate", self.make, visits)

    def test_other_status(self) -> None:
        """Only an answer with 200 is one."""
        answer = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
        self.assertRaisesRegex(Refused, "answered by", self.make, self.visits(), answer)
