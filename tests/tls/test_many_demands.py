"""What thousands of hosts ask of clients is counted in steps; sessions are bound to nothing that lasts meanwhile."""

from datetime import UTC, datetime
from functools import partial
from itertools import count
from random import Random
from typing import cast

from attrs import evolve
from twisted.internet.interfaces import IReactorTime
from twisted.trial.unittest import SynchronousTestCase

from ingress.identity.certificates import CertificateTable
from ingress.identity.misdirected import ServerNames
from ingress.identity.server_names import PLAIN_HANDSHAKE, HandshakeSettings, HandshakeSettingsTable
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.model.shared_map import SharedMap
from ingress.tls.contexts import ServerContexts
from ingress.tls.generated_certificate import generate_certificate
from tests.fakes.clocks.step_clocks import StepClock
from tests.fakes.counting import calls
from tests.properties import examples

ASKED = ClientAuthentication("Secret shop/people", b"one", b"two", depth=2)
OWN = generate_certificate(datetime.now(UTC))


def table(hosts: int, source: str) -> HandshakeSettingsTable:
    """Return settings by which so many hosts have each an authority of its own."""
    return HandshakeSettingsTable(
        SharedMap(
            {
                f"h{one}.test": HandshakeSettings(
                    client_authentication=evolve(ASKED, source=f"Secret {source}/{one}")
                )
                for one in range(hosts)
            }
        )
    )


class ManyDemandTests(SynchronousTestCase):
    """Contexts whose hosts ask for other certificates of clients."""

    def setUp(self) -> None:
        self.clock = StepClock()
        numbers = count()
        self.contexts = ServerContexts(
            OWN, clock=cast(IReactorTime, self.clock), nonce=lambda size: b"nonce %d" % next(numbers)
        )

    def whose(self, *tables: HandshakeSettingsTable) -> bytes:
        """Return what sessions are bound to where all of these are published at once, the last one counting."""
        contexts = ServerContexts(OWN)
        for one in tables:
            contexts.publish(CertificateTable(), one)
        return contexts._whose

    def publish(self, some: HandshakeSettingsTable) -> int:
        """Return how many calls it takes."""
        return calls(partial(self.contexts.publish, CertificateTable(), some))

    def test_few(self) -> None:
        """Of few it is known at once."""
        self.publish(table(20, "a"))
        self.assertEqual((self.contexts._whose, self.clock.calls), (self.whose(table(20, "a")), []))

    def test_meanwhile(self) -> None:
        """Meanwhile no two moments have the same bytes, and none has those of before or after; in the end they are those of the last table."""
        tables = [table(1000, source) for source in "abc"]
        seen = [self.contexts._whose]
        for one in tables:
            self.publish(one)
            seen.append(self.contexts._whose)
        self.assertEqual(seen[1:], [b"nonce 0", b"nonce 1", b"nonce 2"])
        self.clock.work()
        self.assertEqual(self.contexts._whose, self.whose(*tables))
        self.assertEqual(self.contexts._whose, self.whose(tables[-1]))

    def test_same_anew(self) -> None:
        """Nor where the table is put together anew of the same settings."""
        found = []
        for hosts in (1000, 8000):
            some = table(hosts, "a")
            self.publish(some)
            self.clock.work()
            other = HandshakeSettingsTable(SharedMap(dict(some.by_host)))
            found.append(max(self.publish(other), self.clock.work()))
        self.assertLess(found[1], 2 * found[0])

    def test_certificates(self) -> None:
        """Nor where all hosts have other certificates: contexts of those that are gone are dropped soon, and nobody is shown them."""
        found = []
        for hosts in (1000, 4000):
            self.setUp()
            before, after = self.certificates(hosts, "a"), self.certificates(hosts, "b")
            self.contexts.publish(before)
            kept, gone = after.exact["h7.test"], before.exact["h7.test"]
            for one in (kept, gone):
                self.contexts._context_for(one, PLAIN_HANDSHAKE, ())
            found.append(max(calls(partial(self.contexts.publish, after)), self.clock.work()))
            self.assertEqual([key[0] for key in self.contexts._contexts], [kept])
        self.assertLess(found[1], 2 * found[0])
        self.assertLess(found[0], 6000)

    def certificates(self, hosts: int, generation: str) -> CertificateTable:
        """Return so many hosts with a certificate each."""
        return CertificateTable(
            SharedMap(
                {f"h{one}.test": (evolve(OWN, fingerprint=f"{generation}{one}"),) for one in range(hosts)}
            )
        )

    def test_random_histories(self) -> None:
        """Whatever is published between two steps, sessions are bound to what is asked now, or to what stood for nothing else before."""
        chance = Random(5)
        for _ in range(examples(12)):
            by_host: SharedMap[str, HandshakeSettings] = SharedMap()
            self.setUp()
            seen: set[bytes] = set()
            for _ in range(12):
                if chance.random() < 0.5:
                    hosts = chance.sample(range(200), chance.choice((1, 90, 190)))
                    by_host = by_host.patched({f"h{one}.test": self.some_settings(chance) for one in hosts})
                    self.publish(HandshakeSettingsTable(by_host))
                    whose = self.contexts._whose
                    if self.clock.calls:
                        self.assertNotIn(whose, seen)
                    else:
                        self.assertEqual(whose, self.whose(HandshakeSettingsTable(by_host)))
                    seen.add(whose)
                elif self.clock.calls:
                    self.clock.calls.pop()()
            self.clock.work()
            self.assertEqual(self.contexts._whose, self.whose(HandshakeSettingsTable(by_host)))

    def some_settings(self, chance: Random) -> HandshakeSettings | None:
        """Return what a host may have."""
        asked = chance.choice((None, ASKED, evolve(ASKED, depth=3), evolve(ASKED, depth=4)))
        return None if chance.random() < 0.2 else HandshakeSettings(client_authentication=asked)

    def test_bug(self) -> None:
        """Where that cannot be counted, the tables are in force, sessions are bound to nothing that lasts, and the next publication mends it."""
        for hosts in (3, 1000):
            whole, torn = table(hosts, "a"), table(hosts, "a")
            shown = torn.by_host[f"h{hosts // 2}.test"]
            asked = evolve(ASKED, source=cast(str, None))
            by_host = cast(SharedMap[str, HandshakeSettings], torn.by_host)
            torn = HandshakeSettingsTable(
                by_host.patched({f"h{hosts // 2}.test": evolve(shown, client_authentication=asked)})
            )
            beside = ServerNames(handshake_settings=table(2, "beside"))
            self.contexts.publish(CertificateTable(), table(1, "b"), beside)
            self.contexts.publish(CertificateTable(), torn, beside)
            before = self.contexts._whose
            self.clock.work()
            self.assertEqual(len(self.flushLoggedErrors(AttributeError)), 1)
            self.assertIs(self.contexts._names.handshake_settings, torn)
            self.assertTrue(before.startswith(b"nonce"))
            self.assertTrue(self.contexts._whose.startswith(b"nonce"))
            self.contexts.publish(CertificateTable(), whole, beside)
            self.clock.work()
            contexts = ServerContexts(OWN)
            contexts.publish(CertificateTable(), whole, beside)
            self.assertEqual(self.contexts._whose, contexts._whose)

    def test_steps(self) -> None:
        """However many hosts there are, no step takes longer."""
        found = [max(self.publish(table(hosts, f"of{hosts}")), self.clock.work()) for hosts in (1000, 4000)]
        self.assertLess(found[1], 2 * found[0])
        self.assertLess(found[0], 6000)
