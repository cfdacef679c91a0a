"""Annotations that keep requests out fail closed."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.guards import GuardMissing, keeps_requests_out, snippet_keeps_requests_out
from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.client_certificates.check import HostClosed
from ingress.annotations.nginx.reading import Place, parse_snippet
from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.routing.route import Route
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress
from ingress.translate.translate import translate
from tests.translate.golden import NOW, state_of

PREFIX = "nginx.ingress.kubernetes.io"


class GuardTests(SynchronousTestCase):
    """What keeps requests out, and what only looks like it."""

    def test_guards(self) -> None:
        """Rules of a firewall that the operator allows nobody to say keep requests out."""
        for name, value in (("modsecurity-snippet", "SecRuleEngine On"),):
            with self.subTest(name):
                self.assertTrue(keeps_requests_out(name, value))

    def test_no_guards(self) -> None:
        """An empty value and other annotations keep nobody out; address ranges and passwords are honored elsewhere."""
        for name, value in (
            ("auth-url", " "),
            ("auth-type", "basic"),
            ("whitelist-source-range", "10.0.0.0/8"),
            ("limit-rps", "5"),
        ):
            with self.subTest(name):
                self.assertFalse(keeps_requests_out(name, value))

    def test_problem_says_so(self) -> None:
        """The problem says that the Ingress answers 503, and the settings say why."""
        ingress = Ingress(
            ObjectKey("demo", "site"), annotations={f"{PREFIX}/modsecurity-snippet": "SecRuleEngine On"}
        )
        settings, (problem,) = AnnotationReader(PREFIX).read(ingress)
        self.assertTrue(settings.lacks_guard)
        self.assertIn("answers 503 rather than be open", problem.message)

    def test_what_asks_for_nothing(self) -> None:
        """A switch that is off asks for nothing, and is taken in silence; what cannot be read as one is told."""
        for name, value, count in (
            ("enable-modsecurity", "false", 0),
            ("enable-owasp-core-rules", "f", 0),
            ("use-port-in-redirects", "false", 0),
            ("use-port-in-redirects", "true", 1),
            ("enable-modsecurity", "maybe", 2),
            ("use-port-in-redirects", "", 0),
        ):
            with self.subTest(name=name, value=value):
                ingress = Ingress(ObjectKey("demo", "site"), annotations={f"{PREFIX}/{name}": value})
                _, problems = AnnotationReader(PREFIX).read(ingress)
                self.assertEqual(count, len(problems))


class UnreadableTests(SynchronousTestCase):
    """Annotations that are lost before anybody reads them: too long, no text, or with characters that no annotation has."""

    def routes(self, **annotations: object) -> tuple[Route, ...]:
        """Translate an Ingress that is written so; an underscore stands for a dash."""
        raw: dict[str, Any] = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {
                "namespace": "demo",
                "name": "web",
                "annotations": {
                    f"{PREFIX}/{name.replace('_', '-')}": value for name, value in annotations.items()
                },
            },
            "spec": {
                "ingressClassName": "nginx",
                "rules": [
                    {
                        "host": "a.test",
                        "http": {
                            "paths": [
                                {
                                    "path": "/",
                                    "pathType": "Prefix",
                                    "backend": {"service": {"name": "web", "port": {"number": 80}}},
                                }
                            ]
                        },
                    }
                ],
            },
        }
        projection = project(KINDS[Kind.INGRESS], raw, PREFIX)[1]
        assert isinstance(projection.value, Ingress)
        self.assertEqual(len(projection.problems), len(annotations))
        return translate(state_of([projection.value]), TranslateOptions(), NOW).table.routes

    def is_closed(self, **annotations: object) -> bool:
        """Whether nobody gets to the endpoints of that Ingress."""
        (route,) = self.routes(**annotations)
        return any(isinstance(one, (GuardMissing, HostClosed)) for one in route.filters)

    def test_guards(self) -> None:
        """What would guard something is closed, since nobody can tell whom it would keep out."""
        for value in ("10.0.0.0/8," * 7000, "deny all;" + " " * 65_536, "x\x00", True, 5, ["x"]):
            for name in (
                "whitelist-source-range",
                "allowlist-source-range",
                "denylist-source-range",
                "auth-url",
                "auth-type",
                "auth-tls-secret",
                "configuration-snippet",
                "server-snippet",
                "modsecurity-snippet",
                "enable-modsecurity",
            ):
                self.assertTrue(self.is_closed(**{name: value}), (name, str(value)[:20]))

    def test_others(self) -> None:
        """What guards nothing has no effect, and the rest is served."""
        self.assertFalse(self.is_closed(proxy_body_size="1" * 70_000, enable_cors=True, foo="\x00"))


class SnippetTests(SynchronousTestCase):
    """Which snippets keep somebody out, whether they can be read as snippets or not; none of them is ever executed."""

    def test_directives_that_refuse(self) -> None:
        """They count in every block and on every line, and without the semicolon at the end."""
        for text in (
            "deny all;",
            "allow 10.0.0.0/8; deny all;",
            "satisfy any;",
            'auth_basic "x";',
            "auth_request /check;",
            "return 403;",
            "return 444",
            "add_header X y;deny all;",
            "more_set_headers 'X: y';\n\n  deny 1.2.3.4;",
            "if ($allowed != 1) { return 403; }",
            'if ($agent ~ "}{;") {return\t404;}',
            "location ~ /\\.git{deny all;}",
            "} location /x { deny all",
            'set $a "${b}"; set $c ${d}; deny all;',
            "# a comment\ndeny all;",
            'proxy_set_header X "a\\"; b"; deny all;',
            "limit_except GET { }",
            "internal;",
            "access_by_lua_block { ngx.exit(403) }",
            'modsecurity_rules "SecRuleEngine On";',
            "Deny all;",
            "'deny' all;",
            "allow 10.0.0.0/8",
        ):
            with self.subTest(text):
                self.assertTrue(snippet_keeps_requests_out(text))
                for place in (Place.LOCATION, Place.SERVER):
                    self.assertTrue(parse_snippet(text, place).keeps_out, place)

    def test_directives_that_refuse_nothing(self) -> None:
        """Comments, texts, other answers, and what is switched off refuse nobody."""
        for text in (
            "",
            "# deny all;",
            "add_header X y; # return 403;",
            'add_header X "deny all;";',
            "add_header X 'a; return 403; b';",
            "return 200 'deny all;';",
            "return 301 https://example.com/;",
            "more_set_headers 'X-Return: 403';",
            "proxy_set_header X-Deny deny;",
            "error_page 404 /404.html;",
            "auth_basic off;",
            "auth_request_set $user $upstream_http_x_user;",
            "allow all;",
            "rewrite ^/deny/(.*) /$1 break;",
            "proxy_set_header A a#deny;",
            '"deny all',
        ):
            with self.subTest(text):
                self.assertFalse(snippet_keeps_requests_out(text))
                self.assertFalse(parse_snippet(text, Place.LOCATION).keeps_out)

    def test_long_texts(self) -> None:
        """Of a long text the first words of statements count, however it goes on; headers and redirects refuse nobody."""
        harmless = (
            'add_header Access-Control-Allow-Origin "*";\nreturn 301 /x;\nset $internal 1; # deny all\n' * 400
        )
        self.assertGreater(len(harmless), 8192)
        self.assertFalse(snippet_keeps_requests_out(harmless))
        for directive in (
            "deny all;",
            "if ($x) {return 403;}",
            "\t'Deny' all",
            "auth_basic x;",
            "location /x {internal;}",
        ):
            with self.subTest(directive):
                self.assertTrue(snippet_keeps_requests_out(harmless + directive + harmless))

    def test_every_text_is_read(self) -> None:
        """Garbage is read to its end, whatever it is made of."""
        for text in ("'", '"', "\\", "{", "}", "$", "${", "#", "'\\", ";"):
            self.assertFalse(snippet_keeps_requests_out(text * 5000), text)

    def test_guard_of_a_host(self) -> None:
        """A server snippet guards the hosts of its Ingress, other snippets the Ingress alone."""
        for name, guards_hosts in (("server-snippet", True), ("configuration-snippet", False)):
            annotations = {f"{PREFIX}/{name}": "internal;"}
            settings, (problem,) = AnnotationReader(PREFIX).read(
                Ingress(ObjectKey("demo", "web"), annotations=annotations)
            )
            self.assertEqual((settings.lacks_guard, settings.guards_hosts), (True, guards_hosts))
            self.assertIn("answers 503 rather than be open", problem.message)
