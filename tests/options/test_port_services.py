"""The ConfigMaps of ``--tcp-services-configmap`` and ``--udp-services-configmap``: their entries, and ports that come and go with them."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ConfigMap, Kind, ObjectKey, Projection
from ingress.model.cluster.port_services import PortService
from ingress.model.cluster.problems import Reason
from ingress.model.network.listeners import Listener
from ingress.model.network.streams import StreamSort
from ingress.options.port_services import (
    MOST_READ,
    MOST_SERVICES,
    missing_port_services,
    port_services_in_steps,
    read_port_services,
)
from ingress.translate.gateway_options import GatewayOptions
from ingress.translate.incremental import Translation
from ingress.translate.options import TranslateOptions
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.fakes.counting import longest_step
from tests.fakes.processes import free_port
from tests.options.test_running import RunningOptionsCase
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    GatewayCluster,
    endpoints,
    gateway,
    route,
    rule,
    service,
)
from tests.translate.readers.gateway.routes.test_stream_routes import tcp

KEY = ObjectKey("ingress-nginx", "tcp-services")
ID = (Kind.CONFIG_MAP, KEY)


class ReadingTests(SynchronousTestCase):
    """``read_port_services``."""

    def test_entries(self) -> None:
        """Ports by number and by name, and PROXY for what comes, for what goes, for both, in either case."""
        content = {
            "9000": "demo/db:5432",
            "80": " demo/web:http ",
            "9001": "demo/db:5432:PROXY",
            "9002": "demo/db:5432::proxy",
            "9003": "demo/db:5432:Proxy:PROXY",
            "9004": "demo/db:5432::",
        }
        found = read_port_services(KEY, content)
        database = ObjectKey("demo", "db")
        self.assertEqual(found.problems, ())
        self.assertEqual(
            found.services,
            (
                PortService(80, ObjectKey("demo", "web"), "http", "data[80]"),
                PortService(9000, database, 5432, "data[9000]"),
                PortService(9001, database, 5432, "data[9001]", reads_header=True),
                PortService(9002, database, 5432, "data[9002]", sends_header=True),
                PortService(9003, database, 5432, "data[9003]", True, True),
                PortService(9004, database, 5432, "data[9004]"),
            ),
        )

    def test_bad_entries(self) -> None:
        """What makes no sense is told with its entry, whatever it holds, and spoils no other."""
        bad = {
            "0": "demo/db:1",
            "65536": "demo/db:1",
            "http": "demo/db:1",
            "-1": "demo/db:1",
            "09": "demo/db:1",
            "²": "demo/db:1",
            "9\n": "demo/db:1:x",
            "1001": "",
            "1002": "db:5432",
            "1003": "demo/db",
            "1004": "demo/db:",
            "1005": "demo/db:70000",
            "1006": "demo/db:5432:UDP",
            "1007": "demo/db:5432:PROXY:PROXY:PROXY",
            "1008": "a/b/c:1",
            "1009": "Demo/db:1",
            "1010": "demo/db:1\x00",
            "1011": "demo/" + "x" * 100_000 + ":1",
            "\x1b[31m": "demo/db:1",
            "9" * 10_000: "demo/db:1",
        }
        found = read_port_services(KEY, {**bad, "9000": "demo/db:5432"})
        self.assertEqual([one.port for one in found.services], [9000])
        self.assertEqual(len(found.problems), len(bad))
        for problem in found.problems:
            self.assertEqual((problem.kind, problem.name), ("ConfigMap", "tcp-services"))
            self.assertEqual((problem.reason, problem.is_the_operators), (Reason.INVALID_OPTION, True))
            self.assertTrue(problem.field.startswith("data["), problem.field)
            self.assertLess(len(str(problem)), 600)
            self.assertTrue(str(problem).isprintable(), str(problem))

    def test_most_read(self) -> None:
        """Of tens of thousands those of the lowest ports are read, and the operator is told of all others at once."""
        content = {str(1000 + at): "demo/db:1" for at in range(20_000)}
        found = read_port_services(KEY, content)
        self.assertEqual([one.port for one in found.services], [*range(1000, 1000 + MOST_SERVICES)])
        self.assertEqual(len(found.problems), MOST_READ - MOST_SERVICES + 1)
        self.assertEqual(
            (found.problems[-1].field, found.problems[-1].message),
            (
                "data",
                f"{20_000 - MOST_READ:,} further entries are not looked at, since there are more than {MOST_READ}",
            ),
        )

    def test_steps(self) -> None:
        """However many entries there are, a step looks at few of them."""
        for letter in ("", "x"):
            content = {f"{letter}{at}": "demo/db:1" for at in range(1, 65_536)}
            self.assertLess(longest_step(port_services_in_steps(KEY, content)), 25_000)

    def test_names_that_are_no_ports(self) -> None:
        """However many there are, and however short, each port that is listed is read; some of them are told, and how many more there are."""
        others = [f"{letter}{at}" for letter in ("a", "-", "0", "٣") for at in range(MOST_READ)]
        content = {**dict.fromkeys(others, "demo/db:1"), "5432": "demo/db:5432", "65535": "demo/db:1"}
        found = read_port_services(KEY, content)
        self.assertEqual([one.port for one in found.services], [5432, 65535])
        self.assertEqual(len(found.problems), MOST_READ - 2 + 1)
        self.assertEqual(
            [one.field for one in found.problems if "further entries" in one.message],
            ["data"],
        )
        self.assertIn(f"{len(content) - MOST_READ:,} further", found.problems[-1].message)

    def test_too_many(self) -> None:
        """There are as many ports at most as a process can bear; each one more is told."""
        found = read_port_services(KEY, {str(1000 + at): "demo/db:1" for at in range(MOST_SERVICES + 3)})
        self.assertEqual((len(found.services), len(found.problems)), (MOST_SERVICES, 3))

    def test_gone(self) -> None:
        """One that is gone is served on, with a problem; one that was never there serves nothing."""
        before = read_port_services(KEY, {"9000": "demo/db:5432"})
        gone, never = missing_port_services(KEY, before), missing_port_services(KEY)
        self.assertEqual((gone.services, never.services), (before.services, ()))
        for found in (gone, never):
            self.assertEqual([one.reason for one in found.problems], [Reason.CONFIG_MAP_NOT_FOUND])

    def test_udp(self) -> None:
        """Entries of UDP are read alike, but for PROXY, which means nothing there, as in ingress-nginx, and is told."""
        content = {
            "53": "kube-system/coredns:dns",
            "54": "demo/dns:53:PROXY",
            "55": "demo/dns:53::PROXY",
            "56": "x",
        }
        found = read_port_services(KEY, content, is_udp=True)
        self.assertTrue(found.is_udp)
        dns = ObjectKey("demo", "dns")
        self.assertEqual(
            found.services,
            (
                PortService(53, ObjectKey("kube-system", "coredns"), "dns", "data[53]"),
                PortService(54, dns, 53, "data[54]"),
                PortService(55, dns, 53, "data[55]"),
            ),
        )
        self.assertEqual(
            [(one.reason, one.field) for one in found.problems],
            [
                (Reason.UNSUPPORTED_OPTION, "data[54]"),
                (Reason.UNSUPPORTED_OPTION, "data[55]"),
                (Reason.INVALID_OPTION, "data[56]"),
            ],
        )
        for gone in (missing_port_services(KEY, found, is_udp=True), missing_port_services(KEY, is_udp=True)):
            self.assertTrue(gone.is_udp)
        self.assertIn("no UDP service", missing_port_services(KEY, is_udp=True).problems[0].message)


class TranslationTests(SynchronousTestCase):
    """What the entries come to beside Gateways, by either translation."""

    def setUp(self) -> None:
        self.cluster = GatewayCluster()
        self.cluster.write("base", GATEWAY_CLASS, service("one"), service("two"))

    def follow(self, **content: str) -> Snapshot:
        """List other services, have them translated, and check that a full translation comes to the same."""
        listed = read_port_services(KEY, {name.removeprefix("_"): text for name, text in content.items()})
        options = TranslateOptions(listeners=self.cluster.options.listeners, tcp_services=listed)
        self.cluster.options = options
        self.cluster.translation.follow(options)
        return self.cluster.follow()

    def led(self, snapshot: Snapshot) -> dict[str, str]:
        """Return the table of each port that is open, with the Service that has its streams."""
        found = {}
        for one in snapshot.listeners:
            streams = snapshot.others[one.table].streams.get("")
            found[one.description] = "" if streams is None or not streams.weighted else streams.backend.name
        return found

    def test_come_and_go(self) -> None:
        """Ports come and go with entries; nothing else is read again for that."""
        found = self.follow(_9000="infra/one:8080", _9001="infra/two:web")
        self.assertEqual(self.led(found), {"tcp:9000": "one", "tcp:9001": "two"})
        self.assertEqual(found.problems, ())
        states = [found.backends[one].endpoints for one in found.backends]
        self.assertEqual([len(each) for each in states], [1, 1])
        found = self.follow(_9001="infra/one:8080:PROXY:PROXY")
        self.assertLess(self.cluster.steps, 20)
        [listener] = found.listeners
        self.assertEqual((listener.is_stream, listener.reads_header), (True, True))
        stream = found.others[listener.table].streams.get("")
        assert stream is not None
        self.assertTrue(stream.sends_header)
        found = self.follow()
        self.assertEqual((found.listeners, dict(found.others), dict(found.backends)), ((), {}, {}))

    def test_problems(self) -> None:
        """A Service or port that there is not is a problem of the entry, and so is an entry that makes no sense."""
        found = self.follow(_9000="infra/absent:1", _9001="infra/one:99", _9002="nonsense")
        self.assertEqual(
            [(one.reason, one.field) for one in found.problems],
            [
                (Reason.INVALID_OPTION, "data[9002]"),
                (Reason.SERVICE_NOT_FOUND, "data[9000]"),
                (Reason.SERVICE_PORT_NOT_FOUND, "data[9001]"),
            ],
        )
        found = self.cluster.write("absent", service("absent"))
        self.assertNotIn(Reason.SERVICE_NOT_FOUND, [one.reason for one in found.problems])

    def test_ports_in_use(self) -> None:
        """Ports of the command line and of the admin pages are told, and left alone."""
        listed = read_port_services(
            KEY, {"80": "infra/one:8080", "443": "infra/one:8080", "10254": "infra/one:8080"}
        )
        options = TranslateOptions(
            listeners=(
                Listener("tcp:80", is_required=True),
                Listener("tcp:443", is_secure=True, is_required=True),
            ),
            gateway=GatewayOptions(own_ports=(10254,)),
            tcp_services=listed,
        )
        found = translate(self.cluster.store.state(), options, datetime(2026, 1, 1, tzinfo=UTC))
        self.assertEqual(len(found.listeners), 2)
        told = [(one.reason, one.field) for one in found.problems if one.kind == "ConfigMap"]
        self.assertEqual(told, [(Reason.LISTENER_CONFLICT, f"data[{port}]") for port in (10254, 443, 80)])

    def test_beside_a_gateway(self) -> None:
        """Where a Gateway wants the port, too, the operator's entry has it, and the Gateway is told."""
        wanting = gateway("main", tcp("tcp", 9000))
        wanting["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        self.cluster.write("x", wanting, route("r", rule("two"), kind="TCPRoute"))
        found = self.follow(_9000="infra/one:8080")
        self.assertEqual(self.led(found), {"tcp:9000": "one"})
        told = [(one.kind, one.reason, one.field) for one in found.problems]
        self.assertIn(("Gateway", Reason.LISTENER_CONFLICT, "spec.listeners[0].port"), told)
        found = self.follow()
        self.assertEqual(self.led(found), {"tcp:9000": "two"})

    def test_udp(self) -> None:
        """A port of UDP is beside that of TCP by the same number, and leads to the endpoints that take datagrams."""
        dns = json.loads(service("dns").partition("\n---\n")[0])
        dns["spec"]["ports"] = [
            {"name": "dns", "port": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
        ]
        where = endpoints("dns")
        where["ports"] = [
            {"name": "dns", "port": 1053, "protocol": "UDP"},
            {"name": "dns-tcp", "port": 2053, "protocol": "TCP"},
        ]
        self.cluster.write("dns", dns, where)
        entries = {
            "53": "infra/dns:53",
            "54": "infra/dns:dns",
            "55": "infra/dns:dns-tcp",
            "80": "infra/dns:9",
        }
        udp = read_port_services(ObjectKey("ingress-nginx", "udp"), entries, is_udp=True)
        for both in (False, True):
            # Two ConfigMaps, or one that is named for both.
            udp = evolve(udp, key=KEY) if both else udp
            tcp = read_port_services(KEY, {"53": "infra/dns:53"})
            options = TranslateOptions(
                listeners=(Listener("tcp:80:interface=127.0.0.1", is_required=True),),
                tcp_services=tcp,
                udp_services=udp,
            )
            self.cluster.options = options
            self.cluster.translation = Translation(options)
            self.cluster.translation.mark_everything(self.cluster.store.state())
            found = self.cluster.follow()
            ports = {one.description: found.others[one.table].streams for one in found.listeners[1:]}
            self.assertEqual(
                set(ports),
                {
                    "tcp:53:interface=127.0.0.1",
                    "udp:53:interface=127.0.0.1",
                    "udp:54:interface=127.0.0.1",
                    "udp:55:interface=127.0.0.1",
                    "udp:80:interface=127.0.0.1",
                },
            )
            self.assertEqual([one.is_udp for one in found.listeners], [False, False, True, True, True, True])
            led = {}
            for description, streams in ports.items():
                stream = streams.get("")
                assert stream is not None
                self.assertIs(stream.sort, StreamSort.UDP if "udp" in description else StreamSort.TCP)
                led[description.partition(":i")[0]] = [
                    one.port for one in found.backends[stream.backend].endpoints
                ]
            self.assertEqual(
                led, {"tcp:53": [2053], "udp:53": [1053], "udp:54": [1053], "udp:55": [], "udp:80": []}
            )
            told = [(one.reason, one.field) for one in found.problems if one.kind == "ConfigMap"]
            missing = Reason.SERVICE_PORT_NOT_FOUND
            self.assertEqual(sorted(told), [(missing, "data[55]"), (missing, "data[80]")])

    def test_families(self) -> None:
        """Ports of both protocols are open at each family and address of ``--http``, but for what all addresses of a family cover."""
        tcp = read_port_services(KEY, {"9000": "infra/one:8080"})
        udp = read_port_services(ObjectKey("ingress-nginx", "udp"), {"9000": "infra/one:8080"}, is_udp=True)
        for given, expected in (
            ((), [":9000"]),
            (("tcp:80",), [":9000"]),
            (("tcp:80", "tcp6:80"), [":9000", "6:9000"]),
            (("tcp:80", "tcp:81", "tcp:82:interface=10.0.0.1"), [":9000"]),
            (("tcp:80:interface=10.0.0.1", "tcp:81:interface=0.0.0.0"), [":9000:interface=0.0.0.0"]),
            (
                ("tcp:80:interface=10.0.0.1", "tcp:80:interface=10.0.0.2", "tcp6:80:interface=fd00\\:\\:1"),
                [":9000:interface=10.0.0.1", ":9000:interface=10.0.0.2", "6:9000:interface=fd00\\:\\:1"],
            ),
            (("unix:/run/x", "tcp:80:interface=\\:\\:"), [":9000:interface=\\:\\:"]),
        ):
            listeners = tuple(Listener(one, is_required=True) for one in given)
            options = TranslateOptions(
                listeners=(
                    *listeners,
                    Listener("tcp:443:interface=10.9.9.9", is_secure=True, is_required=True),
                ),
                tcp_services=tcp,
                udp_services=udp,
            )
            if not given:
                options = evolve(options, listeners=())
            found = translate(self.cluster.store.state(), options, datetime(2026, 1, 1, tzinfo=UTC))
            asked = [one for one in found.listeners if not one.is_required]
            for protocol in ("tcp", "udp"):
                those = [one for one in asked if one.is_udp is (protocol == "udp")]
                self.assertEqual(
                    [one.description for one in those], [protocol + one for one in expected], given
                )
                self.assertEqual(len({one.table for one in those}), 1)

    def test_alike(self) -> None:
        """Options with other TCP services alone are followed; with anything else there is another translation."""
        plain = TranslateOptions()
        listed = TranslateOptions(tcp_services=read_port_services(KEY, {"9000": "infra/one:8080"}))
        self.assertTrue(plain.is_alike(listed))
        self.assertFalse(plain.is_alike(TranslateOptions(shared_hosts=True)))
        # From the start, too.
        translation = Translation(listed)
        state, now = self.cluster.store.state(), datetime(2026, 1, 1, tzinfo=UTC)
        translation.mark_everything(state)
        for _ in translation.round(state, now):
            pass
        assert translation.snapshot is not None
        self.assertEqual(differences(translation.snapshot, translate(state, listed, now)), ())


class ServedTests(RunningOptionsCase):
    """The same in the service."""

    def put(self, projection: Projection | None, key: ObjectKey = KEY) -> None:
        """Have the ConfigMap *key* changed, and the change take effect."""
        assert self.objects.sink is not None
        self.objects.sink.changed({(Kind.CONFIG_MAP, key): projection})
        for _ in range(4):
            self.reactor.advance(1)

    def test_follows(self) -> None:
        """Ports are opened and closed with entries, and those of the command line stay; Ingresses are not translated anew."""
        self.first = {ID: Projection(ConfigMap(KEY, {"9000": "web/shop:80"}))}
        self.start(f"--tcp-services-configmap={KEY}")
        self.assertEqual(self.opened(), {"tcp:80", "tcp:443", "tcp:9000"})
        self.put(Projection(ConfigMap(KEY, {"9000": "web/shop:80", "9001": "web/shop:http"})))
        self.assertEqual(self.opened(), {"tcp:80", "tcp:443", "tcp:9000", "tcp:9001"})
        self.put(None)
        self.assertEqual(self.opened(), {"tcp:80", "tcp:443", "tcp:9000", "tcp:9001"})
        self.put(Projection(ConfigMap(KEY, {"9001": "web/shop:http"})))
        self.assertEqual(self.opened(), {"tcp:80", "tcp:443", "tcp:9001"})
        self.assertEqual(self.service._controller.verify(), ())

    def opened(self) -> set[str]:
        """Return the listeners that are open."""
        return {one.description for one in self.service._data_plane.open_listeners}

    def test_udp(self) -> None:
        """Ports of UDP are opened and closed beside those of TCP, by a ConfigMap of their own."""
        other = ObjectKey("ingress-nginx", "udp")
        self.first = {ID: Projection(ConfigMap(KEY, {"9000": "web/shop:80"}))}
        self.start(f"--tcp-services-configmap={KEY}", f"--udp-services-configmap={other}")
        told = [str(one) for one in self.service._current().problems]
        self.assertTrue(any("ingress-nginx/udp" in one and "no UDP service" in one for one in told), told)
        usual = {"tcp:80", "tcp:443", "tcp:9000"}
        port = free_port()
        entry = {str(port): "web/shop:80"}
        for content, opened in (
            (entry, {f"udp:{port}"}),
            ({**entry, "x": "web/shop:80"}, {f"udp:{port}"}),
            ({}, set()),
            (entry, {f"udp:{port}"}),
        ):
            self.put(Projection(ConfigMap(other, content)), other)
            self.assertEqual(self.opened(), usual | opened)
        self.assertEqual(self.service._controller.verify(), ())
        self.put(None, other)
        told = [str(one) for one in self.service._current().problems if one.name == "udp"]
        self.assertEqual(
            [True, True], ["does not exist any more" in one or "not a UDP port" in one for one in told]
        )

    def test_port_taken(self) -> None:
        """A port that cannot be had is a problem of its entry, and harms no other."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("", 0))
            port, free = taken.getsockname()[1], free_port()
            self.start(f"--udp-services-configmap={KEY}")
            self.put(Projection(ConfigMap(KEY, {str(port): "web/shop:80", str(free): "web/shop:80"})))
            self.assertEqual(self.opened(), {"tcp:80", "tcp:443", f"udp:{free}"})
            told = [one for one in self.service._current().problems if one.reason is Reason.PORT_UNAVAILABLE]
            self.assertEqual([one.field for one in told], [f"data[{port}]"])
            self.assertIn(f"cannot listen on udp:{port}: Address already in use", told[0].message)
