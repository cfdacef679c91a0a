"""``ingressctl migrate``: the page from manifests to text."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

from tests.ctl.ctl_case import CtlCase, ingress

HOSTILE = "</td><script>alert(1)</script>|`x`$(rm -rf ~)"

CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: ingress-nginx-controller, namespace: ingress-nginx}
data:
  allow-snippet-annotations: "false"
  hsts: "false"
  ssl-session-ticket-key: do-not-show-this
  enable-modsecurity: "true"
  worker-processes: "4"
  no-such-key: "1"
"""


def named(name: str, namespace: str = "shop", labels: str = "{}", **annotations: str) -> str:
    """An Ingress with a host of its own."""
    text = ingress(**annotations).replace("shop.example.com", f"{name}.{namespace}.example.com")
    return text.replace("name: web\n", f"name: {name}\n  labels: {labels}\n", 1).replace(
        "namespace: shop", f"namespace: {namespace}"
    )


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href") and not (value or "").startswith("#"):
                raise AssertionError(f"{tag} asks for {value}")
            if name.startswith("on"):
                raise AssertionError(f"{tag} has {name}")

    def handle_data(self, data: str) -> None:
        self.text += data


class MigrateCase(CtlCase):
    """Writes pages of manifests."""

    def page(self, *arguments: str) -> str:
        """What the command prints; it ends with status 0."""
        result = self.run_command("migrate", *arguments)
        self.assertEqual(result.exit_code, 0, result.stderr)
        return result.stdout

    def data(self, *arguments: str) -> dict[str, object]:
        """The same as JSON."""
        found: dict[str, object] = json.loads(self.page(*arguments, "--output", "json"))
        return found


class PageTests(MigrateCase):
    def test_names_of_annotations_are_written_as_they_are(self) -> None:
        """Who copies one from the page gets one that is read, also where advice begins with it."""
        page = self.page(self.manifest(named("secure", backend_protocol="HTTPS")))
        self.assertIn('proxy-ssl-verify: "on"', page)
        self.assertNotIn("Proxy-ssl-verify", page)

    def test_it_begins_with_the_verdict_and_what_to_do(self) -> None:
        """The numbers first; then steps in order, those that concern what was found before those of any move."""
        path = self.manifest(
            "---\n".join(
                [
                    named("fine"),
                    named("notes", limit_rps="5"),
                    named("waf", enable_modsecurity="true"),
                    named("other").replace("ingressClassName: nginx", "ingressClassName: other"),
                ]
            )
        )
        page = self.page(path)
        lines = page.splitlines()
        self.assertEqual(lines[0], "# Moving from ingress-nginx to txingress")
        self.assertTrue(lines[2].startswith("**Of 3 Ingresses, "), lines[2])
        self.assertIn("1 needs a change before the switch; 1 would answer 503.**", lines[2])
        self.assertIn("1 more is not counted, and not served by this controller:", page)
        for first, second in (
            ("1. Look at the Ingress that would answer 503", "Start this controller beside ingress-nginx"),
            ("Start this controller", "Take ingress-nginx away, its admission webhook first"),
            ("## What to do first", "## By namespace"),
            ("## By namespace", "## One by one"),
            ("## One by one", "## Annotations"),
            ("## Annotations", "## The ConfigMap of ingress-nginx"),
            ("## The ConfigMap", "## What was not checked"),
            ("## What was not checked", "## How this page was made"),
        ):
            self.assertLess(page.index(first), page.index(second), (first, second))

    def test_classes_that_are_not_served_are_told_with_what_may_be_meant(self) -> None:
        """Each reason once, the most first, in the words of lint."""
        classes = ("traefik", "ngnix", "traefik")
        path = self.manifest(
            "---\n".join(
                named(f"n{place}").replace("Name: nginx", f"Name: {name}")
                for place, name in enumerate(classes)
            )
        )
        whys = [f'its class is "{name}", and only class "nginx" is judged' for name in ("traefik", "ngnix")]
        advices = [
            "to have class traefik judged: -o ingress-class=traefik",
            "did you mean nginx? Otherwise, to have class ngnix judged: -o ingress-class=ngnix",
        ]
        self.assertIn(
            f"- 2: {whys[0]}. T{advices[0][1:]}\n- 1: {whys[1]}. D{advices[1][1:]}\n", self.page(path)
        )
        self.assertEqual(
            self.data(path)["notOurs"],
            [
                {"why": why, "advice": advice, "count": count}
                for why, advice, count in zip(whys, advices, (2, 1), strict=True)
            ],
        )

    def test_namespaces_and_owners_stand_by_how_bad_it_is(self) -> None:
        """The worst first; an Ingress without the label has no owner."""
        path = self.manifest(
            "---\n".join(
                [
                    named("a", "alpha", "{team: red}"),
                    named("b", "beta", "{team: blue}", enable_modsecurity="true"),
                    named("c", "beta"),
                ]
            )
        )
        page = self.page(path)
        self.assertIn("By namespace and owner (label team)", page)
        rows = [line for line in page.splitlines() if line.startswith(("| `alpha`", "| `beta`"))]
        self.assertEqual(
            rows,
            [
                "| `beta` | `blue` | 1 | 0 | 0 | 1 | 1 |",
                "| `alpha` | `red` | 1 | 1 | 0 | 0 | 0 |",
                "| `beta` | none | 1 | 1 | 0 | 0 | 0 |",
            ],
        )
        self.assertNotIn("owner", self.page(path, "--owner-label", "tier").split("## One by one")[0])

    def test_lint_and_the_page_say_the_same_of_a_rewrite_to_the_path_itself(self) -> None:
        """In the same words, with the name of the annotation, and both count it as a difference."""
        text = ingress(rewrite_target="/api").replace("path: /", "path: /api")
        path = self.manifest(text)
        page, table = self.page(path), self.run_command("lint", path).stdout
        said = 'rewrite-target: "/api" is the path itself, so nothing is rewritten; ingress-nginx asks for "/api"'
        self.assertIn(said, page)
        self.assertIn(said, " ".join(table.split()))
        self.assertIn("**The only Ingress differs in something.**", page)
        self.assertIn("| `rewrite-target` | 1 | honored with a difference |", page)
        self.assertIn("0 honored fully, 1 with differences", table)

    def test_an_allowlist_with_nothing_in_it_works_as_it_did(self) -> None:
        """It answers 503 there as well, so the move changes nothing; the page tells of it all the same."""
        page = self.page(self.manifest(ingress(allowlist_source_range="")))
        self.assertIn("**The only Ingress works as it is", page)
        self.assertIn(
            "has nothing in it; the Ingress answers 503 rather than be open, as in ingress-nginx", page
        )
        self.assertNotIn("would answer 503**", page)

    def test_what_many_have_is_said_once(self) -> None:
        """With the list of those that have it, and not for each of them."""
        path = self.manifest("---\n".join(named(f"web{n}", rate_limit="5") for n in range(5)))
        page = self.page(path)
        self.assertEqual(page.count("requests are not limited by that"), 1)
        self.assertIn("rate-limit: never existed (5 Ingresses)", page)
        self.assertIn("`shop/web0`, `shop/web1`, `shop/web2`, `shop/web3`, `shop/web4`", page)

    def test_the_same_input_gives_the_same_bytes(self) -> None:
        """Whatever order a process has its sets in."""
        path = self.manifest(
            "---\n".join(
                named(f"web{n}", f"ns{n % 3}", rate_limit="5", **{f"x{n}": "1"}, limit_rps="1")
                for n in range(9)
            )
            + "---\n"
            + CONFIG_MAP
        )
        pages = set()
        for seed in ("1", "2"):
            done = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    "from ingress.ctl.main import run; run()",
                    "migrate",
                    path,
                    "--output=html",
                ],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                check=True,
            )
            pages.add(done.stdout)
        self.assertEqual(len(pages), 1)

    def test_the_form_goes_by_the_name_of_the_file(self) -> None:
        """Unless it is said."""
        path = self.manifest(ingress())
        for name, begins in (("a.html", "<!DOCTYPE html>"), ("a.md", "# Moving"), ("a.json", "{")):
            target = str(self.folder / name)
            self.assertEqual(self.page(path, "--output-file", target), "")
            self.assertTrue(Path(target).read_text("utf-8").startswith(begins), name)
        self.assertTrue(self.page(path, "--output", "html").startswith("<!DOCTYPE html>"))

    def test_what_was_written_is_told(self) -> None:
        """One line beside the answer, which is empty, names the file; ``-`` is standard output, of which nothing is told."""
        path = self.manifest(ingress())
        target = str(self.folder / "a.md")
        result = self.run_command("migrate", path, "--output-file", target)
        self.assertEqual(
            (result.stdout, result.stderr), ("", f"wrote the report of 1 Ingress into {target}\n")
        )
        result = self.run_command("migrate", path, "--output-file", "-")
        self.assertTrue(result.stdout.startswith("# Moving"))
        self.assertEqual(result.stderr, "")

    def test_a_page_that_cannot_be_written_is_a_mistake(self) -> None:
        """One line, with the file, and status 2."""
        path = self.manifest(ingress())
        result = self.run_command("migrate", path, "--output-file", str(self.folder / "absent" / "x.html"))
        self.assertEqual(result.exit_code, 2)
        self.assertIn("x.html: No such file or directory", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_it_says_how_it_was_made(self) -> None:
        """With the options and paths as they were given, quoted for a shell, and without a date."""
        path = self.manifest(ingress(), "my manifests/a b.yaml")
        page = self.page(path, "-o", "ingress-class=nginx", "--owner-label", "team")
        self.assertIn(f"`ingressctl migrate --option=ingress-class=nginx --owner-label=team '{path}'`", page)

    def test_nothing_of_an_empty_input(self) -> None:
        """Objects of other classes alone are no failure."""
        path = self.manifest(ingress().replace("ingressClassName: nginx", "ingressClassName: other"))
        page = self.page(path)
        self.assertIn("There is no Ingress here that this controller would serve.", page)
        self.assertNotIn("What to do first", page)


class HostileTests(MigrateCase):
    def test_no_text_of_tenants_becomes_markup(self) -> None:
        """Values, names of annotations, labels, hosts and paths: an HTML parser finds the elements of a harmless page."""
        quoted = HOSTILE.replace("'", "''")
        text = named("web", "shop", "{team: 'LABEL'}", proxy_read_timeout="VALUE")
        text = text.replace("path: /\n", "path: 'PATH'\n").replace(
            "annotations: {", "annotations: {'nginx.ingress.kubernetes.io/NAME': 'x', "
        )
        pages = []
        for words in (("x", "x", "/x(", "x"), (quoted, quoted, f"/{quoted}(", quoted)):
            filled = text
            for place, word in zip(("LABEL", "VALUE", "PATH", "NAME"), words, strict=True):
                filled = filled.replace(place, word)
            pages.append(_Page(self.page(self.manifest(filled), "--output", "html")))
        harmless, hostile = pages
        self.assertLessEqual(set(hostile.tags), set(harmless.tags))
        self.assertEqual(hostile.tags.count("table"), harmless.tags.count("table"))
        self.assertIn("<script>alert(1)</script>", hostile.text)

    def test_rows_of_markdown_keep_their_cells(self) -> None:
        """Bars and backquotes of a label cut no row."""
        path = self.manifest(named("web", "shop", f"{{team: '{HOSTILE}'}}", enable_modsecurity="true"))
        page = self.page(path)
        [row] = [line for line in page.splitlines() if line.startswith("| `shop`")]
        self.assertEqual(row.count("|"), 8)
        self.assertNotIn("<script", re.sub(r"`` .*? ``", "", page))


class ConfigMapTests(MigrateCase):
    def test_one_of_the_usual_name_counts_and_is_told_key_by_key(self) -> None:
        """What it says is in force: snippets are not honored.  No value is shown."""
        path = self.manifest(named("web", configuration_snippet="expires 1d;") + "---\n" + CONFIG_MAP)
        data = self.data(path)
        report = data["configMap"]
        assert isinstance(report, dict)
        standings = {key["name"]: key["standing"] for key in report["keys"]}
        self.assertEqual(
            standings,
            {
                "allow-snippet-annotations": "honored",
                "hsts": "honored",
                "worker-processes": "differs",
                "enable-modsecurity": "not honored",
                "no-such-key": "not honored",
                "ssl-session-ticket-key": "not honored",
            },
        )
        self.assertEqual(report["namespace"], "ingress-nginx")
        count = data["count"]
        assert isinstance(count, dict)
        self.assertEqual(count["works"], 0)
        for form in ("markdown", "html", "json"):
            self.assertNotIn("do-not-show-this", self.page(path, "--output", form))
        page = self.page(path)
        self.assertIn("| `hsts` | honored | it is the option no-hsts here |", page)
        self.assertIn("Decide about 3 keys of the ConfigMap", page)
        self.assertNotIn("Files and other objects", page)

    def test_the_one_that_an_option_names_counts_before_it(self) -> None:
        """Whatever others there are."""
        own = CONFIG_MAP.replace("ingress-nginx-controller", "own").replace("no-such-key", "other-key")
        path = self.manifest(f"{CONFIG_MAP}---\n{own}---\n{ingress()}")
        page = self.page(path, "-o", "configmap=ingress-nginx/own")
        self.assertIn("`ingress-nginx/own` has 6 keys.", page)
        self.assertIn("other-key", page)

    def test_without_one_it_is_said_how_to_name_it(self) -> None:
        """The defaults count then."""
        self.assertIn("None was found, so the defaults count", self.page(self.manifest(ingress())))


class JsonTests(MigrateCase):
    def test_it_has_all_of_it(self) -> None:
        """Every object with its outcome, what is the matter with it, and its place."""
        path = self.manifest(named("a") + "---\n" + named("b", enable_modsecurity="true"))
        data = self.data(path)
        objects = data["objects"]
        assert isinstance(objects, list)
        self.assertEqual(
            [(one["name"], one["outcome"]) for one in objects], [("b", "closed"), ("a", "works")]
        )
        self.assertEqual((objects[0]["file"], objects[0]["kind"]), (path, "Ingress"))
        matters = data["matters"]
        assert isinstance(matters, list)
        [matter] = [matters[one["matter"]] for one in objects[0]["matters"]]
        self.assertIn("enable-modsecurity", matter["message"])
        self.assertEqual(matter["objects"], [{"kind": "Ingress", "namespace": "shop", "name": "b"}])
