"""``-``: what is piped into a command."""

import json
import os
from io import BytesIO

import yaml

from ingress.ctl.errors import MISTAKEN, Mistake
from ingress.ctl.inputs.files.choices import How
from tests.ctl.inputs.files.files_case import FilesCase, an_ingress


class _Terminal(BytesIO):
    def isatty(self) -> bool:
        return True


class StandardInputTests(FilesCase):
    """What ``kubectl get``, ``helm template`` and ``kustomize build`` write is read, and its lines are those of the stream."""

    def test_a_stream_of_documents(self) -> None:
        """Documents are told by their lines in the stream."""
        given = self.read_piped(f"{an_ingress('a')}---\n# Source: chart/templates/b.yaml\n{an_ingress('b')}")
        self.assertEqual(self.ingresses(given), {"default/a": "-:1", "default/b": "-:16"})

    def test_a_list_of_kubectl(self) -> None:
        """A ``List`` holds objects with their kinds, as YAML and as JSON."""
        entries = [yaml.safe_load(an_ingress(name)) for name in "ab"]
        whole = {"apiVersion": "v1", "kind": "List", "items": entries}
        for text in (yaml.safe_dump(whole), json.dumps(whole, indent=4), json.dumps(whole)):
            self.assertEqual(list(self.ingresses(self.read_piped(text))), ["default/a", "default/b"])

    def test_a_typed_list(self) -> None:
        """The objects of an ``IngressList`` leave out what the list says for them."""
        entry = yaml.safe_load(an_ingress())
        del entry["apiVersion"], entry["kind"]
        whole = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressList", "items": [entry]}
        for text in (yaml.safe_dump(whole), json.dumps(whole)):
            self.assertEqual(list(self.ingresses(self.read_piped(text))), ["default/web"])

    def test_mixed_with_paths(self) -> None:
        """It may stand beside files, and is read once however often it is named."""
        self.manifest(an_ingress("a"), "a.yaml")
        given = self.read_piped(an_ingress("b"), "a.yaml", "-")
        self.assertEqual(self.ingresses(given), {"default/a": "a.yaml:1", "default/b": "-:1"})

    def test_nothing_in_it(self) -> None:
        """Whoever pipes nothing is told what to pipe."""
        for empty in ("", " \n\n"):
            mistake = self.assertRaises(Mistake, self.read_piped, empty)
            self.assertIn("standard input is empty", mistake.message)
            self.assertIn("helm template CHART | ingressctl lint -", mistake.message)

    def test_a_terminal(self) -> None:
        """At a terminal nothing waits for somebody to type YAML."""
        mistake = self.assertRaises(Mistake, self.read, "-", how=How(standard_input=_Terminal()))
        self.assertIn("which is a terminal here", mistake.message)

    def test_a_template_is_told_to_be_rendered(self) -> None:
        """What is piped in without having been rendered is a fault with its line."""
        given = self.read_piped("kind: Ingress\nmetadata:\n  name: {{ .Values.name }}\n")
        (told,) = self.told_of_files(given)
        self.assertTrue(told.startswith("-:3: "), told)
        self.assertIn("a template must be rendered first", told)

    def test_a_command_reads_it(self) -> None:
        """``ingressctl lint -`` reads what is piped into the process, and ends with a line where there is nothing."""
        self.assertIn("-:", self.run_command("lint", "-", given=an_ingress(host="a b")).output)
        result = self.run_command("lint", "-", given="")
        self.assertEqual(result.exit_code, MISTAKEN)
        self.assertIn("Error: standard input is empty", result.output)


class PathTests(FilesCase):
    """A path that is named is read whatever it is called."""

    def test_any_name(self) -> None:
        """The name of a file that is named says nothing."""
        self.manifest(an_ingress(), "Ingress.txt")
        self.assertEqual(self.ingresses(self.read("Ingress.txt")), {"default/web": "Ingress.txt:1"})

    def test_a_pipe(self) -> None:
        """A pipe, as of ``<(helm template …)``, is read once, and lines of it can be told all the same."""
        reading, writing = os.pipe()
        with open(writing, "w") as stream:
            stream.write(an_ingress())
        with open(reading):
            given = self.read(f"/dev/fd/{reading}")
        (object_id,) = given.places
        asked = (given.place(object_id), object_id, "spec.rules[0].host")
        self.assertEqual(given.exact_places([asked])[asked].line, 8)

    def test_what_is_not_there(self) -> None:
        """A path that leads nowhere, or to nothing that can be read, is one line."""
        self.assertIn("No such file", self.assertRaises(Mistake, self.read, "nope.yaml").message)
        self.assertIn("embedded null", self.assertRaises(Mistake, self.read, "a\0b").message)
        result = self.run_command("lint", "")
        self.assertEqual(
            (result.exit_code, result.output), (MISTAKEN, "Error: an empty path names nothing\n")
        )

    def test_no_object_at_all(self) -> None:
        """A file that is named and is no manifest is told to be none."""
        self.manifest("replicas: 2\n", "values.yaml")
        (told,) = self.told_of_files(self.read("values.yaml"))
        self.assertIn("values.yaml:1: line 1: is no Kubernetes object", told)

    def test_the_same_file_twice(self) -> None:
        """A file that is named twice, or named and found, is read once."""
        self.manifest(an_ingress(), "a.yaml")
        os.symlink("a.yaml", self.folder / "b.yaml")
        given = self.read("b.yaml", "a.yaml", "")
        self.assertEqual(self.ingresses(given), {"default/web": "b.yaml:1"})
        self.assertEqual(given.state.problems, ())
