"""``--patches``: applied, the findings are gone, and nothing else is served otherwise."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from difflib import ndiff
from pathlib import Path
from typing import Any

import yaml

from ingress.ctl.inputs.files.manifests import read_manifests
from ingress.ctl.inputs.input import Input
from ingress.ctl.lint.finding import Level
from ingress.ctl.lint.linting import lint
from ingress.model.cluster.objects import ObjectKey
from ingress.options.option import DEFAULTS
from ingress.routing.route import Route
from tests.ctl.ctl_case import CtlCase, ingress
from tests.ctl.migrate.json_patches import PatchRefusedError, applied

SHOP = """\
# What the storefront serves.
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations:
    # A hundred a minute, the team thought.
    nginx.ingress.kubernetes.io/rate-limit: '100'   # per client
    nginx.ingress.kubernetes.io/rate-limit-window: 1m
    nginx.ingress.kubernetes.io/proxy-read-timeout: 60s  # long polls
    nginx.ingress.kubernetes.io/limit-rps: "5"
    nginx.ingress.kubernetes.io/server-alias: "$(rm -rf ~) `x` </td><script>"
spec:
  ingressClassName: nginx
  rules:
    - host: shop.example.com
      http:
        paths:
          - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
---
# Nothing to mend.
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: fine, namespace: shop, annotations: {nginx.ingress.kubernetes.io/limit-rps: "7"}}
spec:
  ingressClassName: nginx
  rules:
    - host: fine.example.com
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
"""

API = """\
apiVersion: v1
kind: List
items:
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata:
    name: api
    namespace: shop
    annotations: {"nginx.ingress.kubernetes.io/client-max-body-size": "8m", "example.com/x": "y"}
  spec:
    ingressClassName: nginx
    rules:
    - host: api.example.com
      http:
        paths:
        - backend: {service: {name: api, port: {number: 80}}}
          path: /v1
          pathType: prefix   # of people
        - backend: {service: {name: api, port: {number: 80}}}
          path: /v1
          pathType: Prefix
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata:
    annotations:
      nginx.ingress.kubernetes.io/rewrite-target: /
    name: rewritten
    namespace: shop
  spec:
    ingressClassName: nginx
    rules:
    - host: rewritten.example.com
      http:
        paths:
        - backend: {service: {name: api, port: {number: 80}}}
          path: /api
          pathType: Prefix
"""

LIVE = """\
{"apiVersion": "v1", "kind": "List", "items": [{
  "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
  "metadata": {
    "name": "exported", "namespace": "shop",
    "annotations": {
      "nginx.ingress.kubernetes.io/proxy-send-timeout": "5m",
      "nginx.ingress.kubernetes.io/websocket-services": "x"
    }
  },
  "spec": {"ingressClassName": "nginx", "rules": [{"host": "exported.example.com", "http": {"paths": [
    {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}
  ]}}]}
}]}
"""


def read(*paths: Path) -> Input:
    """The input that *paths* are."""
    return read_manifests([str(path) for path in paths], DEFAULTS, datetime(2030, 1, 1, tzinfo=UTC))


def routes(given: Input) -> dict[ObjectKey, list[Route]]:
    """The routes of each Ingress."""
    found: dict[ObjectKey, list[Route]] = {}
    for route in given.snapshot.routes():
        if route.owner is not None:
            found.setdefault(route.owner.key, []).append(route)
    return {key: sorted(some, key=lambda one: one.key) for key, some in found.items()}


def mendable(given: Input) -> set[tuple[object, ...]]:
    """The findings that have a patch: rule, object and field."""
    return {
        (one.rule, one.object_id, one.message)
        for one in lint(given).findings
        if one.changes and one.level is not Level.NOTE
    }


def patched(value: Any, operations: Sequence[Mapping[str, Any]], merge: Mapping[str, Any]) -> Any:
    """*value* by a JSON Patch, which makes the same of its annotations as the JSON Merge Patch of these."""
    annotations = dict(value["metadata"].setdefault("annotations", {}))
    annotations.update(merge.get("metadata", {}).get("annotations", {}))
    made = applied(value, operations)
    assert made["metadata"]["annotations"] == {
        name: text for name, text in annotations.items() if text is not None
    }
    return made


class AppliedTests(CtlCase):
    def setUp(self) -> None:
        super().setUp()
        for name, text in (("shop.yaml", SHOP), ("team/api.yml", API), ("team/live.json", LIVE)):
            self.manifest(text, name)
        self.files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        self.patches = self.folder / "patches.d"
        self.result = self.run_command(
            "migrate", *map(str, self.files), "--patches", str(self.patches), "--output", "html"
        )
        self.before = read(*self.files)

    def _applied(self) -> list[Path]:
        """The manifests in a folder of their own, by ``git apply``, in their order."""
        root = Path(self.mktemp())
        copies = [root / path for path in self.files]
        for path, copy in zip(self.files, copies, strict=True):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        patch = (self.patches / "manifests.patch").resolve()
        subprocess.run(["git", "apply", "--unsafe-paths", str(patch)], cwd=root, check=True)
        return copies

    def _objects(self, paths: Sequence[Path]) -> dict[str, Any]:
        found = {}
        for path in paths:
            for document in yaml.safe_load_all(path.read_text("utf-8")):
                for one in document.get("items", [document]):
                    found[one["metadata"]["name"]] = one
        return found

    def test_what_was_found_is_gone(self) -> None:
        """Each finding that has a patch, with all of them applied."""
        self.assertEqual(self.result.exit_code, 0, self.result.stderr)
        rules = {str(one[0]) for one in mendable(self.before)}
        self.assertLessEqual({"UnknownAnnotation", "RewriteToOnePath"}, rules)
        self.assertEqual(mendable(read(*self._applied())), set())

    def test_again(self) -> None:
        """Of what an earlier run wrote into the same directory nothing is left that this one does not write."""
        (self.patches / "mine.txt").write_text("")
        (self.patches / "objects" / "mine.json").write_text("")
        earlier = {path for path in self.patches.rglob("*") if path.is_file()}
        result = self.run_command("migrate", str(self.files[0]), "--patches", str(self.patches))
        self.assertEqual(result.exit_code, 0, result.stderr)
        left = {path for path in self.patches.rglob("*") if path.is_file()}
        self.assertLess(left, earlier)
        nothing = self.manifest("", "nothing.yaml")
        self.run_command("migrate", str(nothing), "--patches", str(self.patches))
        left = {path for path in self.patches.rglob("*") if path.is_file()}
        self.assertEqual({path.name for path in left}, {"mine.txt", "mine.json"})

    def test_nothing_else_is_served_otherwise(self) -> None:
        """Ingresses without a patch keep their routes, and the others have those of their changes made by hand."""
        before, after = routes(self.before), routes(read(*self._applied()))
        self.assertEqual(before.keys(), after.keys())
        fine = ObjectKey("shop", "fine")
        self.assertEqual(before[fine], after[fine])
        changed = {key.name for key in after if before[key] != after[key]}
        # What never existed had no part in what is served.
        self.assertEqual(changed, {"web", "api", "rewritten", "exported"})

    def test_files_and_the_cluster_come_to_the_same(self) -> None:
        """What git makes of the manifests, and what the patches of the objects make of the objects."""
        expected = self._objects(self._applied())
        got = self._objects(self.files)
        for path in sorted((self.patches / "objects").iterdir()):
            patch = json.loads(path.read_text("utf-8"))
            got[patch["name"]] = patched(got[patch["name"]], patch["jsonPatch"], patch["mergePatch"])
            # What is applied twice is refused, and takes away nothing else.
            self.assertRaises(PatchRefusedError, applied, got[patch["name"]], patch["jsonPatch"])
        self.assertEqual(got, expected)

    def test_only_the_lines_concerned_change(self) -> None:
        """Comments, order and quotes of all other lines stay."""
        copies = {path.name: path.read_text("utf-8").splitlines() for path in self._applied()}
        for text, name, gone, come in (
            (SHOP, "shop.yaml", 3, 2),
            (API, "api.yml", 7, 4),
            (LIVE, "live.json", 2, 1),
        ):
            marks = [line[0] for line in ndiff(text.splitlines(), copies[name])]
            self.assertEqual((marks.count("-"), marks.count("+")), (gone, come), name)
        self.assertIn("    # A hundred a minute, the team thought.", copies["shop.yaml"])
        self.assertIn(
            '    nginx.ingress.kubernetes.io/proxy-read-timeout: "60"  # long polls', copies["shop.yaml"]
        )

    def test_the_commands_are_a_script_that_runs_nothing_else(self) -> None:
        """bash calls kubectl once or twice for each object, goes on where it fails, and runs nothing of what tenants wrote."""
        script = 'kubectl() { printf "%s\\n" "$*"; [ "$2" != ingress/api ]; }\n' + (
            self.patches / "kubectl.sh"
        ).read_text("utf-8")
        done = subprocess.run(
            ["bash", "-c", script],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
        )
        self.assertEqual((done.stderr, done.returncode), ("", 1))
        named = {line.split()[1] for line in done.stdout.splitlines()}
        self.assertEqual(named, {"ingress/web", "ingress/api", "ingress/rewritten", "ingress/exported"})

    def test_the_page_shows_them(self) -> None:
        """The diff of the file and the command, and what was written is told."""
        self.assertIn("per client</span>", self.result.stdout)
        self.assertIn("kubectl patch ingress/web --namespace=shop", self.result.stdout)
        self.assertIn("patches of 4 objects, 4 of them in their manifests", self.result.stderr)


OLD_PREFIX = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: old
  namespace: shop
  annotations:
    ingress.kubernetes.io/rewrite-target: /
spec:
  ingressClassName: nginx
  rules:
  - host: old.example.com
    http:
      paths:
      - {path: /x, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /x, pathType: Prefix, backend: {service: {name: old, port: {number: 80}}}}
      - {path: /y, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
"""

NO_TYPE = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: untyped
  namespace: shop
  annotations:
    nginx.ingress.kubernetes.io/rewrite-target: /
spec:
  ingressClassName: nginx
  rules:
  - host: untyped.example.com
    http:
      paths:
      - {path: /x, backend: {service: {name: web, port: {number: 80}}}}
"""


class WholeTests(CtlCase):
    """One run has the whole of it: what changes is judged as it is then."""

    def test_what_a_change_brings_about_is_mended_with_it(self) -> None:
        """An annotation that is read from then on, and a path that has a type from then on, behind one that goes."""
        paths = [self.manifest(OLD_PREFIX, "old.yaml"), self.manifest(NO_TYPE, "untyped.yaml")]
        out = self.folder / "out"
        self.run_command("migrate", *paths, "--patches", str(out))
        alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(Path.cwd().parent)}
        subprocess.run(["git", "apply", str(out / "manifests.patch")], env=alone, check=True)
        found = {}
        for path in paths:
            made = yaml.safe_load(Path(path).read_text("utf-8"))
            http = made["spec"]["rules"][0]["http"]["paths"]
            found[made["metadata"]["name"]] = (
                made["metadata"]["annotations"],
                [(one["path"], one["pathType"], one["backend"]["service"]["name"]) for one in http],
            )
        kept, specific = {"nginx.ingress.kubernetes.io/rewrite-target": "/$2"}, "ImplementationSpecific"
        self.assertEqual(
            found,
            {
                "old": (kept, [("/x(/|$)(.*)", specific, "web"), ("/y(/|$)(.*)", specific, "web")]),
                "untyped": (kept, [("/x(/|$)(.*)", specific, "web")]),
            },
        )
        for path, text in zip(paths, (OLD_PREFIX, NO_TYPE), strict=True):
            [patch] = (out / "objects").glob(f"*-{Path(path).stem}.json")
            operations = json.loads(patch.read_text("utf-8"))["jsonPatch"]
            self.assertEqual(
                applied(yaml.safe_load(text), operations), yaml.safe_load(Path(path).read_text("utf-8"))
            )
        again = self.run_command("migrate", *paths, "--patches", str(out))
        self.assertIn("wrote 0 files", again.stderr)


class LayerTests(CtlCase):
    """An object that stands in several folders, of which a cluster has one."""

    def patches(self, *texts: str) -> tuple[str, list[str]]:
        """The script, and the names of the patches of objects."""
        for number, text in enumerate(texts):
            self.manifest(text, f"in/{number}/web.yaml")
        out = self.folder / "out"
        self.page = self.run_command("migrate", str(self.folder / "in"), "--patches", str(out)).stdout
        objects = sorted(path.name for path in (out / "objects").glob("*"))
        return (out / "kubectl.sh").read_text("utf-8"), objects

    def test_one_that_would_be_changed_otherwise_by_each_is_left_to_people(self) -> None:
        """No command changes it; a comment and the page name the files, which have their patches."""
        script, objects = self.patches(ingress(rate_limit="5"), ingress(proxy_read_timeout="60s"))
        self.assertNotIn("\nkubectl", script)
        self.assertEqual(objects, [])
        [comment] = [line for line in script.splitlines() if "is left out" in line]
        for number in (0, 1):
            self.assertIn(f"{self.folder}/in/{number}/web.yaml:1", comment)
        self.assertEqual(self.page.count("There is no command for the cluster"), 2)
        diff = (self.folder / "out" / "manifests.patch").read_text("utf-8")
        self.assertEqual(diff.count("\n--- "), 1)

    def test_one_that_needs_nothing_elsewhere_is_left_to_people(self) -> None:
        """It may be that one which the cluster has."""
        script, objects = self.patches(ingress(rate_limit="5"), ingress(limit_rps="5"))
        self.assertNotIn("\nkubectl", script)
        self.assertEqual(objects, [])

    def test_the_same_patch_is_written_once(self) -> None:
        """What else the two have is of no concern to it."""
        script, objects = self.patches(ingress(rate_limit="5"), ingress(rate_limit="5", proxy_body_size="1m"))
        self.assertEqual(script.count("\nkubectl"), 1)
        self.assertEqual(objects, ["0001-shop-web.json"])


class UneditedTests(CtlCase):
    def test_what_cannot_be_edited_has_its_command_and_a_reason(self) -> None:
        """An anchor that two share: the page says so, and so does a file beside the patches."""
        text = SHOP.split("---")[0].replace("annotations:\n", "annotations: &shared\n") + (
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: shop}\n"
        )
        text = text.replace("  rules:\n", "  x: *shared\n  rules:\n")
        path = self.manifest(text)
        patches = self.folder / "out"
        page = self.run_command("migrate", path, "--patches", str(patches)).stdout
        self.assertIn(
            "There is no patch of its file, for more than what is meant would change with it.", page
        )
        self.assertIn("kubectl patch ingress/web", page)
        self.assertFalse((patches / "manifests.patch").exists())
        [one] = json.loads((patches / "not-edited.json").read_text("utf-8"))
        self.assertEqual((one["name"], one["file"]), ("web", path))

    def test_rules_of_which_one_cannot_be_read_are_left_to_people(self) -> None:
        """It is left out, and a patch would take away what has its place; a backend that cannot be read leaves its path there."""
        head, rules, twice = ingress().partition("    - host")
        twice += twice[twice.index("          - path") :].replace("web", "old")
        for host, path, port, is_edited in (
            ("5", "/", "80", False),
            ("b.example.com", "5", "80", False),
            ("b.example.com", "/", "[]", True),
        ):
            backend = f"{{service: {{name: other, port: {{number: {port}}}}}}}"
            paths = ", ".join(
                f"{{path: {one}, pathType: Prefix, backend: {backend}}}" for one in (path, "/b")
            )
            odd = f"    - {{host: {host}, http: {{paths: [{paths}]}}}}\n"
            out = self.folder / "out"
            self.run_command("migrate", self.manifest(head + odd + rules + twice), "--patches", str(out))
            self.assertEqual((out / "manifests.patch").exists(), is_edited, odd)

    def test_standard_input_has_commands_alone(self) -> None:
        """There is no file to be edited."""
        result = self.run_command("migrate", "-", given=SHOP)
        self.assertIn("kubectl patch ingress/web", result.stdout)
        self.assertNotIn("```diff", result.stdout)

    def test_nothing_is_written_where_there_is_nothing_to_mend(self) -> None:
        """The directory is not made."""
        path = self.manifest(SHOP.split("---")[1])
        self.run_command("migrate", path, "--patches", str(self.folder / "out"))
        self.assertFalse((self.folder / "out").exists())

    def test_a_file_of_absolute_path_is_patched_from_the_root(self) -> None:
        """git takes no absolute paths in a diff."""
        path = str(Path(self.manifest(SHOP)).resolve())
        patches = self.folder / "out"
        self.run_command("migrate", path, "--patches", str(patches))
        text = (patches / "manifests-from-root.patch").read_text("utf-8")
        self.assertTrue(text.startswith(f"--- a{path}\n+++ b{path}\n"), text[:200])

    def test_a_file_of_any_name_is_edited(self) -> None:
        """What would end a name or a line in a diff, and bytes that are no UTF-8."""
        folder = self.folder / "in"
        folder.mkdir()
        names = [
            "tab\t.yaml",
            'quo"te.yaml',
            "back\\slash.yaml",
            "caf\xe9 1.yaml",
            "raw\udcff.yaml",
            "new\nline.yaml",
        ]
        for number, name in enumerate(names):
            (folder / name).write_text(ingress(rate_limit="5").replace("name: web", f"name: n{number}", 1))
        self.assert_edited(folder, [folder / name for name in names])

    def assert_edited(self, asked: Path, files: Sequence[Path]) -> None:
        """Each of *files* has a patch when *asked* is, which git applies."""
        out = self.folder / "out"
        self.run_command("migrate", str(asked), "--patches", str(out))
        self.assertFalse((out / "not-edited.json").exists())
        alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(Path.cwd().parent)}
        subprocess.run(["git", "apply", str(out / "manifests.patch")], env=alone, check=True)
        for path in files:
            self.assertNotIn("rate-limit", path.read_text("utf-8"))

    def test_a_link_is_edited_where_it_leads(self) -> None:
        """So is what lies in a folder that is one; no diff goes through links."""
        self.manifest(ingress(rate_limit="5"), "in/base/web.txt")
        (self.folder / "in" / "web.yaml").symlink_to(Path("base") / "web.txt")
        (self.folder / "link").symlink_to("in")
        original = self.folder / "in" / "base" / "web.txt"
        for asked in (self.folder / "in", self.folder / "link"):
            self.assert_edited(asked, [original])
            self.assertTrue((self.folder / "in" / "web.yaml").is_symlink())
            original.write_text(ingress(rate_limit="5"))

    def test_a_link_that_leads_elsewhere_is_not_edited(self) -> None:
        """Nobody asked for what lies there; it is told."""
        self.manifest(ingress(rate_limit="5"), "elsewhere/web.yaml")
        (self.folder / "in").mkdir()
        link = self.folder / "in" / "web.yaml"
        link.symlink_to(Path("..") / "elsewhere" / "web.yaml")
        for asked in (link, link.parent):
            out = self.folder / "out"
            self.run_command("migrate", str(asked), "--patches", str(out))
            self.assertFalse((out / "manifests.patch").exists())
            [one] = json.loads((out / "not-edited.json").read_text("utf-8"))
            self.assertEqual(one["file"], str(link))
            self.assertRegex(one["why"], "it is a link to .*/elsewhere/web.yaml, which lies outside")

    def test_links_that_wait_in_the_directory_lead_nowhere(self) -> None:
        """Nor do pipes: each is one line and status 2, and nothing is written elsewhere."""
        path = self.manifest(SHOP)
        victim = self.folder / "victim"
        victim.mkdir()
        (victim / "file").write_text("precious")
        for number, (name, target) in enumerate(
            (("kubectl.sh", "file"), ("objects", "."), ("objects", None))
        ):
            patches = self.folder / f"out{number}"
            patches.mkdir()
            if target is None:
                (patches / name).mkdir()
                os.mkfifo(patches / name / "0001-shop-web.json")
            else:
                (patches / name).symlink_to(victim.resolve() / target)
            result = self.run_command("migrate", path, "--patches", str(patches))
            self.assertEqual(result.exit_code, 2)
            self.assertEqual(result.stderr.count("\n"), 1)
        self.assertEqual([one.name for one in victim.iterdir()], ["file"])
        self.assertEqual((victim / "file").read_text(), "precious")


class SecretBesideTests(CtlCase):
    """Secrets in the file of an Ingress that is patched."""

    def setUp(self) -> None:
        super().setUp()
        self.secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "key",
                "namespace": "shop",
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "HIDDEN"},
            },
            "stringData": {"password": "HIDDEN", "user": "HIDDEN"},
        }
        self.ingress = yaml.safe_load(ingress(rate_limit="5"))

    def patched(self, text: str) -> dict[str, Any]:
        """Return the patches of the report of *text*, none of which shows what is hidden, once git has applied them."""
        path = Path(self.manifest(text))
        page = self.run_command("migrate", str(path), "--patches", str(self.folder / "out")).stdout
        files = {
            one.name: one.read_text("utf-8") for one in (self.folder / "out").rglob("*") if one.is_file()
        }
        for shown in (page, *files.values()):
            self.assertNotIn("HIDDEN", shown)
        self.assertIn("~1rate-limit", page)
        return files

    def assert_applied(self, text: str) -> None:
        """The diff of *text* applies by ``git`` and, where it is there, by ``patch``, and does away with the annotation."""
        self.patched(text)
        (diff,) = (self.folder / "out").rglob("*.patch")
        alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(Path.cwd().parent)}
        for command in (["git", "apply"], ["patch", "--quiet", "-p1", "--input"]):
            if command[0] == "patch" and shutil.which("patch") is None:
                continue
            self.manifest(text)
            subprocess.run([*command, str(diff)], env=alone, check=True)
            after = (self.folder / "objects.yaml").read_text("utf-8")
            self.assertNotIn("rate-limit", after)
            self.assertEqual(after.count("HIDDEN"), text.count("HIDDEN"))

    def test_documents_around_it(self) -> None:
        """The lines before and behind a change end where the content of a Secret begins."""
        secret = yaml.safe_dump(self.secret)
        first = yaml.safe_dump(
            {"metadata": self.ingress.pop("metadata")}, default_flow_style=True, width=1000
        )
        text = first.strip()[1:-1]
        own = f"{text}\n{yaml.safe_dump(self.ingress, sort_keys=False)}"
        self.assert_applied(f"{secret}---\n{own}---\n{secret}")
        last = f"{yaml.safe_dump(self.ingress, sort_keys=False)}{text}\n"
        self.assert_applied(f"{secret}---\n{last}---\n{secret}")

    def test_items_of_a_list(self) -> None:
        """As ``kubectl get -o yaml`` writes them."""
        listed = {"apiVersion": "v1", "kind": "List", "items": [self.secret, self.ingress, self.secret]}
        self.assert_applied(yaml.safe_dump(listed))

    def test_everything_on_one_line(self) -> None:
        """There is no diff that would not show it; the commands for the cluster are there."""
        listed = {"apiVersion": "v1", "kind": "List", "items": [self.secret, self.ingress]}
        files = self.patched(json.dumps(listed))
        self.assertIn("one line with content of a Secret", files["not-edited.json"])
        self.assertEqual([name for name in files if name.endswith(".patch")], [])
