"""What ingress-nginx was started with, of a cluster."""

import json
import re
from typing import Any

from tests.ctl.inputs.controllers import (
    autoscaler,
    budget,
    deployment,
    ingress_class,
    network_policy,
    scaled_object,
    service,
)
from tests.ctl.inputs.live_case import LiveCase, grant, lists
from tests.fakes.apiserver.kinds import KINDS, KindTable, ResourceType
from tests.fakes.objects import ingress_object

NOT_FOUND = "No Deployment or DaemonSet of ingress-nginx was found"
APPS = (
    ResourceType("apps", "v1", "deployments", "Deployment"),
    ResourceType("apps", "v1", "daemonsets", "DaemonSet"),
)
AROUND = (
    ResourceType("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
    ResourceType("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject"),
    ResourceType("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    ResourceType("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
)
NAMESPACE_PATH = "/api/v1/namespaces/ingress-nginx"


class WithoutAppsTests(LiveCase):
    async def test_an_api_server_without_deployments(self) -> None:
        """It is told, and all else is judged."""
        self.server.create(ingress_object("web", "shop.example.com"))
        result = await self.run_command("migrate", "--live")
        self.assertEqual(result.exit_code, 0, result.stderr)
        self.assertIn(NOT_FOUND, result.stdout)
        self.assertIn("`--like NAMESPACE/NAME` names one.", result.stdout)
        self.assertIn("Deployments: the API server says that it has none", result.stdout)


class ArgumentsCase(LiveCase):
    kinds = KindTable((*KINDS, *APPS))

    async def data(self, *line: str) -> Any:
        """The report of the cluster as JSON."""
        result = await self.run_command("migrate", "--live", "--output", "json", *line)
        self.assertEqual(result.exit_code, 0, result.stderr)
        return json.loads(result.stdout)

    def ingress(self, namespace: str = "shop", class_name: str = "nginx") -> None:
        web = ingress_object("web", f"{namespace}.example.com")
        web["metadata"]["namespace"] = namespace
        web["spec"]["ingressClassName"] = class_name
        self.server.create(web)


class AroundTests(ArgumentsCase):
    """What is around it."""

    kinds = KindTable((*KINDS, *APPS, *AROUND))

    def create_all(self) -> None:
        for one in (
            deployment(nodeSelector={"pool": "edge"}),
            service(loadBalancerSourceRanges=["10.0.0.0/8"]),
            service("web", selector={"app": "web"}),
            autoscaler(maxReplicas=7),
            ingress_class(),
        ):
            self.server.create(one)

    async def test_it_is_carried_over(self) -> None:
        """The Service and the autoscaler, of its namespace alone; also where it is named."""
        self.create_all()
        for line in ((), ("--like", "ingress-nginx/ingress-nginx-controller")):
            (found,) = (await self.data(*line))["arguments"]
            self.assertEqual(
                {one["field"] for one in found["around"] if one["becomes"] == "taken over"},
                {"nodeSelector", "loadBalancerSourceRanges", "externalTrafficPolicy", "maxReplicas"},
            )
            (waiting,) = (one for one in found["around"] if one["becomes"] == "later")
            self.assertEqual(waiting["object"], "IngressClass nginx")
        asked = {request.path for request in self.server.requests if "horizontalpod" in request.path}
        self.assertEqual(asked, {"/apis/autoscaling/v2/namespaces/ingress-nginx/horizontalpodautoscalers"})

    async def test_who_lets_it_in(self) -> None:
        """NetworkPolicies of any namespace, by labels of its own; these are asked for where there is a policy, and it may be that they are not shown."""
        by_team = network_policy({"namespaceSelector": {"matchLabels": {"team": "edge"}}})
        self.create_all()
        await self.data()
        self.assertNotIn(NAMESPACE_PATH, {request.path for request in self.server.requests})
        metadata = {"name": "ingress-nginx", "labels": {"team": "edge"}}
        for one in (by_team, budget(minAvailable=2), scaled_object({"type": "cron", "metadata": {}})):
            self.server.create(one)
        self.server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        (found,) = (await self.data())["arguments"]
        taken = {one["object"] for one in found["around"] if one["becomes"] == "taken over"}
        self.assertLessEqual(
            {
                "NetworkPolicy shop/web",
                "PodDisruptionBudget ingress-nginx/ingress-nginx-controller",
                "ScaledObject ingress-nginx/ingress-nginx-controller",
            },
            taken,
        )
        self.permit(
            *lists(),
            grant("networking.k8s.io", "networkpolicies", "list"),
            grant("apps", "deployments", "list"),
        )
        data = await self.data("--namespace", "shop")
        (found,) = data["arguments"]
        self.assertNotIn("network-policies.yaml", found["files"])
        self.assertEqual(
            len([one for one in data["notChecked"] if "labels of namespace ingress-nginx" in one]), 1
        )

    async def test_it_may_not_be_read(self) -> None:
        """That is said, and all else is there."""
        self.create_all()
        self.permit(*lists("services", "ingressclasses"), grant("apps", "deployments", "list"))
        data = await self.data("--namespace", "shop")
        (found,) = data["arguments"]
        self.assertEqual({one["field"] for one in found["around"]}, {"nodeSelector"})
        told = [one for one in data["notChecked"] if "of what is around ingress-nginx" in one]
        self.assertEqual(
            [re.split(" in |,", one)[0] for one in told],
            [
                "Services",
                "HorizontalPodAutoscalers",
                "ScaledObjects",
                "PodDisruptionBudgets",
                "IngressClasses",
                "NetworkPolicies",
            ],
            data["notChecked"],
        )


class ArgumentsTests(ArgumentsCase):
    async def test_it_is_found_wherever_it_runs(self) -> None:
        """Among other Deployments; its class, its ConfigMap and what it watches count, and the page has the list."""
        self.server.create(deployment(containers=[{"image": "nginx:1"}], namespace="shop", name="web"))
        self.server.create(
            deployment(
                "--ingress-class=edge",
                "--configmap=$(POD_NAMESPACE)/options",
                "--watch-namespace=shop",
                "--tcp-services-configmap=system/tcp",
                kind="DaemonSet",
                namespace="system",
            )
        )
        for name, content in (("options", {"no-such-key": "1"}), ("tcp", {"5432": "shop/absent"})):
            metadata = {"name": name, "namespace": "system"}
            self.server.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": content}
            )
        for namespace in ("shop", "blog"):
            self.ingress(namespace, "edge")
        data = await self.data()
        (found,) = data["arguments"]
        self.assertEqual((found["kind"], found["namespace"]), ("DaemonSet", "system"))
        self.assertIn("--ingress-class=edge", found["args"])
        self.assertEqual([one["namespace"] for one in data["objects"]], ["shop"])
        self.assertEqual(data["configMap"]["name"], "options")
        self.assertIn("tcp", [one["name"] for one in data["others"]])
        data = await self.data("-n", "blog", "-o", "configmap=system/tcp")
        self.assertEqual([one["namespace"] for one in data["objects"]], ["blog"])
        self.assertEqual(data["configMap"]["name"], "tcp")
        data = await self.data("--all-namespaces")
        self.assertEqual(data["count"]["all"], 2)
        self.assertIn("--all-namespaces", data["given"])

    async def test_it_may_not_be_read(self) -> None:
        """That is said with the API server's word for it, and nothing fails."""
        self.ingress()
        self.server.create(deployment("--ingress-class=edge"))
        self.permit(*lists())
        data = await self.data()
        self.assertEqual((data["arguments"], data["count"]["all"]), ([], 1))
        for kind in ("Deployments", "DaemonSets"):
            (told,) = (one for one in data["notChecked"] if one.startswith(kind))
            self.assertIn("forbidden", told)

    async def test_it_may_be_read_in_its_namespace(self) -> None:
        """The usual one, one that is judged, and that of the ConfigMap are tried where the whole cluster is forbidden."""
        self.ingress()
        for namespace, line in (
            ("ingress-nginx", ()),
            ("shop", ("-n", "shop")),
            ("system", ("-o", "configmap=system/options")),
        ):
            self.permit(*lists(), grant("apps", "deployments", "list", namespace=namespace))
            self.server.create(deployment("--v=4", namespace=namespace))
            data = await self.data(*line)
            self.assertEqual([one["namespace"] for one in data["arguments"]], [namespace])
            (told,) = (one for one in data["notChecked"] if one.startswith("Deployments"))
            self.assertIn(f"Deployments but those in {namespace}: ", told)

    async def test_the_one_that_is_named_counts(self) -> None:
        """By --like, whatever else there is; of the others nothing is asked.  What it watches counts, too."""
        for namespace in ("shop", "blog"):
            self.ingress(namespace, class_name="inner")
        self.server.create(deployment())
        args = ("--ingress-class=inner", "--watch-namespace=shop")
        self.server.create(deployment(*args, namespace="system", name="inner"))
        self.assertEqual((await self.data())["count"]["all"], 0)
        self.permit(*lists(), grant("apps", "deployments", "get", namespace="system"))
        data = await self.data("--like", "system/inner")
        self.assertEqual(data["count"]["all"], 1)
        self.assertEqual([one["name"] for one in data["arguments"]], ["inner"])
        self.assertIn("--like=system/inner", data["given"])
        self.assertEqual([one["namespace"] for one in data["objects"]], ["shop"])
        self.assertEqual([one for one in data["notChecked"] if one.startswith("Deployments")], [])

    async def test_one_of_ours_that_is_named_has_no_arguments_to_take_over(self) -> None:
        """Its options count, and the page has none of ingress-nginx."""
        self.ingress(class_name="inner")
        args = ["twistd", "ingress", "--ingress-class=inner"]
        self.server.create(deployment(containers=[{"args": args}], namespace="system", name="own"))
        data = await self.data("--like", "system/own")
        self.assertEqual((data["count"]["all"], data["arguments"]), (1, []))

    async def test_of_deployments_nothing_is_asked_for_a_lint(self) -> None:
        """It goes by what the command line says."""
        self.ingress()
        self.server.create(deployment("--ingress-class=edge"))
        result = await self.run_command("lint", "--live")
        self.assertIn("1 Ingress: ", result.stdout)
        paths = [request.path for request in self.server.requests]
        self.assertEqual([path for path in paths if "/apps/" in path], [])
