"""Annotations that keep requests out fail closed."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.objects import Ingress, ObjectKey
from ingress.policy.annotations import AnnotationReader
from ingress.policy.guards import keeps_requests_out

PREFIX = "nginx.ingress.kubernetes.io"


class GuardTests(SynchronousTestCase):
    """What keeps requests out, and what only looks like it."""

    def test_guards(self) -> None:
        """Authentication and address ranges keep requests out."""
        for name, value in (
            ("auth-type", "basic"),
            ("auth-url", "http://auth.example.com/"),
            ("whitelist-source-range", "10.0.0.0/8, 192.168.0.0/16"),
            ("denylist-source-range", "0.0.0.0/0"),
        ):
            with self.subTest(name):
                self.assertTrue(keeps_requests_out(name, value))

    def test_no_guards(self) -> None:
        """An empty value, a range that everybody is in, and other annotations keep nobody out."""
        for name, value in (
            ("auth-type", " "),
            ("whitelist-source-range", "10.0.0.0/8,0.0.0.0/0"),
            ("allowlist-source-range", "::/0"),
            ("limit-rps", "5"),
        ):
            with self.subTest(name):
                self.assertFalse(keeps_requests_out(name, value))

    def test_problem_says_so(self) -> None:
        """The problem says that the Ingress answers 503, and the settings say why."""
        ingress = Ingress(ObjectKey("demo", "site"), annotations={f"{PREFIX}/auth-url": "http://a/"})
        settings, (problem,) = AnnotationReader(PREFIX).read(ingress)
        self.assertTrue(settings.lacks_guard)
        self.assertIn("answers 503 rather than be open", problem.message)
