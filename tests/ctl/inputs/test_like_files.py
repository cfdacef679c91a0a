"""``--like`` of files: objects are judged by the arguments of the ingress-nginx among them."""

from pathlib import Path

from tests.ctl.ctl_case import CtlCase, ingress
from tests.ctl.inputs.controllers import as_yaml, deployment

NAME = "ingress-nginx/ingress-nginx-controller"
FAULT = '"60s" is not a number of seconds'
HINT = f"here they count with --like {NAME}"


class LikeTests(CtlCase):
    """An Ingress whose only annotation is wrong and has another prefix, and the ingress-nginx that reads that."""

    def setUp(self) -> None:
        super().setUp()
        text = ingress(proxy_read_timeout="60s").replace("nginx.ingress.kubernetes.io", "example.com")
        own = deployment("--annotations-prefix=example.com", "--enable-ssl-chain-completion")
        self.path = self.manifest(f"{text}---\n{as_yaml(own)}")

    def linted(self, *line: str) -> str:
        """What lint says."""
        return " ".join(self.run_command("lint", *line, "-v").output.split())

    def test_counts(self) -> None:
        """Whatever decides how files are read counts, too; what of it is lost is told."""
        told = self.linted(self.path, "--like", NAME)
        self.assertIn(FAULT, told)
        self.assertIn("not taken over: enable-ssl-chain-completion", told)
        self.assertNotIn(HINT, told)

    def test_told(self) -> None:
        """Without the option its arguments do not count, which is told, where they would make a difference."""
        told = self.linted(self.path)
        self.assertNotIn(FAULT, told)
        self.assertIn(HINT, told)
        usual = deployment("--v=2", "--controller-class=k8s.io/ingress-nginx")
        self.assertNotIn(
            "here they count", self.linted(self.manifest(ingress()), self.manifest(as_yaml(usual), "b.yaml"))
        )

    def test_options_come_first(self) -> None:
        """What -o says counts before it."""
        told = self.linted(self.path, "--like", NAME, "-o", "annotations-prefix=nginx.ingress.kubernetes.io")
        self.assertNotIn(FAULT, told)

    def test_standard_input(self) -> None:
        """It is read once."""
        text = Path(self.path).read_text("utf-8")
        result = self.run_command("lint", "-", "--like", NAME, given=text)
        self.assertIn(FAULT, result.output)

    def test_another_name(self) -> None:
        """A name that is no controller's among the files is a mistake, which says which there are."""
        for name, hint in (("ingress-nginx/other", f"; there is {NAME}"), ("nonsense", f"; there is {NAME}")):
            result = self.run_command("lint", self.path, "--like", name)
            self.assertEqual(result.exit_code, 2)
            self.assertIn(
                f"--like {name}: no such Deployment or DaemonSet of ingress-nginx is among the files{hint}",
                result.stderr,
            )
        result = self.run_command("lint", self.manifest(ingress(), "alone.yaml"), "--like", NAME)
        self.assertEqual((result.exit_code, result.stderr.count("there is")), (2, 0))

    def test_explain(self) -> None:
        """Other commands have it, too."""
        line = ("explain", "http://shop.example.com/", self.path)
        self.assertIn(FAULT, self.run_command(*line, "--like", NAME).output)
        self.assertNotIn(FAULT, self.run_command(*line).output)

    def test_migrate(self) -> None:
        """Of several controllers it is the one on the page, and the one that counts."""
        other = self.manifest(as_yaml(deployment("--v=2", name="another")), "another.yaml")
        page = self.run_command("migrate", self.path, other, "--like", NAME).stdout
        self.assertIn("`--annotations-prefix=example.com`", page)
        self.assertNotIn("`ingress-nginx/another`", page)
        self.assertIn(f"--like={NAME}", page)
