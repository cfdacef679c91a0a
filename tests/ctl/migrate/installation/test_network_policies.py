"""NetworkPolicies that let an ingress-nginx in, and the ones that let this controller in beside them."""

from typing import Any

from ingress.ctl.migrate.installation.network_policies import MOST_POLICIES
from ingress.ctl.migrate.migration import ArgumentsReport
from tests.ctl.inputs.controllers import LABELS, ingress_class, network_policy
from tests.ctl.migrate.installation.installation_case import InstallationCase, fates, report_of, said

NAMESPACE = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress-nginx"}}}
PODS = {"podSelector": {"matchLabels": LABELS}}
OWN = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "txingress"}},
    "podSelector": {"matchLabels": {"app.kubernetes.io/name": "txingress"}},
}
PORTS = [{"protocol": "TCP", "port": 8080}]


def namespace(name: str = "ingress-nginx", **labels: str) -> dict[str, Any]:
    """A Namespace with *labels*."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


class PolicyTests(InstallationCase):
    """What is written for whom."""

    def written(self, report: ArgumentsReport) -> list[tuple[str, str]]:
        """Namespaces and names of the policies that are built."""
        found = [
            (one["metadata"]["namespace"], one["metadata"]["name"])
            for (kind, _), one in self.build(report).items()
            if kind == "NetworkPolicy"
        ]
        return sorted(found)

    def is_let_in_by(
        self, *peers: dict[str, Any], others: tuple[dict[str, Any], ...] = (), at: str = "shop"
    ) -> bool:
        """Whether one is written for a policy with *peers*."""
        report = report_of(network_policy(*peers, namespace=at), *others)
        return "network-policies.yaml" in report.files

    def test_one_stands_beside_it(self) -> None:
        """For the same pods and ports, in the same namespace; the other one stays as it is."""
        other = network_policy(
            {"podSelector": {}}, NAMESPACE | PODS, ports=PORTS, policyTypes=["Ingress", "Egress"]
        )
        report = report_of(other)
        self.assertEqual(self.written(report), [("shop", "web-txingress")])
        self.assertEqual(
            self.build(report)["NetworkPolicy", "web-txingress"]["spec"],
            {
                "podSelector": {"matchLabels": {"app": "web"}},
                "policyTypes": ["Ingress"],
                "ingress": [{"from": [OWN], "ports": PORTS}],
            },
        )
        self.assertEqual(fates(report), {"ingress": "TAKEN"})

    def test_who_is_let_in(self) -> None:
        """By the namespace, its labels, those of the pods, or all of it; nobody by addresses, and not where others are meant."""
        self.assertTrue(self.is_let_in_by(NAMESPACE))
        self.assertTrue(self.is_let_in_by({"namespaceSelector": {}, **PODS}))
        self.assertTrue(self.is_let_in_by(PODS, at="ingress-nginx"))
        exists = {"key": "app.kubernetes.io/component", "operator": "In", "values": ["controller", "web"]}
        self.assertTrue(self.is_let_in_by(NAMESPACE | {"podSelector": {"matchExpressions": [exists]}}))
        self.assertFalse(self.is_let_in_by(PODS))
        self.assertFalse(self.is_let_in_by({"ipBlock": {"cidr": "10.0.0.0/8"}}))
        self.assertFalse(self.is_let_in_by(NAMESPACE | {"podSelector": {"matchLabels": {"app": "web"}}}))
        self.assertFalse(self.is_let_in_by({"namespaceSelector": {"matchLabels": {"team": "edge"}}}))
        self.assertFalse(self.is_let_in_by({}))

    def test_labels_of_the_namespace(self) -> None:
        """They count where they are known; where they are not, one with the namespace's name as its value is taken to be there."""
        by_team = {"namespaceSelector": {"matchLabels": {"team": "edge"}}}
        by_name = {"namespaceSelector": {"matchLabels": {"name": "ingress-nginx"}}}
        self.assertTrue(self.is_let_in_by(by_team, others=(namespace(team="edge"),)))
        self.assertFalse(
            self.is_let_in_by(by_team, others=(namespace(team="web"), namespace("web", team="edge")))
        )
        self.assertTrue(self.is_let_in_by(by_name))
        self.assertFalse(self.is_let_in_by(by_name, others=(namespace(team="edge"),)))

    def test_who_is_let_in_anyway(self) -> None:
        """Nothing is written where everybody is let in, or this controller by what lets in the other one."""
        self.assertFalse(self.is_let_in_by())
        self.assertFalse(self.is_let_in_by({"namespaceSelector": {}}))
        self.assertFalse(self.is_let_in_by(NAMESPACE, {"namespaceSelector": {}}))
        outgoing = network_policy(NAMESPACE, policyTypes=["Egress"])
        self.assertEqual(report_of(outgoing).around, ())

    def test_the_network_of_nodes(self) -> None:
        """Pods there are let in by addresses alone."""
        self.assertEqual(report_of(network_policy(NAMESPACE), hostNetwork=True, kind="DaemonSet").around, ())

    def test_policies_about_its_own_pods(self) -> None:
        """They do not hold where this controller is, which is told."""
        for selector in ({}, {"matchLabels": LABELS}):
            about = network_policy(namespace="ingress-nginx", podSelector=selector)
            report = report_of(about)
            self.assertIn("does not hold", said(report)["podSelector"][1])
            self.assertEqual(self.written(report), [])

    def test_names_and_shapes(self) -> None:
        """A long name stays one; what the API would not take is left, and what is no policy is none."""
        report = report_of(network_policy(NAMESPACE, name="a" * 253))
        ((_, name),) = self.written(report)
        self.assertEqual((len(name), name[-10:]), (253, "-txingress"))
        deep: Any = []
        for _ in range(30):
            deep = [deep]
        self.assertEqual(fates(report_of(network_policy(NAMESPACE, ports=deep))), {"ingress": "LEFT"})
        for spec in (None, {"ingress": 7}, {"ingress": [{"from": [None, 3]}], "podSelector": []}):
            wrong = {**network_policy(namespace="ingress-nginx"), "spec": spec}
            self.assertEqual(report_of(wrong).files.keys(), {"kustomization.yaml"})

    def test_very_many(self) -> None:
        """Some are written, and the others are told."""
        many = [network_policy(NAMESPACE, namespace=f"shop-{number}") for number in range(MOST_POLICIES + 3)]
        report = report_of(*many)
        self.assertEqual(report.files["network-policies.yaml"].count("kind:"), MOST_POLICIES)
        self.assertEqual(len([one for one in report.around if "yours to write" in one.why]), 3)


class ParametersTests(InstallationCase):
    """Parameters of a class."""

    def test_nobody_reads_them(self) -> None:
        """That is told of the class that is its own."""
        with_parameters = ingress_class(default="false")
        with_parameters["spec"]["parameters"] = {"apiGroup": "example.com", "kind": "Edge", "name": "one"}
        report = report_of(with_parameters)
        self.assertEqual(fates(report), {"parameters": "LEFT"})
        self.assertIn("neither does this controller", said(report)["parameters"][1])
        with_parameters["spec"]["controller"] = "example.com/other"
        self.assertEqual(report_of(with_parameters).around, ())
