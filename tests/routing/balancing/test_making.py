"""Tests for ``ingress.routing.balancing.making``."""

from random import Random

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.requests.templates import read_template
from ingress.model.upstream.balancing import Algorithm, Balancing
from ingress.routing.balancing.balancer import Balancer, RoundRobin
from ingress.routing.balancing.consistent_hash import ConsistentHash
from ingress.routing.balancing.ewma import Ewma
from ingress.routing.balancing.least_requests import LeastRequests
from ingress.routing.balancing.making import make_balancer
from ingress.routing.balancing.slow_start import SlowStart
from tests.routing.balancing.test_balancer import endpoints

BY_HOST = Balancing(Algorithm.EWMA, hash_by=read_template("$host"))


def make(balancing: Balancing, slow_start_seconds: float = 0.0) -> Balancer:
    """A balancer over three endpoints."""
    return make_balancer(balancing, endpoints(1, 2, 3), Clock().seconds, Random(1).random, slow_start_seconds)


class MakeBalancerTests(SynchronousTestCase):
    """What is asked for is what is made."""

    def test_algorithms(self) -> None:
        """Each algorithm has its class; a key comes before all of them."""
        made = {algorithm: type(make(Balancing(algorithm))) for algorithm in Algorithm}
        self.assertEqual(
            made,
            {
                Algorithm.ROUND_ROBIN: RoundRobin,
                Algorithm.LEAST_REQUESTS: LeastRequests,
                Algorithm.EWMA: Ewma,
            },
        )
        self.assertIsInstance(make(BY_HOST), ConsistentHash)

    def test_slow_start(self) -> None:
        """A slow start is put around every algorithm but hashing."""
        for algorithm in Algorithm:
            self.assertIsInstance(make(Balancing(algorithm), 30.0), SlowStart)
        self.assertIsInstance(make(BY_HOST, 30.0), ConsistentHash)

    def test_contract(self) -> None:
        """Every balancer picks each of its endpoints, none that is excluded, and tells when none is left."""
        kinds = [Balancing(algorithm) for algorithm in Algorithm] + [BY_HOST]
        for balancer in [make(kind, seconds) for kind in kinds for seconds in (0.0, 30.0)]:
            some = balancer.endpoints
            self.assertEqual(some, endpoints(1, 2, 3))
            keys = [b"%d" % number for number in range(100)]
            self.assertEqual({balancer.pick(key=key) for key in keys}, set(some), balancer)
            self.assertEqual({balancer.pick({some[1]}, key) for key in keys}, {some[0], some[2]}, balancer)
            self.assertIsNone(balancer.pick(some))
            balancer.endpoints = some[:1]
            self.assertEqual({balancer.pick(key=key) for key in keys}, {some[0]}, balancer)
            balancer.endpoints = ()
            self.assertIsNone(balancer.pick())
