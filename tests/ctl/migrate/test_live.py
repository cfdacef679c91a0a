"""The report of a cluster: by owner, with commands in the place of diffs."""

from tests.ctl.inputs.live_case import LiveCase
from tests.fakes.objects import ingress_object


class LiveTests(LiveCase):
    async def test_a_cluster_has_a_page_with_owners_its_config_map_and_commands(self) -> None:
        """Labels say whose an Ingress is, an option names the ConfigMap, and patches are for kubectl alone."""
        web = ingress_object("web", "shop.example.com")
        web["metadata"]["labels"] = {"team": "checkout"}
        web["metadata"]["annotations"] = {"nginx.ingress.kubernetes.io/rate-limit": "5"}
        self.server.create(web)
        metadata = {"name": "own", "namespace": "system"}
        data = {"worker-processes": "4"}
        self.server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        result = await self.run_command("migrate", "--live", "-n", "shop", "-o", "configmap=system/own")
        self.assertEqual(result.exit_code, 0, result.stderr)
        page = result.stdout
        self.assertIn("| `shop` | `checkout` | 1 |", page)
        self.assertIn("| `worker-processes` | differs |", page)
        command = "kubectl patch ingress/web --namespace=shop --type=json"
        self.assertIn(command, page)
        self.assertNotIn("```diff", page)
        self.assertIn("`ingressctl migrate --option=configmap=system/own --live --kubeconfig=", page)
        self.assertIn("--namespace=shop`", page)
