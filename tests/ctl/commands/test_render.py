"""``ingressctl render --as gateway``."""

import json

import yaml

from tests.ctl.ctl_case import CtlCase, ingress


class RenderTests(CtlCase):
    def test_standard_output_has_objects_alone_and_standard_error_what_they_do_not_say(self) -> None:
        """The former goes to ``kubectl apply``; nothing is lost that an Ingress asks for."""
        path = self.manifest(ingress(whitelist_source_range="10.0.0.0/8"))
        result = self.run_command("render", "--as", "gateway", path)
        self.assertEqual(result.exit_code, 0)
        kinds = [one["kind"] for one in yaml.safe_load_all(result.stdout)]
        self.assertEqual(kinds, ["Gateway", "HTTPRoute"])
        self.assertIn(
            "Ingress shop/shop: closed: address-ranges: ", result.stderr.replace("shop/web", "shop/shop")
        )
        self.assertIn("2 objects; not said as it is: 1 closed", result.stderr)

    def test_json_has_what_is_unsaid(self) -> None:
        """One document, for programs."""
        path = self.manifest(ingress(whitelist_source_range="10.0.0.0/8"))
        told = json.loads(self.run_command("render", "--as", "gateway", "--output", "json", path).stdout)
        self.assertEqual([one["effect"] for one in told["unsaid"]], ["closed"])

    def test_names_are_those_that_were_given(self) -> None:
        """The Gateway, its namespace and its class."""
        arguments = ("render", "--as", "gateway", "--gateway", "edge/main", "--gateway-class", "envoy")
        gateway = next(yaml.safe_load_all(self.run_command(*arguments, self.manifest(ingress())).stdout))
        self.assertEqual(gateway["metadata"], {"name": "main", "namespace": "edge"})
        self.assertEqual(gateway["spec"]["gatewayClassName"], "envoy")

    def test_of_several_sets_none_is_rendered(self) -> None:
        """What stands there in two forms is named, with both files."""
        self.manifest(ingress(), "a.yaml")
        self.manifest(ingress(auth_type="basic"), "b/c.yaml")
        result = self.run_command("render", "--as", "gateway", str(self.folder))
        self.assertEqual(result.exit_code, 2)
        self.assertRegex(
            result.stderr, r"^Error: Ingress shop/web stands in \S+/a\.yaml:1 and \S+/c\.yaml:1, "
        )

    def test_of_several_sets_one_is_named_that_is_another_in_each(self) -> None:
        """And none that stands in each alike, before it in the alphabet; be it an Ingress or a Service."""
        alike = ingress().replace("name: web\n  namespace", "name: any\n  namespace")
        self.assertIn("name: any", alike)
        service = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: %s}]}\n"
        for form, other, named in (
            (ingress(), ingress(auth_type="basic"), "Ingress shop/web"),
            (service % 80, service % 81, "Service shop/web"),
        ):
            self.manifest(f"{alike}---\n{form}", "a.yaml")
            self.manifest(f"{alike}---\n{other}", "b/c.yaml")
            result = self.run_command("render", "--as", "gateway", str(self.folder))
            self.assertRegex(
                result.stderr, rf"^Error: {named} stands in \S+/a\.yaml:\d+ and \S+/c\.yaml:\d+, "
            )

    def test_what_is_no_name_of_a_gateway_is_a_mistake(self) -> None:
        """It is told with the form."""
        result = self.run_command("render", "--as", "gateway", "--gateway", "main", self.manifest(ingress()))
        self.assertEqual(result.exit_code, 2)
        self.assertIn("--gateway 'main' is not of the form NAMESPACE/NAME", result.stderr)

    def test_an_escape_sequence_of_a_tenant_reaches_no_terminal(self) -> None:
        """Neither by what is printed nor beside it."""
        path = self.manifest(ingress(auth_url="https://a.example.com/\\e[31m"))
        result = self.run_command("render", "--as", "gateway", path)
        self.assertNotIn("\x1b", result.output)

    def test_an_option_of_another_form_is_a_mistake(self) -> None:
        """It would do nothing."""
        path = self.manifest(ingress())
        for arguments in (("gateway", "--full"), ("served", "--gateway", "a/b")):
            result = self.run_command("render", "--as", *arguments, path)
            self.assertEqual(result.exit_code, 2)
            self.assertIn("is for --as ", result.stderr)

    def test_nothing_to_print_is_told_with_the_reason(self) -> None:
        """Which classes there are, which one is served, and what may be meant; in either form."""
        for class_line, told in (
            ("ingressClassName: ngnix", 'of class "ngnix"; served is class "nginx" (--ingress-class)'),
            ("rules2: []", "without class; served is"),
        ):
            path = self.manifest(ingress().replace("ingressClassName: nginx", class_line))
            for form in ("gateway", "served"):
                result = self.run_command("render", "--as", form, path)
                self.assertIn(f"nothing is served: left alone are 1 Ingress {told}", result.stderr)
                self.assertEqual('class "ngnix": did you mean nginx?' in result.stderr, "ngnix" in told)
                self.assertNotIn("nothing is served", result.stdout)
        self.assertNotIn(
            "served", self.run_command("render", "--as", "served", self.manifest(ingress())).stderr
        )
