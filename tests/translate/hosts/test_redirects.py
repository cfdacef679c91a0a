"""Which hosts of wide routes redirect and insist, where very many are only in ``spec.tls``."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.host_facts import EVERY_HOST, CertifiedHosts
from ingress.model.stepwise import finished
from ingress.translate.hosts.redirects import AT_ONCE, RedirectRule
from ingress.translate.hosts.tls import HostTls
from ingress.translate.options import TranslateOptions
from tests.fakes.counting import calls, longest_step


def decision(insists: bool | None) -> HostTls:
    """A host that redirects, unless that is None, and may insist."""
    return HostTls(is_claimed=True, redirects=insists is not None, insists=bool(insists))


def rule(hosts: Mapping[str, bool | None]) -> RedirectRule:
    """Return the rule to which these hosts without rules were told."""
    made = RedirectRule(TranslateOptions())
    for host, insists in hosts.items():
        for _ in made.settle(host, decision(insists), has_rule=False):
            pass
    return made


class CollectingTests(SynchronousTestCase):
    """``RedirectRule.collecting``."""

    def test_steps(self) -> None:
        """However many hosts there are, a step collects few of them, and then nothing is left to be looked for."""
        for name in ("h{}.shop.test", "h{}.n{}.test", "*.h{}.shop.test"):
            made = rule({name.format(number, number): True for number in range(20 * AT_ONCE)})
            self.assertLess(longest_step(made.collecting("")), 6 * AT_ONCE)
            self.assertLess(calls(lambda found=made: found.facts("")), 30)  # type: ignore[misc]

    def test_as_at_once(self) -> None:
        """What is collected in steps is what is found where nobody has collected anything."""
        random = Random(1)
        for _ in range(30):
            hosts = {
                random.choice(("*.", "a.", "b.", "c.")) + random.choice(("x.test", "y.test")): random.choice(
                    (True, False, None)
                )
                for _ in range(5)
            }
            stepwise, at_once = rule(hosts), rule(hosts)
            for host in ("", "*.x.test", "*.y.test", "a.x.test"):
                finished(stepwise.collecting(host))
                self.assertEqual(stepwise.facts(host), at_once.facts(host))
                self.assertEqual(stepwise.transport_security(host), at_once.transport_security(host))

    def test_excepted(self) -> None:
        """A host below a wildcard that insists, and does not itself, is excepted; the wildcard's own route insists nowhere else than on the rest."""
        made = rule({"*.x.test": True, "a.x.test": False, "b.y.test": True})
        everywhere = made.transport_security("")
        below = made.transport_security("*.x.test")
        assert everywhere is not None and below is not None
        self.assertEqual(
            (everywhere.hosts, below.hosts),
            (
                CertifiedHosts(
                    frozenset((b"b.y.test",)), frozenset((b".x.test",)), frozenset((b"a.x.test",))
                ),
                CertifiedHosts(frozenset(), frozenset((b".x.test",)), frozenset((b"a.x.test",))),
            ),
        )
        self.assertIs(made.facts("*.x.test").certified, EVERY_HOST)
