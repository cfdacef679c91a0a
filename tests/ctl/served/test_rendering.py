"""The normal form for people, and ``ingressctl render --as served``."""

import json

import yaml

from ingress.ctl.served.normal_form import served
from ingress.ctl.served.rendering import as_json, as_yaml, rendered
from tests.ctl import ctl_case
from tests.ctl.served.inputs import SERVICES, ingress, live, manifests
from tests.translate import golden


class RenderingTests(ctl_case.CtlCase):
    """What is printed."""

    def test_what_is_as_usual_is_left_out(self) -> None:
        """Of a plain route its match, owner and backend are left, and of settings what is another one."""
        given = manifests(SERVICES, ingress(), options=("proxy-body-size=0", "load-balance=ewma"))
        form = rendered(given, endpoints=False, full=False)
        (route,) = form["hosts"]["shop.example.com"]["routes"]
        self.assertEqual(
            route,
            {
                "path": "/",
                "match": "Prefix",
                "owner": "Ingress shop/web",
                "backends": [{"backend": "shop/web:80", "protocol": "HTTP/1.1", "weight": 1}],
                "balancing": {"algorithm": "ewma", "subset_size": 1},
                "maxBodyBytes": 0,
            },
        )
        self.assertEqual(form["settings"], {"load_balance": "ewma"})
        self.assertEqual(rendered(given, endpoints=True, full=True), served(given, endpoints=True))

    def test_what_is_named_and_no_manifest_is_a_mistake(self) -> None:
        """Whoever pipes the answer on must not take its emptiness for nothing that is served; in a folder it is told."""
        self.manifest(ctl_case.ingress(), "good.yaml")
        path = self.manifest("[]\n", "folder/none.yaml")
        for form in ("served", "gateway"):
            found = self.run_command("render", "--as", form, path)
            self.assertEqual((found.exit_code, found.stdout), (2, ""))
            self.assertIn("none.yaml: line 1: an object is wanted, but this is a list", found.stderr)
        self.manifest(ctl_case.ingress() + "---\n{broken", "none.yaml")
        found = self.run_command("render", "--as", "served", str(self.folder))
        self.assertEqual(found.exit_code, 0)
        self.assertIn("none.yaml: line ", found.stderr)

    def test_yaml_and_json_say_the_same(self) -> None:
        """Whatever a tenant wrote: nothing in it is obeyed by a terminal."""
        hostile = ingress(upstream_vhost="a.test").replace("name: web\n", 'name: "\\e[31m\\u202e# : {"\n', 1)
        form = rendered(manifests(SERVICES, hostile), endpoints=False, full=True)
        for text, read in ((as_yaml(form), yaml.safe_load), (as_json(form), json.loads)):
            self.assertEqual(read(text), form)
            self.assertTrue(text.isascii())
            self.assertNotIn("\x1b", text)
        self.assertNotIn("&", as_yaml(form).replace("& ", ""))

    def test_fixtures(self) -> None:
        """Whatever becomes of objects can be written, and read again."""
        for case in golden.cases():
            form = rendered(live((case / "manifests.yaml").read_text("utf-8")), endpoints=True, full=True)
            self.assertEqual(yaml.load(as_yaml(form), golden.LOADER), form)

    def test_command(self) -> None:
        """It prints the form, in either language, and nothing else."""
        path = self.manifest(ctl_case.ingress(limit_rps="5"))
        found = self.run_command("render", "--as", "served", path)
        self.assertEqual(found.exit_code, 0, found.output)
        form = yaml.safe_load(found.stdout)
        self.assertEqual(list(form["hosts"]), ["shop.example.com"])
        same = self.run_command("render", "--as", "served", "--output", "json", path)
        self.assertEqual(json.loads(same.stdout), form)
        full = self.run_command("render", "--as", "served", "--full", "--endpoints", path)
        self.assertIn("endpoints", yaml.safe_load(full.stdout))

    def test_layers_have_names(self) -> None:
        """Folders that have the same objects otherwise are forms of their own."""
        for name, size in (("dev", "1m"), ("prod", "9m")):
            self.manifest(ctl_case.ingress(proxy_body_size=size), f"{name}/web.yaml")
        found = self.run_command("render", "--as", "served", str(self.folder))
        forms = yaml.safe_load(found.stdout)
        self.assertEqual([name.rpartition("/")[2] for name in forms], ["dev", "prod"])
