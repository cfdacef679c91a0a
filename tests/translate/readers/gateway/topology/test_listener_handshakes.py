"""Handshakes of Gateways' listeners in translation, all at once and change by change."""

import random
from datetime import timedelta

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ClusterObject, ConfigMap, Kind, ObjectKey, Secret
from ingress.model.cluster.problems import Reason
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.translate.readers.gateway.objects.gateways import FrontendValidation, Gateway, ListenerTls
from ingress.translate.readers.gateway.objects.grants import GrantedFrom, GrantedTo, ReferenceGrant
from ingress.translate.readers.gateway.objects.names import GATEWAY, GROUP, LISTENER_SET, ObjectReference
from ingress.translate.snapshot import Snapshot
from tests.fakes.certificates import issue, make_authority
from tests.translate.golden import NOW
from tests.translate.readers.gateway.following import Following
from tests.translate.readers.gateway.gateway_values import ANY, gateway, listener, listener_set

ISSUER, PEOPLE = make_authority(not_before=NOW, not_after=NOW + timedelta(days=900)), make_authority("People")
TABLE = "gateway *:443"
FIELD = "spec.listeners[0].tls.certificateRefs[0]"


def secret(name: str, namespace: str = "infra", *, lasts: timedelta = timedelta(days=90)) -> Secret:
    """A Secret with a certificate."""
    chain, key = issue(ISSUER, [f"{name}.com"], not_before=NOW, not_after=NOW + lasts)
    return Secret(ObjectKey(namespace, name), "kubernetes.io/tls", {"tls.crt": chain, "tls.key": key})


def naming(*names: str, namespace: str = "") -> ListenerTls:
    """The TLS of a listener."""
    return ListenerTls(certificates=tuple(ObjectReference("", "Secret", namespace, one) for one in names))


def grant(name: str = "secrets", to: str = "Secret", of: Kind = GATEWAY) -> ReferenceGrant:
    """What permits Gateways of ``infra`` to refer to objects in ``web``."""
    return ReferenceGrant(ObjectKey("web", name), (GrantedFrom(GROUP, of, "infra"),), (GrantedTo("", to),))


def asking(value: Gateway, *authorities: str, namespace: str = "") -> Gateway:
    """*value*, which asks clients for certificates of ConfigMaps with authorities."""
    named = tuple(ObjectReference("", "ConfigMap", namespace, one) for one in authorities)
    frontend = FrontendValidation(named, "AllowValidOnly", "spec.tls.frontend.default.validation")
    return evolve(value, frontend=frontend)


def shown(snapshot: Snapshot, name: str, table: str = TABLE) -> list[str]:
    """The Secrets whose certificates are shown for *name*."""
    return [str(one.secret) for one in snapshot.others[table].certificates.find(name)]


def asked(snapshot: Snapshot, name: str, table: str = TABLE) -> ClientAuthentication | None:
    """What is asked of clients."""
    return snapshot.others[table].handshake_settings.find(name).client_authentication


class ListenerHandshakeTests(SynchronousTestCase):
    """What tables of Gateways show and ask."""

    def setUp(self) -> None:
        self.following = Following(self)

    def reasons(self, snapshot: Snapshot) -> list[tuple[str, Reason, str]]:
        """Whom *snapshot* tells something, and why."""
        return [(one.kind, one.reason, one.field) for one in snapshot.problems]

    def test_secret_comes_and_goes(self) -> None:
        """A listener shows its certificate from the change on that brings the Secret, until the one that takes it."""
        own = gateway("gate", listener("tls", 443, "HTTPS", tls=naming("own")))
        found = self.following.put(own)
        self.assertEqual(shown(found, "a.com"), [])
        self.assertEqual(self.reasons(found), [("Gateway", Reason.SECRET_NOT_FOUND, FIELD)])
        found = self.following.put(secret("own"))
        self.assertEqual((shown(found, "a.com"), self.reasons(found)), (["infra/own"], []))
        found = self.following.drop(secret("own"))
        self.assertEqual(shown(found, "a.com"), [])

    def test_withdrawn_grant(self) -> None:
        """A certificate of another namespace is shown as long as a grant permits it, and no copy of it any longer."""
        own = gateway("gate", listener("tls", 443, "HTTPS", tls=naming("theirs", namespace="web")))
        found = self.following.put(own, secret("theirs", "web"))
        self.assertEqual(shown(found, "a.com"), [])
        self.assertEqual(self.reasons(found), [("Gateway", Reason.REFERENCE_NOT_PERMITTED, FIELD)])
        found = self.following.put(grant())
        self.assertEqual((shown(found, "a.com"), self.reasons(found)), (["web/theirs"], []))
        found = self.following.put(grant(of=LISTENER_SET))
        self.assertEqual(shown(found, "a.com"), [])
        self.following.put(grant())
        found = self.following.drop(grant())
        self.assertEqual(shown(found, "a.com"), [])
        self.assertEqual(self.reasons(found), [("Gateway", Reason.REFERENCE_NOT_PERMITTED, FIELD)])

    def test_bad_copy_and_withdrawn_grant(self) -> None:
        """A Secret that became bad is shown as it was, while it is permitted and not a moment longer."""
        own = gateway("gate", listener("tls", 443, "HTTPS", tls=naming("theirs", namespace="web")))
        self.following.put(own, secret("theirs", "web"), grant())
        found = self.following.put(evolve(secret("theirs", "web"), content={}))
        self.assertEqual(shown(found, "a.com"), ["web/theirs"])
        self.assertIn(("Gateway", Reason.INVALID_CERTIFICATE_REF, FIELD), self.reasons(found))
        self.assertEqual(shown(self.following.drop(grant()), "a.com"), [])

    def test_listener_sets(self) -> None:
        """A ListenerSet names its own certificates, in its own namespace, and asks what its Gateway asks."""
        authorities = ConfigMap(ObjectKey("infra", "people"), {"ca.crt": PEOPLE.pem.decode()})
        own = gateway("gate", listener("tls", 443, "HTTPS", tls=naming("own")), listener_sets=ANY)
        more = listener_set(
            "more",
            "gate",
            listener("more", 443, "HTTPS", "*.more.com", tls=naming("theirs")),
            namespace="web",
        )
        found = self.following.put(
            asking(own, "people"), more, secret("own"), secret("theirs", "web"), authorities
        )
        for name, expected in (("x.y.more.com", "web/theirs"), ("more.com", "infra/own")):
            self.assertEqual(shown(found, name), [expected])
            authentication = asked(found, name)
            assert authentication is not None
            self.assertEqual(authentication.source, "ConfigMap infra/people")
        found = self.following.drop(authorities)
        self.assertEqual((shown(found, "x.more.com"), shown(found, "a.com")), ([], []))
        field = "spec.tls.frontend.default.validation"
        self.assertEqual(
            self.reasons(found),
            [
                ("Gateway", Reason.INVALID_CA_REF, f"{field}.caCertificateRefs[0]"),
                ("Gateway", Reason.NO_VALID_CA, field),
            ],
        )

    def test_authorities_of_another_namespace(self) -> None:
        """Authorities of another namespace count as long as a grant permits them."""
        authorities = ConfigMap(ObjectKey("web", "people"), {"ca.crt": PEOPLE.pem.decode()})
        own = gateway("gate", listener("tls", 443, "HTTPS", tls=naming("own")))
        found = self.following.put(asking(own, "people", namespace="web"), secret("own"), authorities)
        self.assertEqual(shown(found, "a.com"), [])
        permits = grant("people", "ConfigMap")
        self.assertIsNotNone(asked(self.following.put(permits), "a.com"))
        found = self.following.drop(permits)
        self.assertEqual((shown(found, "a.com"), asked(found, "a.com")), ([], None))

    def test_time(self) -> None:
        """That a certificate ends is told when it does."""
        own = gateway("gate", listener("tls", 443, "HTTPS", tls=naming("own")))
        self.following.put(own, secret("own", lasts=timedelta(hours=1)))
        self.assertEqual(self.following.translation.seconds_to_next(NOW), 3600.0)
        found = self.following.put(now=NOW + timedelta(hours=2))
        self.assertEqual(self.reasons(found), [("Gateway", Reason.CERTIFICATE_EXPIRED, FIELD)])
        self.assertEqual(shown(found, "a.com"), ["infra/own"])

    def test_one_change_concerns_one_object(self) -> None:
        """A Secret that nobody but one Gateway names makes no other table another."""
        many = [
            gateway(f"gate{at}", listener("tls", 1000 + at, "HTTPS", tls=naming(f"own{at % 3}")))
            for at in range(30)
        ]
        before = self.following.put(*many, *(secret(f"own{at}") for at in range(3)))
        after = self.following.put(secret("own0"))
        other = [name for name in after.others if after.others[name] is not before.others[name]]
        self.assertEqual(len(other), 10)

    def test_random_histories(self) -> None:
        """Whatever comes and goes in whatever order, the result is that of a full translation."""
        chance = random.Random(17)
        hostnames = ("", "a.com", "*.com", "*.a.com", "b.a.com")

        def references() -> ListenerTls:
            picked = chance.choices(("one", "two", "bad"), k=chance.randint(0, 3))
            return naming(*picked, namespace=chance.choice(("", "web")))

        def any_listener(name: str) -> ClusterObject:
            listeners = [
                listener(
                    f"l{at}",
                    chance.choice((443, 8443)),
                    chance.choice(("HTTPS", "HTTPS", "TLS", "HTTP")),
                    chance.choice(hostnames),
                    tls=references(),
                )
                for at in range(3)
            ]
            listeners = [evolve(one, tls=None) if one.protocol == "HTTP" else one for one in listeners]
            created = chance.choice(("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"))
            if name == "more":
                return listener_set("more", "gate0", *listeners, namespace="web", created=created)
            made = gateway(name, *listeners, created=created, listener_sets=ANY)
            if chance.random() < 0.5:
                made = asking(
                    made, *chance.choices(("people", "bad"), k=2), namespace=chance.choice(("", "web"))
                )
            return made

        pairs = {
            (name, namespace): [secret(name, namespace), secret(name, namespace, lasts=timedelta(hours=1))]
            for name in ("one", "two")
            for namespace in ("infra", "web")
        }
        for _ in range(6):
            self.following = Following(self)
            for step in range(25):
                namespace = chance.choice(("infra", "web"))
                value: ClusterObject
                match chance.randint(0, 5):
                    case 0 | 1:
                        value = any_listener(chance.choice(("gate0", "gate1", "more")))
                    case 2:
                        value = chance.choice(pairs[chance.choice(("one", "two")), namespace])
                    case 3:
                        value = Secret(ObjectKey(namespace, "bad"), "Opaque", {"tls.crt": b"x"})
                    case 4:
                        name, text = chance.choice((("people", PEOPLE.pem.decode()), ("bad", "x")))
                        value = ConfigMap(ObjectKey(namespace, name), {"ca.crt": text})
                    case _:
                        value = grant(
                            chance.choice(("g", "h")),
                            chance.choice(("Secret", "ConfigMap")),
                            chance.choice((GATEWAY, LISTENER_SET)),
                        )
                change = self.following.drop if chance.random() < 0.3 else self.following.put
                change(value, now=NOW + timedelta(minutes=10 * step))
