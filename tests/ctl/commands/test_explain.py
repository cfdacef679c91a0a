"""``ingressctl explain``."""

import json
import subprocess
import sys
from typing import Any

from tests.ctl.ctl_case import CtlCase, ingress

SERVICE = """\
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}]
"""

OTHER_CONTROLLER = """\
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: example.com/other}
"""


class ExplainTests(CtlCase):
    def explained(self, manifests: str, *arguments: str, status: int = 0) -> dict[str, Any]:
        """Return the JSON of the explanation by *manifests*."""
        path = self.manifest(manifests)
        result = self.run_command("explain", *arguments, "--manifests", path, "--output", "json")
        self.assertEqual(result.exit_code, status, result.output)
        data: dict[str, Any] = json.loads(result.stdout)
        return data

    def test_the_first_two_lines_say_what_was_asked_and_what_comes_of_it(self) -> None:
        """The rest says why, from top to bottom."""
        path = self.manifest(ingress() + SERVICE)
        result = self.run_command("explain", "http://shop.example.com/cart", path)
        self.assertEqual(result.exit_code, 0)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], "GET http://shop.example.com/cart")
        self.assertEqual(lines[1], "sent to Service shop/web port 80 at one of 10.0.0.1:8080, 10.0.0.2:8080")
        self.assertIn("Ingress shop/web, spec.rules[0].http.paths[0]", result.stdout)

    def test_an_endpoint_that_may_not_be_connected_to_is_named(self) -> None:
        """The problem is that of the EndpointSlice, and has the address, why not, and the option."""
        away = SERVICE.replace("10.0.0.1", "169.254.169.254").replace(", {addresses: [10.0.0.2]}", "")
        data = self.explained(ingress() + away, "http://shop.example.com/cart", status=1)
        self.assertIn("may be connected to", data["outcome"]["sentence"])
        (problem,) = data["problems"]
        self.assertEqual(
            (problem["object"], problem["reason"]), ("EndpointSlice shop/web-1", "EndpointForbidden")
        )
        self.assertIn("169.254.169.254", problem["message"])

    def test_a_filter_that_answers_is_named_with_what_it_says(self) -> None:
        """A redirect is no failure: the status is 0."""
        data = self.explained(ingress(force_ssl_redirect="true") + SERVICE, "http://shop.example.com/x?y")
        outcome = data["outcome"]
        self.assertEqual((outcome["end"], outcome["status"]), ("answered", 308))
        self.assertEqual(outcome["location"], "https://shop.example.com/x?y")
        self.assertEqual(outcome["by"], data["filters"][0]["name"])

    def test_a_stream_is_explained_by_its_port(self) -> None:
        """The status is 1 where nobody listens for it, and what is expected may be a Service."""
        listed = """\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: tcp, namespace: infra}
data: {"5432": "shop/web:80"}
"""
        path = self.manifest(SERVICE + listed)
        asked = ("explain", "-o", "tcp-services-configmap=infra/tcp")
        result = self.run_command(*asked, "tcp://:5432", path)
        self.assertEqual(
            result.stdout.splitlines()[:2],
            ["tcp://:5432", "sent to Service shop/web port 80 at one of 10.0.0.1:8080, 10.0.0.2:8080"],
        )
        self.assertIn("stream of TCP: ConfigMap infra/tcp", result.stdout)
        self.assertIn("TCP to 10.0.0.1:8080", result.stdout)
        expected = self.run_command(*asked, "tcp://:5432", path, "--expect-service", "shop/cart")
        self.assertIn("expected Service shop/cart, found shop/web:80", expected.stderr)
        nobody = self.run_command(*asked, "tcp://:5433", path)
        self.assertEqual(nobody.exit_code, 1)
        self.assertIn("nothing listens on port 5433 of TCP", nobody.stdout)

    def test_a_catch_all_that_is_disabled_is_named(self) -> None:
        """For its own hosts, and for those that nobody names; one of another class is not."""
        default = "ingressClassName: nginx\n  defaultBackend: {service: {name: web, port: {number: 80}}}"
        caught = ingress().replace("ingressClassName: nginx", default)
        for host, field in (("shop", "spec.rules[0]"), ("other", "spec.defaultBackend")):
            line = (f"http://{host}.example.com/", "-o", "disable-catch-all")
            (unserved,) = self.explained(caught, *line, status=1)["unserved"]
            self.assertEqual((unserved["object"], unserved["field"]), ("Ingress shop/web", field))
            self.assertIn("--disable-catch-all forbids a defaultBackend", unserved["why"])
            self.assertEqual(self.explained(caught + SERVICE, line[0])["outcome"]["end"], "sent")
        others = caught.replace("ingressClassName: nginx", "ingressClassName: other")
        self.assertEqual(self.explained(others, *line, status=1)["unserved"], [])

    def test_a_request_that_nobody_takes_is_status_1(self) -> None:
        """The host, the path, the endpoints: each is told."""
        for url, manifests, word in (
            ("http://other.example.com/", ingress(), "nothing is served for the host other.example.com"),
            (
                "http://shop.example.com/x",
                ingress().replace("path: /", "path: /cart"),
                "none of its paths takes /x",
            ),
            (
                "http://shop.example.com/",
                ingress()
                + SERVICE.replace(", {addresses: [10.0.0.2]}", "").replace("10.0.0.1", "10.0.0.0.1"),
                "has no endpoints",
            ),
            ("http://shop.example.com/%5c", ingress(), "encoded backslash"),
            (
                "http://shop.example.com/admin%2fx",
                ingress()
                + "\n---\n"
                + ingress().replace("name: web\n", "name: admin\n").replace("path: /", "path: /admin"),
                "encoded slash",
            ),
        ):
            data = self.explained(manifests, url, status=1)
            self.assertIn(word, data["outcome"]["sentence"])

    def test_what_manifests_leave_open_is_not_missing(self) -> None:
        """Without Services and EndpointSlices of the namespace, the Service is taken to have endpoints."""
        data = self.explained(ingress(), "http://shop.example.com/")
        self.assertIn("whose endpoints are not known here", data["outcome"]["sentence"])
        self.assertIn("no Service of namespace shop is given", data["backends"][0]["unknown"])
        only_service = ingress() + SERVICE.partition("---\napiVersion: discovery")[0]
        data = self.explained(only_service, "http://shop.example.com/")
        self.assertIn("no EndpointSlice of namespace shop is given", data["backends"][0]["unknown"])

    def test_a_guard_whose_secret_is_not_given_is_a_condition(self) -> None:
        """Without a Secret of the namespace nobody knows whether it exists; with another one there, it does not."""
        manifests = ingress(auth_type="basic", auth_secret="users") + SERVICE
        data = self.explained(manifests, "http://shop.example.com/")
        self.assertEqual(data["outcome"]["end"], "sent")
        self.assertEqual(
            data["outcome"]["conditions"],
            ["auth-secret: no Secret of namespace shop is given; without it its paths answer 503"],
        )
        other = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: other, namespace: shop}\ntype: Opaque\n"
        data = self.explained(manifests + other, "http://shop.example.com/", status=1)
        self.assertEqual((data["outcome"]["status"], data["outcome"]["by"]), (503, "guard-missing"))

    def test_a_guard_that_is_closed_for_another_reason_stays_closed(self) -> None:
        """Though a Secret besides is not given."""
        manifests = ingress(auth_type="digest", auth_secret="users", auth_url="not a URL") + SERVICE
        data = self.explained(manifests, "http://shop.example.com/", status=1)
        self.assertEqual(data["outcome"]["status"], 503)

    def test_a_certificate_whose_secret_is_not_given_is_not_checked(self) -> None:
        """It is not said that clients get another one."""
        manifests = ingress().replace(
            "  rules:", "  tls: [{hosts: [shop.example.com], secretName: web}]\n  rules:"
        )
        path = self.manifest(manifests)
        result = self.run_command("explain", "https://shop.example.com/", path)
        said = " ".join(result.stdout.split())
        self.assertIn("the certificate is not checked: no Secret of namespace shop is given", said)
        # It is told there, and where the backend is, and not again.
        self.assertIn("endpoints not checked: no Service of namespace shop is given", said)
        self.assertEqual(said.count("no Secret of namespace"), 1)
        self.assertEqual(said.count("no Service of namespace"), 1)

    def test_what_was_not_read_is_told(self) -> None:
        """A file that is malformed, and a template: the request may be for what they would hold."""
        self.manifest(ingress() + SERVICE)
        self.manifest(ingress().replace("name: web", "name: ["), "malformed.yaml")
        self.manifest(ingress().replace("name: web", "name: {{ .Values.name }}"), "template.yaml")
        result = self.run_command("explain", "http://shop.example.com/", str(self.folder))
        self.assertEqual(result.exit_code, 0)
        told = [line for line in result.stderr.splitlines() if line.startswith("not read: ")]
        self.assertEqual(len(told), 2, result.stderr)
        self.assertIn("template.yaml", told[0])
        self.assertIn("malformed.yaml: line ", told[1])
        for text, why in (
            ("- a\n", "this is a list"),
            ("apiVersion: networking.k8s.io/v1\nkind: Ingress\n", "metadata.name"),
        ):
            other = self.run_command("explain", "http://a.test/", self.manifest(text, "other.yaml"))
            self.assertIn("other.yaml: line 1: ", other.stderr)
            self.assertIn(why, other.stderr)

    def test_a_project_file_does_not_keep_from_asking_a_controller(self) -> None:
        """Its options are for objects that are read; those of the command line contradict --admin."""
        self.manifest('[options]\ningress-class = "own"\n', ".ingressctl.toml")
        config = str(self.folder / ".ingressctl.toml")
        asked = ("explain", "http://a.test/", "--admin", "127.0.0.1:1", "--config", config)
        self.assertIn("no connection is made", self.run_command(*asked).stderr)
        self.assertIn("leave out", self.run_command(*asked, "-o", "ingress-class=x").stderr)

    def test_who_asks_for_the_same_path_in_vain_has_lost(self) -> None:
        """The older Ingress has the path; of the younger one it is told where it asks, and why it has it not."""
        younger = (
            ingress()
            .replace("name: web\n  namespace", "name: early\n  namespace")
            .replace("path: /", "path: /x")
        )
        older = (
            ingress()
            + "---\n"
            + ingress()
            .replace("name: web\n  namespace", "name: other\n  namespace")
            .replace("path: /", "path: /x")
        )
        data = self.explained(f"{older}---\n{younger}", "http://shop.example.com/x/y")
        self.assertEqual(data["route"]["name"], "other")
        lost = [(one["route"]["name"], one["route"]["field"], one["why"]) for one in data["lost"]]
        self.assertEqual(
            lost, [("early", "spec.rules[0].http.paths[0]", "PathConflict"), ("web", "", "shorter-prefix")]
        )
        self.assertIn("belongs to Ingress shop/other", data["lost"][0]["sentence"])

    def test_the_field_of_a_route_is_that_of_its_path_whatever_type_that_has(self) -> None:
        """A type that is missing, wrong or up to the controller is read as a prefix, and is none where Exact is asked for."""
        of_type = (
            "          - path: {}\n{}            backend: {{service: {{name: web, port: {{number: 80}}}}}}\n"
        )
        paths = (("/a", ""), ("/b", "prefix"), ("/c", "ImplementationSpecific"), ("/c", "Exact"))
        lines = [of_type.format(path, kind and f"            pathType: {kind}\n") for path, kind in paths]
        manifests = ingress() + "".join(lines) + SERVICE
        found = {
            path: self.explained(manifests, f"http://shop.example.com{path}", status=int(path == "/b"))[
                "route"
            ]
            for path in ("/a", "/b", "/c", "/c/d")
        }
        self.assertEqual(
            {path: (route["match"], route["field"]) for path, route in found.items()},
            {
                "/a": ("Prefix", "spec.rules[0].http.paths[1]"),
                "/b": ("Prefix", "spec.rules[0].http.paths[2]"),
                "/c": ("Exact", "spec.rules[0].http.paths[4]"),
                "/c/d": ("Prefix", "spec.rules[0].http.paths[3]"),
            },
        )

    def test_the_root_that_app_root_adds_is_not_the_default_backend(self) -> None:
        """The rule whose root it is has its place, also where the Ingress has a default backend besides."""
        manifests = (
            ingress(app_root="/x")
            .replace("path: /", "path: /x")
            .replace("  rules:", "  defaultBackend: {service: {name: web, port: {number: 80}}}\n  rules:")
        )
        for path, field in (("/", "spec.rules[0]"), ("/y", "spec.defaultBackend")):
            route = self.explained(manifests + SERVICE, f"http://shop.example.com{path}")["route"]
            self.assertEqual((route["path"], route["field"]), ("/", field))

    def test_canaries_are_told_with_conditions_and_shares(self) -> None:
        """Each backend has its share of what no condition decides."""
        canary = ingress(canary="true", canary_weight="20", canary_by_header="x-new")
        canary = canary.replace("name: web\n  namespace", "name: canary\n  namespace").replace(
            "service: {name: web", "service: {name: new"
        )
        manifests = f"{ingress()}---\n{canary}"
        data = self.explained(manifests, "http://shop.example.com/")
        self.assertEqual(
            [(one["name"], one["share"]) for one in data["backends"]], [("web", 80), ("new", 20)]
        )
        self.assertFalse(any(one["isTaken"] for one in data["variants"]))
        asked = self.explained(manifests, "http://shop.example.com/", "-H", "X-New: always")
        self.assertEqual([(one["name"], one["share"]) for one in asked["backends"]], [("new", 100)])
        (taken,) = (one for one in asked["variants"] if one["isTaken"])
        self.assertEqual(taken["conditions"], [["header x-new is always", True]])

    def test_how_a_canary_shares_requests_is_told_once(self) -> None:
        """Also where TLS is spoken to its endpoints for requests that came over TLS, which makes two backends of it."""
        canary = ingress(canary="true", canary_weight="20", upstream_hash_by="$request_uri")
        canary = canary.replace("name: web\n  namespace", "name: canary\n  namespace").replace(
            "service: {name: web", "service: {name: new"
        )
        manifests = f"{ingress(backend_protocol='AUTO_HTTP')}---\n{canary}"
        settings = self.explained(manifests, "http://shop.example.com/")["settings"]
        self.assertEqual(
            [one for one in settings if "Service shop/new" in one],
            [
                "of Service shop/new, endpoints are chosen by a hash of what the request says (upstream-hash-by)"
            ],
        )

    def test_an_ingress_that_is_not_served_says_why(self) -> None:
        """Of another class, of none, or refused: where nothing takes the request, it explains itself."""
        for manifests, word in (
            (
                ingress().replace("ingressClassName: nginx", "ingressClassName: other"),
                'its class is "other", of which no IngressClass is known',
            ),
            (
                f"{ingress()}---\n{OTHER_CONTROLLER}",
                'its class is "nginx", whose controller is "example.com/other", '
                'and this controller serves those of "k8s.io/ingress-nginx" (--controller-class)',
            ),
            (ingress().replace("  ingressClassName: nginx\n", ""), "it has no class"),
            (ingress().replace("path: /", 'path: "/a b/../c"'), "can match no request"),
        ):
            data = self.explained(manifests, "http://shop.example.com/", status=1)
            self.assertIn(word, data["unserved"][0]["why"])
            self.assertEqual(data["unserved"][0]["object"], "Ingress shop/web")

    def test_a_class_by_its_name(self) -> None:
        """It is served whatever its controller where that is asked for, and whose others are is said with it."""
        option = ("-o", "ingress-class-by-name")
        foreign = f"{ingress()}{SERVICE}---\n{OTHER_CONTROLLER}"
        self.explained(foreign, "http://shop.example.com/", status=1)
        self.assertEqual(self.explained(foreign, "http://shop.example.com/", *option)["unserved"], [])
        other = foreign.replace("nginx", "edge")
        data = self.explained(other, "http://shop.example.com/", *option, status=1)
        self.assertIn(
            'those of "k8s.io/ingress-nginx" (--controller-class) and class "nginx" (--ingress-class-by-name)',
            data["unserved"][0]["why"],
        )

    def test_lines_fit_the_terminal(self) -> None:
        """All but the first two, also where a sentence goes on below."""
        path = self.manifest(ingress().replace("  ingressClassName: nginx\n", ""))
        for width in (60, 64, 68, 72, 76, 80):
            asked = self.run_command("explain", "http://shop.example.com/", path, env={"COLUMNS": str(width)})
            self.assertIn("it has no class", " ".join(asked.stdout.split()))
            self.assertLessEqual(max(map(len, asked.stdout.splitlines()[2:])), width)

    def test_typos_of_hosts_and_paths_are_near(self) -> None:
        """The host and the path that may be meant are told."""
        self.assertEqual(
            self.explained(ingress(), "http://shpo.example.com/", status=1)["nearHosts"], ["shop.example.com"]
        )
        manifests = ingress().replace("path: /", "path: /cart")
        data = self.explained(manifests, "http://shop.example.com/crat", status=1)
        self.assertEqual([one["path"] for one in data["nearPaths"]], ["/cart"])

    def test_what_waits_for_others_is_a_condition(self) -> None:
        """External authentication is told with what follows each of its answers, and the rest goes on as if it let pass."""
        data = self.explained(
            ingress(auth_url="http://auth.test/check") + SERVICE, "http://shop.example.com/"
        )
        self.assertEqual(data["outcome"]["end"], "sent")
        (condition,) = data["outcome"]["conditions"]
        self.assertIn("asks GET http://auth.test/check: if that says 200, it goes on", condition)
        self.assertIn("401: answers 401 Unauthorized", condition)
        self.assertIn("no answer: answers 500", condition)

    def test_of_several_sets_that_one_explains_which_knows_of_the_host(self) -> None:
        """Where none takes the request, it is the one whose rule it meets, and no other host is said to be meant."""
        self.manifest(ingress(), "a.yaml")
        named = ingress(enable_modsecurity="true").replace("shop.example.com", "shops.example.com")
        self.manifest(named, "b/c.yaml")
        result = self.run_command("explain", "http://shops.example.com/", str(self.folder))
        self.assertEqual(result.exit_code, 1)
        self.assertIn("answered 503 Service Unavailable by guard-missing", result.stdout)
        self.assertNotIn("did you mean", result.stderr)
        self.assertIn("so there are 2 sets", result.stderr)
        self.assertRegex(result.stderr, r"^Ingress shop/web stands in \S+/a\.yaml:1 and \S+/c\.yaml:1, ")
        other = named.replace("ingressClassName: nginx", "ingressClassName: other")
        self.manifest(other, "b/c.yaml")
        result = self.run_command("explain", "http://shops.example.com/", str(self.folder))
        self.assertIn("not served  Ingress shop/web", result.stdout)

    def test_credentials_are_never_shown(self) -> None:
        """Neither those of the URL nor those of a header."""
        path = self.manifest(ingress() + SERVICE)
        for output in ("text", "json"):
            result = self.run_command(
                "explain",
                "http://me:hunter2@shop.example.com/",
                path,
                "-H",
                "Cookie: s=hunter2",
                "--output",
                output,
            )
            self.assertEqual(result.exit_code, 0)
            self.assertNotIn("hunter2", result.output)
            self.assertNotIn("bWU6aHVudGVyMg", result.output)

    def test_expectations_are_for_ci(self) -> None:
        """Status 1 and a line where it is otherwise."""
        path = self.manifest(ingress() + SERVICE)
        for arguments, status, word in (
            (("--expect-service", "shop/web"), 0, ""),
            (("--expect-service", "shop/web:80"), 0, ""),
            (("--expect-service", "shop/cart"), 1, "expected Service shop/cart, found shop/web:80"),
            (("--expect-status", "404"), 1, "expected status 404, found what an endpoint says"),
        ):
            result = self.run_command("explain", "http://shop.example.com/", path, *arguments)
            self.assertEqual(result.exit_code, status)
            self.assertIn(word, result.stderr)
        nobody = self.run_command("explain", "http://z.test/", path, "--expect-status", "404")
        self.assertEqual(nobody.exit_code, 0)
        mistaken = self.run_command("explain", "http://z.test/", path, "--expect-service", "Web")
        self.assertEqual(mistaken.exit_code, 2)

    def test_mistakes_are_a_line_and_status_2(self) -> None:
        """URL, header, client, no objects, two kinds of objects."""
        path = self.manifest(ingress())
        for arguments, word in (
            (("/cart", path), "names no host"),
            (("http://a.com/", path, "-H", "x"), "header"),
            (("http://a.com/", path, "--client", "me"), "IP address"),
            (("http://a.com/",), "manifests behind the URL"),
            (("http://a.com/", path, "--admin", "127.0.0.1:1"), "leave out manifests"),
            (("http://a.com/", "--admin", "ftp://x"), "no address of an admin port"),
            (("http://a.com/", "--admin", "127.0.0.1:1"), "no connection is made"),
        ):
            result = self.run_command("explain", *arguments)
            self.assertEqual(result.exit_code, 2, arguments)
            self.assertIn(word, result.stderr)

    def test_escape_sequences_of_tenants_are_shown_and_not_done(self) -> None:
        """Whatever an annotation says."""
        manifest = ingress(permanent_redirect="https://x.test/").replace("x.test/", "x.test/\\u202e")
        result = self.run_command("explain", "http://shop.example.com/\u202e", self.manifest(manifest))
        self.assertNotIn("\u202e", result.output)

    def test_manifests_are_explained_without_a_reactor(self) -> None:
        """No Twisted, no kubernetes and no urllib3 is imported for it."""
        path = self.manifest(ingress(auth_url="http://auth.test/", enable_cors="true") + SERVICE)
        program = (
            "import sys\nfrom ingress.ctl.main import main\n"
            f"try:\n    main(['explain', 'https://shop.example.com/', {path!r}])\nexcept SystemExit:\n    pass\n"
            "print([one for one in ('twisted', 'kubernetes', 'urllib3', 'OpenSSL') if one in sys.modules])\n"
        )
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual(ran.stdout.splitlines()[-1], "[]")
