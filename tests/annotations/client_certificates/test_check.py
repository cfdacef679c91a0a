"""The verdict on requests, by what their connection proved."""

from attrs import evolve, frozen
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.client_certificates.check import (
    ClientCertificateFields,
    ClientCheck,
    EarlyCheck,
    HostClosed,
)
from ingress.annotations.client_certificates.common_names import NOBODY, parse_common_names
from ingress.model.requests.client_authentication import (
    NO_EVIDENCE,
    ClientAuthentication,
    ClientEvidence,
    VerifyClient,
    graver,
)
from ingress.model.requests.shown_certificates import MAX_CERTIFICATE_BYTES, read_certificate
from tests.fakes.certificates import issue, make_authority

AUTHENTICATION = ClientAuthentication("Secret demo/ca", b"authorities")
CERTIFICATE = x509.load_pem_x509_certificate(
    issue(make_authority("People"), [], common_name="ann\r\nX: 1", is_client=True)[0]
).public_bytes(Encoding.DER)
NO_LIST, EXPIRED, SELF_SIGNED, REVOKED = 3, 10, 18, 23


@frozen
class Facts:
    """What a policy sees of a request."""

    client_evidence: ClientEvidence | None
    scheme: bytes = b"https"
    host: bytes = b"a.test"
    target: bytes = b"/"
    path: bytes = b"/"


def shown(error: int = 0, mode: VerifyClient = VerifyClient.REQUIRED) -> ClientEvidence:
    """Return what a connection proves that showed a certificate with this *error*."""
    return ClientEvidence(evolve(AUTHENTICATION, mode=mode), CERTIFICATE, error, "some\r\nreason")


class ClientCheckTests(SynchronousTestCase):
    """Who passes."""

    def status(self, check: ClientCheck | HostClosed, evidence: ClientEvidence | None) -> int:
        """Return the status of the verdict, 0 for a request that passes."""
        reply = check.judge(Facts(evidence))
        return 0 if reply is None else reply.status

    def test_early(self) -> None:
        """What stands before all else judges what came by TLS, and leaves plain HTTP to its check."""
        for check in (ClientCheck(AUTHENTICATION), HostClosed()):
            for evidence in (shown(), shown(REVOKED), ClientEvidence(AUTHENTICATION), ClientEvidence()):
                self.assertEqual(EarlyCheck(check).judge(Facts(evidence)), check.judge(Facts(evidence)))
            self.assertIsNone(EarlyCheck(check).judge(Facts(None)))

    def test_modes(self) -> None:
        """What each mode lets pass: plain HTTP, no certificate, a good one, an unknown one, an expired one."""
        for mode, statuses in (
            (VerifyClient.REQUIRED, [403, 400, 0, 400, 400]),
            (VerifyClient.OPTIONAL, [0, 0, 0, 400, 400]),
            (VerifyClient.OPTIONAL_NO_CA, [0, 0, 0, 0, 400]),
        ):
            asked = evolve(AUTHENTICATION, mode=mode)
            check = ClientCheck(asked)
            evidence = [None, ClientEvidence(asked)]
            evidence += [shown(error, mode) for error in (0, SELF_SIGNED, EXPIRED)]
            self.assertEqual([self.status(check, one) for one in evidence], statuses, mode)

    def test_evidence_of_other_terms_is_none(self) -> None:
        """A handshake with any other settings proves nothing, whatever was shown."""
        check = ClientCheck(AUTHENTICATION)
        for other in (
            evolve(AUTHENTICATION, mode=VerifyClient.OPTIONAL),
            evolve(AUTHENTICATION, ca_pem=b"others"),
            evolve(AUTHENTICATION, crl_pem=b"list"),
            evolve(AUTHENTICATION, depth=2),
            evolve(AUTHENTICATION, source="Secret demo/other"),
            None,
        ):
            self.assertEqual(self.status(check, evolve(shown(), authentication=other)), 421)
        self.assertEqual(self.status(check, NO_EVIDENCE), 421)

    def test_names(self) -> None:
        """With names, only these pass; no certificate has none, in any mode and over plain HTTP."""
        for mode in VerifyClient:
            asked = evolve(AUTHENTICATION, mode=mode)
            for names, status in ((parse_common_names("CN=ann.*"), 0), (NOBODY, 403)):
                self.assertEqual(self.status(ClientCheck(asked, names), shown(0, mode)), status)
            none = 400 if mode is VerifyClient.REQUIRED else 403
            self.assertEqual(self.status(ClientCheck(asked, NOBODY), ClientEvidence(asked)), none)
            self.assertEqual(self.status(ClientCheck(asked, parse_common_names("CN=.*")), None), 403)

    def test_error_page(self) -> None:
        """The error page is for certificates that are missing or bad, and for nothing else."""
        check = ClientCheck(AUTHENTICATION, NOBODY, b"https://www.test/")
        found = [
            self.status(check, one) for one in (ClientEvidence(AUTHENTICATION), shown(REVOKED), shown(), None)
        ]
        self.assertEqual(found, [302, 302, 403, 403])

    def test_challenges(self) -> None:
        """A route of challenges passes plain HTTP, and nothing else that the host would not."""
        check = ClientCheck(AUTHENTICATION, serves_challenges=True)
        found = [self.status(check, one) for one in (None, ClientEvidence(AUTHENTICATION), NO_EVIDENCE)]
        self.assertEqual(found, [0, 400, 421])
        self.assertEqual([self.status(HostClosed(True), one) for one in (None, shown())], [0, 403])
        self.assertEqual([self.status(HostClosed(), one) for one in (None, shown())], [403, 403])

    def test_certificate_that_cannot_be_read(self) -> None:
        """A certificate that OpenSSL took and we cannot read, or that is too long, is bad."""
        for octets in (b"\x30\x00", b"x", CERTIFICATE + b"\x00", bytes(MAX_CERTIFICATE_BYTES + 1)):
            self.assertIsNone(read_certificate(octets))
            evidence = evolve(shown(), certificate=octets)
            self.assertEqual(self.status(ClientCheck(AUTHENTICATION), evidence), 400)

    def test_gravest_error(self) -> None:
        """An unknown issuer hides no other error, whichever comes first."""
        for first, second, kept in (
            (0, SELF_SIGNED, SELF_SIGNED),
            (SELF_SIGNED, EXPIRED, EXPIRED),
            (EXPIRED, SELF_SIGNED, EXPIRED),
            (EXPIRED, REVOKED, EXPIRED),
            (EXPIRED, 0, EXPIRED),
            (SELF_SIGNED, 0, SELF_SIGNED),
            (SELF_SIGNED, NO_LIST, SELF_SIGNED),
            (0, NO_LIST, NO_LIST),
            (EXPIRED, NO_LIST, EXPIRED),
        ):
            self.assertEqual(graver(first, second), kept)


class FieldTests(SynchronousTestCase):
    """What upstream is told."""

    def test_no_certificate(self) -> None:
        """Without one there is nothing to tell but that."""
        for evidence in (None, ClientEvidence(AUTHENTICATION)):
            told = ClientCertificateFields(True).fields(evidence)
            self.assertEqual(told, ((b"ssl-client-verify", b"NONE"),))

    def test_hostile_names(self) -> None:
        """Neither the name in a certificate nor a reason can begin a field of its own."""
        for error in (0, SELF_SIGNED):
            told = ClientCertificateFields(True).fields(shown(error))
            self.assertEqual(
                [name for name, _ in told],
                [b"ssl-client-verify", b"ssl-client-subject-dn", b"ssl-client-issuer-dn", b"ssl-client-cert"],
            )
            for _, value in told:
                self.assertTrue(value.decode("ascii").isprintable())
            self.assertEqual(told[1][1], rb"CN=ann\0D\0AX: 1")
