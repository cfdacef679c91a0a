"""Lines of fields: a finding is where its field stands."""

import json

import yaml
from hypothesis import given as drawn
from hypothesis import settings, strategies

from ingress.ctl.inputs.files.lines import AskedField, lines_of
from ingress.ctl.inputs.files.texts import Texts
from ingress.model.cluster.objects import Kind, ObjectKey
from tests.ctl.inputs.files.files_case import FilesCase, an_ingress
from tests.fakes.counting import calls
from tests.properties import examples

SHOP = (Kind.INGRESS, ObjectKey("shop", "web"))
INGRESS = """\
# a comment
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    nginx.ingress.kubernetes.io/x.y: |
      two
      lines
    "nginx.ingress.kubernetes.io/z": {not: text}
spec:
  tls:
  - hosts:
    - a.example.com
    - b.example.com
  rules:
  - host: a.example.com
    http: &paths
      paths:
      - {path: /, backend: {service: {name: one}}}
      - path: /two
        backend:
          service:
            name: two
  - host: b.example.com
    http: *paths
"""


class YamlTests(FilesCase):
    """Fields of YAML."""

    def line(self, field: str) -> int | None:
        """Return the line of *field*."""
        asked = AskedField(SHOP, 2, field)
        return lines_of(INGRESS, [asked]).get(asked)

    def test_fields(self) -> None:
        """A field is in the line of its name, an entry of a list where it begins."""
        expected = {
            "": 2,
            "metadata.annotations[nginx.ingress.kubernetes.io/x.y]": 8,
            "metadata.annotations[nginx.ingress.kubernetes.io/z]": 11,
            "spec.tls[0].hosts[1]": 16,
            "spec.rules[0]": 18,
            "spec.rules[0].http.paths[0].backend.service.name": 21,
            "spec.rules[0].http.paths[1].backend.service.name": 25,
            "spec.rules[1].host": 26,
        }
        self.assertEqual({field: self.line(field) for field in expected}, expected)

    def test_what_is_not_there(self) -> None:
        """Of a field that is missing, or comes by an alias, the line is that of what it would be in."""
        self.assertEqual(self.line("spec.rules[0].http.paths[1].pathType"), 22)
        self.assertEqual(self.line("metadata.annotations[nginx.ingress.kubernetes.io/w]"), 7)
        self.assertEqual(self.line("spec.rules[1].http.paths[0].path"), 27)
        self.assertEqual(self.line("spec.rules[7].host"), 17)
        self.assertEqual(self.line("status"), 2)

    def test_keys_with_dots(self) -> None:
        """A key of a ConfigMap may have dots; a key that only begins alike is another."""
        text = "kind: ConfigMap\ndata:\n  tls: a\n  tls.crt: b\n  tls.crt.old: c\n"
        for field, line in (("data.tls", 3), ("data.tls.crt", 4), ("data.tls.crt.old", 5), ("data.tl", 2)):
            asked = AskedField(SHOP, 1, field)
            self.assertEqual(lines_of(text, [asked])[asked], line, field)


class JsonTests(FilesCase):
    """Fields of JSON, where objects are known by their names."""

    def test_the_same_lines_as_yaml(self) -> None:
        """In an object, a ``List`` and a typed list, each member has its line."""
        raw = yaml.safe_load(INGRESS)
        entry = {name: raw[name] for name in ("metadata", "spec")}
        for whole in (
            raw,
            {"kind": "List", "apiVersion": "v1", "items": [{"kind": "Service"}, 7, raw]},
            {"kind": "IngressList", "apiVersion": "networking.k8s.io/v1", "items": [entry]},
        ):
            text = json.dumps(whole, indent=2)
            lines = text.splitlines()
            for field, begins in (
                ("metadata.annotations[nginx.ingress.kubernetes.io/z]", '"nginx.ingress.kubernetes.io/z": {'),
                ("spec.rules[0].http.paths[1].backend.service.name", '"name": "two"'),
                ("spec.rules[1].host", '"host": "b.example.com"'),
                ("spec.tls[0].hosts[1]", '"b.example.com"'),
            ):
                asked = AskedField(SHOP, 1, field)
                line = lines_of(text, [asked])[asked]
                self.assertTrue(lines[line - 1].strip().startswith(begins), (field, line, lines[line - 1]))

    def test_objects_of_one_name(self) -> None:
        """Kind, namespace and name together say which object is meant."""
        named = [
            {"kind": kind, "metadata": {"name": "web", "namespace": namespace}}
            for kind, namespace in (("Service", "shop"), ("Ingress", "other"), ("Ingress", "shop"))
        ]
        text = "\n".join(map(json.dumps, named))
        asked = AskedField(SHOP, 3, "metadata.name")
        self.assertEqual(lines_of(text, [asked]), {asked: 3})


class AnyTextTests(FilesCase):
    """No text is a reason to fail."""

    @settings(max_examples=examples(200), deadline=None)
    @drawn(
        strategies.one_of(
            strategies.text(alphabet='{}[]"\\:,-&*! \n\tabk0'),
            strategies.integers(0, len(INGRESS)).map(lambda cut: INGRESS[:cut]),
            strategies.integers(0, 400).map(lambda cut: json.dumps(yaml.safe_load(INGRESS))[:cut]),
        ),
        strategies.text(alphabet="ab[]0.", max_size=8),
    )
    def test_any_text(self, text: str, field: str) -> None:
        """Whatever text and field are, the lines are lines of the text."""
        found = lines_of(text, [AskedField(SHOP, line, field) for line in range(3)])
        self.assertTrue(all(1 <= line <= text.count("\n") + 1 for line in found.values()), found)

    def test_deep_nesting(self) -> None:
        """Text that is nested deeper than anything is read costs nothing but its lines."""
        for text in ("[" * 100_000, '{"a":' * 100_000, "{a: " * 2000):
            self.assertEqual(lines_of(text, [AskedField(SHOP, 7, "a.a")]), {})


class PlacedTests(FilesCase):
    """Findings of commands have the lines of their fields."""

    def test_findings_have_the_lines_of_their_fields(self) -> None:
        """What is wrong with an annotation stands in its line, in YAML and in JSON."""
        text = an_ingress().replace(
            "name: web\n",
            "name: web\n  annotations:\n    nginx.ingress.kubernetes.io/proxy-body-size: x\n",
            1,
        )
        self.manifest(text, "a.yaml")
        self.manifest(json.dumps(yaml.safe_load(text), indent=2), "a.json")
        for name, line in (("a.yaml", 6), ("a.json", 7)):
            result = self.run_command("lint", "--output", "json", str(self.folder / name))
            lines = {
                one["line"]
                for one in _findings(json.loads(result.stdout))
                if "proxy-body-size" in one["field"]
            }
            self.assertEqual(lines, {line})

    def test_a_file_is_read_once_more_however_many_findings(self) -> None:
        """All fields of a file are found in one go."""
        self.manifest("---\n".join(an_ingress(f"i{number}", "a b") for number in range(20)))
        given = self.read()
        asked = [(place, object_id, "spec.rules[0].host") for object_id, place in given.places.items()]
        read: list[str] = []
        texts = given.texts
        assert isinstance(texts, Texts)
        self.patch(texts, "paths", _Counted(texts.paths, read))
        self.assertEqual(
            [place.line for place in given.exact_places(asked).values()], [8 + 14 * n for n in range(20)]
        )
        self.assertEqual(len(read), 1)


class _Counted(dict[str, str]):
    def __init__(self, paths: dict[str, str], read: list[str]) -> None:
        super().__init__(paths)
        self._read = read

    def __getitem__(self, name: str) -> str:
        self._read.append(name)
        return super().__getitem__(name)


def _findings(report: object) -> list[dict[str, str]]:
    """Return all findings of a report of lint, wherever they stand in it."""
    if isinstance(report, list):
        return [finding for entry in report for finding in _findings(entry)]
    if isinstance(report, dict):
        inside = [finding for entry in report.values() for finding in _findings(entry)]
        return [report, *inside] if "rule" in report and "field" in report else inside
    return []


class EffortTests(FilesCase):
    """What one tenant writes costs what it is long."""

    def calls(self, count: int, form: str) -> int:
        """How many functions are called to find *count* fields among as many."""
        names = [f"nginx.ingress.kubernetes.io/x{number}" for number in range(count)]
        raw = {
            "kind": "Ingress",
            "metadata": {"name": "web", "namespace": "shop", "annotations": dict.fromkeys(names, "")},
            "spec": {"tls": [{"hosts": ["a"]} for _ in names]},
        }
        text = json.dumps(raw) if form == "json" else yaml.safe_dump(raw)
        asked = [
            *(AskedField(SHOP, 1, f"metadata.annotations[{name}]") for name in names),
            *(AskedField(SHOP, 1, f"spec.tls[{number}].hosts[0]") for number in range(count)),
        ]
        self.assertEqual(len(lines_of(text, asked)), 2 * count)
        return calls(lambda: lines_of(text, asked))

    def test_many_fields_of_one_object(self) -> None:
        """Twice as many are twice the work."""
        for form in ("json", "yaml"):
            self.assertLess(self.calls(400, form), 2.6 * self.calls(200, form), form)
