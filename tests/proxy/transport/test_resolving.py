"""Endpoints with names: resolved once, judged, connected to address by address."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable
from random import Random

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.proxy.transport.name_lookups import Found
from ingress.proxy.transport.resolving import MAX_ADDRESSES, AddressRules, NamedConnecting, is_own_address

EXTERNAL = Endpoint("db.example.org", 80, LinkSettings(is_external=True))
NAMED = Endpoint("db.example.org", 80)


class Lookups:
    """Lookups that are told when and what to answer."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bool]] = []
        self.found: Found | None = None

    def find(self, name: str, found: Found, *, is_tenants: bool) -> Callable[[], None]:
        self.asked.append((name, is_tenants))
        self.found = found
        return self._forget

    def _forget(self) -> None:
        self.found = None

    def answer(self, *addresses: str) -> None:
        """Tell the addresses of the name, to whoever still waits."""
        if self.found is not None:
            self.found(addresses)


class ConnectingTests(SynchronousTestCase):
    """One attempt to connect to a name."""

    def setUp(self) -> None:
        self.reactor = Clock()
        self.names = Lookups()
        self.failures: list[str] = []
        self.dialed: list[tuple[str, float]] = []
        self.why: list[Callable[[str], None]] = []
        self.chance: Callable[[], float] = lambda: 0.5

    def connect(self, endpoint: Endpoint, rules: AddressRules | None = None) -> NamedConnecting:
        """Begin an attempt with six seconds."""

        def dial(address: str, seconds: float, failed: Callable[[str], None]) -> None:
            self.dialed.append((address, seconds))
            self.why.append(failed)

        rules = rules or AddressRules(lambda: ("10.96.0.1",), lambda address: address == "10.0.0.99")
        attempt = NamedConnecting(
            self.reactor, self.names, endpoint, dial, self.failures.append, 6.0, rules, self.chance
        )
        attempt.start()
        return attempt

    def test_address_by_address(self) -> None:
        """Addresses are tried one after the other, and the time is shared between those that are left."""
        self.connect(EXTERNAL)
        self.assertEqual(self.names.asked, [("db.example.org", True)])
        self.names.answer("10.0.0.1", "fd00::2", "10.0.0.3")
        self.assertEqual(self.dialed, [("10.0.0.1", 2.0)])
        self.reactor.advance(2)
        self.why[0]("connect timed out")
        self.why[1]("connection refused")
        self.assertEqual(self.dialed[1:], [("fd00::2", 2.0), ("10.0.0.3", 4.0)])
        self.assertEqual(self.failures, [])
        self.why[2]("host unreachable")
        self.assertEqual(self.failures, ["host unreachable"])
        self.assertEqual(self.names.asked, [("db.example.org", True)])

    def test_shares(self) -> None:
        """Each address of a name gets its share of the connections, and what comes first of IPv6 and IPv4 is as the system has it."""
        self.chance = Random(7).random
        for _ in range(300):
            self.connect(EXTERNAL)
            self.names.answer("2001:db8::1", "2001:db8::2", *(f"10.0.0.{number}" for number in range(1, 21)))
        first = Counter(address for address, _ in self.dialed)
        self.assertEqual(sorted(first), ["2001:db8::1", "2001:db8::2"])
        self.assertGreater(min(first.values()), 100)
        self.dialed.clear()
        for _ in range(300):
            self.connect(EXTERNAL)
            self.names.answer(*(f"10.0.0.{number}" for number in range(1, 21)))
        self.assertEqual(len({address for address, _ in self.dialed}), 20)

    def test_forbidden(self) -> None:
        """A tenant's name that leads to this host, the link, the API server or one of our addresses is refused."""
        for address, why in (
            ("127.0.0.1", "is an address of this host"),
            ("169.254.169.254", "is that of a cloud's metadata service"),
            ("::ffff:169.254.169.254", "is that of a cloud's metadata service"),
            ("10.96.0.1", "is that of the API server"),
            ("::ffff:10.96.0.1", "is that of the API server"),
            ("10.0.0.99", "is an address of this host"),
        ):
            self.failures.clear()
            self.connect(EXTERNAL)
            self.names.answer(address)
            self.assertEqual(self.failures, [f"the external name leads to {address}, which {why}"])
        self.assertEqual(self.dialed, [])

    def test_some_forbidden(self) -> None:
        """Of several addresses only those that may be connected to are."""
        self.connect(EXTERNAL)
        self.names.answer("127.0.0.1", "10.0.0.1", "169.254.169.254")
        self.why[0]("connection refused")
        self.assertEqual([address for address, _ in self.dialed], ["10.0.0.1"])
        self.assertEqual(self.failures, ["connection refused"])

    def test_addresses_are_judged_too(self) -> None:
        """An external name that is an address needs no resolving, and is judged all the same."""
        for address in ("127.0.0.1", "10.96.0.1", "10.0.0.99"):
            self.connect(Endpoint(address, 80, LinkSettings(is_external=True)))
        self.assertEqual((len(self.failures), self.dialed, self.names.asked), (3, [], []))
        self.connect(Endpoint("10.0.0.1", 80, LinkSettings(is_external=True)))
        self.assertEqual(self.dialed, [("10.0.0.1", 6.0)])

    def test_networks(self) -> None:
        """Where an operator said which networks, no other is connected to, and the rules hold in these as well."""
        within = ("10.0.0.0/8", "2001:db8::/32")
        endpoint = Endpoint("db.example.org", 80, LinkSettings(is_external=True, within=within))
        self.connect(endpoint)
        self.names.answer("192.0.2.1", "10.0.0.99", "10.96.0.1", "2001:db8::7", "10.0.0.7")
        self.assertEqual([address for address, _ in self.dialed], ["2001:db8::7"])
        self.why[0]("refused")
        self.assertEqual(self.dialed[1][0], "10.0.0.7")
        self.connect(endpoint)
        self.names.answer("192.0.2.1")
        self.assertEqual(len(self.dialed), 2)
        why = "the external name leads to 192.0.2.1, which is in no network that the operator allows"
        self.assertEqual(self.failures, [why])

    def test_operators_names(self) -> None:
        """What the operator named may be this host."""
        self.connect(NAMED)
        self.names.answer("127.0.0.1")
        self.assertEqual(self.dialed, [("127.0.0.1", 6.0)])

    def test_no_address(self) -> None:
        """A name without address cannot be connected to."""
        self.connect(EXTERNAL)
        self.names.answer()
        self.assertEqual(self.failures, ["name not found"])

    def test_silence(self) -> None:
        """A resolver that does not answer in time is not waited for, nor listened to afterwards."""
        self.connect(EXTERNAL)
        self.reactor.advance(6)
        self.assertEqual(self.failures, ["connect timed out"])
        self.names.answer("10.0.0.1")
        self.assertEqual((self.failures, self.dialed), (["connect timed out"], []))

    def test_deadline(self) -> None:
        """When the time is over, no further address is tried."""
        self.connect(EXTERNAL)
        self.names.answer("10.0.0.1", "10.0.0.2")
        self.reactor.advance(6)
        self.why[0]("connect timed out")
        self.assertEqual((self.failures, len(self.dialed)), (["connect timed out"], 1))

    def test_many_addresses(self) -> None:
        """Of very many addresses only some are tried."""
        self.connect(EXTERNAL)
        self.names.answer(*(f"10.0.0.{number}" for number in range(1, 51)))
        for _ in range(MAX_ADDRESSES):
            self.why[-1]("connection refused")
        self.assertEqual((self.failures, len(self.dialed)), (["connection refused"], MAX_ADDRESSES))


class OwnAddressTests(SynchronousTestCase):
    """Which addresses are this machine's."""

    def test_own(self) -> None:
        """All addresses of the loopback interface are ours, as is the one that we speak to others from."""
        self.assertTrue(is_own_address("127.0.0.1"))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))
            except OSError:
                return
            self.assertTrue(is_own_address(probe.getsockname()[0]))

    def test_others(self) -> None:
        """An address of somebody else is not, whether or not there is a way to it."""
        self.assertFalse(is_own_address("192.0.2.1"))
        self.assertFalse(is_own_address("2001:db8::1"))
