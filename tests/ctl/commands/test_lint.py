"""``ingressctl lint`` as a command: its options, what goes where, and how it ends."""

import json
import os
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch
from xml.etree import ElementTree

from click import Command, Context, Option
from click.testing import Result

from ingress.ctl.commands.destinations import DestinationType
from ingress.ctl.project_file import NAME
from tests.ctl.ctl_case import CtlCase, ingress

NEVER = {"nonsense": "1"}
"""An annotation that never existed: a warning."""


class LintCase(CtlCase):
    """Runs in the test's folder, so that no project file of another folder is found."""

    def lint(self, *arguments: str, given: str | bytes | None = None) -> Result:
        """Run ``ingressctl lint`` in the test's folder."""
        with chdir(self.folder):
            return self.run_command("lint", *arguments, given=given)

    def warned(self) -> None:
        """Write a manifest with one warning, and no error."""
        self.manifest(ingress(**NEVER))

    def failing(self) -> None:
        """Write a manifest with one error."""
        self.manifest(ingress(proxy_read_timeout="soon"))


class BrokenFileTests(LintCase):
    """Files of which something is no manifest."""

    def broken(self) -> None:
        """Write a file of which three documents are no objects, in its lines 1, 3 and 10."""
        Path(self.folder, "broken.yaml").write_text("---\n1\n---\ntext\n\n\n\n\n---\n[]\n")

    def test_a_build_annotates_the_line_of_the_file(self) -> None:
        """File and line stand where runners of builds look for them, in the order of the lines."""
        self.broken()
        output = self.lint("--output", "github", "broken.yaml").stdout
        self.assertEqual(
            [line.split(",title=")[0] for line in output.splitlines()],
            [f"::error file=broken.yaml,line={line}" for line in (1, 3, 10)],
        )

    def test_json_and_sarif_have_file_and_line(self) -> None:
        """So do the formats for programs; the message does not say the line again."""
        self.broken()
        found = json.loads(self.lint("--output", "json", "broken.yaml").stdout)["findings"]
        self.assertEqual(
            [(one["file"], one["line"]) for one in found], [("broken.yaml", n) for n in (1, 3, 10)]
        )
        self.assertEqual(found[0]["message"], "an object is wanted, but this is a number")
        sarif = json.loads(self.lint("--output", "sarif", "broken.yaml").stdout)["runs"][0]["results"]
        self.assertEqual(
            [one["locations"][0]["physicalLocation"]["region"]["startLine"] for one in sarif], [1, 3, 10]
        )

    def test_the_table_names_the_line_once(self) -> None:
        """The line stands where those of all other findings stand."""
        Path(self.folder, "broken.yaml").write_text("a: 1\nb: [\n")
        text = self.lint("broken.yaml").stdout
        self.assertIn("broken.yaml:3  MalformedManifest", text)
        self.assertNotIn("line 3", text)


NOT_OURS = """\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main, namespace: shop}
spec: {gatewayClassName: oours, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec: {parentRefs: [{name: mian}], rules: [{}]}
"""


class NotOursTests(LintCase):
    """Objects of the Gateway API that are not this controller's."""

    def test_each_says_in_its_own_words_why_it_is_not_judged(self) -> None:
        """By its class, or by the Gateway that it attaches to; nothing is said of the classes of Ingresses."""
        self.manifest(NOT_OURS)
        result = self.lint("objects.yaml")
        self.assertEqual(result.exit_code, 0)
        self.assertIn(
            "Not served here\n"
            '  - Gateway shop/main (its class is "oours", and no GatewayClass of that name is known)\n'
            "  - HTTPRoute shop/web (it attaches to Gateway shop/mian, which is not known)\n",
            result.stdout,
        )


OF_CLASSES = """\
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {{name: public}}
spec: {{controllerName: {controller}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: main, namespace: shop}}
spec: {{gatewayClassName: {named}, listeners: [{{name: http, port: 80, protocol: HTTP}}]}}
"""


class MistypedGatewaysTests(LintCase):
    """GatewayClasses by their controller, and Gateways by their class."""

    ours = "txingress.dev/gateway"

    def found(self, controller: str, named: str = "public", *options: str) -> list[tuple[str, str, int, str]]:
        """Return rule, object, line and advice of each finding where a class has this *controller* and a Gateway is *named* so."""
        self.manifest(OF_CLASSES.format(controller=controller, named=named))
        result = self.lint("--output", "json", *options, "objects.yaml")
        data = json.loads(result.stdout)
        self.assertEqual(result.exit_code, int(data["summary"]["errors"] > 0))
        some = [one for each in data["objects"] for one in each["findings"]]
        return [(one["rule"], one["kind"], one["line"], one["advice"]) for one in some]

    def test_a_controller_with_a_letter_mistyped_is_an_error(self) -> None:
        """As of an IngressClass; another controller of the same organization may be meant as it is."""
        meant = ("MistypedController", "GatewayClass", 4, f"did you mean {self.ours}?")
        self.assertEqual(self.found("txingress.dev/gatway"), [meant])
        for controller in (self.ours, f"{self.ours}-internal", f"{self.ours}s", "example.com/gateway"):
            self.assertEqual(self.found(controller), [], controller)
        self.assertEqual(self.found("txingress.dev/gatway", "public", "-o", "no-gateway-api"), [])

    def test_a_class_with_a_letter_mistyped_is_an_error(self) -> None:
        """Where there is no class of that name, and the one that is meant is of this controller."""
        meant = ("MistypedClass", "Gateway", 9, "did you mean public?")
        self.assertEqual(self.found(self.ours, "pubilc"), [meant])
        self.assertEqual(self.found(self.ours, "internal"), [])
        self.assertEqual(self.found("example.com/other", "pubilc"), [])


OLD_VERSIONS = """\
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: front, namespace: shop}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: front}]
  to: [{group: "", kind: Service}]
---
apiVersion: networking.k8s.io/v1beta1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx}
---
apiVersion: networking.k8s.io/v1beta1
kind: Ingress
metadata: {name: web, namespace: shop}
spec: {ingressClassName: nginx, backend: {serviceName: web, servicePort: 80}}
"""


class OldVersionsTests(LintCase):
    """Objects that are written in an old version of their kind."""

    def test_what_is_told_goes_by_the_kind(self) -> None:
        """kubectl converts what is built into clusters; of the Gateway API a cluster may have both versions, or the old one alone."""
        self.manifest(OLD_VERSIONS)
        data = json.loads(self.lint("--output", "json", "objects.yaml").stdout)
        some = [*data["findings"], *(one for each in data["objects"] for one in each["findings"])]
        told = {one["kind"]: one for one in some if one["rule"] == "DeprecatedVersion"}
        self.assertEqual(
            {kind: (one["level"], one["advice"]) for kind, one in told.items()},
            {
                "ReferenceGrant": ("note", ""),
                "IngressClass": ("warning", "have kubectl convert write all of it in the new version"),
                "Ingress": (
                    "warning",
                    "have kubectl convert write all of it in the new version, backends and pathType, too",
                ),
            },
        )
        self.assertEqual(
            told["ReferenceGrant"]["message"],
            "gateway.networking.k8s.io/v1beta1 is an old version; write gateway.networking.k8s.io/v1 where the cluster has that",
        )


class ConfigMapTests(LintCase):
    """The ConfigMap of ingress-nginx, beside its Ingresses or alone."""

    def test_one_that_does_not_count_is_told_of(self) -> None:
        """With the option by which it does, and what is wrong in it is found."""
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: edge}\ndata: {proxy-boddy-size: 1m}\n"
        self.manifest(text % "ingress-nginx-controller")
        option = "configmap=edge/ingress-nginx-controller"
        result = self.lint("objects.yaml")
        self.assertIn(f"here it counts with -o {option}", " ".join(result.stdout.split()))
        self.assertNotIn("proxy-boddy-size", result.stdout)
        result = self.lint("objects.yaml", "-o", option)
        self.assertNotIn("here it counts", result.stdout)
        self.assertIn("proxy-boddy-size", result.stdout)
        self.manifest(text % "settings")
        self.assertEqual(self.lint("objects.yaml").stdout, "There is no Ingress. No findings.\n")


class NothingTests(LintCase):
    """Folders with nothing in them."""

    def test_told(self) -> None:
        """That there is no file to be read is told on standard error, whatever is printed; nothing is wrong with it."""
        for name in ("empty", "of-texts"):
            Path(self.folder, name).mkdir()
        Path(self.folder, "of-texts", "README.md").write_text("kind: Ingress\n")
        for arguments, printed in (
            (("empty",), "There is no Ingress. No findings.\n"),
            (("--output", "github", "of-texts"), ""),
        ):
            result = self.lint(*arguments)
            self.assertEqual((result.exit_code, result.stdout), (0, printed))
            told = f"nothing was read: no file below {arguments[-1]} ends in .yaml, .yml or .json\n"
            self.assertEqual(result.stderr, told)
        Path(self.folder, "empty", "a.yaml").write_text("# Nothing yet.\n")
        self.assertEqual(self.lint("empty", "of-texts").stderr, "")


class StatusTests(LintCase):
    """``--fail-on``, and the exit status."""

    def test_an_error_fails_and_a_warning_does_not(self) -> None:
        """Unless it is said otherwise."""
        self.warned()
        self.assertEqual(self.lint("objects.yaml").exit_code, 0)
        self.assertEqual(self.lint("objects.yaml", "--fail-on", "warning").exit_code, 1)
        self.failing()
        self.assertEqual(self.lint("objects.yaml").exit_code, 1)
        self.assertEqual(self.lint("objects.yaml", "--fail-on", "never").exit_code, 0)

    def test_a_mistyped_class_fails_and_another_one_does_not(self) -> None:
        """Nobody serves the one, by the name or by the controller of its IngressClass; the other is a warning where it is alone."""
        seen = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: nginx}\nspec: {controller: %s}\n---\n"
        for class_name, before, fails in (
            ("ngnix", "", ("error", "warning")),
            ("nginx", seen % "k8s.io/ingres-nginx", ("error", "warning")),
            ("traefik", "", ("warning",)),
            ("nginx", seen % "example.com/other", ()),
        ):
            self.manifest(before + ingress().replace("Name: nginx", f"Name: {class_name}"))
            for level in ("error", "warning"):
                result = self.lint("objects.yaml", "--fail-on", level)
                self.assertEqual(result.exit_code, level in fails, (class_name, level, result.stdout))

    def test_a_class_is_told_in_the_same_words_however_it_is_named(self) -> None:
        """By field and by annotation, so Ingresses of one class are told of together; each has its line."""
        by_field = ingress().replace("Name: nginx", "Name: traefik")
        by_annotation = ingress().replace("{}", '{kubernetes.io/ingress.class: "traefik"}')
        by_annotation = by_annotation.replace("  ingressClassName: nginx\n", "")
        texts = (by_field, by_annotation, by_field)
        self.manifest(
            "---\n".join(text.replace("name: web", f"name: n{at}", 1) for at, text in enumerate(texts))
        )
        table = self.lint("objects.yaml").stdout
        self.assertEqual(table.count('  its class is "traefik", and only class "nginx" is judged'), 1, table)
        self.assertIn("3 Ingresses\n  warning  its class", table)
        self.assertIn("shop/n1  objects.yaml:22", table)

    def test_what_is_not_understood_is_status_2(self) -> None:
        """A level, a format, a file that cannot be written, options that contradict each other."""
        self.warned()
        for arguments, message in (
            (("--fail-on", "worse"), "'worse' is not one of"),
            (("--output", "srif"), "did you mean sarif?"),
            (("--output", "json="), "names no file"),
            (("--output", "json=absent/x.json"), "absent/x.json: No such file or directory"),
            (("--output", "json", "--output", "sarif"), "only one --output can go to standard output"),
            (("--output", "json=x", "--output-file", "y"), "nothing for --output-file"),
            (("-q", "-v"), "contradict each other"),
            (("--config", "absent.toml"), "absent.toml: No such file or directory"),
            (("--config", "x", "--no-config"), "contradict each other"),
        ):
            result = self.lint("objects.yaml", *arguments)
            self.assertEqual((result.exit_code, result.stdout), (2, ""), arguments)
            self.assertIn(message, result.stderr)


class OutputTests(LintCase):
    """``--output``."""

    def test_a_table_is_what_people_get(self) -> None:
        """With the sum at its end, and nothing on standard error."""
        self.warned()
        result = self.lint("objects.yaml")
        self.assertTrue(result.stdout.startswith("Ingress shop/web  objects.yaml:"))
        self.assertIn("1 Ingress: 0 honored fully", result.stdout)
        self.assertEqual(result.stderr, "")

    def test_formats_can_go_to_files_at_once(self) -> None:
        """One prints, the others write; each is complete."""
        self.warned()
        result = self.lint(
            "objects.yaml", "--output", "table", "--output", "json=lint.json", "--output", "junit=lint.xml"
        )
        self.assertIn("1 Ingress:", result.stdout)
        self.assertEqual(json.loads((self.folder / "lint.json").read_text("utf-8"))["version"], 1)
        self.assertEqual(ElementTree.parse(self.folder / "lint.xml").getroot().get("tests"), "1")

    def test_an_output_file_takes_what_would_be_printed(self) -> None:
        """The same bytes."""
        self.failing()
        printed = self.lint("objects.yaml", "--output", "sarif")
        written = self.lint("objects.yaml", "--output", "sarif", "--output-file", "x.sarif")
        self.assertEqual((written.exit_code, written.stdout), (1, ""))
        self.assertEqual((self.folder / "x.sarif").read_text("utf-8"), printed.stdout)

    def test_formats_are_completed(self) -> None:
        """For a shell."""
        context = Context(Command("lint"))
        completed = DestinationType().shell_complete(context, Option(["--output"]), "j")
        self.assertEqual([one.value for one in completed], ["json", "junit"])

    def test_a_dash_is_standard_output(self) -> None:
        """As it is standard input among paths."""
        self.warned()
        printed = self.lint("objects.yaml", "--output", "json").stdout
        self.assertEqual(self.lint("objects.yaml", "--output", "json=-").stdout, printed)
        self.assertEqual(self.lint("objects.yaml", "--output", "json", "--output-file", "-").stdout, printed)

    def test_output_that_nobody_takes_is_no_traceback(self) -> None:
        """A full disk is a mistake; a reader who has enough is none."""
        self.failing()
        for script, status in (
            ('"$0" -c "$1" lint objects.yaml > /dev/full', 2),
            ('set -o pipefail; "$0" -c "$1" lint objects.yaml | true', 1),
        ):
            done = subprocess.run(
                ["bash", "-c", script, sys.executable, RUN], cwd=self.folder, capture_output=True, text=True
            )
            self.assertNotIn("Traceback", done.stderr)
            self.assertEqual(done.returncode, status, done.stderr)

    def test_the_same_input_has_the_same_bytes(self) -> None:
        """In each format, also where hashes of texts are others."""
        self.failing()
        formats = ("table", "json", "sarif", "github", "junit")
        sinks = [argument for name in formats for argument in ("--output", f"{name}={name}")]
        written = []
        for seed in ("1", "2"):
            subprocess.run(
                [sys.executable, "-c", RUN, "lint", "objects.yaml", *sinks],
                cwd=self.folder,
                env={**os.environ, "PYTHONHASHSEED": seed},
            )
            written.append([(self.folder / name).read_bytes() for name in formats])
        self.assertEqual(*written)
        self.assertNotIn(b"", written[0])


RUN = "from ingress.ctl.main import run; run()"


class LookTests(LintCase):
    """Width and colour."""

    def test_there_are_no_colours_but_where_they_are_asked_for(self) -> None:
        """A test has no terminal."""
        self.failing()
        self.assertNotIn("\x1b", self.lint("objects.yaml").stdout)
        self.assertIn("\x1b[31m", self.lint("objects.yaml", "--color", "always").stdout)

    def test_a_terminal_has_colours_unless_it_is_told_otherwise(self) -> None:
        """By ``--color never``, ``NO_COLOR``, or a terminal that has none."""
        self.failing()
        with patch("click.testing._NamedTextIOWrapper.isatty", lambda self: True, create=True):
            for environment, arguments, has_colours in (
                ({"TERM": "xterm"}, (), True),
                ({"TERM": "xterm", "NO_COLOR": "1"}, (), False),
                ({"TERM": "xterm", "NO_COLOR": "1"}, ("--color", "always"), True),
                ({"TERM": "dumb"}, (), False),
                ({"TERM": "xterm"}, ("--color", "never"), False),
            ):
                with patch.dict(os.environ, environment):
                    text = self.lint("objects.yaml", *arguments).stdout
                self.assertEqual("\x1b[31m" in text, has_colours, (environment, arguments))

    def test_columns_are_kept_to(self) -> None:
        """Those of the environment, within reason."""
        self.failing()
        for columns, most in (("60", 60), ("10", 40), ("1000", 140)):
            with patch.dict(os.environ, {"COLUMNS": columns}):
                lines = self.lint("objects.yaml").stdout.splitlines()
            self.assertLessEqual(max(map(len, lines)), most)

    def test_a_terminal_that_cannot_say_everything_is_no_traceback(self) -> None:
        """What has no place in its encoding is escaped."""
        self.manifest(ingress(proxy_read_timeout="später"))
        done = subprocess.run(
            [sys.executable, "-c", RUN, "lint", "objects.yaml"],
            cwd=self.folder,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
            capture_output=True,
        )
        self.assertEqual((done.returncode, done.stderr), (1, b""))
        self.assertIn(b"sp\\xe4ter", done.stdout)


class ProjectFileTests(LintCase):
    """``.ingressctl.toml``."""

    def project(self, text: str, name: str = NAME) -> None:
        """Write the project file of the test's folder."""
        (self.folder / name).write_text(text, "utf-8")

    ACCEPT = '[[accept]]\nrules = "UnknownAnnotation"\nreason = "nobody reads it"\n'

    def test_what_is_accepted_neither_fails_nor_shows(self) -> None:
        """It is counted, and shown on demand with its reason."""
        self.warned()
        self.project(self.ACCEPT)
        result = self.lint("objects.yaml", "--fail-on", "warning")
        self.assertEqual((result.exit_code, result.stderr), (0, ""))
        self.assertIn("1 accepted", result.stdout)
        self.assertNotIn("UnknownAnnotation", result.stdout)
        self.assertIn("nobody reads it", self.lint("objects.yaml", "--show-accepted").stdout)
        self.assertEqual(self.lint("objects.yaml", "--no-config", "--fail-on", "warning").exit_code, 1)

    def test_it_is_found_from_below(self) -> None:
        """And its files are those from where it stands."""
        self.project(self.ACCEPT.replace("reason", 'files = "deploy/*.yaml"\nreason'))
        self.manifest(ingress(**NEVER), "deploy/web.yaml")
        for folder, path in (
            ("deploy", "web.yaml"),
            (".", "deploy"),
            (".", str(self.folder.absolute() / "deploy")),
        ):
            with chdir(self.folder / folder):
                self.assertIn("1 accepted", self.run_command("lint", path).stdout, path)

    def test_the_level_is_that_of_the_file_unless_the_command_line_says_one(self) -> None:
        """``fail-on``."""
        self.warned()
        self.project('fail-on = "warning"')
        self.assertEqual(self.lint("objects.yaml").exit_code, 1)
        self.assertEqual(self.lint("objects.yaml", "--fail-on", "error").exit_code, 0)

    def test_options_of_the_controller_are_those_of_the_file(self) -> None:
        """Those of the command line beat them."""
        self.manifest(ingress(**NEVER).replace("ingressClassName: nginx", "ingressClassName: own"))
        self.project('[options]\ningress-class = "own"')
        self.assertIn("nonsense", self.lint("objects.yaml").stdout)
        self.assertNotIn("nonsense", self.lint("-o", "ingress-class=nginx", "objects.yaml").stdout)

    def test_what_is_wrong_in_it_is_told_with_its_name(self) -> None:
        """Keys, levels and options that there are not; nothing is passed over."""
        self.warned()
        for text, message in (
            ("fail_on = 1", f"{NAME}: there is no key 'fail_on'; did you mean fail-on?"),
            ("fail-on = 'worse'", f"{NAME}: fail-on is one of error, warning, note, never"),
            ("fail-on = []", f"{NAME}: fail-on is one of"),
            (
                "[options]\ningress-clas = 'x'",
                f"{NAME}: [options]: the controller has no option 'ingress-clas'",
            ),
            ("[[accept]]\nrules = 'PathConflict'", f"{NAME}: [[accept]] number 1: say why"),
            (f"a = {'[' * 100_000}", "nested too deeply"),
        ):
            self.project(text)
            if "nested" in message:
                with chdir(self.folder):
                    done = subprocess.run(
                        [sys.executable, "-c", RUN, "lint", "objects.yaml"], capture_output=True, text=True
                    )
                self.assertEqual(done.returncode, 2)
                self.assertIn(message, done.stderr)
                self.assertNotIn("Traceback", done.stderr)
                continue
            result = self.lint("objects.yaml")
            self.assertEqual((result.exit_code, result.stdout), (2, ""), text)
            self.assertIn(message, result.stderr)

    def test_an_entry_that_is_of_no_use_any_more_is_told_beside_the_answer(self) -> None:
        """On standard error, so that no format has it; the status stays."""
        self.manifest(ingress())
        self.project(self.ACCEPT)
        result = self.lint("objects.yaml", "--output", "json")
        self.assertEqual(result.exit_code, 0)
        self.assertIn("[[accept]] number 1 (nobody reads it) matches no finding any more", result.stderr)
        json.loads(result.stdout)


class HostileTests(LintCase):
    """Objects of people who hope that somebody reads them in a terminal, a browser or a build."""

    def test_no_format_obeys(self) -> None:
        """Escapes in values, names of files and what breaks out of documents."""
        value = "\\u001b[2J\\n::set-output name=a::b ##[x] ]]></testcase> \\u202e | <b> \\ud800"
        text = ingress(proxy_read_timeout=value, nonsense="1")
        self.manifest(text, "a\n::error::b.yaml")
        for name in ("table", "github", "junit", "json", "sarif"):
            result = self.lint(".", "--output", name)
            self.assertIn(result.exit_code, (0, 1), result.stderr)
            self.assertTrue(result.stdout.replace("\n", "").isprintable(), name)
            commands = [line for line in result.stdout.splitlines() if line.lstrip().startswith("::")]
            self.assertEqual([line for line in commands if not line.startswith(("::error", "::warning"))], [])
            self.assertEqual(bool(commands), name == "github")
            if name == "junit":
                ElementTree.fromstring(result.stdout)
            if name in ("json", "sarif"):
                json.dumps(json.loads(result.stdout), ensure_ascii=False).encode()


class ImportTests(CtlCase):
    def test_a_format_imports_what_it_needs_alone(self) -> None:
        """A table needs neither XML nor hashes of its own; no format needs a reactor or the client of a cluster."""
        path = self.manifest(ingress())
        code = (
            "import sys\nfrom ingress.ctl.main import main\ntry:\n    main(sys.argv[1:])\nfinally:\n"
            "    print('\\n'.join(sorted(sys.modules)), file=sys.stderr)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, "lint", path], capture_output=True, text=True, cwd=Path(path).parent
        )
        modules = set(done.stderr.splitlines())
        self.assertIn("ingress.ctl.lint.reports.table", modules)
        for name in (
            "xml.sax.saxutils",
            "ingress.ctl.lint.reports.sarif",
            "tomllib",
            "twisted.internet.reactor",
            "kubernetes",
        ):
            self.assertNotIn(name, modules)
