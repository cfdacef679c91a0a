"""Folders as they are in repositories: most of what lies in them is no manifest."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from errno import EACCES
from typing import IO
from unittest.mock import patch

from ingress.ctl.commands.reading_inputs import read_input
from ingress.ctl.errors import MISTAKEN, Mistake
from ingress.ctl.inputs.files import folders
from ingress.ctl.inputs.files.choices import USUAL, How
from tests.ctl.inputs.files.files_case import FilesCase, an_ingress

TEMPLATE = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ include "web.fullname" . }}
spec:
  rules: []
"""
OTHERS = {
    "docker-compose.yml": "services:\n  web:\n    image: nginx\n",
    "values.yaml": "ingress:\n  enabled: true\n  annotations: {}\n",
    ".github/workflows/ci.yml": "on: push\njobs: {}\n",
    "workflows/deploy.yml": "jobs:\n  - run: |\n      kubectl apply -f - <<END\n      kind: Ingress\n      END\n",
    "package.json": '{"name": "web", "kind": "module"}',
    "tsconfig.json": '{\n  // a comment\n  "kind": "x",\n}',
    "openapi.json": '{"openapi": "3.0.0", "definitions": {"x": {"properties": {"kind": {"type": "string"}}}}}',
    "crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  names: {kind: Service}\n",
    "playbook.yaml": "- hosts: all\n  tasks:\n    - k8s:\n        definition:\n          kind: Ingress\n",
    "istio.yaml": "apiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {name: x}\n",
    "deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n",
    "broken.yaml": "a: [1,\nb: }\n",
    "empty.yaml": "",
    "latin-1.yaml": "name: caf\udce9\n",
    "notes.txt": "kind: Ingress\n",
    "node_modules/x/ingress.yaml": "kind: Ingress: :\n",
    "vendor/x/ingress.yaml": "kind: Ingress: :\n",
    ".git/ingress.yaml": "kind: Ingress: :\n",
}


class FolderTests(FilesCase):
    """What is no manifest costs nobody a line."""

    def put(self, name: str, text: str) -> None:
        """Write a file, of whatever bytes."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))

    def test_what_powershell_wrote(self) -> None:
        """UTF-16 that would be a manifest is told, with what helps; any other file of it is none of ours."""
        path = self.folder / "a.yaml"
        path.write_bytes(an_ingress().encode("utf-16"))
        (self.folder / "b.yaml").write_bytes("a: b".encode("utf-16"))
        given = self.read()
        self.assertEqual(
            [(one.name, one.message) for one in given.state.problems],
            [(str(path), "line 1: is not UTF-8, but UTF-16, as PowerShell writes it; save it as UTF-8")],
        )

    def test_a_folder_that_is_called_as_a_kustomization(self) -> None:
        """It is a folder as any other, whose files are read."""
        self.manifest(an_ingress(), "kustomize.toolkit.fluxcd.io/Kustomization/a.yaml")
        given = self.read()
        self.assertEqual((len(list(given.route_objects())), given.unread, given.state.problems), (1, (), ()))

    def test_other_files_are_passed_over_in_silence(self) -> None:
        """Neither what is no object, nor what others have brought along, is read or told of."""
        for name, text in OTHERS.items():
            self.put(name, text)
        self.put("k8s/ingress.yml", an_ingress())
        given = self.read()
        self.assertEqual(self.ingresses(given), {"default/web": "k8s/ingress.yml:1"})
        self.assertEqual((given.state.problems, given.unread), ((), ()))

    def test_what_is_passed_over_can_be_named(self) -> None:
        """A folder that would be passed over is read where somebody names it."""
        self.put("vendor/ingress.yaml", an_ingress())
        self.assertEqual(list(self.ingresses(self.read("vendor"))), ["default/web"])

    def test_a_broken_manifest_is_an_error_with_its_line(self) -> None:
        """A file that would hold an object and cannot be read is told of."""
        self.put("a.yaml", an_ingress() + "---\nkind: Service\nspec: {ports: [\n")
        (told,) = self.told_of_files(self.read())
        self.assertTrue(told.startswith("a.yaml:17: line 17: "), told)
        self.assertEqual(self.run_command("lint", str(self.folder)).exit_code, 1)

    def test_an_object_without_version_is_told(self) -> None:
        """What says to be an Ingress and leaves out ``apiVersion`` is no stranger."""
        self.put("a.yaml", an_ingress().partition("\n")[2])
        (told,) = self.told_of_files(self.read())
        self.assertIn("a.yaml:1: line 1: is no Kubernetes object: apiVersion and kind", told)

    def test_a_chart_is_told_of_once(self) -> None:
        """The templates of a chart are not read, and it is said once how to have them rendered."""
        for name in ("ingress", "admin-ingress", "service"):
            self.put(f"charts/web/templates/{name}.yaml", TEMPLATE)
        self.put("charts/web/Chart.yaml", "name: web\n")
        self.put("charts/web/values.yaml", "ingress: {}\n")
        self.put("charts/web/charts/sub/Chart.yaml", "name: sub\n")
        self.put("charts/web/charts/sub/templates/ingress.yaml", TEMPLATE)
        self.put("a.yaml", an_ingress())
        why = "is a Helm chart: render it first, as with helm template charts/web | ingressctl lint -"
        given = self.read()
        self.assertEqual(self.unread(given), [("charts/web", why)])
        self.assertEqual(self.ingresses(given), {"default/web": "a.yaml:1"})

    def test_a_chart_without_routes_is_not_told_of(self) -> None:
        """A chart that has no word of an Ingress, and brings no other chart, is nothing to be concerned about."""
        self.put("chart/Chart.yaml", "name: jobs\n")
        self.put("chart/templates/job.yaml", "kind: Job\nname: {{ .Values.name }}\n")
        self.put("a.yaml", an_ingress())
        self.assertEqual(self.unread(self.read()), [])
        self.put("chart/Chart.yaml", "name: jobs\ndependencies:\n  - name: web\n")
        self.assertEqual([what for what, _ in self.unread(self.read())], ["chart"])

    def test_nothing_but_a_chart(self) -> None:
        """Where nothing at all could be read, the status is not that of a check that went well."""
        self.put("Chart.yaml", "name: web\n")
        self.put("templates/ingress.yaml", TEMPLATE)
        for folder in (self.folder, self.folder / "templates"):
            result = self.run_command("lint", str(folder))
            self.assertEqual(result.exit_code, MISTAKEN)
            self.assertIn("helm template", result.output)
            self.assertEqual(result.output.count("is a Helm chart"), 1)

    def test_other_templates_are_told_of_by_folder(self) -> None:
        """Templates that lie outside of charts are told of together, and those in which only a value is one, too."""
        self.put("a.yaml", an_ingress())
        self.put("one/ingress.yaml", TEMPLATE)
        self.put("two/ingress.yaml", TEMPLATE)
        self.put("two/jinja.yaml", "{% if ingress %}\nkind: Ingress\n{% endif %}\n")
        self.put("two/quoted.yaml", an_ingress("quoted", '"{{ host }}"'))
        given = self.read()
        self.assertEqual([what for what, _ in self.unread(given)], ["one/ingress.yaml", "3 files in two"])
        self.assertEqual(list(self.ingresses(given)), ["default/web"])
        self.assertEqual(given.state.problems, ())

    def test_braces_that_are_no_template(self) -> None:
        """A file that can be read has objects, whatever else stands in it."""
        rules = (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules}\ndata: {a: '{{ $labels.pod }}'}\n---\n"
        )
        self.put("a.yaml", rules + an_ingress())
        given = self.read()
        self.assertEqual((list(self.ingresses(given)), given.unread), (["default/web"], ()))

    def test_a_fault_before_the_first_braces_is_a_fault(self) -> None:
        """A broken manifest is told as such, though braces come further below."""
        self.put("a.yaml", "kind: Ingress\nmetadata: {name: [\n  a: }\nspec:\n\n  x: '{{'\n")
        self.assertEqual(len(self.told_of_files(self.read())), 1)

    def test_the_current_folder(self) -> None:
        """Below ``.`` paths begin with no dot."""
        self.put("k8s/a.yaml", an_ingress())
        self.put("chart/Chart.yaml", "dependencies:\n")
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            given = read_input((".",), ())
        finally:
            os.chdir(before)
        self.assertEqual([str(place) for place in given.places.values()], ["k8s/a.yaml:1"])
        self.assertEqual([one.what for one in given.unread], ["chart"])

    def test_links(self) -> None:
        """Links to folders are not followed, links to files are, and one that leads nowhere is told of."""
        self.put("k8s/a.yaml", an_ingress())
        os.symlink("..", self.folder / "k8s" / "circle")
        os.symlink(self.folder.resolve(), self.folder / "again")
        os.symlink("k8s/a.yaml", self.folder / "z.yaml")
        os.symlink("nowhere", self.folder / "gone.yaml")
        given = self.read()
        self.assertEqual(self.ingresses(given), {"default/web": "k8s/a.yaml:1"})
        self.assertEqual(given.state.problems, ())
        self.assertEqual(
            self.unread(given), [("gone.yaml", "cannot be read: it is a link that leads nowhere")]
        )

    def test_pipes_and_folders_with_names_of_manifests(self) -> None:
        """Nothing waits for a pipe that lies in a folder."""
        os.mkfifo(self.folder / "pipe.yaml")
        (self.folder / "folder.yaml").mkdir()
        self.put("a.yaml", an_ingress())
        self.assertEqual(list(self.ingresses(self.read())), ["default/web"])

    def test_what_may_not_be_read(self) -> None:
        """Files and folders without leave are told of, and harm no other."""
        self.put("a.yaml", an_ingress())
        self.put("b.yaml", an_ingress("b"))
        self.put("c/c.yaml", an_ingress("c"))

        def opening(path: str, mode: str) -> IO[bytes]:
            if path.endswith("b.yaml"):
                raise PermissionError(EACCES, "Permission denied")
            return os.fdopen(os.open(path, os.O_RDONLY), mode)

        def scanning(path: str) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
            if path.endswith("c"):
                raise PermissionError(EACCES, "Permission denied")
            return scandir(path)

        scandir = os.scandir
        with (
            patch("ingress.ctl.inputs.files.texts.open", opening, create=True),
            patch.object(os, "scandir", scanning),
        ):
            given = self.read()
            named = self.assertRaises(Mistake, self.read, "b.yaml")
        why = "cannot be read: Permission denied"
        self.assertEqual(self.unread(given), [("c", why), ("b.yaml", why)])
        self.assertEqual(list(self.ingresses(given)), ["default/web"])
        self.assertIn("Permission denied", named.message)

    def test_too_many_files(self) -> None:
        """A folder that holds more than anybody means is read up to a bound, and that is told."""
        for number in range(5):
            self.put(f"{number}.yaml", an_ingress(f"i{number}"))
        self.patch(folders, "MOST_FILES", 3)
        given = self.read()
        self.assertEqual(len(self.ingresses(given)), 3)
        ((_, why),) = self.unread(given)
        self.assertIn("more than 3 files that may be manifests", why)

    def test_only_manifests_are_opened(self) -> None:
        """Of a folder full of other things nothing is opened that does not look like a manifest by its name."""
        self.put("a.yaml", an_ingress())
        for name in ("disk.img", "a.go", "Makefile", "b.yaml.bak"):
            self.put(name, "kind: Ingress")
        opened = []

        def opening(path: str, mode: str) -> IO[bytes]:
            opened.append(os.path.basename(path))
            return os.fdopen(os.open(path, os.O_RDONLY), mode)

        with patch("ingress.ctl.inputs.files.texts.open", opening, create=True):
            self.read()
        self.assertEqual(opened, ["a.yaml"])

    def test_a_file_that_is_too_large(self) -> None:
        """A file beyond the bound is told of, not read."""
        self.put("a.yaml", an_ingress())
        self.put("b.yaml", an_ingress("b") + "#" * 1000)
        with patch("ingress.ctl.inputs.files.manifests.MAX_FILE_BYTES", 1000):
            given = self.read()
        self.assertEqual([what for what, _ in self.unread(given)], ["b.yaml"])
        self.assertEqual(list(self.ingresses(given)), ["default/web"])


class SlipTests(FilesCase):
    """Kinds that are mistyped."""

    def test_a_kind_in_other_letters_is_found(self) -> None:
        """A file is opened for it, and told of; what is no object stays passed over."""
        self.manifest(an_ingress().replace("kind: Ingress", "kind: ingress"), "a.yaml")
        self.manifest("kind: service\nimage: x\n", "b.yaml")
        self.assertEqual(
            self.told_of_files(self.read()), ["a.yaml:1: line 1: there is no kind 'ingress'; write Ingress"]
        )


class NamespaceTests(FilesCase):
    """``-n`` narrows what is looked at."""

    def test_only_the_namespaces_named(self) -> None:
        """Objects of other namespaces are left out; what names none is in the first that is named."""
        self.manifest(
            "---\n".join((an_ingress("a"), an_ingress("b").replace("name: b", "name: b\n  namespace: other")))
        )
        self.assertNotIn("other", self.run_command("lint", "-n", "shop", str(self.folder)).output)
        self.assertEqual(list(self.ingresses(self.read(how=How(("shop",))))), ["shop/a"])
        self.assertEqual(list(self.ingresses(self.read(how=How(("shop", "other"))))), ["other/b", "shop/a"])
        self.assertEqual(list(self.ingresses(self.read(options=("namespace=other",)))), ["other/b"])

    def test_a_namespace_that_has_nothing(self) -> None:
        """It is told with those that have Ingresses; not where there are none at all, or one of those named has some."""
        self.manifest(an_ingress("b").replace("name: b", "name: b\n  namespace: shop"), "b.yaml")
        only = "metadata:\n  name: a\n  namespace: web\n"
        self.manifest(an_ingress("a").replace("metadata:\n  name: a\n", only))
        for how, options in ((How(("shpo",)), ()), (USUAL, ("namespace=shpo",))):
            self.assertEqual(
                self.unread(self.read(how=how, options=options)),
                [("namespace shpo", "nothing that is to be judged is in it; it is in shop, web")],
            )
        self.assertEqual(self.unread(self.read(how=How(("shpo", "web")))), [])
        result = self.run_command("lint", "-n", "shpo", str(self.folder))
        self.assertIn(
            "namespace shpo: nothing that is to be judged is in it; it is in shop, web", result.stdout
        )
        self.manifest("apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: web}\nspec: {}\n")
        self.manifest("", "b.yaml")
        self.assertEqual(self.unread(self.read(how=How(("shpo",)))), [])


class LabelTests(FilesCase):
    """Labels of route objects are kept beside them."""

    def test_labels(self) -> None:
        """They are those of the object, as far as they are text."""
        self.manifest(
            an_ingress().replace("name: web\n", "name: web\n  labels: {team: shop, n: 1, 2: x}\n", 1)
        )
        given = self.read()
        self.assertEqual([dict(labels) for labels in given.labels.values()], [{"team": "shop", "2": "x"}])
