"""Tests for ``ingress.tls.demands``."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.requests.client_authentication import ClientAuthentication, VerifyClient
from ingress.model.stepwise import finished
from ingress.tls import demands
from ingress.tls.demands import Demands
from tests.tls.test_contexts import certificate

ASKED = ClientAuthentication("Secret shop/people", b"one", b"two", depth=2)
OTHERS = (
    evolve(ASKED, source="Secret shop/others"),
    evolve(ASKED, ca_pem=b"onet", crl_pem=b"wo"),
    evolve(ASKED, crl_pem=b""),
    evolve(ASKED, mode=VerifyClient.OPTIONAL),
    evolve(ASKED, depth=1),
)
_hosts = st.dictionaries(
    st.sampled_from(("", "a.com", "b.com", "*.b.com")), st.sampled_from((ASKED, *OTHERS))
)


def digest(*asked: tuple[str, ClientAuthentication], table: str = "") -> bytes:
    """The digest of what is asked from the beginning."""
    found = Demands(table)
    finished(found.changing([[(host, None, one) for host, one in asked]]))
    return found.digest(None)


class DemandsTests(SynchronousTestCase):
    """What stands for all that is asked of clients."""

    def test_differences(self) -> None:
        """Whatever is different makes other bytes: host, each field, table, default certificate, and whether Gateways ask."""
        beside = Demands()
        finished(beside.changing([[("a.com", None, ASKED)]], is_beside=True))
        seen = {
            digest(),
            digest(table="web"),
            Demands().digest(certificate("default")),
            digest(("a.com", ASKED)),
            digest(("b.com", ASKED)),
            digest(("a.com", ASKED), ("b.com", ASKED)),
            beside.digest(None),
            *(digest(("a.com", other)) for other in OTHERS),
        }
        self.assertEqual(len(seen), 7 + len(OTHERS))
        self.assertEqual({len(one) for one in seen}, {32})

    def test_lasting(self) -> None:
        """Whichever process computes it, and of whatever version, these are the same bytes."""
        self.assertEqual(digest(("a.com", ASKED)).hex()[:32], "7dfb00a89eb9bf4846b0bc35cdf12368")

    def test_many_hosts(self) -> None:
        """What many hosts ask for is read once, however long it is."""
        read: list[int] = []

        def counting(part: bytes) -> Any:
            read.append(len(part))
            return sha256(part)

        self.patch(demands, "sha256", counting)
        asked = evolve(ASKED, ca_pem=b"pem" * 10_000)
        finished(Demands().changing([[(f"h{number}.test", None, asked) for number in range(100)]]))
        self.assertLess(sum(read), 2 * len(asked.ca_pem))

    @given(st.lists(_hosts, max_size=6))
    def test_way(self, history: list[dict[str, ClientAuthentication]]) -> None:
        """Only what is asked in the end counts, whatever it was before and in which order it came."""
        found, before = Demands(), dict[str, ClientAuthentication]()
        for now in history:
            finished(
                found.changing([[(host, before.get(host), now.get(host)) for host in {**before, **now}]])
            )
            before = now
        self.assertEqual(found.digest(None), digest(*sorted(before.items(), key=lambda pair: pair[0])))
