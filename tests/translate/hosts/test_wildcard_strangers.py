"""What namespaces say of a wildcard that belongs to another one: for their own hosts below it, and kept up to date."""

from datetime import timedelta

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.hosts.transport_security import TransportSecurity
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectKey, Secret
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, IngressPath, IngressRule, IngressTLS
from ingress.translate.self_check import differences
from tests.fakes.counting import longest_step
from tests.translate.following import NOW, SERVICE, SLICE, Follower, batch, gone
from tests.translate.golden import issued
from tests.translate.hosts.test_host_steps import BACKEND

HOUR = timedelta(hours=1)


def ingress(namespace: str, name: str, created: str, *hosts: str, secret: str | None = None) -> Ingress:
    """An Ingress with a path on each of *hosts*; with *secret*, its TLS entry names ``*.a.test``."""
    rules = tuple(IngressRule(host, (IngressPath("/", "Prefix", BACKEND),)) for host in hosts)
    tls = () if secret is None else (IngressTLS(("*.a.test",), secret),)
    return Ingress(ObjectKey(namespace, name), class_name="nginx", created=created, rules=rules, tls=tls)


WILD = Secret(ObjectKey("demo", "wild"), "kubernetes.io/tls", issued(("*.a.test",), NOW - HOUR, NOW + HOUR))
OWN = ingress("demo", "own", "2024-01-01T00:00:00Z", "b.a.test", secret="wild")
STRANGER = ingress("other", "wide", "2020-01-01T00:00:00Z", "*.a.test")


class WildcardStrangerTests(SynchronousTestCase):
    """``b.a.test`` of one namespace below ``*.a.test`` of another."""

    def follower(self, *objects: ClusterObject) -> Follower:
        """Follow *objects*, which are translated."""
        follower = Follower(TranslateOptions(), [SERVICE, SLICE, *objects])
        self.settle(follower)
        return follower

    def settle(self, follower: Follower) -> None:
        """End the round; nothing may be otherwise than in a whole translation."""
        self.assertEqual(differences(follower.settle(), follower.expected()), ())

    def shown(self, follower: Follower) -> tuple[int, bool]:
        """Return how many certificates ``b.a.test`` has, and whether it insists on HTTPS."""
        snapshot = follower.translation.snapshot
        assert snapshot is not None
        [route] = [one for one in snapshot.table.routes if one.host == "b.a.test"]
        insists = any(isinstance(one, TransportSecurity) for one in route.filters)
        return len(snapshot.certificates.find("b.a.test")), insists

    def test_comes_and_goes(self) -> None:
        """Whether the stranger is there makes no difference, nor when he comes; without the Secret the host does not insist."""
        follower = self.follower(WILD, OWN)
        self.assertEqual(self.shown(follower), (1, True))
        for change in (batch(STRANGER), gone(STRANGER), batch(STRANGER)):
            follower.change(change)
            self.settle(follower)
            self.assertEqual(self.shown(follower), (1, True))
        follower.change({(Kind.SECRET, WILD.key): None})
        self.settle(follower)
        self.assertEqual(self.shown(follower), (0, False))
        follower.change(batch(WILD))
        self.settle(follower)
        self.assertEqual(self.shown(follower), (1, True))

    def test_time(self) -> None:
        """Once the certificate has ended the host does not insist any more."""
        follower = self.follower(WILD, OWN, STRANGER)
        self.assertEqual(self.shown(follower), (1, True))
        follower.now += 2 * HOUR
        self.settle(follower)
        self.assertEqual(self.shown(follower), (1, False))

    def test_many(self) -> None:
        """Where hundreds of namespaces speak of the wildcard, a step takes some calls for each, and no decision."""
        count = 400
        some = [ingress(f"n{one}", "own", "2024-01-01T00:00:00Z", secret="gone") for one in range(count)]
        follower = Follower(TranslateOptions(), [SERVICE, SLICE, STRANGER, *some])
        self.assertLess(longest_step(follower.translation.round(follower.store.state(), NOW)), 25 * count)
