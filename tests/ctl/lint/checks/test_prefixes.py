"""What lint says of annotations behind other prefixes."""

from attrs import evolve

from ingress.ctl.lint.linting import lint
from ingress.model.cluster.objects import Kind
from tests.ctl.ctl_case import CtlCase
from tests.ctl.ctl_case import ingress as manifest
from tests.ctl.lint.lint_case import LintCase, changed, ingress, input_of


class PrefixesTests(LintCase):
    def found_of(self, strays: dict[str, str], **annotations: str) -> list[str]:
        """Return what is said of an Ingress with these annotations of other prefixes."""
        value = ingress(**annotations)
        given = evolve(input_of(value), strays={(Kind.INGRESS, value.key): strays})
        return [finding.message for finding in lint(given).findings if finding.rule == "OtherPrefix"]

    def test_a_prefix_that_nobody_reads(self) -> None:
        """Old prefixes, slips of the right one, and none at all are told of, those of one prefix together."""
        for prefix in (
            "ingress.kubernetes.io/",
            "nginx.kubernetes.io/",
            "nginx.ingress.kubernates.io/",
            "kubernetes.io/",
            "",
        ):
            strays = {f"{prefix}ssl-redirect": "true", f"{prefix}proxy-body-size": "5m"}
            (message,) = self.found_of(strays)
            self.assertIn("ssl-redirect, proxy-body-size", message)

    def test_prefixes_of_others(self) -> None:
        """What another controller reads, and a name that stands behind the right prefix, too, are no slips."""
        for prefix in (
            "alb.ingress.kubernetes.io/",
            "nginx.org/",
            "traefik.ingress.kubernetes.io/",
            "haproxy.org/",
        ):
            self.assertEqual(self.found_of({f"{prefix}ssl-redirect": "true"}), [], prefix)
        self.assertEqual(
            self.found_of({"ingress.kubernetes.io/proxy-body-size": "5m"}, proxy_body_size="5m"), []
        )

    def test_the_changes_write_the_right_prefix(self) -> None:
        """The value moves below it."""
        value = ingress()
        given = evolve(
            input_of(value), strays={(Kind.INGRESS, value.key): {"kubernetes.io/proxy-body-size": "5m"}}
        )
        (finding,) = lint(given).findings
        self.assertEqual(changed(value, finding.changes), ingress(proxy_body_size="5m"))


class ManifestTests(CtlCase):
    def test_they_are_read_from_manifests(self) -> None:
        """A command tells of them with their line."""
        text = manifest().replace(
            "annotations: {}", "annotations:\n    ingress.kubernetes.io/rewrite-target: /\n    x/y: z"
        )
        self.assertIn("OtherPrefix", self.run_command("lint", self.manifest(text)).stdout)
