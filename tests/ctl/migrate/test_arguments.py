"""``ingressctl migrate`` and what ingress-nginx was started with."""

import os
import re
import threading
from pathlib import Path
from typing import Any

import yaml

from ingress.ctl.inputs.ingress_nginx.workloads import WORKLOADS
from ingress.ctl.migrate.writing_arguments import MOST_WORKLOADS
from tests.ctl.commands.test_migrate import CONFIG_MAP, MigrateCase, named
from tests.ctl.ctl_case import ingress
from tests.ctl.inputs.controllers import as_yaml, deployment

ROOT = Path(__file__).resolve().parents[3]
VERDICT = "**The only Ingress works as it is.**"


class ArgumentsCase(MigrateCase):
    """Writes pages of Ingresses and of what serves them."""

    def written(self, *args: str, text: str = "", **fields: Any) -> str:
        """The path of a manifest with *text*, an Ingress without it, and a Deployment that has *args*."""
        return self.manifest(f"{text or ingress()}---\n{as_yaml(deployment(*args, **fields))}")

    def reports(self, *line: str) -> Any:
        """What JSON says of each controller."""
        return self.data(*line)["arguments"]

    def count(self, *line: str) -> Any:
        """How many Ingresses are judged."""
        return self.data(*line)["count"]["all"]  # type: ignore[index]


class PageTests(ArgumentsCase):
    """What the report says of them."""

    def test_each_argument_has_a_row(self) -> None:
        """The worst first, with what to write here; then the whole list as a kustomization."""
        page = self.page(
            self.written(
                "--watch-namespace=shop", "--enable-ssl-passthrough", "--publish-servce=a/b", "--v=2"
            )
        )
        section = page.partition("## The arguments of ingress-nginx\n")[2].partition("\n## ")[0]
        self.assertIn("Deployment `ingress-nginx/ingress-nginx-controller` has 4 arguments, in `", section)
        rows = [line.split(" | ")[:3] for line in section.splitlines() if line.startswith("| `--")]
        self.assertEqual(
            rows,
            [
                ["| `--publish-servce`", "unknown", "nothing"],
                ["| `--watch-namespace=shop`", "another option", "`--namespace=shop`"],
                ["| `--enable-ssl-passthrough=true`", "the same option", "`--enable-ssl-passthrough`"],
                ["| `--v=2`", "not needed", "nothing"],
            ],
        )
        self.assertIn("did you mean publish-service?", section)
        self.assertIn(
            "Where Helm has installed it, `../txingress/k8s/chart` takes the values of its release", section
        )
        self.assertIn("```yaml\napiVersion: kustomize.config.k8s.io/v1beta1\n", section)
        self.assertIn("\n          - --namespace=shop\n          - --enable-ssl-passthrough\n", section)

    def test_what_to_do_first_names_them(self) -> None:
        """What is lost is to be decided about, and the list is to be given to this controller; nothing is unchecked about it."""
        page = self.page(self.written("--enable-ssl-chain-completion", "--maxmind-license-key=k", "--v=2"))
        self.assertIn("Decide about 2 arguments of ingress-nginx that would have no effect.", page)
        self.assertIn("Give it the arguments that are listed below.", page)
        self.assertNotIn("What ingress-nginx was started with (its arguments)", page)
        page = self.page(self.written("--v=2", text=f"{ingress()}---\n{CONFIG_MAP}"))
        self.assertIn(
            "Give it the content of the ConfigMap as it is, and the arguments that are listed below.", page
        )
        self.assertNotIn("arguments of ingress-nginx that would", page)

    def test_where_there_is_none_it_is_said(self) -> None:
        """With what to do about it, and that it was not checked."""
        page = self.page(self.manifest(ingress()))
        self.assertIn("No Deployment or DaemonSet of ingress-nginx was found", page)
        self.assertIn("Name the file that has it beside the others", page)
        self.assertIn("What ingress-nginx was started with (its arguments), and TCP and UDP services.", page)
        self.assertEqual(self.reports(self.manifest(ingress())), [])

    def test_the_command_that_writes_a_file_writes_all_that_is_read(self) -> None:
        """It, the Services that lead to it, and what scales it; the documentation has the same command."""
        page = self.page(self.manifest(ingress()))
        found = re.search(r"`(kubectl --namespace ingress-nginx get (\S+) .*?)`", page)
        assert found is not None
        self.assertEqual(
            set(found[2].split(",")),
            {*WORKLOADS.values(), "services", "horizontalpodautoscalers", "poddisruptionbudgets"},
        )
        self.assertIn(found[1], (ROOT / "docs" / "ingressctl.md").read_text("utf-8"))

    def test_as_html(self) -> None:
        """The same, and whatever an argument says is text."""
        path = self.written("--annotations-prefix=<script>alert(1)</script>", "--watch-namespace=shop")
        page = self.page(path, "--output", "html")
        self.assertIn('<a href="#arguments">The arguments of ingress-nginx</a>', page)
        self.assertIn("<code>--namespace=shop</code>", page)
        self.assertNotIn("<script>", page)
        self.assertIn("resources: [../txingress/k8s/overlays/deployment-loadbalancer]", page)

    def test_as_json(self) -> None:
        """All of it, with the arguments of this controller as a list, and the kustomization as text."""
        path = self.written("--v=4", "--disable-leader-election", kind="DaemonSet", hostNetwork=True)
        (found,) = self.reports(path)
        self.assertEqual((found["kind"], found["namespace"]), ("DaemonSet", "ingress-nginx"))
        self.assertEqual((found["name"], found["file"]), ("ingress-nginx-controller", path))
        self.assertEqual(
            [
                (one["name"], one["given"], one["becomes"], one["write"], one["isLost"])
                for one in found["arguments"]
            ],
            [
                ("disable-leader-election", "--disable-leader-election=true", "not honored", "", True),
                ("v", "--v=4", "another option", "--log-level=debug", False),
            ],
        )
        self.assertIn("--log-level=debug", found["args"])
        self.assertIn("overlays/daemonset-hostnetwork]", found["files"]["kustomization.yaml"])

    def test_as_files(self) -> None:
        """With --patches each kustomization is a file, that of the controller which counts first, and nothing is left of an earlier run."""
        folder = self.folder / "patches.d"
        both = (
            self.written("--v=2"),
            self.manifest(as_yaml(deployment("--watch-namespace=b", name="other")), "other.yaml"),
        )
        result = self.run_command("migrate", *both, "--patches", str(folder))
        self.assertEqual(result.exit_code, 0, result.stderr)
        self.assertIn(", and 2 kustomizations", result.stderr)
        files = {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*.yaml")}
        texts = [one["files"]["kustomization.yaml"] for one in self.reports(*both)]
        self.assertEqual(
            files,
            {"controller/kustomization.yaml": texts[0], "controller-2/kustomization.yaml": texts[1]},
        )
        self.assertEqual(yaml.safe_load(texts[0])["kind"], "Kustomization")
        (folder / "controller-mine").mkdir()
        (folder / "controller-mine" / "kustomization.yaml").write_text("")
        self.run_command("migrate", both[0], "--patches", str(folder))
        left = {str(path.relative_to(folder)) for path in folder.rglob("*.yaml")}
        self.assertEqual(left, {"controller/kustomization.yaml", "controller-mine/kustomization.yaml"})

    def test_a_link_among_the_files(self) -> None:
        """Nothing is written to where a link leads that waits there, and nothing removed."""
        folder, other = self.folder / "patches.d", self.folder / "other"
        for path in (folder, other):
            path.mkdir()
        (other / "kustomization.yaml").write_text("mine")
        (folder / "controller").symlink_to(other.resolve())
        result = self.run_command("migrate", self.written("--v=2"), "--patches", str(folder))
        self.assertEqual(result.exit_code, 2)
        self.assertIn("controller: is a link", result.stderr)
        self.run_command("migrate", self.manifest(ingress()), "--patches", str(folder))
        self.assertEqual((other / "kustomization.yaml").read_text(), "mine")

    def test_secrets_are_not_on_the_page(self) -> None:
        """Neither of an argument that holds one, nor of one whose name is mistyped."""
        path = self.written("--maxmind-license-key=hush", "--maxmind-licence-key=hush")
        for form in ("markdown", "html", "json"):
            self.assertNotIn("hush", self.page(path, "--output", form))

    def test_long_arguments_give_a_page_that_opens(self) -> None:
        """What is too long is not on the page, and whole in JSON."""
        long = "x" * 50_000
        path = self.written(f"--controller-class={long}", *(f"--x{number}={long}" for number in range(300)))
        self.assertLess(len(self.page(path)), 50_000)
        self.assertIn(f"--controller-class={long}", self.reports(path)[0]["args"])

    def test_many_controllers_give_a_page_that_ends(self) -> None:
        """So many are written about, and the rest is counted."""
        some = (deployment("--v=2", name=f"edge{number}") for number in range(MOST_WORKLOADS + 2))
        path = self.manifest(ingress() + "---\n" + as_yaml(*some))
        page = self.page(path)
        self.assertEqual(page.count("as a kustomization: "), MOST_WORKLOADS)
        self.assertIn("2 more of these", page)
        self.assertEqual(len(self.reports(path)), MOST_WORKLOADS + 2)


class JudgedTests(ArgumentsCase):
    """What an argument changes about how objects are judged."""

    def test_classes(self) -> None:
        """An Ingress is counted if it is of the class that ingress-nginx serves; who names a class has that judged."""
        text = ingress().replace("ingressClassName: nginx", "ingressClassName: edge")
        path = self.written("--ingress-class=edge", text=text)
        self.assertIn(VERDICT, self.page(path))
        self.assertEqual(self.count(path, "-o", "ingress-class=nginx"), 0)
        class_ = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: edge}\nspec: {controller: a.b/c}\n"
        self.assertEqual(self.count(self.written("--v=2", text=f"{text}---\n{class_}")), 0)
        self.assertEqual(self.count(self.written("--controller-class=a.b/c", text=f"{text}---\n{class_}")), 1)

    def test_ingresses_without_a_class(self) -> None:
        """Nothing is the matter with them if ingress-nginx serves them."""
        text = ingress().replace("  ingressClassName: nginx\n", "")
        said = "it names no class"
        self.assertIn(said, self.page(self.written(text=text)))
        self.assertIn(said, self.page(self.written("--watch-ingress-without-class=false", text=text)))
        self.assertNotIn(said, self.page(self.written("--watch-ingress-without-class", text=text)))

    def test_the_namespace_that_is_watched(self) -> None:
        """Objects of others are not served there; who names namespaces, or all, has those judged."""
        path = self.written("--watch-namespace=shop", text=f"{named('a', 'shop')}---\n{named('b', 'blog')}")
        self.assertEqual(self.count(path), 1)
        self.assertEqual(self.count(path, "-n", "blog", "-n", "shop"), 2)
        self.assertEqual(self.count(path, "--all-namespaces"), 2)
        self.assertEqual(self.count(path, "-o", "namespace=blog", "-o", "namespace=shop"), 2)

    def test_the_labels_of_namespaces_that_are_watched(self) -> None:
        """Objects of others are not served there; who names namespaces, or all, has those judged."""
        some = "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, labels: {team: %s}}\n"
        namespaces = [some % ("shop", "a"), some % ("blog", "b")]
        text = "---\n".join([*namespaces, named("a", "shop"), named("b", "blog")])
        path = self.written("--watch-namespace-selector=team=a", text=text)
        self.assertEqual(self.count(path), 1)
        self.assertEqual(self.count(path, "-n", "blog", "-n", "shop"), 2)
        self.assertEqual(self.count(path, "--all-namespaces"), 2)
        self.assertEqual(self.count(path, "-o", "namespace=blog", "-o", "namespace=shop"), 2)

    def test_the_prefix_of_annotations(self) -> None:
        """Those behind another prefix are read, also of what can be read but once."""
        text = ingress(enable_modsecurity="true").replace("nginx.ingress.kubernetes.io", "example.com")
        path = self.written(text=text)
        closed = "would answer 503"
        self.assertIn(VERDICT, self.page(path))
        path = self.written("--annotations-prefix=example.com", text=text)
        self.assertIn(closed, self.page(path))
        piped = self.run_command("migrate", "-", given=Path(path).read_text("utf-8"))
        self.assertEqual(piped.exit_code, 0, piped.stderr)
        self.assertIn(closed, piped.stdout)
        self.assertIn(VERDICT, self.page(path, "-o", "annotations-prefix=nginx.ingress.kubernetes.io"))

    def test_a_pipe_is_read_once(self) -> None:
        """As a shell passes the output of another command."""
        text = Path(self.written("--watch-namespace=shop", text=named("a", "blog"))).read_bytes()
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(text,), daemon=True)
        writer.start()
        page = self.page(str(pipe))
        writer.join(30)
        self.assertIn("| `--watch-namespace=shop` |", page)
        self.assertNotIn("`blog/a`", page)

    def test_passthrough(self) -> None:
        """The annotation is honored where the argument is."""
        text = ingress(ssl_passthrough="true")
        self.assertNotIn("| `ssl-passthrough` | 1 | honored |", self.page(self.written("--v=2", text=text)))
        path = self.written("--enable-ssl-passthrough", text=text)
        self.assertIn("| `ssl-passthrough` | 1 | honored |", self.page(path))

    def test_the_config_map_that_is_named(self) -> None:
        """It counts, whatever it is called, and comes behind the arguments and the command line."""
        other = CONFIG_MAP.replace("ingress-nginx-controller", "edge").replace('"4"', '"8"')
        path = self.written(
            "--configmap=$(POD_NAMESPACE)/edge", text=f"{ingress()}---\n{CONFIG_MAP}---\n{other}"
        )
        self.assertIn("`ingress-nginx/edge` has 6 keys.", self.page(path))
        usual = "configmap=ingress-nginx/ingress-nginx-controller"
        self.assertIn("`ingress-nginx/ingress-nginx-controller` has 6 keys.", self.page(path, "-o", usual))
        path = self.written("--configmap=$(POD_NAMESPACE)/gone", text=f"{ingress()}---\n{CONFIG_MAP}")
        self.assertIn("ConfigMap ingress-nginx/gone: is not in the input", self.page(path))

    def test_services_for_ports(self) -> None:
        """What a ConfigMap lists, of TCP or of UDP, is looked at, and what is wrong with it is told."""
        for protocol in ("tcp", "udp"):
            listed = (
                f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {protocol}, namespace: ingress-nginx}}\n"
                'data: {"5432": shop/absent}\n'
            )
            argument = f"--{protocol}-services-configmap=ingress-nginx/{protocol}"
            page = self.page(self.written(argument, text=f"{ingress()}---\n{listed}"))
            self.assertIn(f"ConfigMap `ingress-nginx/{protocol}`: ", page)

    def test_of_two_controllers_one_counts(self) -> None:
        """That of the usual class, or of the one that is asked for; the page has both."""
        inner = deployment("--controller-class=example.com/inner", "--ingress-class=inner", name="inner")
        text = f"{named('a')}---\n{named('b').replace('Name: nginx', 'Name: inner')}"
        path = self.manifest(f"{text}---\n{as_yaml(inner, deployment('--v=4'))}")
        page = self.page(path)
        self.assertLess(
            page.index("ingress-nginx/ingress-nginx-controller` has 1"),
            page.index("ingress-nginx/inner` has 2"),
        )
        self.assertIn("Of all that were found, objects are judged by these", page)
        self.assertIn("Objects are not judged by these", page)
        self.assertIn('its class is "inner"', page)
        page = self.page(path, "-o", "controller-class=example.com/inner")
        self.assertIn('its class is "nginx"', page)

    def test_comparing_goes_by_them_too(self) -> None:
        """The requests are those of what ingress-nginx serves."""
        text = f"{named('a', 'shop')}---\n{named('b', 'blog')}"
        path = self.written("--watch-namespace=shop", text=text)
        shown = self.run_command("migrate", "--compare", "--dry-run", path)
        self.assertEqual(shown.exit_code, 0, shown.stderr)
        self.assertIn("a.shop.example.com", shown.stdout)
        self.assertNotIn("b.blog.example.com", shown.stdout)
