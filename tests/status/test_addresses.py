"""Tests for ``ingress.status.addresses``."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.object_meta import NO_META, Address, ObjectMeta
from ingress.model.cluster.objects import Kind, ObjectKey, Service
from ingress.model.cluster.state import ClusterState
from ingress.model.reporting.reporting import Reporting
from ingress.status.addresses import (
    addresses_to_write,
    normalized,
    published_addresses,
    service_addresses,
    status_patch,
)
from tests.fakes.counting import calls

KEY = ObjectKey("ours", "txingress")
ONE, TWO, NAME = Address("192.0.2.1"), Address("192.0.2.2"), Address("", "lb.test")
US = "txingress/ours/ingress-leader"


class ServiceTests(SynchronousTestCase):
    """What is published for a Service of each type: the same as ingress-nginx does."""

    def check(self, expected: tuple[Address, ...], meta: ObjectMeta = NO_META, **fields: Any) -> None:
        self.assertEqual(service_addresses(Service(KEY, **fields), meta), expected)

    def test_load_balancer(self) -> None:
        """A load balancer gives the addresses of its status, then its external ones, each once."""
        meta = ObjectMeta("u", (TWO, NAME, Address("192.0.2.3", "both.test")), ("192.0.2.1", "192.0.2.2"))
        self.check((ONE, TWO, Address("192.0.2.3"), NAME), meta, type="LoadBalancer", cluster_ip="10.0.0.1")

    def test_capital_letters(self) -> None:
        """A name that a cloud spells with capital letters is shown in the spelling that the API takes."""
        meta = ObjectMeta("u", (Address("", "LB-1.Cloud.test"),))
        self.check((Address("", "lb-1.cloud.test"),), meta, type="LoadBalancer")

    def test_pending_load_balancer(self) -> None:
        """A load balancer that has no address yet gives none, never its cluster IP."""
        self.check((), type="LoadBalancer", cluster_ip="10.0.0.1")

    def test_node_port(self) -> None:
        """A NodePort Service gives its external IPs, or else its cluster IP."""
        self.check(
            (ONE, TWO),
            ObjectMeta("u", (), ("192.0.2.2", "192.0.2.1")),
            type="NodePort",
            cluster_ip="10.0.0.1",
        )
        self.check((Address("10.0.0.1"),), type="NodePort", cluster_ip="10.0.0.1")

    def test_cluster_ip(self) -> None:
        """A ClusterIP Service gives its cluster IP, even with external ones."""
        meta = ObjectMeta("u", (), ("192.0.2.2",))
        self.check((Address("10.0.0.1"),), meta, type="ClusterIP", cluster_ip="10.0.0.1")

    def test_external_name(self) -> None:
        """An ExternalName Service gives its name, in the spelling that the API takes."""
        self.check((NAME,), type="ExternalName", external_name="LB.test.")
        self.check((ONE,), type="ExternalName", external_name="192.0.2.1")

    def test_what_the_api_refuses(self) -> None:
        """Headless Services, names that are none, such as addresses, and addresses with a zone give nothing."""
        self.check((), type="ClusterIP", cluster_ip="None")
        self.check((), type="ClusterIP", cluster_ip="")
        self.check((), type="ExternalName", external_name="under_score.test")
        self.check((), ObjectMeta("u", (Address("fe80::1%eth0"),)), type="LoadBalancer")
        self.check((), ObjectMeta("u", (Address(hostname="192.0.2.1"),)), type="LoadBalancer")


class NormalizedTests(SynchronousTestCase):
    """Addresses in order."""

    def test_of_thousands(self) -> None:
        """The addresses of hundreds of Nodes are read once for all Ingresses that show them."""
        some = tuple(Address(f"192.0.{one >> 8}.{one & 255}") for one in range(256))
        found = normalized(some)
        self.assertLess(calls(lambda: normalized(list(some))), 10)
        self.assertEqual((set(normalized(some)), normalized(some[::-1])), (set(some), found))


class PublishedTests(SynchronousTestCase):
    """Where the addresses come from."""

    def state(self) -> ClusterState:
        service = Service(KEY, "LoadBalancer")
        return ClusterState(services={KEY: service}, metas={(Kind.SERVICE, KEY): ObjectMeta("u", (ONE,))})

    def test_option_first(self) -> None:
        """Addresses that were given come before those of a Service."""
        settings = Reporting(publish_addresses=(TWO, NAME, TWO), publish_service=KEY)
        self.assertEqual(published_addresses(settings, self.state()), (TWO, NAME))

    def test_service(self) -> None:
        """Without them it is the Service, and nothing is known while there is none."""
        settings = Reporting(publish_service=KEY)
        self.assertEqual(published_addresses(settings, self.state()), (ONE,))
        self.assertIsNone(published_addresses(settings, ClusterState()))

    def test_neither(self) -> None:
        """Without both there is nothing to say."""
        self.assertIsNone(published_addresses(Reporting(), self.state()))


class DecisionTests(SynchronousTestCase):
    """Whether an Ingress has to be written."""

    def decide(
        self,
        *current: Address,
        published: tuple[Address, ...] | None = (ONE, NAME),
        writer: str = "",
        is_ours: bool = True,
        was_ours: bool = True,
    ) -> tuple[Address, ...] | None:
        meta = ObjectMeta("u", current, (), writer)
        return addresses_to_write(meta, published, US, is_ours=is_ours, was_ours=was_ours)

    def test_different(self) -> None:
        """An Ingress of ours with other addresses, or none, gets all of ours, whoever wrote it."""
        for current in ((), (ONE,), (TWO,), (ONE, NAME, TWO)):
            self.assertEqual(self.decide(*current, writer="them"), (ONE, NAME))

    def test_equal(self) -> None:
        """The same addresses in another order are the same."""
        self.assertIsNone(self.decide(NAME, ONE))
        self.assertIsNone(self.decide(published=()))

    def test_no_address_any_more(self) -> None:
        """When there is no address any more, ours show none."""
        self.assertEqual(self.decide(ONE, published=()), ())

    def test_not_known(self) -> None:
        """As long as no address is known, ours stay as they are."""
        self.assertIsNone(self.decide(ONE, published=None))

    def test_left(self) -> None:
        """An Ingress of others that we wrote is cleared, also when our addresses are not known or others now."""
        for published in ((ONE,), (TWO,), (), None):
            for was_ours in (True, False):
                found = self.decide(ONE, published=published, writer=US, is_ours=False, was_ours=was_ours)
                self.assertEqual(found, ())

    def test_taken_over(self) -> None:
        """An Ingress of others that somebody else wrote stays as it is, even with our addresses."""
        for writer in ("them", f"them, {US}", "txingress/ours/another-leader"):
            self.assertIsNone(self.decide(ONE, writer=writer, is_ours=False))

    def test_writer_not_known(self) -> None:
        """Where nobody says who wrote it, it is cleared if it left before our eyes, with nothing but our addresses."""
        self.assertEqual(self.decide(ONE, is_ours=False), ())
        self.assertIsNone(self.decide(ONE, is_ours=False, was_ours=False))
        self.assertIsNone(self.decide(ONE, TWO, is_ours=False))
        self.assertIsNone(self.decide(ONE, published=None, is_ours=False))

    def test_nothing_to_clear(self) -> None:
        """An Ingress of others without addresses stays as it is."""
        self.assertIsNone(self.decide(writer=US, is_ours=False))


class PatchTests(SynchronousTestCase):
    """What is sent."""

    def test_patch(self) -> None:
        """Each address is an entry of one field."""
        entries = [{"ip": "192.0.2.1"}, {"hostname": "lb.test"}]
        self.assertEqual(status_patch((ONE, NAME)), {"status": {"loadBalancer": {"ingress": entries}}})

    def test_removal(self) -> None:
        """No address is a null, which removes the field."""
        self.assertEqual(status_patch(()), {"status": {"loadBalancer": {"ingress": None}}})

    def test_order(self) -> None:
        """The order does not depend on where the addresses come from."""
        self.assertEqual(normalized([NAME, TWO, ONE, TWO]), (ONE, TWO, NAME))
