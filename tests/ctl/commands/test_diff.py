"""``ingressctl diff``."""

import json
from pathlib import Path

from tests.ctl.ctl_case import CtlCase, ingress
from tests.ctl.served.inputs import SERVICES

ROOT = Path(__file__).resolve().parents[3]


class DiffTests(CtlCase):
    """The command."""

    def test_status(self) -> None:
        """It is 0 where the same is served, 1 where something else is, and 2 for a mistake."""
        one, other = self.manifest(ingress(), "old.yaml"), self.manifest(ingress(limit_rps="5"), "new.yaml")
        same = self.run_command("diff", one, one)
        self.assertEqual(
            (same.exit_code, same.stdout.splitlines()[-1]), (0, "nothing that is served is different")
        )
        found = self.run_command("diff", one, other)
        self.assertEqual(found.exit_code, 1)
        self.assertIn("shop.example.com/ (Prefix)", found.stdout)
        absent = self.run_command("diff", one, str(self.folder / "absent.yaml"))
        self.assertEqual(absent.exit_code, 2)
        self.assertIn("absent.yaml: No such file", absent.stderr)
        for text in ("[]\n", f"- {ingress()}".replace("\n", "\n  "), "{broken", "apiVersion: v1\n"):
            path = self.manifest(text, "none.yaml")
            found = self.run_command("diff", path, path)
            self.assertEqual((found.exit_code, found.stdout), (2, ""), text)
            self.assertIn("none.yaml: line ", found.stderr)

    def test_that_nothing_is_served_is_told(self) -> None:
        """Where that is so on both sides; nothing that is different says nothing then."""
        one = self.manifest(ingress(), "old.yaml")
        other = self.manifest(ingress().replace("Name: nginx", "Name: ngnix"), "new.yaml")
        for sides, is_told in (((other, other), True), ((one, other), False), ((one, one), False)):
            found = self.run_command("diff", *sides)
            self.assertEqual("nothing is served: left alone" in found.stderr, is_told, sides)
            self.assertEqual("did you mean nginx?" in found.stderr, is_told, sides)
        found = self.run_command("migrate", "--compare", "--dry-run", other)
        self.assertIn("did you mean nginx?", found.stderr)
        self.assertNotIn("shop.example.com", found.stdout)

    def test_an_owner_alone_is_no_difference(self) -> None:
        """It is told, and the status is 0."""
        one = self.manifest(ingress(), "old.yaml")
        other = self.manifest(ingress().replace("name: web\n", "name: renamed\n", 1), "new.yaml")
        found = self.run_command("diff", one, other)
        self.assertEqual(found.exit_code, 0)
        self.assertIn("owner: Ingress shop/web → Ingress shop/renamed", found.stdout)

    def test_forms_of_an_ingress_in_one_folder_are_called_by_their_files(self) -> None:
        """What is different in the form of the second file stands below its name."""
        old, new = str(self.folder / "old"), str(self.folder / "new")
        for side, limit in (("old", "5"), ("new", "6")):
            self.manifest(ingress(), f"{side}/a.yaml")
            self.manifest(ingress(limit_rps=limit), f"{side}/limited.yaml")
        found = self.run_command("diff", old, new)
        self.assertEqual(found.exit_code, 1, found.output)
        first, second = found.stdout.split("== limited.yaml\n")
        self.assertIn("== .\n", first)
        self.assertNotIn("rate-limit", first)
        self.assertIn("rate-limit", second)

    def test_standard_input(self) -> None:
        """It is one side, not both."""
        path = self.manifest(ingress(limit_rps="5"))
        for sides in (("-", path), (path, "-")):
            found = self.run_command("diff", *sides, given=ingress())
            self.assertEqual(found.exit_code, 1)
            self.assertIn("rate-limit", found.stdout)
        self.assertEqual(self.run_command("diff", "-", "-", given=ingress()).exit_code, 2)

    def test_options(self) -> None:
        """One path by other options; both ways of writing it, and standard input, too."""
        path = self.manifest(ingress(), "objects.yaml")
        for sides in ((path,), (path, path), ("-",)):
            found = self.run_command("diff", *sides, "--new-option", "proxy-body-size=9m", given=ingress())
            self.assertEqual(found.exit_code, 1, found.output)
            self.assertIn("maxBodyBytes: 1048576 → 9437184", found.stdout)
        back = self.run_command("diff", path, "--old-option", "proxy-body-size=9m")
        self.assertIn("maxBodyBytes: 9437184 → 1048576", back.stdout)
        both = self.run_command("diff", path, path, "-o", "proxy-body-size=9m")
        self.assertEqual(both.exit_code, 0)

    def test_what_is_said_of_a_side_beats_what_is_said_of_both(self) -> None:
        """Also what a project file says; and a list is replaced, not made longer."""
        path = self.manifest(ingress())
        project = self.manifest('[options]\nproxy-body-size = "2m"\n', "project.toml")
        for both in (("-o", "proxy-body-size=2m"), ("--config", project)):
            found = self.run_command("diff", path, *both, "--new-option", "proxy-body-size=9m")
            self.assertIn("maxBodyBytes: 2097152 → 9437184", found.stdout)
        lists = ("-o", "trusted-proxies=10.0.0.0/8", "--new-option", "trusted-proxies=192.0.2.0/24")
        found = self.run_command("diff", path, *lists)
        self.assertIn("-10.0.0.0/8, +192.0.2.0/24", found.stdout)

    def test_options_change_nothing_that_they_are_not_about(self) -> None:
        """Problems are told in the same words on both sides."""
        path = self.manifest(SERVICES + ingress().replace("name: web, port", "name: gone, port"))
        found = self.run_command("diff", path, "--new-option", "no-hsts")
        self.assertEqual(
            (found.exit_code, found.stdout.splitlines()[-1]), (0, "nothing that is served is different")
        )
        self.assertIn("ServiceNotFound", self.run_command("lint", path).stdout)

    def test_a_class(self) -> None:
        """Objects of another class vanish."""
        path = self.manifest(ingress())
        found = self.run_command("diff", path, "--new-option", "ingress-class=other")
        self.assertIn("- shop.example.com", found.stdout)
        self.assertIn("answered 404", found.stdout)

    def test_another_annotations_prefix(self) -> None:
        """The objects are read anew by it."""
        path = self.manifest(ingress(limit_rps="5"))
        found = self.run_command("diff", path, "--new-option", "annotations-prefix=example.com")
        self.assertIn("without filter rate-limit", found.stdout)
        piped = self.run_command(
            "diff", "-", "--new-option", "annotations-prefix=example.com", given=ingress()
        )
        self.assertEqual(piped.exit_code, 2)

    def test_one_side_without_options_is_a_mistake(self) -> None:
        """It would be compared with itself."""
        found = self.run_command("diff", self.manifest(ingress()))
        self.assertEqual(found.exit_code, 2)
        self.assertIn("name two sides", found.stderr)

    def test_problems_of_files_are_the_same_in_another_folder(self) -> None:
        """A file is named as it is below its side."""
        for folder in ("old", "new"):
            self.manifest(ingress() + "---\n{broken", f"{folder}/a.yaml")
            self.manifest(ingress().replace("name: web", "name: b", 1), f"{folder}/b.yaml")
        found = self.run_command("diff", str(self.folder / "old"), str(self.folder / "new"))
        self.assertEqual(
            (found.exit_code, found.stdout.splitlines()[-1]), (0, "nothing that is served is different")
        )

    def test_machine_formats_are_alone_on_standard_output(self) -> None:
        """JSON is JSON, and Markdown begins with its sentence."""
        one, other = self.manifest(ingress(), "old.yaml"), self.manifest(ingress(limit_rps="5"), "new.yaml")
        found = self.run_command("diff", one, other, "--output", "json")
        self.assertEqual(json.loads(found.stdout)["differences"][0]["field"], "filters.rate-limit")
        self.assertEqual(found.exit_code, 1)
        markdown = self.run_command("diff", one, other, "--output", "markdown")
        self.assertTrue(markdown.stdout.startswith("**ingressctl diff**: 1 place changes."))

    def test_layers_are_compared_with_their_counterparts(self) -> None:
        """Overlays are compared folder by folder; one without a counterpart vanishes as a whole."""
        for side, size in (("old", "1m"), ("new", "2m")):
            for name in ("dev", "prod"):
                limit = size if name == "prod" else "5m"
                self.manifest(ingress(proxy_body_size=limit), f"{side}/{name}/web.yaml")
        sides = str(self.folder / "old"), str(self.folder / "new")
        found = json.loads(self.run_command("diff", *sides, "--output", "json").stdout)
        self.assertEqual(
            [(one["layer"], one["field"]) for one in found["differences"]], [("prod", "maxBodyBytes")]
        )
        self.manifest(ingress(), "old/test/web.yaml")
        gone = self.run_command("diff", *sides)
        self.assertIn("== test", gone.stdout)
        self.assertIn("- shop.example.com", gone.stdout)

    def test_what_is_not_read_is_not_compared(self) -> None:
        """A template is no difference, and each format says that it was left out."""
        self.manifest(ingress(), "old/web.yaml")
        self.manifest(ingress(), "new/web.yaml")
        self.manifest(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {{ .Values.name }}\n",
            "new/t.yaml",
        )
        for output in ("text", "json", "markdown"):
            found = self.run_command(
                "diff", str(self.folder / "old"), str(self.folder / "new"), "--output", output
            )
            self.assertEqual(found.exit_code, 0, found.output)
            self.assertRegex(found.stdout, "of NEW: .*template")

    def test_what_may_stand_in_a_file_that_was_not_read_has_not_vanished(self) -> None:
        """A template or a broken file on one side, in either direction: the rest is compared, and different paths of a host, too."""
        web = ingress().replace("name: web\n", "name: other\n").replace("shop.example.com", "b.example.com")
        sides = str(self.folder / "old"), str(self.folder / "new")
        for name, text in (("a.yaml", ingress(rate_limit="5")), ("b.yaml", web)):
            self.manifest(text, f"old/{name}")
            self.manifest(text.replace("path: /", "path: /b"), f"new/{name}")
        template = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {{ .Values.name }}\n"
        for text in (template, ingress() + "\t{broken"):
            self.manifest(text, "new/a.yaml")
            for (old, new), without, has in ((sides, "NEW", "OLD"), (sides[::-1], "OLD", "NEW")):
                found = self.run_command("diff", old, new, "--output", "json")
                data = json.loads(found.stdout)
                told = [one for one in data["notCompared"] if f"{without} may have it in a.yaml" in one]
                self.assertEqual(len(told), 1, data)
                self.assertTrue(
                    told[0].startswith("shop.example.com, b.example.com/, Ingress shop/web: "), told
                )
                self.assertIn(f"{has} alone has it", told[0])
                # What serves nobody otherwise.
                self.assertEqual([one["path"] for one in data["quiet"]], ["/b"])
                self.assertLessEqual({one["subject"] for one in data["differences"]}, {"problem"})
        self.manifest(template, "old/a.yaml")
        self.manifest(template, "new/a.yaml")
        self.manifest(web.replace("b.example.com", "c.example.com"), "new/b.yaml")
        found = self.run_command("diff", *sides)
        self.assertIn("- b.example.com", found.stdout)
        self.assertEqual(found.exit_code, 1)

    def test_a_side_that_is_no_manifest_is_a_mistake(self) -> None:
        """There is nothing to compare with, and nothing has vanished."""
        good, bad = self.manifest(ingress(), "good.yaml"), self.manifest("{broken", "bad.yaml")
        for one, other, name in (
            (good, bad, bad),
            (bad, good, bad),
            ("-", good, "standard input"),
            (good, "-", "standard input"),
        ):
            found = self.run_command("diff", one, other, given="{broken")
            self.assertEqual((found.exit_code, found.stdout), (2, ""))
            self.assertIn(f"Error: {name}: line 2", found.stderr)

    def test_hostile_objects_harm_nobody(self) -> None:
        """Whatever is in a file, there is no traceback, and no escape sequence in the answer."""
        good = self.manifest(ingress(), "good.yaml")
        texts = (
            b"",
            b"\x00\xff\xfe",
            b"{{ .Values }}",
            b"a: " + b"[" * 500,
            b"--- \x1b[31m\n- x",
            b"&a [*a]",
        )
        for number, text in enumerate(texts):
            path = self.folder / f"bad{number}.yaml"
            path.write_bytes(text)
            for sides in ((good, str(path)), (str(path), good)):
                found = self.run_command("diff", *sides)
                self.assertIn(found.exit_code, (1, 2), text)
                self.assertNotIn("\x1b", found.output)

    def test_same_input_same_bytes(self) -> None:
        """The example of the page is the same each time, whatever the format."""
        sides = [str(ROOT / "examples" / "ingressctl" / one) for one in ("before", "after")]
        for output in ("text", "json", "markdown"):
            outputs = {self.run_command("diff", *sides, "--output", output).stdout for _ in range(3)}
            self.assertEqual(len(outputs), 1)
