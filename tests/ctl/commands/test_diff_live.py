"""``ingressctl diff`` between files and a cluster."""

import json
from pathlib import Path
from typing import Any

from tests.ctl.inputs.live_case import LiveCase, grant, lists
from tests.ctl.inputs.test_live import in_namespace
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import ingress_object, secret_object, service_object


class LiveTests(LiveCase):
    """One side is a cluster."""

    def setUp(self) -> Any:
        started = super().setUp()
        self.folder = Path(self.mktemp())
        self.folder.mkdir(parents=True)
        self.web = ingress_object("web", "shop.example.com", "shop-tls")
        self.service = service_object("web")
        for one in (self.web, self.service):
            self.server.create(one)
        return started

    def manifests(self, *objects: Any) -> str:
        """Write *objects* to a file; return its path."""
        path = self.folder / "objects.yaml"
        path.write_text("\n---\n".join(map(json.dumps, objects)), "utf-8")
        return str(path)

    async def test_what_is_applied_is_no_difference(self) -> None:
        """Not even where the files lack the Secret, and the Services, that the cluster has."""
        self.server.create(secret_object("shop-tls", *issue(make_authority(), ["shop.example.com"])))
        for objects in ((self.web, self.service), (self.web,)):
            for secrets in ("none", "names", "content"):
                for sides in (("live", self.manifests(*objects)), (self.manifests(*objects), "live")):
                    found = await self.run_command("diff", *sides, "--secrets", secrets)
                    self.assertEqual(
                        (found.exit_code, found.stdout.splitlines()[-1]),
                        (0, "nothing that is served is different"),
                        found.output,
                    )

    async def test_what_would_change_is_told(self) -> None:
        """The cluster is the old side here, and the status is 1."""
        path = self.manifests(ingress_object("web", "new.example.com"), self.service)
        found = await self.run_command("diff", "live", path)
        self.assertEqual(found.exit_code, 1)
        self.assertIn("- shop.example.com", found.stdout)
        self.assertIn("+ new.example.com", found.stdout)

    async def test_other_namespaces_are_left_alone(self) -> None:
        """A folder is one team's; -A asks about all, and nobody's Ingress is no question."""
        self.server.create(in_namespace("other", ingress_object("web", "other.example.com")))
        path = self.manifests(self.web, self.service)
        self.assertEqual((await self.run_command("diff", "live", path)).exit_code, 0)
        everything = await self.run_command("diff", "live", path, "-A")
        self.assertIn("- other.example.com", everything.stdout)
        nobodys = await self.run_command("diff", "live", self.manifests(self.service))
        self.assertEqual(nobodys.exit_code, 2)
        self.assertIn("-n or -A", nobodys.stderr)

    async def test_what_may_not_be_read_is_not_compared(self) -> None:
        """Without the right to Services nothing says that they vanished."""
        self.permit(*lists("services"))
        found = await self.run_command("diff", "live", self.manifests(self.web, self.service))
        self.assertEqual(found.exit_code, 0, found.output)
        self.assertIn("Not compared", found.stdout)

    async def test_a_namespace_that_may_not_be_read_hides_nothing_of_others(self) -> None:
        """What would come and go elsewhere is told, and that namespace besides."""
        for namespace in ("shop", "desk"):
            self.server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        self.permit(grant("", "namespaces", "list"), *lists(namespace="shop"))
        more = ingress_object("more", "more.example.com")
        found = await self.run_command("diff", "live", self.manifests(more, self.service), "-A")
        self.assertEqual(found.exit_code, 1, found.output)
        for told in ("+ more.example.com", "- shop.example.com", "Ingresses in desk"):
            self.assertIn(told, found.stdout)

    async def test_a_cluster_by_other_options(self) -> None:
        """It is read once."""
        found = await self.run_command("diff", "live", "--new-option", "ingress-class=other")
        self.assertEqual(found.exit_code, 1, found.output)
        self.assertIn("- shop.example.com", found.stdout)
        lists_of_ingresses = [call for call in self.server.requests if call.plural == "ingresses"]
        self.assertEqual(len(lists_of_ingresses), 1)

    async def test_what_a_cluster_lacks_it_lacks_by_any_options(self) -> None:
        """A Secret that is not there is the same problem on both sides, and no difference."""
        found = await self.run_command("diff", "live", "--new-option", "ingress-class=nginx")
        self.assertEqual(found.stdout, "nothing that is served is different\n")
        self.assertEqual(found.exit_code, 0)

    async def test_a_context_that_is_not_there_is_a_mistake(self) -> None:
        """The cluster is named by its context."""
        found = await self.run_command("diff", "live:nowhere", self.manifests(self.web))
        self.assertEqual(found.exit_code, 2)
        self.assertIn("nowhere", found.stderr)
