"""Tests for the statuses of Gateways: cases of the official suite, and what its tests do not ask."""

from attrs import evolve

from ingress.model.cluster.object_meta import Address
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.translate.readers.gateway.objects.gateways import (
    AllowedNamespaces,
    FrontendValidation,
    GatewayAddress,
    GatewayClass,
    GatewayListener,
    ListenerTls,
    RouteKindName,
)
from ingress.translate.readers.gateway.objects.names import GROUP, ObjectReference
from tests.translate.readers.gateway.gateway_values import ANY, gateway, listener, listener_set, options_of
from tests.translate.readers.gateway.statuses.statuses_case import StatusCase

FINE = {
    "Accepted": ("True", "Accepted"),
    "Programmed": ("True", "Programmed"),
    "ResolvedRefs": ("True", "ResolvedRefs"),
}
NO_CONFLICT = {"Conflicted": ("False", "NoConflicts")}
HTTP = {"group": GROUP, "kind": "HTTPRoute"}
GRPC = {"group": GROUP, "kind": "GRPCRoute"}
PARAMETERS = ObjectReference("example.com", "Unknown", "", "x")
OTHER_SECRET = ListenerTls(certificates=(ObjectReference("", "Secret", "elsewhere", "certificate"),))


class WholeTests(StatusCase):
    """Conditions of the Gateway."""

    def test_fine(self) -> None:
        """A Gateway without a problem is accepted and programmed, and so are its listeners."""
        one = gateway("a")
        self.attached = {(one.owner, "http"): 2}
        self.given(one)
        self.assertEqual(self.conditions(one), FINE)
        self.assertEqual(self.listener(one), {**FINE, **NO_CONFLICT})
        self.assertEqual(
            self.listeners(one)["http"].fields,
            {"name": "http", "supportedKinds": [HTTP, GRPC], "attachedRoutes": 2},
        )

    def test_not_ours(self) -> None:
        """Nothing is said of a Gateway of another controller, or of no class that there is."""
        theirs = gateway("a", class_name="theirs")
        self.given(theirs, GatewayClass(ObjectKey("", "theirs"), controller="example.com/other"))
        self.assertFalse(self.report(theirs).is_ours)

    def test_invalid_parameters(self) -> None:
        """GatewayInvalidParametersRef: parameters that nothing is known of keep a Gateway from being accepted."""
        one = gateway("a", infrastructure=PARAMETERS)
        self.given(one)
        found = self.conditions(one)
        self.assertEqual(found["Accepted"], ("False", "InvalidParameters"))
        self.assertEqual(found["Programmed"], ("False", "Invalid"))
        self.assertEqual(self.listener(one)["Programmed"], ("False", "Pending"))

    def test_no_listener_accepted(self) -> None:
        """GatewayListenerUnsupportedProtocol: a Gateway is accepted if some listener is, and says that others are not."""
        invalid = listener("invalid", protocol="example.com/invalid")
        alone, beside = gateway("alone", invalid), gateway("beside", listener(), invalid)
        self.given(alone, beside)
        self.assertEqual(self.conditions(alone)["Accepted"], ("False", "ListenersNotValid"))
        self.assertEqual(self.conditions(beside)["Accepted"], ("True", "ListenersNotValid"))
        self.assertEqual(self.conditions(beside)["Programmed"], ("True", "Programmed"))
        for one in (alone, beside):
            self.assertEqual(self.listener(one, "invalid")["Accepted"], ("False", "UnsupportedProtocol"))
            self.assertEqual(self.listeners(one)["invalid"].fields["supportedKinds"], [])
        self.assertEqual(self.listener(beside)["Accepted"], ("True", "Accepted"))

    def test_backend_certificate(self) -> None:
        """GatewayInvalidTLSBackendConfiguration: a client certificate that is none breaks ResolvedRefs, and nothing else."""
        one = gateway("a")
        field = "spec.tls.backend.clientCertificateRef"
        for reason, word in (
            (Reason.SECRET_NOT_FOUND, "InvalidClientCertificateRef"),
            (Reason.INVALID_KIND, "InvalidClientCertificateRef"),
            (Reason.INVALID_CERTIFICATE, "InvalidClientCertificateRef"),
            (Reason.REFERENCE_NOT_PERMITTED, "RefNotPermitted"),
        ):
            self.given(one, problems=[one.owner.problem(reason, "is wrong", field)])
            self.assertEqual(self.conditions(one), {**FINE, "ResolvedRefs": ("False", word)})
            self.assertEqual(self.message(one, "ResolvedRefs"), f"{field}: is wrong")

    def test_listeners_not_resolved(self) -> None:
        """The Gateway sums up what its listeners refer to."""
        one = gateway("a", listener(), listener("tls", 443, "HTTPS", tls=OTHER_SECRET))
        self.given(one)
        self.assertEqual(self.conditions(one)["ResolvedRefs"], ("False", "ListenersNotResolved"))
        self.assertEqual(self.message(one, "ResolvedRefs"), "not resolved: tls")

    def test_insecure_fallback(self) -> None:
        """GatewayFrontendClientCertificateValidationInsecureFallback: that clients may come without certificate is told."""
        one = evolve(
            gateway("a"),
            frontend=FrontendValidation((), "AllowValidOnly", "spec.tls.frontend.default.validation"),
        )
        self.given(one)
        self.assertEqual(self.conditions(one), FINE)
        loose = FrontendValidation((), "AllowInsecureFallback", "spec.tls.frontend.perPort[0].tls.validation")
        one = evolve(one, frontend_by_port=((8443, loose),))
        self.given(one)
        condition = {"InsecureFrontendValidationMode": ("True", "ConfigurationChanged")}
        self.assertEqual(self.conditions(one), {**FINE, **condition})


class AddressTests(StatusCase):
    """Addresses, and what comes of their absence."""

    def test_shared(self) -> None:
        """At the addresses of the process, a Gateway shows those that we publish."""
        one = gateway("a")
        self.published = (Address("", "lb.test"), Address("192.0.2.1"))
        self.given(one)
        self.assertEqual(
            self.fields(one)["addresses"],
            [{"type": "Hostname", "value": "lb.test"}, {"type": "IPAddress", "value": "192.0.2.1"}],
        )

    def test_none_yet(self) -> None:
        """A load balancer without address has Gateways wait for one; where nobody says anything they are served all the same."""
        one = gateway("a")
        self.published = ()
        self.given(one)
        self.assertIsNone(self.fields(one)["addresses"])
        self.assertEqual(self.conditions(one)["Programmed"], ("False", "AddressNotAssigned"))
        self.published = None
        self.assertIsNone(self.fields(one)["addresses"])
        self.assertEqual(self.conditions(one)["Programmed"], ("True", "Programmed"))

    def test_static(self) -> None:
        """GatewayStaticAddresses: of another type, of nobody, and of ours."""
        self.options = options_of(["192.0.2.7"])
        named, unusable, usable = (
            GatewayAddress("test/fake-invalid-type", "x"),
            GatewayAddress("IPAddress", "198.51.100.9"),
            GatewayAddress("IPAddress", "192.0.2.7"),
        )
        one = gateway("a", addresses=[named, unusable, usable])
        self.given(one)
        self.assertEqual(self.conditions(one)["Accepted"], ("False", "UnsupportedAddress"))
        one = gateway("a", addresses=[unusable, usable])
        self.given(one)
        self.assertEqual(self.conditions(one)["Accepted"], ("True", "Accepted"))
        self.assertEqual(self.conditions(one)["Programmed"], ("False", "AddressNotUsable"))
        self.assertIn("198.51.100.9", self.message(one, "Programmed"))
        one = gateway("a", addresses=[usable])
        self.given(one)
        self.assertEqual(self.conditions(one), FINE)
        self.assertEqual(self.fields(one)["addresses"], [{"type": "IPAddress", "value": "192.0.2.7"}])

    def test_taken(self) -> None:
        """A Gateway for which no address is left is accepted, and not programmed."""
        self.options = options_of(["192.0.2.7"])
        first, second = gateway("a", created="1"), gateway("b", created="2")
        self.given(first, second)
        self.assertEqual(self.conditions(first), FINE)
        found = self.conditions(second)
        self.assertEqual(found["Accepted"], ("True", "Accepted"))
        self.assertEqual(found["Programmed"], ("False", "AddressNotAssigned"))
        self.assertEqual(self.listener(second)["Programmed"], ("False", "Pending"))
        self.assertIsNone(self.fields(second)["addresses"])


class ListenerTests(StatusCase):
    """Entries of listeners."""

    def test_route_kinds(self) -> None:
        """GatewayInvalidRouteKind: kinds that a listener cannot take are told, and those that it can are there."""
        wrong = RouteKindName("example.com", "InvalidRoute")
        only = evolve(listener(), kinds=(wrong,))
        some = evolve(listener(), kinds=(RouteKindName(GROUP, "HTTPRoute"), wrong))
        one, other = gateway("one", only), gateway("other", some)
        self.given(one, other)
        for value, kinds in ((one, []), (other, [HTTP])):
            self.assertEqual(self.listener(value)["ResolvedRefs"], ("False", "InvalidRouteKinds"))
            self.assertEqual(self.listeners(value)["http"].fields["supportedKinds"], kinds)

    def tls(self, *certificates: ObjectReference) -> GatewayListener:
        return listener("https", 443, "HTTPS", tls=ListenerTls(certificates=certificates))

    def test_tls_options(self) -> None:
        """A listener with options of TLS that nothing is known of is served all the same."""
        passthrough = ListenerTls("Passthrough", options=(("example.com/version", "1.3"),))
        one = gateway("a", listener("tls", 443, "TLS", tls=passthrough))
        self.given(one)
        self.assertEqual(self.conditions(one), FINE)
        self.assertEqual(self.listener(one, "tls"), {**FINE, **NO_CONFLICT})

    def test_certificates(self) -> None:
        """GatewayInvalidTLSConfiguration: a listener without usable certificate is not programmed, and its routes count."""
        secret = ObjectReference("", "Secret", "", "x")
        one = gateway("a", self.tls(secret))
        field = "spec.listeners[0].tls.certificateRefs[0]"
        for reason in (Reason.SECRET_NOT_FOUND, Reason.INVALID_CERTIFICATE):
            self.attached = {(one.owner, "https"): 1}
            self.given(one, problems=[one.owner.problem(reason, "is wrong", field)])
            found = self.listener(one, "https")
            self.assertEqual(found["ResolvedRefs"], ("False", "InvalidCertificateRef"))
            self.assertEqual(found["Programmed"], ("False", "Invalid"))
            self.assertEqual(self.listeners(one)["https"].fields["attachedRoutes"], 1)
        for wrong in (
            ObjectReference("example.com", "Secret", "", "x"),
            ObjectReference("", "Wrong", "", "x"),
        ):
            one = gateway("a", self.tls(wrong))
            self.given(one)
            found = self.listener(one, "https")
            self.assertEqual(found["ResolvedRefs"], ("False", "InvalidCertificateRef"))
            self.assertEqual(found["Programmed"], ("False", "Invalid"))

    def test_one_of_two_certificates(self) -> None:
        """Where one of several certificates cannot be used the listener says so, and shows the other."""
        one = gateway("a", self.tls(*(ObjectReference("", "Secret", "", name) for name in "xy")))
        field = "spec.listeners[0].tls.certificateRefs[1]"
        self.given(one, problems=[one.owner.problem(Reason.SECRET_NOT_FOUND, "is not there", field)])
        found = self.listener(one, "https")
        self.assertEqual(found["ResolvedRefs"], ("False", "InvalidCertificateRef"))
        self.assertEqual(found["Programmed"], ("True", "Programmed"))
        self.assertEqual(self.conditions(one)["Accepted"], ("True", "Accepted"))

    def test_not_permitted(self) -> None:
        """GatewaySecretMissingReferenceGrant: a Secret of another namespace needs a grant."""
        one = gateway("a", listener("https", 443, "HTTPS", tls=OTHER_SECRET))
        self.given(one)
        self.assertEqual(self.listener(one, "https")["ResolvedRefs"], ("False", "RefNotPermitted"))
        self.assertEqual(self.listener(one, "https")["Programmed"], ("False", "Invalid"))

    def test_port(self) -> None:
        """A port that cannot be had is a condition, known from the start or seen when it is opened."""
        self.options = options_of(ports=[80])
        one = gateway("a", listener(), listener("other", 8080))
        self.given(one)
        self.assertEqual(self.listener(one, "other")["Accepted"], ("False", "PortUnavailable"))
        self.assertEqual(self.listener(one, "other")["Programmed"], ("False", "Invalid"))
        late = one.owner.problem(Reason.PORT_UNAVAILABLE, "is in use", "spec.listeners[0].port")
        self.given(one, problems=[late])
        self.assertEqual(self.listener(one)["Accepted"], ("False", "PortUnavailable"))

    def test_conflicts(self) -> None:
        """Listeners that cannot be told apart are all in conflict, by hostname or by protocol."""
        same = gateway("a", listener("one"), listener("two"))
        self.given(same)
        for name in ("one", "two"):
            found = self.listener(same, name)
            for of_type, status in (("Accepted", "False"), ("Programmed", "False"), ("Conflicted", "True")):
                self.assertEqual(found[of_type], (status, "HostnameConflict"))
        other = gateway("a", listener("one"), listener("two", protocol="TCP"))
        self.given(other)
        self.assertEqual(self.listener(other, "two")["Conflicted"], ("True", "ProtocolConflict"))

    def test_overlapping(self) -> None:
        """Of listeners with TLS on one port all that have hosts in common are told, and only while that is so."""
        https = [
            listener(name, 443, "HTTPS", host)
            for name, host in (
                ("a", "foo.example.com"),
                ("b", "foo.example.org"),
                ("c", "*.example.com"),
                ("d", "*.in.foo.example.com"),
            )
        ]
        plain = [listener("e", 80, "HTTP", "*.test"), listener("f", 80, "HTTP", "x.test")]
        one = gateway("a", *https, *plain, listener("g", 8443, "HTTPS", "*.example.com"))
        self.given(one)
        found = [name for name in self.listeners(one) if "OverlappingTLSConfig" in self.listener(one, name)]
        self.assertEqual(found, ["a", "c", "d"])
        self.assertEqual(self.listener(one, "a")["OverlappingTLSConfig"], ("True", "OverlappingHostnames"))
        one = gateway("a", https[0], listener("all", 443, "HTTPS"))
        self.given(one)
        self.assertIn("OverlappingTLSConfig", self.listener(one, "all"))

    def test_client_certificates(self) -> None:
        """GatewayInvalidFrontendClientCertificateValidation: authorities that cannot be used break the HTTPS listeners of their port."""
        one = evolve(
            gateway("a", listener(), listener("https", 443, "HTTPS"), listener("other", 8443, "HTTPS")),
            frontend=FrontendValidation((), "AllowValidOnly", "spec.tls.frontend.default.validation"),
            frontend_by_port=(
                (
                    8443,
                    FrontendValidation((), "AllowValidOnly", "spec.tls.frontend.perPort[0].tls.validation"),
                ),
            ),
        )
        refs = "spec.tls.frontend.default.validation.caCertificateRefs"
        for reason, word in (
            (Reason.INVALID_CA_REF, "InvalidCACertificateRef"),
            (Reason.CONFIG_MAP_NOT_FOUND, "InvalidCACertificateRef"),
            (Reason.INVALID_CA_KIND, "InvalidCACertificateKind"),
            (Reason.REFERENCE_NOT_PERMITTED, "RefNotPermitted"),
        ):
            problems = [
                one.owner.problem(reason, "is wrong", f"{refs}[0]"),
                one.owner.problem(Reason.NO_VALID_CA, "none can be used", refs),
            ]
            self.given(one, problems=problems)
            found = self.listener(one, "https")
            self.assertEqual(found["ResolvedRefs"], ("False", word))
            self.assertEqual(found["Accepted"], ("False", "NoValidCACertificate"))
            self.assertEqual(found["Programmed"][0], "False")
            for name in ("http", "other"):
                self.assertEqual(self.listener(one, name), {**FINE, **NO_CONFLICT})

    def test_many(self) -> None:
        """Of thousands of listeners those have an entry that the API would let in, each with what is said of its field."""
        many = gateway("a", *(listener(f"l{at}", 1000 + at, "X") for at in range(3000)))
        self.given(many)
        entries = self.listeners(many)
        self.assertEqual(len(entries), 64)
        self.assertIn("spec.listeners[63].protocol", entries["l63"].conditions[0].message)


class AttachedSetsTests(StatusCase):
    """How many ListenerSets a Gateway has."""

    def test_count(self) -> None:
        """ListenerSets count that are accepted: not those that are not allowed, or whose listeners all cannot be served."""
        one = gateway("a", listener(hostname="a.test"), listener_sets=AllowedNamespaces("Same"))
        other = gateway("b", listener("b", 8080), listener_sets=ANY)
        good = listener_set("good", "a", listener("x", hostname="x.test"))
        taken = listener_set("taken", "a", listener("y", hostname="a.test"))
        foreign = listener_set("foreign", "a", listener("z", hostname="z.test"), namespace="elsewhere")
        self.given(one, other, good, taken, foreign)
        self.assertEqual(self.fields(one)["attachedListenerSets"], 1)
        self.assertEqual(self.fields(other)["attachedListenerSets"], 0)
