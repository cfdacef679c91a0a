"""Streams of TCP and sessions of UDP in the normal form, and what is different of them."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.input import Input
from ingress.ctl.served.blocks import summary
from ingress.ctl.served.differences import compare
from ingress.ctl.served.normal_form import served
from ingress.ctl.served.rendering import rendered
from ingress.ctl.served.reports import as_text
from tests.ctl.served.inputs import of_state
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    INFRA,
    GatewayCluster,
    gateway,
    listener,
    route,
    rule,
    service,
)

UDP = "gateway *:53/udp"
LISTENERS = (listener("u", port=53, protocol="UDP"), listener("t", port=53, protocol="TCP"))


def cluster(*objects: dict[str, Any]) -> Input:
    """Return manifests with a Gateway that has port 53 of both, and the Services ``one`` and ``two``, which have it for UDP."""
    services = [
        service(name, port=53, protocol="UDP", address=f"10.1.0.{at}")
        for at, name in enumerate(("one", "two"), 1)
    ]
    filled = GatewayCluster()
    filled.write("all", GATEWAY_CLASS, gateway("main", *LISTENERS), *services, *objects)
    return of_state(filled.store.state(), filled.options)


def udp(name: str, *to: tuple[str, int]) -> dict[str, Any]:
    """Return a UDPRoute that leads to Services by weight."""
    backends = [{"name": service, "port": 53, "weight": weight} for service, weight in to]
    return route(name, rule(backends), kind="UDPRoute")


class StreamFormTests(SynchronousTestCase):
    """The normal form."""

    def test_form(self) -> None:
        """Streams stand with their table: sort, owner, and backends by the least weights that say the same."""
        form = served(cluster(udp("r", ("one", 6), ("two", 3))))
        (stream,) = form["tables"][UDP]["streams"].values()
        self.assertEqual((stream["sort"], stream["owner"]), ("udp", f"UDPRoute {INFRA}/r"))
        self.assertEqual(
            [(one["backend"], one["weight"], one["protocol"]) for one in stream["backends"]],
            [(f"{INFRA}/one:53 (UDP)", 2, "UDP"), (f"{INFRA}/two:53 (UDP)", 1, "UDP")],
        )
        self.assertNotIn("streams", form["tables"]["gateway *:53"])
        shown = rendered(cluster(udp("r", ("one", 1))), endpoints=True, full=False)
        self.assertEqual(shown["endpoints"][f"{INFRA}/one:53 (UDP)"]["endpoints"], ["10.1.0.1:3000"])
        self.assertIn("", shown["tables"][UDP]["streams"])

    def test_service_of_another_protocol(self) -> None:
        """What leads nowhere says why."""
        form = served(cluster(route("r", rule([{"name": "one", "port": 53}]), kind="TCPRoute")))
        (stream,) = form["tables"]["gateway *:53"]["streams"].values()
        self.assertEqual([one["fault"] for one in stream["backends"]], ["ServicePortNotFound"])


class StreamDifferencesTests(SynchronousTestCase):
    """What is different."""

    def told(self, old: Input, new: Input) -> list[tuple[str, str, str]]:
        """Return subject, change and table of each difference but for those of problems."""
        found = compare(old, new).differences
        return [
            (one.subject.word, one.change, one.place.table) for one in found if one.subject.word != "problem"
        ]

    def test_comes_and_goes(self) -> None:
        """A route that comes or goes is a stream that does."""
        with_it, without = cluster(udp("r", ("one", 1))), cluster()
        self.assertEqual(self.told(without, with_it), [("stream", "appears", UDP)])
        self.assertEqual(self.told(with_it, without), [("stream", "vanishes", UDP)])
        lines = [line for _, line in as_text(compare(with_it, without))]
        self.assertIn(f"  - table {UDP}: *", lines)
        self.assertIn(f"      udp to {INFRA}/one:53 (UDP)", lines)

    def test_leads_elsewhere(self) -> None:
        """Other backends, or other weights, are told with both."""
        old, new = cluster(udp("r", ("one", 1))), cluster(udp("r", ("one", 3), ("two", 1)))
        self.assertEqual(self.told(old, new), [("stream", "changes", UDP)])
        found = compare(old, new)
        self.assertEqual(summary(found), "1 path leads elsewhere")
        lines = [line for _, line in as_text(found)]
        before, after = f"{INFRA}/one:53 (UDP)", f"{INFRA}/one:53 (UDP) (75%), {INFRA}/two:53 (UDP) (25%)"
        self.assertIn(f"      udp to {before} → udp to {after}", lines)

    def test_another_owner(self) -> None:
        """Another route that says the same, and the same weights in other numbers, are nothing that clients notice."""
        old = cluster(udp("r", ("one", 2), ("two", 2)))
        self.assertEqual(self.told(old, cluster(udp("r", ("one", 1), ("two", 1)))), [])
        found = compare(old, cluster(udp("other", ("one", 1), ("two", 1))))
        self.assertEqual([one.subject.word for one in found.differences], ["owner"])
        self.assertEqual(found.loud, ())
