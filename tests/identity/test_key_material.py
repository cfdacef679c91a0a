"""Whatever holds a private key shows nothing of it: no repr, no text, no message of an error."""

import traceback
from collections.abc import Iterator
from datetime import UTC, datetime

from attrs import evolve
from OpenSSL import SSL
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import AnnotationReader
from ingress.cluster.store import Changes, Store
from ingress.identity.certificates import Certificate, CertificateError, CertificateTable
from ingress.identity.key_pairs import load_certificate
from ingress.identity.misdirected import ServerNames
from ingress.model.cluster.objects import Kind, ObjectKey, Projection, Secret
from ingress.model.stepwise import finished
from ingress.tls.context_building import build_context
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate
from ingress.translate.incremental import Translation
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, IngressRule, IngressTLS
from ingress.translate.readers.ingress.rules import read_ingress
from ingress.translate.tls.certificates import load, read_tls
from ingress.translate.translate import translate
from tests.fakes.certificates import issue, make_authority

NOW = datetime.now(UTC)
KEY = ObjectKey("shop", "tls")
CHAIN, PRIVATE = issue(make_authority(), ["a.test"])
SECRET = Secret(KEY, "kubernetes.io/tls", {"tls.crt": CHAIN, "tls.key": PRIVATE})
CERTIFICATE = load_certificate(SECRET)
INGRESS = Ingress(
    ObjectKey("shop", "app"),
    class_name="nginx",
    rules=(IngressRule("a.test", None),),
    tls=(IngressTLS(("a.test",), "tls"),),
)


def texts(thing: object) -> Iterator[str]:
    """Yield all that somebody could have shown of *thing* without asking for the key."""
    yield from (repr(thing), str(thing), f"{thing}", f"{thing!a}", repr([thing]), repr({"thing": thing}))
    if hasattr(thing, "__dict__"):
        yield repr(vars(thing))


class KeyMaterialTests(SynchronousTestCase):
    """Values and services that hold keys."""

    def check(self, *things: object) -> None:
        """Look for the key in all texts of *things*."""
        lines = [line for line in PRIVATE.decode().splitlines() if "-----" not in line]
        self.assertGreater(len(lines), 1)
        for thing in things:
            for text in texts(thing):
                self.assertNotIn("PRIVATE KEY", text)
                for line in lines:
                    self.assertNotIn(line, text)

    def test_values(self) -> None:
        """Secrets, certificates, and everything that is made of them."""
        table = CertificateTable({"a.test": (CERTIFICATE,)}, {}, CERTIFICATE)
        reading = finished(
            read_tls(
                finished(read_ingress(INGRESS, AnnotationReader("test"))), lambda key: load(SECRET), None, NOW
            )
        )
        self.assertEqual(len(reading.claims), 1)
        generated = generate_certificate(NOW)
        self.assertIsInstance(generated, Certificate)
        self.check(SECRET, Projection(SECRET), CERTIFICATE, table, ServerNames(table), reading, generated)

    def test_translation(self) -> None:
        """The store, the state, and snapshots of both translations."""
        store = Store()
        changes = store.changed(
            {(Kind.SECRET, KEY): Projection(SECRET), (Kind.INGRESS, INGRESS.key): Projection(INGRESS)}
        )
        self.assertIsInstance(changes, Changes)
        snapshot = translate(store.state(), TranslateOptions(), NOW)
        self.assertEqual(snapshot.certificates.exact["a.test"], (CERTIFICATE,))
        translation = Translation(TranslateOptions())
        translation.mark_everything(store.state())
        for _ in translation.round(store.state(), NOW):
            pass
        self.check(store, store.state(), changes, snapshot, translation, translation.snapshot)

    def test_contexts(self) -> None:
        """Contexts, connections and what hangs on them."""
        contexts = ServerContexts(CERTIFICATE)
        contexts.publish(CertificateTable({"a.test": (CERTIFICATE,)}))
        connection = contexts.serverConnectionForTLS(None)
        self.check(contexts, connection, connection.get_context())

    def test_errors(self) -> None:
        """What is raised for a broken Secret, with its traceback, and the log's form of it."""
        for content in (
            {"tls.crt": PRIVATE, "tls.key": CHAIN},
            {"tls.crt": CHAIN, "tls.key": PRIVATE.replace(b"\n", b"\n!", 2)},
            {"tls.crt": issue(make_authority(), ["b.test"])[0], "tls.key": PRIVATE},
            {"tls.key": PRIVATE},
        ):
            try:
                load_certificate(Secret(KEY, "kubernetes.io/tls", content))
            except CertificateError as error:
                failure = Failure()
                self.check(error, error.message, traceback.format_exc(), failure, failure.getTraceback())
            else:
                self.fail("not refused")

    def test_openssl(self) -> None:
        """What OpenSSL says against a pair that it refuses."""
        other = load_certificate(
            Secret(
                KEY,
                "kubernetes.io/tls",
                dict(zip(("tls.crt", "tls.key"), issue(make_authority(), ["b"]), strict=True)),
            )
        )
        mixed = evolve(other, key_pem=CERTIFICATE.key_pem)
        try:
            build_context(SSL.TLS1_2_VERSION, (mixed,))
        except SSL.Error as error:
            self.check(error, traceback.format_exc(), Failure())
        else:
            self.fail("not refused")
