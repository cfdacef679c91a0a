"""Tests for the statuses of BackendTLSPolicies: cases of the official suite, and what its tests do not ask."""

from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.cluster.problems import Reason
from ingress.translate.gateway_options import CONTROLLER_NAME
from ingress.translate.readers.gateway.objects.names import GATEWAY, GROUP, ObjectReference
from ingress.translate.readers.gateway.objects.policies import BackendTLSPolicy, PolicyTarget
from ingress.translate.readers.gateway.statuses.policies import targeting
from tests.translate.readers.gateway.statuses.statuses_case import Short, StatusCase, short

SERVICE = ObjectKey("infra", "web")
FINE = {"Accepted": ("True", "Accepted"), "ResolvedRefs": ("True", "ResolvedRefs")}


def gateway_owner(name: str, created: str = "") -> Owner:
    return Owner(GATEWAY, ObjectKey("infra", name), created)


def policy(name: str = "a", *targets: str, kind: str = "Service") -> BackendTLSPolicy:
    """A policy about Services of its namespace, ``web`` without any."""
    found = tuple(PolicyTarget(ObjectReference("", kind, "", one)) for one in targets or ("web",))
    return BackendTLSPolicy(ObjectKey("infra", name), targets=found)


class PolicyTests(StatusCase):
    """What is said of a policy."""

    def ancestors(self, one: BackendTLSPolicy) -> list[tuple[str, Short]]:
        entries = self.report(one).document.lists["ancestors"]
        return [(entry.fields["ancestorRef"]["name"], short(entry.conditions)) for entry in entries]

    def test_ancestors(self) -> None:
        """BackendTLSPolicy: each Gateway from which routes lead to the Service is an ancestor, oldest first."""
        self.gateways = {SERVICE: [gateway_owner("new", "2"), gateway_owner("old", "1")]}
        self.given(one := policy())
        self.assertEqual(self.ancestors(one), [("old", FINE), ("new", FINE)])
        document = self.report(one).document
        reference = {"group": GROUP, "kind": "Gateway", "namespace": "infra", "name": "old"}
        self.assertEqual(
            document.lists["ancestors"][0].fields,
            {"ancestorRef": reference, "controllerName": CONTROLLER_NAME},
        )
        self.assertEqual(document.controller, CONTROLLER_NAME)

    def test_bound(self) -> None:
        """There are no more than the API takes, the oldest of all its Services."""
        self.gateways = {
            ObjectKey("infra", name): [gateway_owner(f"{name}{at}", f"{at:02}") for at in range(12)]
            for name in "xy"
        }
        self.given(one := policy("a", "x", "y"))
        names = [name for name, _ in self.ancestors(one)]
        self.assertEqual((len(names), names[0], names[-1]), (16, "x0", "y7"))

    def test_unused(self) -> None:
        """A policy about a Service to which no route leads has no ancestor, and says nothing."""
        self.given(one := policy())
        self.assertEqual(self.ancestors(one), [])
        self.gateways = {SERVICE: [gateway_owner("a")]}
        self.given(other := policy("a", kind="Unknown"))
        self.assertEqual(self.ancestors(other), [])

    def test_problems(self) -> None:
        """BackendTLSPolicyConflictResolution, …InvalidCACertificateRef, …InvalidKind: by the API's words."""
        self.gateways = {SERVICE: [gateway_owner("web")]}
        refs = "spec.validation.caCertificateRefs"
        one = policy()
        for told, expected in (
            ([(Reason.POLICY_CONFLICTED, "spec.targetRefs[0]")], {"Accepted": ("False", "Conflicted")}),
            ([(Reason.TARGET_NOT_FOUND, "spec.targetRefs[0]")], {"Accepted": ("False", "TargetNotFound")}),
            ([(Reason.UNSUPPORTED_VALUE, "spec.validation")], {"Accepted": ("False", "Invalid")}),
            (
                [(Reason.NO_VALID_CA, refs), (Reason.INVALID_CA_REF, f"{refs}[0]")],
                {
                    "Accepted": ("False", "NoValidCACertificate"),
                    "ResolvedRefs": ("False", "InvalidCACertificateRef"),
                },
            ),
            (
                [(Reason.NO_VALID_CA, refs), (Reason.INVALID_CA_KIND, f"{refs}[0]")],
                {"Accepted": ("False", "NoValidCACertificate"), "ResolvedRefs": ("False", "InvalidKind")},
            ),
        ):
            problems = [one.owner.problem(reason, "is wrong", field) for reason, field in told]
            self.given(one, problems=problems)
            self.assertEqual(self.ancestors(one), [("web", {**FINE, **expected})])

    def test_targeting(self) -> None:
        """Which policies are about a Service is known without looking at each, and follows them."""
        self.given(policy("a", "web", "other"), policy("b"))
        self.assertEqual({one.name for one in targeting(SERVICE, self.state)}, {"a", "b"})
        self.assertEqual([one.name for one in targeting(ObjectKey("infra", "other"), self.state)], ["a"])
        self.assertEqual(list(targeting(ObjectKey("elsewhere", "web"), self.state)), [])
