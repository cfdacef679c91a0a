"""Fields of an Ingress that there are not."""

from typing import Any

import yaml
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.unknown_fields import MOST, unknown_fields
from tests.ctl.ctl_case import CtlCase, ingress

OLD = """\
apiVersion: extensions/v1beta1
kind: Ingress
metadata: {name: a}
spec:
  backend: {serviceName: a, servicePort: 80}
  rules: [{http: {paths: [{path: /, backend: {serviceName: a, servicePort: 80}}]}}]
"""


def found_of(raw: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return where there are such fields, their names, and what may be meant by them."""
    return [(one.at, one.name, one.meant) for one in unknown_fields(raw)]


class UnknownFieldsTests(SynchronousTestCase):
    def raw(self) -> dict[str, Any]:
        """Return an Ingress in which nothing is unknown."""
        raw: dict[str, Any] = yaml.safe_load(ingress(ssl_redirect="false"))
        self.assertEqual(found_of(raw), [])
        return raw

    def test_a_field_says_what_may_be_meant(self) -> None:
        """A close name, another place, or what other versions call it; nothing where nothing is like it."""
        for path, name, at, meant in (
            ((), "specs", "", "did you mean spec?"),
            ((), "rules", "", "it belongs below spec: spec.rules"),
            ((), "labels", "", "it belongs below metadata: metadata.labels"),
            (("metadata",), "ingressClassName", "metadata", "it belongs below spec: spec.ingressClassName"),
            (("metadata",), "anotations", "metadata", "did you mean annotations?"),
            (("spec",), "ingressClass", "spec", "did you mean ingressClassName?"),
            (("spec",), "backend", "spec", "did you mean defaultBackend?"),
            (("spec",), "annotations", "spec", "it belongs below metadata: metadata.annotations"),
            (("spec",), "hosts", "spec", "it belongs deeper: spec.tls[0].hosts"),
            (("spec",), "zzz", "spec", ""),
            (("spec", "rules", 0), "tls", "spec.rules[0]", "it belongs below spec: spec.tls"),
            (
                ("spec", "rules", 0),
                "backend",
                "spec.rules[0]",
                "it belongs deeper: spec.rules[0].http.paths[0].backend",
            ),
            (("spec", "rules", 0, "http"), "path", "spec.rules[0].http", "did you mean paths?"),
            (
                ("spec", "rules", 0, "http", "paths", 0),
                "pathtype",
                "spec.rules[0].http.paths[0]",
                "did you mean pathType?",
            ),
            (
                ("spec", "rules", 0, "http", "paths", 0, "backend"),
                "name",
                "spec.rules[0].http.paths[0].backend",
                "it belongs deeper: spec.rules[0].http.paths[0].backend.service.name",
            ),
        ):
            raw = self.raw()
            parent: Any = raw
            for step in path:
                parent = parent[step]
            parent[name] = {"x": 1}
            self.assertEqual(found_of(raw), [(at, name, meant)], (path, name))

    def test_what_is_no_field_of_anybody(self) -> None:
        """Extensions, keys that are no names, and what is no object where one belongs are passed over."""
        raw = self.raw()
        raw.update({"x-common": 1, "a.b/c": 1, "": 1, "\u202e": 1, "a" * 100: 1})
        raw["spec"]["tls"] = ["text", None, {"hosts": {"a": 1}}]
        raw["spec"]["defaultBackend"] = "text"
        self.assertEqual(found_of(raw), [])
        self.assertEqual(found_of({"spec": None}), [])

    def test_the_old_version_has_its_own(self) -> None:
        """They are unknown in the new one, where the spec is concerned; backends are told of otherwise."""
        raw = yaml.safe_load(OLD)
        self.assertEqual(found_of(raw), [])
        raw["apiVersion"] = "networking.k8s.io/v1"
        self.assertEqual(found_of(raw), [("spec", "backend", "did you mean defaultBackend?")])

    def test_so_many_and_no_more(self) -> None:
        """An object may hold any number of them."""
        raw = self.raw()
        raw["spec"].update({f"n{number}": 1 for number in range(100_000)})
        self.assertEqual(len(found_of(raw)), MOST)


class LintTests(CtlCase):
    """How lint tells."""

    def test_an_unknown_field_is_an_error_at_its_line(self) -> None:
        """Of each Ingress that is judged, in whatever set of objects it stands, and of no other."""
        text = ingress().replace("        paths:", "        path:")
        self.manifest(text, "a.yaml")
        self.manifest(text.replace("shop.example.com", "b.example.com"), "b/c.yaml")
        other = text.replace("name: web", "name: other", 1).replace("ClassName: nginx", "ClassName: other")
        self.manifest(other, "d.yaml")
        result = self.run_command("lint", str(self.folder))
        self.assertEqual(result.exit_code, 1)
        self.assertEqual(result.stdout.count("UnknownField"), 2, result.stdout)
        for name in ("/a.yaml:12\n", "/b/c.yaml:12\n"):
            self.assertIn(name, result.stdout)
        self.assertIn('spec.rules[0].http has no field "path", so nothing of it has an effect', result.stdout)
        self.assertIn("→ did you mean paths?", result.stdout)
