"""What lint says of hosts."""

from attrs import evolve

from ingress.ctl.migrate.outcome import Bearing, bearing_of
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.translate.readers.ingress.objects import (
    IngressBackend,
    IngressRule,
    IngressTLS,
    ServicePortReference,
)
from tests.ctl.lint.lint_case import HOST, LintCase, ingress

OTHER = "b.example.com"


class HostsTests(LintCase):
    def test_a_host_of_tls_that_no_rule_has(self) -> None:
        """It is told with its place, unless a rule, a wildcard above or below it, or a default backend serves it."""
        finding = self.found("TlsHostWithoutRule", ingress(tls=[HOST, OTHER]))
        self.assertEqual(finding.field, "spec.tls[0].hosts[1]")
        for hosts, tls in (
            ([HOST], [HOST]),
            ([HOST], ["*.example.com"]),
            (["*.example.com"], [HOST]),
            ([""], [OTHER]),
            ([HOST.upper()], [HOST]),
        ):
            self.assert_not_found("TlsHostWithoutRule", ingress(hosts=hosts, tls=tls))
        self.assert_not_found("TlsHostWithoutRule", ingress(tls=[OTHER]), ingress(name="b", hosts=[OTHER]))
        default = IngressBackend("web", ServicePortReference(number=80))
        self.assert_not_found("TlsHostWithoutRule", evolve(ingress(tls=[OTHER]), default_backend=default))

    def test_a_host_that_tls_leaves_out(self) -> None:
        """An Ingress that has tls for one of its hosts is told of the other, unless another Ingress has it."""
        value = ingress(hosts=[HOST, OTHER], tls=[HOST])
        finding = self.found("HostWithoutTls", value)
        self.assertIn(OTHER, finding.message)
        self.assertIs(bearing_of(finding), Bearing.DIFFERS)
        self.assert_not_found("HostWithoutTls", value, ingress(name="b", hosts=[OTHER], tls=[OTHER]))
        self.assert_not_found("HostWithoutTls", ingress(hosts=[HOST, OTHER], tls=["*.example.com"]))
        self.assert_not_found("HostWithoutTls", ingress(hosts=[HOST, OTHER]))

    def test_a_default_backend_that_gets_hosts_of_nobody(self) -> None:
        """It is told of an Ingress with rules, unless its annotations have ingress-nginx's way, or it gets nothing there."""
        default = IngressBackend("web", ServicePortReference(number=80))
        value = evolve(ingress("/a"), default_backend=default)
        finding = self.found("DefaultBackendOfAll", value)
        self.assertEqual(finding.field, "spec.defaultBackend")
        self.assertIn(f"ingress-nginx serves it for {HOST} alone", finding.message)
        self.assertIs(bearing_of(finding), Bearing.DIFFERS)
        older = evolve(ingress(name="z"), rules=(), default_backend=default)
        for others in (
            [evolve(ingress("/a", proxy_body_size="1m"), default_backend=default)],
            [older, evolve(ingress("/a", name="b"), default_backend=default)],
            [evolve(ingress("/a", hosts=[""]), default_backend=default)],
            [ingress("/a")],
        ):
            self.assert_not_found("DefaultBackendOfAll", *others)

    def test_a_rule_without_paths_on_the_host_of_an_older_one(self) -> None:
        """What it answers there is told, unless it is the oldest itself, a path takes all, or the older one is a canary."""
        redirect = ingress(
            name="redirect", created="2025-02-01T00:00:00Z", permanent_redirect="https://a.test"
        )
        younger = evolve(redirect, rules=(IngressRule(HOST, None),))
        older = ingress(("/", "Exact"), created="2025-01-01T00:00:00Z")
        finding = self.found("RuleWithoutPaths", younger, older)
        self.assertEqual((finding.object_id, finding.field), ((Kind.INGRESS, younger.key), "spec.rules"))
        self.assertIn(
            f"what no path of host {HOST} takes is answered by this rule; in ingress-nginx it is 404, or as Ingress shop/web has it, which is older",
            finding.message,
        )
        self.assertIs(bearing_of(finding), Bearing.DIFFERS)
        for others in (
            [younger],
            [redirect, older],
            [evolve(younger, rules=younger.rules + redirect.rules), older],
            [younger, evolve(older, created="2025-03-01T00:00:00Z")],
            [younger, ingress("/", created="2025-01-01T00:00:00Z")],
            [younger, ingress("/a", created="2025-01-01T00:00:00Z", canary="true", canary_weight="1")],
        ):
            self.assert_not_found("RuleWithoutPaths", *others)

    def test_a_rule_without_paths_for_all_hosts(self) -> None:
        """It answers nothing in ingress-nginx, also where it is the oldest."""
        redirect = evolve(
            ingress(permanent_redirect="https://a.test"),
            rules=(IngressRule("", None), IngressRule(HOST, None)),
        )
        finding = self.found("RuleWithoutPaths", redirect)
        self.assertEqual(
            finding.message,
            "what no path of all hosts takes is answered by this rule; in ingress-nginx a rule has to name a host for that",
        )

    def test_tls_without_secret(self) -> None:
        """The default certificate is shown, which is worth a note."""
        value = evolve(ingress(), tls=(IngressTLS((HOST,), ""),))
        self.assertEqual(self.found("TlsWithoutSecret", value).field, "spec.tls[0]")

    def test_plain_http_beside_tls(self) -> None:
        """ssl-redirect that is off is noted where there is a certificate, and nowhere else."""
        self.found("PlainHttpBesideTls", ingress(tls=[HOST], ssl_redirect="false"))
        self.assert_not_found("PlainHttpBesideTls", ingress(ssl_redirect="false"))
        self.assert_not_found(
            "PlainHttpBesideTls", ingress(tls=[HOST], ssl_redirect="false", force_ssl_redirect="true")
        )

    def test_a_forced_redirect_to_a_host_without_certificate(self) -> None:
        """It is noted, unless some Ingress has tls for the host."""
        value = ingress(force_ssl_redirect="true")
        self.found("RedirectWithoutTls", value)
        self.assert_not_found("RedirectWithoutTls", value, ingress("/b", name="b", tls=[HOST]))

    def test_a_host_in_two_namespaces(self) -> None:
        """Both sides are told, each of the other, and whose the host is."""
        report = self.lint(ingress("/a"), ingress("/b", namespace="bank", created="2026-01-01T00:00:00Z"))
        messages = [one.message for one in report.findings if one.rule == "HostInTwoNamespaces"]
        self.assertEqual(len(messages), 2)
        self.assertIn("Ingress shop/web; it belongs to namespace shop", messages[0])
        self.assertIn("Ingress bank/web; it belongs here", messages[1])
        self.assert_not_found("HostInTwoNamespaces", ingress("/a"), ingress("/b", name="b"))

    def test_many_namespaces_are_named_by_three(self) -> None:
        """What one Ingress is told does not grow with how many others there are."""
        some = [ingress(f"/{number}", namespace=f"n{number}") for number in range(20)]
        report = self.lint(*some)
        first = next(one for one in report.findings if one.object_id[1] == ObjectKey("n0", "web"))
        self.assertIn("and 16 more", first.message)

    def test_a_host_that_stands_in_more(self) -> None:
        """The one of a URL, or before a port, is what is meant, in rules and in tls."""
        for written, meant in (
            ("https://a.example.com/", "a.example.com"),
            ("http://A.example.com", "a.example.com"),
            ("a.example.com:8080", "a.example.com"),
            ("a.example.com/app?x#y", "a.example.com"),
            ("*.example.com:443", "*.example.com"),
            ("_x_.test:80", ""),
            ("www.*.example.com", ""),
            ("10.0.0.1:80", ""),
            ("https://", ""),
        ):
            advice = f"did you mean {meant}?" if meant else ""
            self.assertEqual(self.found("InvalidHost", ingress(hosts=[written])).advice, advice, written)
            tls = self.found("InvalidHost", ingress(tls=[HOST, written]))
            self.assertEqual((tls.field, tls.advice), ("spec.tls[0].hosts[1]", advice))

    def test_a_host_that_is_none_is_told_once(self) -> None:
        """Where rule and tls have the same one, the rule is what is told of."""
        finding = self.found("InvalidHost", ingress(hosts=["_x_.test"], tls=["_x_.test"]))
        self.assertEqual(finding.field, "spec.rules[0].host")
        self.assertEqual(
            self.found("InvalidHost", ingress(tls=[HOST, "_x_.test"])).field, "spec.tls[0].hosts[1]"
        )
