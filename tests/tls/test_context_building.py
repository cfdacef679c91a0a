"""Tests for ``ingress.tls.context_building``: what contexts of the same authorities have in common."""

import gc

from attrs import evolve
from OpenSSL import SSL, crypto
from OpenSSL._util import lib
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.requests.client_authentication import ClientAuthentication, VerifyClient
from ingress.tls import context_building
from ingress.tls.context_building import build_context
from tests.fakes.certificates import make_authority, revoke

PEOPLE = make_authority("People")
ASKS = ClientAuthentication("Secret shop/people", PEOPLE.pem, revoke(PEOPLE))


def build(authentication: ClientAuthentication) -> SSL.Context:
    return build_context(SSL.TLS1_2_VERSION, (), authentication=authentication)


def store_of(context: SSL.Context) -> object:
    """Return what OpenSSL has as the store of *context*."""
    store = context.get_cert_store()
    assert store is not None
    return store._store


class SharedStoreTests(SynchronousTestCase):
    """Authorities and revocation lists are read once for all hosts that ask for them."""

    def test_shared(self) -> None:
        """Whatever else hosts ask for differently, those of equal authorities and lists have one store, and others have another."""
        first = build(ASKS)
        again = evolve(ASKS, ca_pem=bytes(bytearray(ASKS.ca_pem)), mode=VerifyClient.OPTIONAL, depth=3)
        self.assertEqual(store_of(build(again)), store_of(first))
        for other in (
            evolve(ASKS, crl_pem=b""),
            evolve(ASKS, crl_pem=revoke(PEOPLE) + revoke(make_authority("Others"))),
            evolve(ASKS, ca_pem=make_authority("Others").pem, crl_pem=b""),
        ):
            self.assertNotEqual(store_of(build(other)), store_of(first))

    def test_names(self) -> None:
        """Each of them names the authorities to its clients."""
        contexts = [build(ASKS), build(ASKS)]
        for context in contexts:
            connection = SSL.Connection(context, None)
            connection.set_accept_state()
            self.assertEqual([name.commonName for name in connection.get_client_ca_list()], ["People"])

    def test_kept_no_longer(self) -> None:
        """With the last context that has it a store is gone, as it may have megabytes."""
        asks = evolve(ASKS, ca_pem=make_authority("Passing").pem)
        key = asks.ca_pem, asks.crl_pem
        contexts = [build(asks), build(asks)]
        contexts.pop()
        gc.collect()
        self.assertIn(key, context_building._trusts)
        contexts.clear()
        gc.collect()
        self.assertNotIn(key, context_building._trusts)

    def test_refused(self) -> None:
        """A list that OpenSSL does not take is refused, and leaves nothing for whoever asks OpenSSL next."""
        damaged = evolve(
            ASKS, crl_pem=b"-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n", source="Secret shop/x"
        )
        with self.assertRaisesRegex(ValueError, "revocation list"):
            build(damaged)
        self.assertEqual(lib.ERR_peek_error(), 0)
        self.assertIsInstance(build(ASKS).get_cert_store(), crypto.X509Store)
