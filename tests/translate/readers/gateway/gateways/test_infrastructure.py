"""Tests for ``ingress.translate.readers.gateway.gateways.infrastructure``."""

from collections.abc import Iterable

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.translate.readers.gateway.gateways.infrastructure import (
    NAME_LABEL,
    applied_body,
    service_key,
    wanted_service,
)
from ingress.translate.readers.gateway.objects.gateways import Gateway, GatewayListener
from tests.translate.readers.gateway.gateway_values import gateway, listener


def asking(
    labels: Iterable[tuple[str, str]] = (), annotations: Iterable[tuple[str, str]] = (), name: str = "a"
) -> Gateway:
    """A Gateway that asks for labels and annotations, with two listeners on one port and one on another."""
    listeners = (listener("a", 8080), listener("b", 80), listener("c", 80, hostname="c.test"))
    return evolve(gateway(name, *listeners), labels=tuple(labels), annotations=tuple(annotations))


class NameTests(SynchronousTestCase):
    """What the Service is called."""

    def test_short(self) -> None:
        """The Service is called after its Gateway, up to the 63 characters that the API allows."""
        self.assertEqual(service_key(ObjectKey("infra", "a")), ObjectKey("infra", "gateway-a"))
        self.assertEqual(service_key(ObjectKey("infra", "a" * 55)).name, "gateway-" + "a" * 55)

    def test_long(self) -> None:
        """Longer names are cut, and those that begin alike still have Services of their own."""
        names = [service_key(ObjectKey("infra", "a" * 250 + end)).name for end in ("x", "y", "")]
        self.assertEqual({len(name) for name in names}, {63})
        self.assertEqual(len(set(names)), 3)

    def test_dots(self) -> None:
        """A Gateway may have dots in its name, and a Service not."""
        dotted, plain = (service_key(ObjectKey("infra", name)).name for name in ("a.b", "a-b"))
        self.assertRegex(dotted, r"\Agateway-a-b-[0-9a-f]{10}\Z")
        self.assertEqual(plain, "gateway-a-b")


class WantedTests(SynchronousTestCase):
    """What the Service is to be."""

    def test_nothing_asked(self) -> None:
        """A Gateway that asks for neither labels nor annotations has no Service."""
        self.assertIsNone(wanted_service(asking(), "u", is_there=False))

    def test_asked(self) -> None:
        """What is asked for is there, with the name of the Gateway, and each port of its listeners once."""
        found = wanted_service(asking([("b", "2"), ("a", "1")], [("c", "3")]), "u", is_there=False)
        assert found is not None
        self.assertEqual(found.labels, (("a", "1"), ("b", "2"), (NAME_LABEL, "a")))
        self.assertEqual(found.annotations, (("c", "3"),))
        self.assertEqual(found.ports, (("port-80", 80, "TCP"), ("port-8080", 8080, "TCP")))
        self.assertEqual((found.gateway_uids, found.is_inert), (("u",), True))

    def test_ports_of_both(self) -> None:
        """A port of UDP and one of TCP with the same number are two ports of the Service, with names of their own."""
        listeners = tuple(
            GatewayListener(str(at), 53, protocol) for at, protocol in enumerate(("UDP", "TCP", "UDP"))
        )
        found = wanted_service(evolve(asking([("a", "1")]), listeners=listeners), "u", is_there=False)
        assert found is not None
        self.assertEqual(found.ports, (("port-53", 53, "TCP"), ("udp-53", 53, "UDP")))
        applied = applied_body(found, ObjectKey("infra", "a"), "")
        self.assertEqual(
            [(one["name"], one["port"], one["protocol"]) for one in applied["spec"]["ports"]],
            [("port-53", 53, "TCP"), ("udp-53", 53, "UDP")],
        )

    def test_not_asked_any_more(self) -> None:
        """A Service that is there stays, without what is not asked for any more."""
        found = wanted_service(asking(), "u", is_there=True)
        assert found is not None
        self.assertEqual((found.labels, found.annotations), (((NAME_LABEL, "a"),), ()))

    def test_our_label(self) -> None:
        """Nobody can have the Service of another Gateway by asking for its label."""
        found = wanted_service(asking([(NAME_LABEL, "other")]), "u", is_there=False)
        assert found is not None
        self.assertEqual(found.labels, ((NAME_LABEL, "a"),))

    def test_long_name(self) -> None:
        """A name that is too long for a label is cut there, too."""
        found = wanted_service(asking([("a", "1")], name="n" * 200), "u", is_there=False)
        assert found is not None
        self.assertEqual(len(dict(found.labels)[NAME_LABEL]), 63)

    def test_body(self) -> None:
        """What is applied is headless, selects nothing, and goes with its Gateway."""
        one = asking([("a", "1")])
        wanted = wanted_service(one, "u", is_there=False)
        assert wanted is not None
        body = applied_body(wanted, one.key, "")
        self.assertEqual((body["spec"]["clusterIP"], body["spec"]["type"]), ("None", "ClusterIP"))
        self.assertNotIn("selector", body["spec"])
        self.assertNotIn("uid", body["metadata"])
        owner = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "name": "a", "uid": "u"}
        self.assertEqual(body["metadata"]["ownerReferences"], [owner])
        self.assertEqual(applied_body(wanted, one.key, "s")["metadata"]["uid"], "s")
