"""Lint as a whole: layers, what is not known, and certificates that are."""

import json
from datetime import timedelta

from attrs import evolve

from ingress.ctl.inputs.coverage import Coverage
from ingress.ctl.inputs.input import Place
from ingress.ctl.lint import survey
from ingress.ctl.lint.finding import Level
from ingress.ctl.lint.linting import lint
from ingress.identity.certificates import TLS_SECRET_TYPE
from ingress.model.cluster.objects import Kind, ObjectKey, Secret, Service
from ingress.model.cluster.problems import Problem, Reason
from tests.ctl.ctl_case import CtlCase
from tests.ctl.ctl_case import ingress as manifest
from tests.ctl.lint.lint_case import HOST, NOW, SPECIFIC, LintCase, ingress, input_of
from tests.fakes.certificates import issue, make_authority

KNOWN = Coverage(whole=frozenset({Kind.SECRET, Kind.SERVICE}))


def secret(name: str, *hosts: str, namespace: str = "shop") -> Secret:
    """Return a Secret with a certificate for *hosts*."""
    chain, key = issue(make_authority(), hosts, not_before=NOW, not_after=NOW + timedelta(days=30))
    content = {"tls.crt": chain, "tls.key": key}
    return Secret(ObjectKey(namespace, name), TLS_SECRET_TYPE, content)


class OptionsTests(LintCase):
    def test_external_names_that_are_disabled(self) -> None:
        """They are told by the option that forbids them, also where another one allows them."""
        out = Service(ObjectKey("shop", "web"), "ExternalName", external_name="a.test")
        self.assert_not_found("ExternalNameForbidden", ingress(), out, allow_external_name=True)
        options = {"allow_external_name": True, "disable_external_name": True}
        found = self.found("ExternalNameForbidden", ingress(), out, **options)
        self.assertIn("which --disable-svc-external-name forbids", found.message)


class LayersTests(LintCase):
    def test_each_layer_is_judged_by_itself(self) -> None:
        """The same host and path in two layers are no conflict; in one of them they are."""
        other = input_of(ingress(name="b"))
        report = lint(input_of(ingress(name="a"), others=(other,)))
        self.assertEqual(report.findings, ())
        self.assertEqual([one.object_id[1].name for one in report.objects], ["a", "b"])
        self.assertEqual(
            {one.rule for one in lint(input_of(ingress(name="a"), ingress(name="b"))).findings},
            {"PathConflict"},
        )

    def test_what_layers_share_is_told_once(self) -> None:
        """An object of one place is reported once, with what each layer finds; variants at their places are reported each."""
        shared = ingress(name="shared", nonsense="1")
        at = {(Kind.INGRESS, shared.key): Place("base.yaml", 1)}
        layers = [evolve(input_of(shared, ingress(name=name)), places=at) for name in ("a-first", "z-last")]
        report = lint(evolve(layers[0], others=(layers[1],)))
        some = [one for one in report.objects if one.object_id[1].name == "shared"]
        self.assertEqual(len(some), 1)
        self.assertEqual([one.rule for one in some[0].findings], ["PathConflict", "UnknownAnnotation"])


class OverlayTests(CtlCase):
    def test_overlays_are_no_duplicates(self) -> None:
        """An Ingress that stands in the folders of two environments is judged in each; nothing is said of that."""
        for name in ("staging", "production"):
            self.manifest(manifest(**{f"nonsense_{name}": "1"}), f"{name}/ingress.yaml")
        text = self.run_command("lint", str(self.folder)).stdout
        self.assertIn("nonsense-staging", text)
        self.assertIn("nonsense-production", text)
        self.assertNotIn("DuplicateObject", text)


class RedirectWithoutPathsTests(CtlCase):
    def test_one_that_another_ingress_leaves_nothing_to(self) -> None:
        """A redirect for a host whose paths another Ingress has is told as what has no effect, with what helps."""
        redirect = manifest(permanent_redirect="https://a.test").replace("name: web", "name: redirect", 1)
        without_paths = redirect[: redirect.index("      http:")]
        text = self.run_command("lint", self.manifest(f"{without_paths}---\n{manifest()}")).stdout
        self.assertIn("such as a redirect, has no effect", " ".join(text.split()))
        self.assertIn("→ leave the requests to one of the two\n", text)
        self.assertIn(" PathConflict\n", text)

    def test_the_root_of_app_root(self) -> None:
        """What an annotation asks for, and an older Ingress has, is a path like any other."""
        exact = manifest().replace("name: web", "name: a", 1).replace("Prefix", "Exact")
        rooted = manifest(app_root="/x").replace("path: /", "path: /x")
        rooted = rooted.replace("namespace: shop", "namespace: other")
        text = self.run_command("lint", self.manifest(f"{exact}---\n{rooted}")).stdout
        self.assertIn("app-root: Exact path", text)
        self.assertIn("→ agree who has the path\n", text)
        self.assertNotIn("leave the requests", text)


class ConcernTests(CtlCase):
    """What is said of Secrets and ConfigMaps that lie beside the Ingresses."""

    def objects(self, secret: str) -> str:
        """Return an Ingress with passwords of Secret users, beside a Secret that nobody can read."""
        return (
            manifest(auth_type="basic", auth_secret="users", ssl_redirect="false")
            + f"---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {secret}, namespace: shop}}\ndata: {{auth: '%'}}\n"
        )

    def test_what_no_ingress_refers_to_is_a_note(self) -> None:
        """A Secret of somebody else that an API server would refuse fails no build; that of an Ingress does."""
        for secret, level in (("somebodys", "note"), ("users", "error")):
            output = self.run_command("lint", "--output", "json", self.manifest(self.objects(secret))).stdout
            (found,) = (one for one in json.loads(output)["findings"] if one["kind"] == "Secret")
            self.assertEqual((found["level"], found["rule"]), (level, "MalformedObject"))

    def test_what_has_no_name_is_an_error_if_it_is_no_secret_or_config_map(self) -> None:
        """A file that was named and is no manifest, and an Ingress without a name, fail; a ConfigMap of test data does not."""
        for text, level in (
            ("a: b", "error"),
            ("apiVersion: networking.k8s.io/v1\nkind: Ingress\nspec: {}", "error"),
            ("apiVersion: v1\nkind: ConfigMap", "note"),
        ):
            output = self.run_command("lint", "--output", "json", self.manifest(text)).stdout
            self.assertEqual({one["level"] for one in json.loads(output)["findings"]}, {level}, text)


class UnknownTests(LintCase):
    def test_what_may_not_be_read_is_not_missing(self) -> None:
        """A Secret that the reader has no right to read is not checked, and told of as that."""
        key = ObjectKey("shop", "certificate")
        given = input_of(ingress(tls=[HOST]), coverage=Coverage(whole=frozenset({Kind.SERVICE})))
        forbidden = Problem("Secret", *key, Reason.SECRET_FORBIDDEN, "no right")
        given = evolve(given, state=evolve(given.state, problems_of={(Kind.SECRET, key): (forbidden,)}))
        report = lint(given)
        self.assertEqual([one.rule for one in report.findings], ["ServiceNotFound"])
        self.assertEqual(report.not_checked, ("Secrets in shop: what is in them was not read",))

    def test_what_no_file_has(self) -> None:
        """Kinds of which the namespace has no object are not checked, in one line each; where it has one, the others are missing."""
        value = ingress(auth_type="basic", auth_secret="users", tls=[HOST])
        report = lint(input_of(value))
        self.assertEqual(report.findings, ())
        self.assertEqual([line.split()[1] for line in report.not_checked], ["Secrets", "Services"])
        some = Coverage(namespaces={Kind.SECRET: frozenset({"shop"}), Kind.SERVICE: frozenset({"bank"})})
        report = lint(input_of(value, coverage=some))
        self.assertEqual({one.rule for one in report.findings}, {"SecretNotFound"})
        self.assertEqual([line.split()[1] for line in report.not_checked], ["Services"])

    def test_a_certificate_that_is_made_in_the_cluster(self) -> None:
        """No file has what cert-manager makes, and nothing is said of that."""
        value = evolve(ingress(tls=[HOST]), issued_by="cert-manager.io/cluster-issuer")
        report = lint(input_of(value, coverage=KNOWN))
        self.assertNotIn("SecretNotFound", {one.rule for one in report.findings})

    def test_too_many_expressions_to_ask_for_all(self) -> None:
        """Asking whose requests they take ends, and says so."""
        self.patch(survey, "MOST_SEARCHES", 20)
        some = [
            ingress((f"/a.*{number}?", SPECIFIC), name=f"i{number}", use_regex="true") for number in range(9)
        ]
        (sentence,) = [line for line in lint(input_of(*some)).not_checked if HOST in line]
        self.assertIn("too many", sentence)


class CertificateTests(LintCase):
    def test_a_host_that_its_certificate_does_not_cover(self) -> None:
        """It is an error that names the certificate's hosts."""
        finding = self.found(
            "CertificateNameMismatch",
            ingress(tls=[HOST]),
            secret("certificate", "b.example.com"),
            coverage=KNOWN,
        )
        self.assertIs(finding.level, Level.ERROR)
        self.assertIn("b.example.com", finding.message)
        self.assert_not_found("CertificateNameMismatch", ingress(tls=[HOST]), secret("certificate", HOST))

    def test_two_certificates_for_one_host(self) -> None:
        """The Ingress whose certificate is shown is named."""
        first = ingress("/a", name="z-first", tls=[HOST])
        second = ingress("/b", tls=[HOST])
        second = evolve(second, tls=(evolve(second.tls[0], secret_name="other"),))
        finding = self.found(
            "CertificateConflict",
            first,
            second,
            secret("certificate", HOST),
            secret("other", HOST),
            coverage=KNOWN,
        )
        self.assertIn("Ingress shop/z-first", finding.message)
