"""``-o watch-namespace-selector``: what is judged of files, and of a cluster."""

from ingress.ctl.inputs.input import Input, Unread
from ingress.model.cluster.objects import Kind
from tests.cluster.test_selected_namespaces import labelled
from tests.ctl.ctl_case import ingress
from tests.ctl.inputs.files.files_case import FilesCase
from tests.ctl.inputs.live_case import LiveCase, grant, lists
from tests.fakes.objects import ingress_object

NAMESPACE = (
    "---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{team: {team}}}}}\n---\n"
)
SELECTOR = "watch-namespace-selector=team=a"
OPTION = ("-o", SELECTOR)


def of(namespace: str, team: str = "", **annotations: str) -> str:
    """Return an Ingress of *namespace*, with the Namespace if it has a *team*."""
    text = ingress(**annotations).replace("namespace: shop", f"namespace: {namespace}")
    text = text.replace("shop.example.com", f"{namespace}.example.com")
    return (NAMESPACE.format(name=namespace, team=team) if team else "---\n") + text


def namespaces(given: Input) -> set[str]:
    """Return the namespaces with Ingresses."""
    return {key.namespace for key in given.state.of(Kind.INGRESS)}


class FilesTests(FilesCase):
    """Of files."""

    def setUp(self) -> None:
        super().setUp()
        self.manifest(of("shop", "a") + of("blog", "b", nonsense="1") + of("lost"))

    def test_what_is_left_alone_is_told(self) -> None:
        """With the reason: labels that are not selected, or a Namespace that no file has, whose labels nobody knows."""
        found = self.read(options=(SELECTOR,))
        self.assertEqual(namespaces(found), {"shop"})
        self.assertEqual(
            found.unread,
            (
                Unread("1 object of namespace blog", "--watch-namespace-selector does not select that"),
                Unread(
                    "1 object of namespace lost",
                    "--watch-namespace-selector goes by labels, and no such Namespace was read:"
                    " kubectl get namespaces --output=yaml writes them",
                    may_have_routes=True,
                ),
            ),
        )
        self.assertEqual(namespaces(self.read()), {"shop", "blog", "lost"})

    def test_namespaces_in_other_files(self) -> None:
        """The Namespace may stand anywhere among what is read, and counts in all layers."""
        self.manifest(NAMESPACE.format(name="lost", team="a"), "base/namespaces.yaml")
        for name in ("one", "two"):
            self.manifest(of("lost", nonsense=name), f"{name}/ingress.yaml")
        found = self.read("base", "one", "two", options=(SELECTOR,))
        self.assertEqual([namespaces(layer) for layer in found.layers], [{"lost"}, {"lost"}])
        self.assertEqual(found.unread, ())

    def test_commands(self) -> None:
        """Lint, explain and migrate judge what is selected, and say what they left alone."""
        folder = str(self.folder)
        result = self.run_command("lint", folder, *OPTION)
        self.assertIn("1 object of namespace blog", result.stdout)
        self.assertNotIn("nonsense", result.stdout)
        self.assertIn("nonsense", self.run_command("lint", folder).stdout)
        result = self.run_command("explain", "http://blog.example.com/", folder, *OPTION)
        self.assertIn("nothing is served for the host blog.example.com", result.stdout)
        self.assertIn("not read: 1 object of namespace blog", result.stderr)
        result = self.run_command("migrate", folder, *OPTION)
        self.assertNotIn("blog.example.com", result.stdout)
        self.assertIn("1 object of namespace blog", result.stdout)

    def test_a_selector_that_is_none(self) -> None:
        """It is a mistake, and so is one beside --namespace of the controller."""
        for options, word in (
            (("-o", "watch-namespace-selector=team a"), "is no requirement of labels"),
            ((*OPTION, "-o", "namespace=shop"), "exclude each other"),
        ):
            result = self.run_command("lint", str(self.folder), *options)
            self.assertEqual((result.exit_code, word in result.stderr), (2, True), result.stderr)


class LiveTests(LiveCase):
    """Of a cluster."""

    async def selected(self) -> str:
        """Lint the cluster, and return what comes out."""
        return (await self.run_command("lint", "--live", *OPTION, "-v")).output

    async def test_labels(self) -> None:
        """What is selected is judged, also where the cluster has nothing of the Gateway API; no Secret of others is asked for."""
        self.server.create(ingress_object("web", "shop.example.com", "shop-tls"))
        self.server.create(labelled("shop", "b"))
        told = await self.selected()
        self.assertIn("1 object of namespace shop", told)
        self.assertNotIn("there is no Secret", told)
        self.assertEqual([call for call in self.server.requests if call.plural == "secrets"], [])
        self.server.apply(labelled("shop", "a"))
        told = await self.selected()
        self.assertNotIn("1 object of namespace shop", told)
        self.assertIn("there is no Secret shop/shop-tls", told)

    async def test_labels_that_may_not_be_listed(self) -> None:
        """Where Namespaces may be read by their names alone, that is what they are: of what has something."""
        self.permit(*lists("namespaces"), grant("", "namespaces", "get"))
        self.server.create(ingress_object("web", "shop.example.com"))
        self.server.create(labelled("shop", "b"))
        self.server.create(labelled("other", "a"))
        told = await self.selected()
        self.assertIn("1 object of namespace shop", told)
        self.assertNotIn("labels of", told)
        self.server.apply(labelled("shop", "a"))
        self.assertIn("shop/web", await self.selected())
        asked = {
            call.name for call in self.server.requests if call.plural == "namespaces" and call.verb == "get"
        }
        self.assertEqual(asked, {"shop"})

    async def test_labels_that_may_not_be_read(self) -> None:
        """Without them all is judged, which is told."""
        self.permit(*lists("namespaces"))
        self.server.create(ingress_object("web", "shop.example.com"))
        self.server.create(labelled("shop", "b"))
        for command in ("lint", "migrate"):
            told = (await self.run_command(command, "--live", *OPTION)).output
            self.assertIn("labels of", told)
            self.assertIn("--watch-namespace-selector goes by these, so all there is judged", told)
            self.assertIn("shop/web", told)
