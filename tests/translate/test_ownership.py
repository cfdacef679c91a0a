"""Whose a host is."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import AnnotationReader
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.stepwise import finished
from ingress.translate.claims import ParsedObject
from ingress.translate.ownership import is_stranger, owner_of, server_of, told, wildcard_of
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressRule,
    ServicePortReference,
)
from ingress.translate.readers.ingress.rules import read_ingress

READER = AnnotationReader("nginx.ingress.kubernetes.io")
BACKEND = IngressBackend("web", ServicePortReference(number=80))


def parsed(namespace: str, *hosts: str, has_default: bool = True) -> ParsedObject:
    """An Ingress with rules for these hosts, and a default backend."""
    rules = tuple(IngressRule(host, ()) for host in hosts)
    default = BACKEND if has_default else None
    ingress = Ingress(ObjectKey(namespace, "site"), default_backend=default, rules=rules)
    return finished(read_ingress(ingress, READER))


class OwnershipTests(SynchronousTestCase):
    """The rule, and its edges."""

    def test_oldest(self) -> None:
        """A host belongs to the first of those that have a rule for it, and to nobody without any."""
        old, young = parsed("old", "a.test"), parsed("young", "a.test")
        self.assertEqual(owner_of("a.test", [old, young]), old.owner)
        self.assertIsNone(owner_of("a.test", []))

    def test_hosts_that_no_rule_names(self) -> None:
        """Rules without host come before default backends, whatever their age."""
        backend, rule = parsed("old", "a.test"), parsed("young", "")
        self.assertEqual(owner_of("", [backend, rule]), rule.owner)
        self.assertEqual(owner_of("", [backend]), backend.owner)

    def test_server(self) -> None:
        """A host without rule is served by its wildcard, of one label, and never by rules without host."""
        wide, exact, all_hosts = (Owner(Kind.INGRESS, ObjectKey(name, name)) for name in "wea")
        owners = {"*.a.test": wide, "b.a.test": exact, "": all_hosts}
        for host, expected in (
            ("b.a.test", ("b.a.test", exact)),
            ("c.a.test", ("*.a.test", wide)),
            ("*.a.test", ("*.a.test", wide)),
            ("c.b.a.test", None),
            ("a.test", None),
            ("*.test", None),
            ("localhost", None),
        ):
            self.assertEqual(server_of(host, owners), expected)

    def test_wildcard(self) -> None:
        """Only a whole first label can be a wildcard."""
        names = ("a.test", "b.a.test", "*.a.test", "localhost", "")
        self.assertEqual([wildcard_of(one) for one in names], ["*.test", "*.a.test", None, None, None])

    def test_stranger(self) -> None:
        """Ingresses of one namespace are no strangers to each other, and nobody is where nobody owns."""
        one = parsed("demo").owner
        self.assertFalse(is_stranger(one, Owner(Kind.INGRESS, ObjectKey("demo", "other"))))
        self.assertTrue(is_stranger(one, parsed("bank").owner))
        self.assertFalse(is_stranger(one, None))

    def test_told(self) -> None:
        """Who has no say is told whose the host is, by which Ingress, and by which option that would be another matter."""
        problem = told(
            parsed("demo").owner, "spec.tls[0]", "spec.tls is void", "a.test", parsed("bank").owner
        )
        self.assertEqual((problem.kind, problem.namespace, problem.name), ("Ingress", "demo", "site"))
        for text in ("a.test", "namespace bank", "Ingress bank/site", "spec.tls is void", "--shared-hosts"):
            self.assertIn(text, problem.message)
