"""What Gateways and ListenerSets ask of TLS."""

from collections.abc import Collection

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.problems import Reason
from ingress.model.requests.client_authentication import VerifyClient
from ingress.translate.gateway.handshake_requests import ClientValidation
from ingress.translate.readers.gateway.objects.gateways import (
    FrontendValidation,
    Gateway,
    GatewayListener,
    ListenerSet,
    ListenerTls,
)
from ingress.translate.readers.gateway.objects.names import GATEWAY, LISTENER_SET, ObjectReference
from ingress.translate.readers.gateway.topology.attachments import ListenerCertificate, ListenerState
from ingress.translate.readers.gateway.topology.gateway_tls import (
    BACKEND_FIELD,
    backend_certificate_of,
    gateway_tls_of,
    needs_of,
)

KEY = ObjectKey("infra", "gate")
CA = ObjectReference("", "ConfigMap", "", "ca")
ELSEWHERE = ObjectReference("", "ConfigMap", "web", "ca")
CERTIFICATE = ObjectReference("", "Secret", "", "cert")


class Granted:
    """Permits what is in a list, and what is in the same namespace."""

    def __init__(self, granted: Collection[ObjectKey] = ()) -> None:
        self._granted = granted

    def permits(
        self, group: str, kind: str, namespace: str, to_group: str, to_kind: str, to: ObjectKey
    ) -> bool:
        """Whether *to* is permitted."""
        assert (group, kind, to_group) == ("gateway.networking.k8s.io", "Gateway", "")
        return to.namespace == namespace or to in self._granted


def listener(port: int, protocol: str = "HTTPS", owner: Owner | None = None) -> ListenerState:
    """A listener as the topology has it."""
    gateway = Owner(GATEWAY, KEY)
    tls = ListenerTls("Terminate", (CERTIFICATE,))
    field = f"spec.listeners[{port}]"
    certificates = (ListenerCertificate(ObjectKey("infra", "cert"), f"{field}.tls.certificateRefs[0]"),)
    return ListenerState(
        owner or gateway,
        gateway,
        f"l{port}",
        port,
        protocol,
        "",
        (),
        f"gateway *:{port}",
        field,
        tls,
        certificates=certificates,
    )


def asked(
    *authorities: ObjectReference, mode: str = "AllowValidOnly", at: str = "default"
) -> FrontendValidation:
    """What a Gateway asks of clients."""
    return FrontendValidation(authorities, mode, f"spec.tls.frontend.{at}.validation")


def validations(
    gateway: Gateway, *ports: int, granted: Collection[ObjectKey] = ()
) -> list[ClientValidation | None]:
    """What the listeners of *ports* ask of clients."""
    found = gateway_tls_of([listener(port) for port in ports], gateway, Granted(granted))
    return [one.validation for one in found.handshakes]


class HandshakeRequestTests(SynchronousTestCase):
    """``gateway_tls_of``."""

    def test_listeners_over_tls(self) -> None:
        """Listeners over TLS have handshakes, with their certificates; only those of HTTPS ask clients for any."""
        gateway = Gateway(KEY, frontend=asked(CA))
        listeners = [listener(80, "HTTP"), listener(443), listener(8443, "TLS"), listener(9000, "TCP")]
        found = gateway_tls_of(listeners, gateway, Granted()).handshakes
        self.assertEqual([one.table for one in found], ["gateway *:443", "gateway *:8443"])
        self.assertEqual([one.validation is not None for one in found], [True, False])
        self.assertEqual(found[0].certificates[0].field, "spec.listeners[443].tls.certificateRefs[0]")

    def test_listener_sets(self) -> None:
        """A ListenerSet has the client certificates of its Gateway, which refers to their authorities."""
        owner = Owner(LISTENER_SET, ObjectKey("web", "more"))
        gateway = Gateway(KEY, frontend=asked(CA))
        (found,) = gateway_tls_of([listener(443, owner=owner)], gateway, Granted()).handshakes
        assert found.validation is not None
        self.assertEqual(found.owner, owner)
        self.assertEqual(found.validation.authorities[0].key, ObjectKey("infra", "ca"))

    def test_per_port(self) -> None:
        """What is said of a port holds there alone, and in place of what is said of all, be it nothing."""
        per_port = ((8443, asked(CA, mode="AllowInsecureFallback", at="perPort[0]")), (9443, None))
        gateway = Gateway(KEY, frontend=asked(CA), frontend_by_port=per_port)
        usual, own, nothing = validations(gateway, 443, 8443, 9443)
        assert usual is not None and own is not None
        self.assertEqual((usual.mode, own.mode), (VerifyClient.VALID_ONLY, VerifyClient.ANY))
        self.assertEqual(own.field, "spec.tls.frontend.perPort[0].validation")
        self.assertIsNone(nothing)

    def test_authorities(self) -> None:
        """Authorities are in ConfigMaps or Secrets, those of other namespaces with a grant; all others are told."""
        named = (
            ObjectReference("", "Secret", "", "ca"),
            ObjectReference("", "Service", "", "ca"),
            ObjectReference("example.com", "ConfigMap", "", "ca"),
            ELSEWHERE,
        )
        gateway = Gateway(KEY, frontend=asked(*named))
        (found,) = validations(gateway, 443)
        assert found is not None
        self.assertEqual(
            [(one.kind, one.key.namespace) for one in found.authorities], [(Kind.SECRET, "infra")]
        )
        self.assertEqual(
            [one.reason for one in found.faults],
            [Reason.INVALID_CA_KIND, Reason.INVALID_CA_KIND, Reason.REFERENCE_NOT_PERMITTED],
        )
        self.assertIn("no ReferenceGrant of the namespace web", found.faults[2].message)
        self.assertEqual(found.faults[2].field, "spec.tls.frontend.default.validation.caCertificateRefs[3]")
        (granted,) = validations(gateway, 443, granted=[ObjectKey("web", "ca")])
        assert granted is not None
        self.assertEqual(len(granted.authorities), 2)

    def test_unknown_mode(self) -> None:
        """A mode that nobody knows lets in only who shows a valid certificate."""
        (found,) = validations(Gateway(KEY, frontend=asked(CA, mode="Whatever\n")), 443)
        assert found is not None
        self.assertIs(found.mode, VerifyClient.VALID_ONLY)
        self.assertEqual([one.reason for one in found.faults], [Reason.UNSUPPORTED_VALUE])


class BackendCertificateTests(SynchronousTestCase):
    """``backend_certificate_of``."""

    def test_permitted(self) -> None:
        """What is shown to endpoints is in a Secret of the Gateway's namespace, or one that a grant permits."""
        for reference, granted in (
            (CERTIFICATE, []),
            (ObjectReference("", "Secret", "web", "cert"), [ObjectKey("web", "cert")]),
        ):
            gateway = Gateway(KEY, backend_certificate=reference)
            found, problems = backend_certificate_of(gateway, Granted(granted))
            self.assertEqual((found, problems), ((reference.key(KEY), BACKEND_FIELD), ()))
        self.assertEqual(backend_certificate_of(Gateway(KEY), Granted()), (None, ()))

    def test_refused(self) -> None:
        """Anything else is told, and shown to nobody."""
        for reference, reason in (
            (ObjectReference("", "Secret", "web", "cert"), Reason.REFERENCE_NOT_PERMITTED),
            (ObjectReference("example.com", "Secret", "", "cert"), Reason.INVALID_CLIENT_CERTIFICATE_REF),
            (ObjectReference("", "ConfigMap", "", "cert"), Reason.INVALID_CLIENT_CERTIFICATE_REF),
        ):
            found, (problem,) = backend_certificate_of(Gateway(KEY, backend_certificate=reference), Granted())
            self.assertIsNone(found)
            self.assertEqual((problem.reason, problem.field), (reason, BACKEND_FIELD))


class NeedsTests(SynchronousTestCase):
    """``needs_of``."""

    def test_all(self) -> None:
        """All that is named is needed, permitted or not, with the keys of each; what no object can be called is not."""
        bad = ObjectReference("", "Secret", "", "../../x")
        tls = ListenerTls("Terminate", (CERTIFICATE, bad, ObjectReference("g", "Secret", "", "other")))
        gateway = Gateway(
            KEY,
            listeners=(GatewayListener("a", 443, "HTTPS", tls=tls), GatewayListener("b", 80, "HTTP")),
            backend_certificate=ObjectReference("", "Secret", "web", "mine"),
            frontend=asked(
                CA, ObjectReference("", "Secret", "", "cert"), ObjectReference("", "Service", "", "s")
            ),
            frontend_by_port=((443, asked(ELSEWHERE)), (8443, None)),
        )
        pair = frozenset({"tls.crt", "tls.key"})
        ca = frozenset({"ca.crt"})
        self.assertEqual(
            needs_of(gateway, Kind.SECRET),
            {ObjectKey("infra", "cert"): pair | ca, ObjectKey("web", "mine"): pair},
        )
        self.assertEqual(
            needs_of(gateway, Kind.CONFIG_MAP), {ObjectKey("infra", "ca"): ca, ObjectKey("web", "ca"): ca}
        )
        more = ListenerSet(ObjectKey("web", "more"), listeners=(GatewayListener("a", 443, "HTTPS", tls=tls),))
        self.assertEqual(needs_of(more, Kind.SECRET), {ObjectKey("web", "cert"): pair})
        self.assertEqual(needs_of(more, Kind.CONFIG_MAP), {})
