"""What one Ingress says about TLS of its hosts."""

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import AnnotationReader
from ingress.identity.certificates import Certificate
from ingress.model.cluster.objects import ObjectKey, Secret
from ingress.model.stepwise import finished
from ingress.translate.readers.ingress.objects import Ingress, IngressRule, IngressTLS
from ingress.translate.readers.ingress.rules import read_ingress
from ingress.translate.tls.certificates import TLSReading, load, read_tls
from tests.translate.golden import NOW, generated

MANY = 300


def certificate(*names: str) -> Certificate:
    """A certificate for these names."""
    chain, key = generated(names, False, "tls")
    content = {"tls.crt": chain.encode(), "tls.key": key.encode()}
    found = load(Secret(ObjectKey("demo", "tls"), "kubernetes.io/tls", content))
    assert isinstance(found, Certificate)
    return found


def read(ingress: Ingress, lookup: Callable[[ObjectKey], Certificate | None]) -> TLSReading:
    """Read ``spec.tls`` without a default certificate."""
    return finished(read_tls(finished(read_ingress(ingress, AnnotationReader("test"))), lookup, None, NOW))


class SizeTests(SynchronousTestCase):
    """What the largest Ingresses come to."""

    def test_entries_without_hosts(self) -> None:
        """Entries without hosts and hosts of rules do not multiply, whether their Secrets are there or not."""
        rules = tuple(IngressRule(f"h{number}.test", ()) for number in range(MANY))
        entries = tuple(IngressTLS((), f"s{number}") for number in range(MANY))
        ingress = Ingress(ObjectKey("demo", "large"), rules=rules, tls=entries)
        self.assertEqual(len(read(ingress, lambda key: None).claims), MANY)
        one = certificate("h7.test")
        parsed = read(ingress, lambda key: one if key.name == "s9" else None)
        self.assertEqual(len(parsed.claims), MANY + 1)
        self.assertEqual([claim.host for claim in parsed.claims if claim.certificate], ["h7.test"])

    def test_hosts_of_others(self) -> None:
        """Of thousands of hosts that a certificate is not for some are told one by one, and how many more there are."""
        hosts = tuple(f"h{number}.test" for number in range(MANY))
        one = certificate("h1.test")
        for tls in (IngressTLS(hosts, "tls"), IngressTLS((), "tls")):
            rules = tuple(IngressRule(host, ()) for host in hosts)
            found = read(
                Ingress(ObjectKey("demo", "large"), rules=rules, tls=(tls,)), lambda key: one
            ).problems
            self.assertEqual(len(found), 21)
            self.assertIn("not for h0.test;", found[0].message)
            self.assertIn(
                f"not for {MANY - 21} more hosts here, h21.test the first of them;", found[-1].message
            )
            self.assertEqual(found[-1].field, "spec.tls[0].hosts" if tls.hosts else "spec.tls[0]")
        few = Ingress(ObjectKey("demo", "few"), tls=(IngressTLS(hosts[:22], "tls"),))
        self.assertIn("not for h21.test;", read(few, lambda key: one).problems[-1].message)

    def test_entry_twice(self) -> None:
        """The same entry without hosts counts once."""
        ingress = Ingress(
            ObjectKey("demo", "large"), rules=(IngressRule("a.test", ()),), tls=(IngressTLS((), "s"),) * MANY
        )
        one = certificate("a.test")
        self.assertEqual(len(read(ingress, lambda key: one).claims), 1)
        self.assertEqual(len(read(ingress, lambda key: None).problems), 1)
