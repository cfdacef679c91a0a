"""Tests for the statuses of ListenerSets: cases of the official suite, and what its tests do not ask."""

from ingress.model.cluster.problems import Reason
from ingress.translate.readers.gateway.objects.gateways import AllowedNamespaces, GatewayAddress, ListenerTls
from ingress.translate.readers.gateway.objects.names import ObjectReference
from tests.translate.readers.gateway.gateway_values import ANY, gateway, listener, listener_set, options_of
from tests.translate.readers.gateway.statuses.statuses_case import StatusCase
from tests.translate.readers.gateway.statuses.test_gateways import FINE, NO_CONFLICT

ACCEPTED = {"Accepted": ("True", "Accepted"), "Programmed": ("True", "Programmed")}
NOT_VALID = {"Accepted": ("False", "ListenersNotValid"), "Programmed": ("False", "ListenersNotValid")}
SAME = AllowedNamespaces("Same")


class ListenerSetTests(StatusCase):
    """Conditions of ListenerSets and of their listeners."""

    def test_fine(self) -> None:
        """ListenerSetAllowedNamespaceSame: a ListenerSet that is allowed, with its routes counted."""
        one = listener_set("a", "web", listener("x", hostname="x.test"))
        self.attached = {(one.owner, "x"): 3}
        self.given(gateway("web", listener_sets=SAME), one)
        self.assertEqual(self.conditions(one), ACCEPTED)
        self.assertEqual(self.listener(one, "x"), {**FINE, **NO_CONFLICT})
        self.assertEqual(self.listeners(one)["x"].fields["attachedRoutes"], 3)

    def test_not_allowed(self) -> None:
        """ListenerSetAllowedNamespaceNone: one that its Gateway does not take says so twice, and is not served."""
        for allowed, namespace in ((None, "infra"), (SAME, "elsewhere")):
            one = listener_set("a", "web", listener("x", hostname="x.test"), namespace=namespace)
            self.given(gateway("web", listener_sets=allowed), one)
            not_allowed = ("False", "NotAllowed")
            self.assertEqual(self.conditions(one), {"Accepted": not_allowed, "Programmed": not_allowed})
            self.assertEqual(self.listener(one, "x")["Programmed"], ("False", "Pending"))

    def test_parent_not_accepted(self) -> None:
        """One whose Gateway is not accepted is not either."""
        one = listener_set("a", "web", listener("x", hostname="x.test"))
        named = GatewayAddress("test/fake-invalid-type", "x")
        self.given(gateway("web", listener_sets=SAME, addresses=[named]), one)
        expected = {
            "Accepted": ("False", "ParentNotAccepted"),
            "Programmed": ("False", "ParentNotProgrammed"),
        }
        self.assertEqual(self.conditions(one), expected)

    def test_parent_without_address(self) -> None:
        """One whose Gateway has no address is accepted, and not programmed."""
        self.options = options_of(["192.0.2.7"])
        one = listener_set("a", "web", listener("x", hostname="x.test"))
        self.given(gateway("other", created="1"), gateway("web", listener_sets=SAME, created="2"), one)
        expected = {"Accepted": ("True", "Accepted"), "Programmed": ("False", "ParentNotProgrammed")}
        self.assertEqual(self.conditions(one), expected)

    def test_other_parent(self) -> None:
        """Nothing is said of one whose parent is no Gateway of ours."""
        one = listener_set("a", "unknown", listener())
        self.given(one)
        self.assertFalse(self.report(one).is_ours)

    def test_hostname_conflict(self) -> None:
        """ListenerSetHostnameConflict: the Gateway has what both want; a set is accepted with one listener that is valid."""
        web = gateway("web", listener("own", hostname="own.test"), listener_sets=SAME)
        some = listener_set(
            "some", "web", listener("fine", hostname="fine.test"), listener("taken", hostname="own.test")
        )
        none = listener_set("none", "web", listener("taken", hostname="own.test"), created="2")
        self.given(web, some, none)
        self.assertEqual(self.listener(web, "own"), {**FINE, **NO_CONFLICT})
        self.assertEqual(self.conditions(some), {**ACCEPTED, "Accepted": ("True", "ListenersNotValid")})
        self.assertEqual(self.conditions(none), NOT_VALID)
        for one in (some, none):
            found = self.listener(one, "taken")
            for of_type, status in (("Accepted", "False"), ("Programmed", "False"), ("Conflicted", "True")):
                self.assertEqual(found[of_type], (status, "HostnameConflict"))

    def test_protocol_conflict(self) -> None:
        """ListenerSetProtocolConflict: who comes first has the port for its protocol."""
        web = gateway("web", listener("own", hostname="own.test"), listener_sets=SAME)
        one = listener_set("one", "web", listener("taken", protocol="TCP"))
        self.given(web, one)
        self.assertEqual(self.conditions(one), NOT_VALID)
        found = self.listener(one, "taken")
        for of_type, status in (("Accepted", "False"), ("Programmed", "False"), ("Conflicted", "True")):
            self.assertEqual(found[of_type], (status, "ProtocolConflict"))

    def test_reference_grant(self) -> None:
        """ListenerSetReferenceGrant: a set whose only listener may not use its Secret is not valid."""
        foreign = ListenerTls(certificates=(ObjectReference("", "Secret", "elsewhere", "x"),))
        one = listener_set("one", "web", listener("x", 443, "HTTPS", "x.test", tls=foreign))
        self.given(gateway("web", listener_sets=SAME), one)
        self.assertEqual(self.conditions(one), NOT_VALID)
        self.assertEqual(self.listener(one, "x")["ResolvedRefs"], ("False", "RefNotPermitted"))

    def test_missing_secret(self) -> None:
        """The Gateway counts a set no more whose only listener has lost its Secret: by the problems of the set."""
        web = gateway("web", listener_sets=ANY)
        one = listener_set("one", "web", listener("x", 443, "HTTPS", "x.test"))
        self.given(web, one)
        self.assertEqual(self.fields(web)["attachedListenerSets"], 1)
        field = "spec.listeners[0].tls.certificateRefs[0]"
        self.given(web, one, problems=[one.owner.problem(Reason.SECRET_NOT_FOUND, "is not there", field)])
        self.assertEqual(self.fields(web)["attachedListenerSets"], 0)
