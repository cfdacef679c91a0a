"""Which endpoints may be connected to."""

import re
from ipaddress import ip_network
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import EndpointSlice, ObjectKey, Service, ServicePort, SlicePort
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.network.addresses import address_fault
from ingress.model.stepwise import finished
from ingress.model.upstream.backends import BackendState, Endpoint
from ingress.translate.endpoints import endpoint_rules, slices
from ingress.translate.endpoints.endpoint_rules import API_SERVER, EndpointRules, is_harmless
from ingress.translate.endpoints.slices import finding_endpoints
from tests.properties import examples

PORT = ServicePort("", 80)
KEY = ObjectKey("demo", "web")
SERVICE = Service(KEY, ports=(PORT,))
OWN = frozenset({"10.0.0.1", "::ffff:10.0.0.1", "fd00::1"})


def slice_of(
    *addresses: str, number: int = 8080, family: str = "IPv4", key: ObjectKey | None = None
) -> EndpointSlice:
    """Return an EndpointSlice with these ready addresses."""
    key = key or ObjectKey("demo", "web-1")
    return EndpointSlice(key, KEY, family, (SlicePort("", number),), addresses)


def found(
    *given: EndpointSlice, rules: EndpointRules | None = None, api: frozenset[tuple[str, int]] = frozenset()
) -> BackendState:
    """Return what becomes of EndpointSlices."""
    return finished(finding_endpoints(SERVICE, PORT, given, rules or EndpointRules(), api))


class AddressTests(SynchronousTestCase):
    """Addresses that are refused whatever their port."""

    def test_refused(self) -> None:
        """This host, the link, metadata services, and what is no address of one host, in every spelling."""
        for family, address, why in (
            ("IPv4", "127.0.0.1", "this host"),
            ("IPv4", "127.8.9.1", "this host"),
            ("IPv4", "0.0.0.0", "this host"),
            ("IPv4", "0.1.2.3", "this host"),
            ("IPv4", "169.254.1.1", "link-local"),
            ("IPv4", "169.254.169.254", "metadata"),
            ("IPv4", "100.100.100.200", "metadata"),
            ("IPv4", "224.0.0.1", "one host"),
            ("IPv4", "239.1.1.1", "one host"),
            ("IPv4", "255.255.255.255", "one host"),
            ("IPv6", "::1", "this host"),
            ("IPv6", "::", "this host"),
            ("IPv6", "0:0:0:0:0:0:0:1", "this host"),
            ("IPv6", "::ffff:127.0.0.1", "this host"),
            ("IPv6", "::ffff:7f00:1", "this host"),
            ("IPv6", "::127.0.0.1", "this host"),
            ("IPv6", "64:ff9b::169.254.169.254", "metadata"),
            ("IPv6", "2002:7f00:1::", "this host"),
            ("IPv6", "fe80::1", "link-local"),
            ("IPv6", "fd00:ec2::254", "metadata"),
            ("IPv6", "ff02::1", "one host"),
        ):
            with self.subTest(address):
                state = found(slice_of(address, family=family))
                self.assertEqual(state.endpoints, ())
                (problem,) = state.problems
                self.assertIn(why, problem.message)

    def test_no_address(self) -> None:
        """What could be read as an address by one and not by another is none, and is told."""
        for family, text in (
            ("IPv4", "0177.0.0.1"),
            ("IPv4", "127.1"),
            ("IPv4", "2130706433"),
            ("IPv4", "0x7f.0.0.1"),
            ("IPv4", "::1"),
            ("IPv6", "127.0.0.1"),
            ("IPv6", "fe80::1%eth0"),
            ("IPv6", "fd00::1%1"),
            ("IPv4", "localhost"),
            ("IPv4", ""),
        ):
            with self.subTest(text):
                state = found(slice_of("10.0.0.9", text), slice_of(text, family=family))
                self.assertEqual([one.address for one in state.endpoints], ["10.0.0.9"])
                self.assertIn("address", str(state.problems[-1]))

    def test_no_option_makes_an_address(self) -> None:
        """Where nothing is an address, the problem names no option for exceptions."""
        (problem,) = found(slice_of("127.1", "localhost")).problems
        self.assertEqual(
            problem.message,
            'no request for Service demo/web goes to "127.1", which is no IPv4 address, nor to 1 more of its endpoints',
        )

    def test_problem_names_the_slice(self) -> None:
        """One problem for each EndpointSlice names it, an address, the reason, how many more, and the option."""
        state = found(slice_of("127.0.0.1", "10.0.0.9", "127.0.0.2", "127.0.0.3"))
        self.assertEqual(state.endpoints, (Endpoint("10.0.0.9", 8080),))
        message = (
            "no request for Service demo/web goes to 127.0.0.1, which is an address of this host, nor to 2 more of its endpoints;"
            " --allow-endpoint-networks is for exceptions"
        )
        self.assertEqual(
            state.problems,
            (Problem("EndpointSlice", "demo", "web-1", Reason.ENDPOINT_FORBIDDEN, message, "endpoints"),),
        )

    def test_nothing_left(self) -> None:
        """A Service without any other endpoint answers 503, and its reason says why."""
        self.assertEqual(
            found(slice_of("127.0.0.1")).reason, "no endpoint of Service demo/web may be connected to"
        )

    def test_draining_ones_are_judged_too(self) -> None:
        """An endpoint that terminates is no way around it."""
        draining = EndpointSlice(
            ObjectKey("demo", "x"), KEY, ports=(SlicePort("", 1),), draining=("127.0.0.1",)
        )
        self.assertEqual(found(draining).endpoints, ())

    def test_local_ones_of_manifests(self) -> None:
        """Loopback and link-local are allowed there, the metadata service and the unspecified address are not."""
        rules = EndpointRules(allows_local=True)
        allowed = ("127.0.0.1", "169.254.1.1")
        state = found(slice_of(*allowed, "169.254.169.254", "0.0.0.0", "224.0.0.1"), rules=rules)
        self.assertEqual([one.address for one in state.endpoints], sorted(allowed))
        self.assertEqual(len(found(slice_of("::1", "fe80::1", family="IPv6"), rules=rules).endpoints), 2)

    def test_exceptions(self) -> None:
        """In the networks of the option everything is allowed, IPv4 inside of IPv6 too, and nothing besides."""
        rules = EndpointRules(
            allowed=(ip_network("127.0.0.0/24"), ip_network("fe80::/64")),
            listeners=(("", 8080),),
            is_own=OWN.__contains__,
        )
        state = found(slice_of("127.0.0.1", "127.0.1.1", "10.0.0.1"), rules=rules)
        self.assertEqual([one.address for one in state.endpoints], ["127.0.0.1"])
        inside = slice_of("::ffff:127.0.0.1", "fe80::1", "::1", family="IPv6")
        self.assertEqual(len(found(inside, rules=rules).endpoints), 2)

    @settings(derandomize=True, max_examples=examples(500))
    @given(
        st.ip_addresses()
        | st.ip_addresses(v=4, network="0.0.0.0/6")
        | st.ip_addresses(v=4, network="168.0.0.0/7")
    )
    def test_harmless_at_a_glance(self, address: object) -> None:
        """What is found harmless in one step is what is found so in many."""
        text = str(address)
        if is_harmless(text):
            self.assertIsNone(address_fault(text))
        elif ":" not in text and not re.match("(?:24[0-9]|25[0-5])", text):
            self.assertIsNotNone(address_fault(text))


class PortTests(SynchronousTestCase):
    """Addresses that are refused with some ports."""

    def test_own_listeners(self) -> None:
        """A listener on all addresses is refused on each of ours, others of our ports are pods like any other."""
        rules = EndpointRules(listeners=(("", 8080), ("10.0.0.1", 10254)), is_own=OWN.__contains__)
        for address, number, is_refused in (
            ("10.0.0.1", 8080, True),
            ("10.0.0.1", 10254, True),
            ("10.0.0.1", 9000, False),
            ("10.0.0.2", 8080, False),
            ("10.0.0.2", 10254, False),
        ):
            with self.subTest(f"{address}:{number}"):
                state = found(slice_of(address, number=number), rules=rules)
                self.assertEqual(not state.endpoints, is_refused)
                if is_refused:
                    self.assertIn("is a listener of this controller", state.problems[0].message)
        for address in ("::ffff:10.0.0.1", "fd00::1"):
            self.assertEqual(found(slice_of(address, family="IPv6"), rules=rules).endpoints, (), address)

    def test_own_listeners_among_manifests(self) -> None:
        """Loopback is allowed there, and our own listeners on it are not."""
        rules = EndpointRules(allows_local=True, listeners=(("127.0.0.1", 8080), ("", 8443)))
        self.assertEqual(found(slice_of("127.0.0.1"), rules=rules).endpoints, ())
        self.assertEqual(found(slice_of("127.0.0.7", number=8443), rules=rules).endpoints, ())
        self.assertEqual(len(found(slice_of("127.0.0.1", number=8081), rules=rules).endpoints), 1)

    def test_api_server(self) -> None:
        """Its address is refused with its port, and not with others."""
        api = frozenset({("10.0.0.3", 6443), ("fd00::3", 6443)})
        self.assertEqual(found(slice_of("10.0.0.3", number=6443), api=api).endpoints, ())
        self.assertEqual(len(found(slice_of("10.0.0.3", number=80), api=api).endpoints), 1)
        self.assertEqual(
            found(slice_of("::ffff:10.0.0.3", family="IPv6", number=6443), api=api).endpoints, ()
        )
        self.assertEqual(found(slice_of("fd00:0::3", family="IPv6", number=6443), api=api).endpoints, ())

    def test_where_the_api_server_is(self) -> None:
        """Where it was reached, and where its own EndpointSlice says; another one of that Service says nothing."""
        own = slice_of("10.0.0.3", number=6443, key=API_SERVER)
        another = slice_of("10.0.0.9", number=80, key=ObjectKey("default", "trap"))
        rules = EndpointRules(api_server=lambda: {("10.96.0.1", 443)})
        state = ClusterState(slices={API_SERVER: (own, another)})
        self.assertEqual(rules.api_servers(state), {("10.96.0.1", 443), ("10.0.0.3", 6443)})


class CostTests(SynchronousTestCase):
    """What judging costs, counted in calls."""

    def test_thousand_endpoints(self) -> None:
        """Of a thousand usual endpoints none is judged one by one, and nothing is asked of the system."""
        many = slice_of(*(f"10.1.{number // 250}.{number % 250}" for number in range(1000)))
        asked: list[str] = []

        def is_own(address: str) -> bool:
            asked.append(address)
            return False

        rules = EndpointRules(listeners=(("", 80), ("", 443)), is_own=is_own)
        with (
            patch.object(slices, "_address", side_effect=AssertionError("each was read")),
            patch.object(endpoint_rules, "address_fault", side_effect=AssertionError("each was judged")),
        ):
            self.assertEqual(
                len(found(many, rules=rules, api=frozenset({("10.0.0.3", 6443)})).endpoints), 1000
            )
        self.assertEqual(asked, [])
