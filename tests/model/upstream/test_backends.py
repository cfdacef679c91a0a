"""Backends and their endpoints."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.text.packed_texts import MOST_PACKED
from ingress.model.upstream.backends import BackendState, Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings

ONE, OTHER = Endpoint("10.0.0.1", 80), Endpoint("10.0.0.2", 80)
OURS, THEIRS = LinkSettings(None, False, True), LinkSettings(None, False, True)


class BackendStateTests(SynchronousTestCase):
    """States of backends."""

    def check(self, *endpoints: Endpoint) -> None:
        """Check that a state of *endpoints* has just these, in their order, and so has one that is made of it."""
        state = BackendState(endpoints, "reason")
        self.assertEqual(state.endpoints, endpoints)
        for endpoint in state.endpoints:
            self.assertIsInstance(endpoint, Endpoint)
        self.assertEqual(evolve(state, reason="").endpoints, endpoints)

    def test_endpoints(self) -> None:
        """A state has the endpoints that it was made with, however alike they are."""
        self.check()
        self.check(ONE)
        self.check(OTHER, ONE)
        self.check(ONE, OTHER._replace(port=81))
        self.check(ONE._replace(link_settings=OURS), OTHER._replace(link_settings=OURS))
        self.check(ONE, OTHER._replace(link_settings=OURS))
        self.check(ONE._replace(address="one,other"))
        self.check(ONE._replace(address=""), OTHER)

    def test_many(self) -> None:
        """Those of a backend with very many are not made anew whenever they are asked for: that would hold up everybody else."""
        few, many = (
            tuple(Endpoint(f"10.0.{number >> 8}.{number & 255}", 80) for number in range(count))
            for count in (MOST_PACKED - 1, MOST_PACKED)
        )
        self.check(*few)
        self.check(*many)
        self.assertIs(BackendState(many).endpoints, many)

    def test_equality(self) -> None:
        """States are equal whose endpoints are, whether or not settings that are equal are one object."""
        same = BackendState((ONE._replace(link_settings=OURS), OTHER._replace(link_settings=OURS)))
        equal = BackendState((ONE._replace(link_settings=OURS), OTHER._replace(link_settings=THEIRS)))
        self.assertEqual(same, equal)
        self.assertNotEqual(same, BackendState((ONE, OTHER)))
        self.assertNotEqual(BackendState((ONE, OTHER)), BackendState((OTHER, ONE)))
