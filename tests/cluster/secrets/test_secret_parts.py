"""Whether a Secret is as good as the one that it would replace."""

from datetime import UTC, datetime

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.secrets.secret_parts import has_good_part, refusal
from ingress.model.cluster.objects import ObjectKey, Secret
from ingress.model.cluster.secrets import CLIENT_AUTHENTICATION_KEYS, TLS_KEYS, UPSTREAM_TLS_KEYS
from tests.fakes.certificates import issue, make_authority, revoke

NOW = datetime.now(UTC)
CA = {"ca.crt": make_authority().pem}
PAIR = dict(zip(("tls.crt", "tls.key"), issue(make_authority(), ["a.test"]), strict=True))


def secret(content: dict[str, bytes], asked: frozenset[str] = UPSTREAM_TLS_KEYS) -> Secret:
    """A Secret of which *asked* is needed."""
    return Secret(ObjectKey("demo", "s"), "Opaque", content, asked)


class RefusalTests(SynchronousTestCase):
    """Which Secrets must not replace which."""

    def test_part_by_part(self) -> None:
        """A part that turns bad or vanishes is refused where the same part was good, and only there."""
        bad: tuple[dict[str, bytes], ...] = ({}, {"ca.crt": b"x"}, {"ca.crt": b""})
        for content in bad:
            error = refusal(secret(PAIR | CA), secret(PAIR | content))
            assert error is not None
            self.assertTrue(error.message.startswith("ca.crt: "))
            self.assertIsNone(refusal(secret(PAIR), secret(PAIR | content)))
        error = refusal(secret(PAIR | CA), secret(CA))
        assert error is not None
        self.assertTrue(error.message.startswith("tls.crt: "))
        self.assertIsNone(refusal(secret(CA), secret(CA)))

    def test_revocations(self) -> None:
        """Revocation lists that cannot be read are refused; that there are none any more is not."""
        asked = CLIENT_AUTHENTICATION_KEYS
        error = refusal(secret(CA, asked), secret(CA | {"ca.crl": b"x"}, asked))
        assert error is not None
        self.assertTrue(error.message.startswith("ca.crl: "))
        authority = make_authority()
        lists = {"ca.crl": revoke(authority)}
        self.assertIsNone(refusal(secret(CA | lists, asked), secret(CA, asked)))
        self.assertIsNone(refusal(secret(CA, asked), secret(CA | lists, asked)))

    def test_what_nobody_asks_for(self) -> None:
        """A part that is not there because nobody asks for it any more is no loss."""
        self.assertIsNone(refusal(secret(PAIR | CA), secret(PAIR, TLS_KEYS)))
        self.assertIsNone(refusal(secret(PAIR | CA), secret(CA, frozenset({"ca.crt"}))))

    def test_good_parts(self) -> None:
        """A Secret has a good part if it has a key pair or an authority that can be used."""
        for content, expected in (
            (PAIR, True),
            (CA, True),
            ({}, False),
            ({"tls.crt": PAIR["tls.crt"]}, False),
        ):
            self.assertIs(has_good_part(secret(content)), expected)
