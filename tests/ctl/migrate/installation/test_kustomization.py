"""The same as files, and out of files."""

import json
from pathlib import Path

import yaml

from ingress.ctl.inputs.ingress_nginx.installation import IS_DEFAULT
from tests.ctl.commands.test_migrate import MigrateCase
from tests.ctl.ctl_case import ingress
from tests.ctl.inputs.controllers import as_yaml, autoscaler, deployment, ingress_class, service
from tests.ctl.migrate.installation.installation_case import in_its_place

INTERNAL = service("ingress-nginx-controller-internal")
FILES = ["kustomization.yaml", "service-internal.yaml"]


class FilesTests(MigrateCase):
    """``--patches``, and the page."""

    def installed(self, *paths: str) -> tuple[list[str], Path]:
        """The names of the files that are written for *paths*, and where."""
        out = Path(self.mktemp()).absolute()
        self.run_command("migrate", *paths, "--patches", str(out))
        return sorted(path.name for path in (out / "controller").glob("*")), out

    def test_they_are_written_and_removed(self) -> None:
        """What an earlier run wrote goes with what it was for; what somebody else put there stays."""
        path = self.manifest(ingress() + "---\n" + as_yaml(deployment(), service(), INTERNAL))
        names, out = self.installed(path)
        self.assertEqual(names, FILES)
        text = (out / "controller" / "kustomization.yaml").read_text("utf-8")
        page = self.page(path)
        self.assertIn(text, page)
        self.assertIn("Beside it `service-internal.yaml`:", page)
        (out / "controller" / "mine.yaml").write_text("")
        alone = self.manifest(as_yaml(deployment(), service()))
        self.run_command("migrate", alone, "--patches", str(out))
        left = sorted(path.name for path in (out / "controller").iterdir())
        self.assertEqual(left, ["kustomization.yaml", "mine.yaml"])

    def test_without_an_ingress_nginx(self) -> None:
        """There is nothing to be replaced."""
        names, _ = self.installed(self.manifest(ingress() + "---\n" + as_yaml(service())))
        self.assertEqual(names, [])

    def test_a_folder_of_files(self) -> None:
        """Each in its own, as Helm and kustomize write them; the autoscaler is found in one that has nothing else."""
        folder = Path(self.mktemp())
        folder.mkdir()
        for name, one in (("a", deployment()), ("b", service()), ("c", autoscaler(maxReplicas=9))):
            (folder / f"{name}.yaml").write_text(as_yaml(one), "utf-8")
        (folder / "d.yaml").write_text(ingress(), "utf-8")
        (found,) = json.loads(self.page(str(folder), "--output", "json"))["arguments"]
        self.assertEqual(
            {(one["object"].split()[0], one["field"], one["becomes"]) for one in found["around"]},
            {
                ("Service", "externalTrafficPolicy", "taken over"),
                ("HorizontalPodAutoscaler", "maxReplicas", "taken over"),
            },
        )

    def test_the_class_of_ingresses_that_name_none(self) -> None:
        """It is its own, in files as in the cluster; one alone can be the default, so ours is it later."""
        for args, one, is_ours in (
            ((), ingress_class(), True),
            ((), ingress_class(default="false"), False),
            ((), ingress_class("other", "example.com/other"), False),
            (("--ingress-class=edge", "--controller-class=a/b"), ingress_class("edge", "a/b"), True),
            (("--ingress-class=edge", "--controller-class=a/b"), ingress_class(), False),
        ):
            path = self.manifest(ingress() + "---\n" + as_yaml(deployment(*args), one))
            (found,) = json.loads(self.page(path, "--output", "json"))["arguments"]
            fields = [(one["field"], one["becomes"]) for one in found["around"]]
            self.assertEqual(fields, [(f"annotation {IS_DEFAULT}", "later")] if is_ours else [])
            text = in_its_place(found["files"]["kustomization.yaml"])
            patch = yaml.safe_load(text)["patches"][0]["patch"]
            paths = {one["path"]: one["value"] for one in yaml.safe_load(patch)}
            self.assertEqual(paths.get("/metadata/annotations"), {IS_DEFAULT: "true"} if is_ours else None)

    def test_firewall(self) -> None:
        """Where an Ingress or the ConfigMap asks for one, the component is there, beside the argument that stands in its place."""
        config = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "ingress-nginx-controller", "namespace": "ingress-nginx"},
            "data": {"enable-modsecurity": "true"},
        }
        plain, asking = ingress(), ingress(enable_modsecurity="true")
        for text, asks in (
            (plain + "---\n" + as_yaml(deployment()), False),
            (plain + "---\n" + as_yaml(deployment(), config), True),
            (
                plain + "---\n" + as_yaml(deployment(), {**config, "data": {"enable-modsecurity": "false"}}),
                False,
            ),
            (asking + "---\n" + as_yaml(deployment()), True),
            (ingress(enable_modsecurity="false") + "---\n" + as_yaml(deployment()), False),
        ):
            path = self.manifest(text)
            report = json.loads(self.page(path, "--output", "json"))
            written = report["arguments"][0]["files"]["kustomization.yaml"]
            self.assertEqual("../txingress/k8s/components/firewall]" in written, asks)
            self.assertEqual("- --firewall-processes=2" in written, asks)
            self.assertEqual("--build-arg FIREWALL=yes" in written, asks)
            self.assertEqual(report["lacksFirewall"], asks)
            self.assertEqual("--build-arg FIREWALL=yes`: requests" in self.page(path), asks)
            judged = json.loads(self.page(path, "--output", "json", "-o", "firewall-processes=2"))
            self.assertFalse(judged["lacksFirewall"])
            self.assertEqual(judged["count"]["answers503"], 0)
            for key in (judged["configMap"] or {"keys": []})["keys"]:
                self.assertEqual(key["standing"], "honored")

    def test_whatever_stands_in_them_is_text(self) -> None:
        """On the page, in YAML and in JSON."""
        hostile = "`</code><script>|\n# x: &a {{y}}"
        annotated = service(annotations={"example.com/note": hostile})
        path = self.manifest(
            ingress()
            + "---\n"
            + as_yaml(deployment(schedulerName=hostile, priorityClassName=hostile), annotated)
        )
        self.assertNotIn("<script>", self.page(path, "--output", "html"))
        (found,) = json.loads(self.page(path, "--output", "json"))["arguments"]
        self.assertIn(json.dumps(hostile), found["files"]["kustomization.yaml"])
