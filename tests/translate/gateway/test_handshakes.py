"""What becomes of the handshakes of Gateways' listeners."""

from datetime import UTC, datetime, timedelta

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.certificates import Certificate
from ingress.model.cluster.objects import ConfigMap, Kind, ObjectKey, Owner, Secret
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.requests.client_authentication import VerifyClient
from ingress.model.stepwise import finished
from ingress.translate.gateway.faults import Fault
from ingress.translate.gateway.handshake_requests import (
    ClientValidation,
    HandshakeRequest,
    NamedAuthorities,
    NamedCertificate,
)
from ingress.translate.gateway.handshakes import (
    HandshakeTables,
    ListenerHandshake,
    decide_handshake,
    tables_of,
    translate_handshakes,
)
from ingress.translate.options import TranslateOptions
from ingress.translate.tls.authorities import MOST_AUTHORITIES
from ingress.translate.tls.certificates import find
from tests.fakes.certificates import KeyType, issue, make_authority
from tests.fakes.counting import longest_step

NOW = datetime.now(UTC)
ISSUER, PEOPLE, OTHERS = make_authority(), make_authority("People"), make_authority("Others")
GATEWAY = Owner(Kind("Gateway"), ObjectKey("infra", "gate"), "2026-01-01T00:00:00Z")
FIELD = "spec.listeners[0]"
TABLE = "gateway *:443"
VALIDATION_FIELD = "spec.tls.frontend.default.validation"


def key(name: str) -> ObjectKey:
    """A key in the namespace of the Gateway."""
    return ObjectKey("infra", name)


def secret(name: str, *names: str, key_type: KeyType = "ec", not_after: datetime | None = None) -> Secret:
    """A Secret with a certificate for *names*."""
    chain, private = issue(ISSUER, names, key_type, not_after=not_after)
    return Secret(key(name), "kubernetes.io/tls", {"tls.crt": chain, "tls.key": private})


def config_map(name: str, text: str) -> ConfigMap:
    """A ConfigMap with authorities."""
    return ConfigMap(key(name), {"ca.crt": text})


def state(
    *objects: Secret | ConfigMap, problems: dict[tuple[Kind, ObjectKey], tuple[Problem, ...]] | None = None
) -> ClusterState:
    """A state of these."""
    maps = {one.key: one for one in objects if isinstance(one, ConfigMap)}
    secrets = {one.key: one for one in objects if isinstance(one, Secret)}
    return ClusterState(objects={Kind.CONFIG_MAP: maps}, secrets=secrets, problems_of=problems or {})


def request(
    *certificates: str, hostname: str = "", validation: ClientValidation | None = None, owner: Owner = GATEWAY
) -> HandshakeRequest:
    """What a listener asks for."""
    named = tuple(
        NamedCertificate(key(name), f"{FIELD}.tls.certificateRefs[{at}]")
        for at, name in enumerate(certificates)
    )
    return HandshakeRequest(owner, TABLE, hostname, FIELD, named, validation)


def validation(
    *maps: str, mode: VerifyClient = VerifyClient.VALID_ONLY, faults: tuple[Fault, ...] = ()
) -> ClientValidation:
    """What is asked of clients, by the authorities of ConfigMaps."""
    named = tuple(
        NamedAuthorities(Kind.CONFIG_MAP, key(name), f"{VALIDATION_FIELD}.caCertificateRefs[{at}]")
        for at, name in enumerate(maps)
    )
    return ClientValidation(GATEWAY, mode, named, faults, VALIDATION_FIELD)


def decide(asked: HandshakeRequest, within: ClusterState) -> ListenerHandshake:
    """What becomes of it."""
    return decide_handshake(asked, lambda one: find(one, within, TranslateOptions()), within, NOW)


class HandshakesCase(SynchronousTestCase):
    """What all of these look at."""

    def check_problems(self, found: ListenerHandshake, *expected: tuple[Reason, str, str]) -> None:
        """Compare reasons and fields, and look for a part of each message."""
        self.assertEqual(
            [(one.reason, one.field) for one in found.problems],
            [(reason, field) for reason, field, _ in expected],
        )
        for one, (_, _, part) in zip(found.problems, expected, strict=True):
            self.assertIn(part, one.message)


class CertificateTests(HandshakesCase):
    """Certificates of a listener."""

    def test_several(self) -> None:
        """A listener shows all certificates that it names, whether or not they are for its hostname."""
        found = decide(
            request("rsa", "ec", hostname="a.com"),
            state(secret("rsa", "a.com", key_type="rsa"), secret("ec", "b.com")),
        )
        self.assertEqual([one.secret.name for one in found.certificates], ["rsa", "ec"])
        self.check_problems(found)

    def test_unusable(self) -> None:
        """What is missing or malformed is told where it is named, and the others are shown."""
        bad = Secret(key("bad"), "kubernetes.io/tls", {"tls.crt": b"Hello world", "tls.key": b"Hello world"})
        found = decide(request("missing", "bad", "good"), state(bad, secret("good", "a.com")))
        self.assertEqual([one.secret.name for one in found.certificates], ["good"])
        at = f"{FIELD}.tls.certificateRefs"
        self.check_problems(
            found,
            (Reason.SECRET_NOT_FOUND, f"{at}[0]", "there is no Secret infra/missing"),
            (Reason.INVALID_CERTIFICATE_REF, f"{at}[1]", "tls.crt"),
        )

    def test_very_many(self) -> None:
        """Those of very many listeners are put together in steps."""
        one = decide(request("good"), state(secret("good", "x.com")))
        many = [evolve(one, request=evolve(one.request, hostname=f"h{number}.com")) for number in range(3000)]
        self.assertLess(longest_step(tables_of(many)), 3000)
        self.assertEqual(len(finished(tables_of(many)).certificates.exact), 3000)

    def test_none(self) -> None:
        """Without any there is nothing to show, which is not what others show."""
        found = decide(request("missing", hostname="a.com"), state())
        self.assertEqual(found.certificates, ())
        both = [found, decide(request("good"), state(secret("good", "x.com")))]
        table = finished(tables_of(both)).certificates
        self.assertIsNone(table.named("a.com"))
        self.assertIsNotNone(table.named("b.com"))

    def test_expired(self) -> None:
        """An expired certificate is shown, and told."""
        old = secret("old", "a.com", not_after=NOW - timedelta(minutes=1))
        found = decide(request("old"), state(old))
        self.assertEqual(len(found.certificates), 1)
        self.check_problems(
            found, (Reason.CERTIFICATE_EXPIRED, f"{FIELD}.tls.certificateRefs[0]", "ended at")
        )

    def test_last_good_copy(self) -> None:
        """A Secret that became bad is told to who shows what it was."""
        kept = secret("kept", "a.com")
        message = "tls.crt: empty; the last good version stays in use"
        problem = Problem(Kind.SECRET, "infra", "kept", Reason.INVALID_CERTIFICATE, message)
        found = decide(request("kept"), state(kept, problems={(Kind.SECRET, kept.key): (problem,)}))
        self.assertEqual(len(found.certificates), 1)
        self.check_problems(
            found,
            (Reason.INVALID_CERTIFICATE_REF, f"{FIELD}.tls.certificateRefs[0]", "last good version stays"),
        )


class ClientTests(HandshakesCase):
    """What is asked of clients."""

    GOOD = secret("good", "a.com")

    def test_joined(self) -> None:
        """All authorities that are named count, those of ConfigMaps and of Secrets."""
        maps = [config_map("one", PEOPLE.pem.decode()), config_map("two", OTHERS.pem.decode())]
        found = decide(request("good", validation=validation("one", "two")), state(self.GOOD, *maps))
        asked = found.settings.client_authentication
        assert asked is not None
        self.assertEqual(asked.ca_pem, PEOPLE.pem + OTHERS.pem)
        self.assertEqual(asked.source, "ConfigMap infra/one and ConfigMap infra/two")
        self.check_problems(found)
        named = (NamedAuthorities(Kind.SECRET, key("ca"), "field"),)
        by_secret = ClientValidation(GATEWAY, VerifyClient.ANY, named, (), VALIDATION_FIELD)
        ca = Secret(key("ca"), "Opaque", {"ca.crt": PEOPLE.pem})
        found = decide(request("good", validation=by_secret), state(self.GOOD, ca))
        asked = found.settings.client_authentication
        assert asked is not None
        self.assertEqual((asked.ca_pem, asked.mode), (PEOPLE.pem, VerifyClient.ANY))

    def test_some_missing(self) -> None:
        """What cannot be had is told where it is named, and the others count."""
        one = config_map("one", PEOPLE.pem.decode())
        found = decide(request("good", validation=validation("gone", "one")), state(self.GOOD, one))
        asked = found.settings.client_authentication
        assert asked is not None
        self.assertEqual(asked.ca_pem, PEOPLE.pem)
        at = f"{VALIDATION_FIELD}.caCertificateRefs[0]"
        self.check_problems(found, (Reason.INVALID_CA_REF, at, "ConfigMap infra/gone: there is no such"))

    def test_none_valid(self) -> None:
        """Without any authority no handshake succeeds, in whatever mode, and what is wrong with each is told."""
        at = f"{VALIDATION_FIELD}.caCertificateRefs"
        fault = Fault(Reason.REFERENCE_NOT_PERMITTED, "no ReferenceGrant", f"{at}[3]")
        for mode in (VerifyClient.VALID_ONLY, VerifyClient.ANY):
            asked = validation("empty", "text", "gone", mode=mode, faults=(fault,))
            found = decide(
                request("good", validation=asked),
                state(self.GOOD, config_map("empty", ""), config_map("text", "Hello \U0001f600 \ud800")),
            )
            self.assertEqual(found.certificates, ())
            self.check_problems(
                found,
                (Reason.REFERENCE_NOT_PERMITTED, f"{at}[3]", "no ReferenceGrant"),
                (Reason.INVALID_CA_REF, f"{at}[0]", "ca.crt: empty"),
                (Reason.INVALID_CA_REF, f"{at}[1]", "no PEM certificates"),
                (Reason.INVALID_CA_REF, f"{at}[2]", "there is no such ConfigMap"),
                (Reason.NO_VALID_CA, VALIDATION_FIELD, "no handshake succeeds"),
            )

    def test_too_many(self) -> None:
        """Authorities are joined up to a bound; an object that goes beyond it is left out, and told."""
        many = config_map("many", PEOPLE.pem.decode() * MOST_AUTHORITIES)
        one = config_map("one", OTHERS.pem.decode())
        found = decide(request("good", validation=validation("many", "one")), state(self.GOOD, many, one))
        asked = found.settings.client_authentication
        assert asked is not None
        self.assertEqual(asked.source, "ConfigMap infra/many")
        self.check_problems(
            found,
            (
                Reason.INVALID_CA_REF,
                f"{VALIDATION_FIELD}.caCertificateRefs[1]",
                f"more than {MOST_AUTHORITIES}",
            ),
        )


class TableTests(SynchronousTestCase):
    """Tables of listeners."""

    def made(self, *requests: HandshakeRequest, within: ClusterState) -> HandshakeTables:
        """The one table that *requests* come to."""
        tables, _ = translate_handshakes(
            requests, lambda one: find(one, within, TranslateOptions()), within, NOW
        )
        self.assertEqual(list(tables), [TABLE])
        return tables[TABLE]

    def shown(self, table: HandshakeTables, name: str) -> list[str]:
        """The Secrets whose certificates are shown for *name*."""
        found: tuple[Certificate, ...] = table.certificates.find(name)
        return [one.secret.name for one in found]

    def test_hostnames(self) -> None:
        """Each hostname shows what its listener names."""
        within = state(*(secret(name, "x.com") for name in ("exact", "wide", "rest")))
        table = self.made(
            request("exact", hostname="a.b.com"),
            request("wide", hostname="*.b.com"),
            request("rest"),
            within=within,
        )
        for name, expected in (("a.b.com", "exact"), ("y.x.b.com", "wide"), ("b.com", "rest"), ("", "rest")):
            self.assertEqual(self.shown(table, name), [expected], name)
        self.assertEqual(sorted(table.settings.by_host), ["", "*.b.com", "a.b.com"])

    def test_fitting(self) -> None:
        """Of several certificates of a listener those are shown that are for the name, and one for each type of key."""
        within = state(
            secret("first", "other.com"),
            secret("wide", "*.b.com"),
            secret("own", "a.b.com"),
            secret("own-rsa", "a.b.com", key_type="rsa"),
        )
        table = self.made(request("first", "wide", "own", "own-rsa"), within=within)
        for name, expected in (
            ("a.b.com", ["own", "own-rsa"]),
            ("x.b.com", ["wide"]),
            ("unknown.org", ["first", "own-rsa"]),
            ("", ["first", "own-rsa"]),
        ):
            self.assertEqual(self.shown(table, name), expected, name)

    def test_twice(self) -> None:
        """Should two objects have the same hostname, the older has it, in whatever order they come."""
        within = state(secret("old", "a.com"), secret("young", "a.com"))
        old = request("old", hostname="a.com")
        young = request("young", hostname="a.com", owner=GATEWAY._replace(created="2026-02-01T00:00:00Z"))
        for requests in ((old, young), (young, old)):
            self.assertEqual(self.shown(self.made(*requests, within=within), "a.com"), ["old"])

    def test_not_served(self) -> None:
        """A listener that is not served is in no table, and what is wrong with it is told."""
        tables, problems = translate_handshakes(
            [evolve(request("missing"), table="")], lambda _: None, state(), NOW
        )
        self.assertEqual(tables, {})
        self.assertEqual([one.reason for one in problems], [Reason.SECRET_NOT_FOUND])
