"""What is told of endpoints when somebody looks."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.observability.endpoint_states import Ejection, EndpointStage, PoolRow, RotationRow, Row
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.balancing import Algorithm, Balancing
from ingress.proxy.contract.transport import REFUSED
from ingress.proxy.upstream.standing import standing
from ingress.routing.balancing.balancer import RoundRobin
from ingress.routing.balancing.ewma import Ewma
from ingress.routing.balancing.health import FIRST_SECONDS, MISSES, Health, Liveness
from ingress.routing.balancing.slow_start import SlowStart
from tests.proxy.playing import BACKEND, GET, OK, ONE, TWO, ProxyCase

WEB = str(BACKEND)


class StandingTests(ProxyCase):
    """``standing``, of a proxy that serves."""

    def rows(self) -> list[Row]:
        """Return what is told now."""
        stage = self.stage
        found = standing(stage.resource.rotations(), stage.pool, stage.reactor.seconds())
        return [row for row in found if row is not None]

    def ask(self) -> None:
        """Ask for something, and get an answer."""
        down = self.stage.open()
        down.say(GET)
        for peer in self.connector.peers:
            if peer.take() and not peer.closed:
                peer.say(OK)
        down.finish()

    def test_nobody_asked(self) -> None:
        """Of endpoints to which nobody was sent there is nothing to say."""
        self.assertEqual(self.rows(), [])

    def test_connections(self) -> None:
        """Each endpoint with connections has its number of them, and of the requests under way."""
        downs = [self.stage.open() for _ in range(3)]
        for down in downs:
            down.say(GET)
        self.upstream(0).say(OK)
        self.assertEqual(self.rows(), [PoolRow(str(ONE), 3, 2)])

    def test_being_made(self) -> None:
        """Who waits for a connection that is being made is under way; the connection is none yet."""
        self.connector.is_slow = True
        self.stage.open().say(GET)
        self.assertEqual(self.rows(), [PoolRow(str(ONE), 0, 1)])

    def test_ejected(self) -> None:
        """One that cannot be connected to is ejected, for the seconds that are left."""
        self.stage.publish((ONE, TWO))
        self.connector.unreachable[ONE] = REFUSED
        for _ in range(6):
            self.ask()
        [row] = [row for row in self.rows() if isinstance(row, RotationRow)]
        self.assertEqual(row[:3], (WEB, str(ONE), EndpointStage.EJECTED))
        self.assertEqual((row.seconds, row.ejection), (FIRST_SECONDS, Ejection.UNREACHABLE))
        self.stage.reactor.advance(4)
        [row] = [row for row in self.rows() if isinstance(row, RotationRow)]
        self.assertEqual(row.seconds, FIRST_SECONDS - 4)

    def test_latency(self) -> None:
        """Where requests are shared by how long endpoints take, that is told."""
        self.stage.publish((ONE,), balancing=Balancing(Algorithm.EWMA))
        self.ask()
        [row] = [row for row in self.rows() if isinstance(row, RotationRow)]
        self.assertEqual((row.endpoint, row.stage), (str(ONE), EndpointStage.IN_ROTATION))
        self.assertIsNotNone(row.latency)


class PartsTests(SynchronousTestCase):
    """What balancers and health say of endpoints."""

    def setUp(self) -> None:
        self.now = 100.0
        self.one, self.two = Endpoint("10.0.0.1", 80), Endpoint("10.0.0.2", 80)

    def seconds(self) -> float:
        return self.now

    def test_slow_start(self) -> None:
        """A slow start ends so many seconds after the endpoint came; what the balancer inside knows is told, too."""
        inner = Ewma((self.one,), self.seconds, lambda: 0.0)
        balancer = SlowStart(inner, 60.0, self.seconds, lambda: 0.0)
        self.assertEqual(dict(balancer.starts()), {})
        self.assertIsNone(balancer.latency(self.one))
        balancer.endpoints = (self.one, self.two)
        balancer.ended(self.one, 0.5, False)
        self.assertEqual(dict(balancer.starts()), {self.two: 160.0})
        self.assertEqual(balancer.latency(self.one), 0.5)

    def test_others(self) -> None:
        """Other balancers measure nothing and have no slow start."""
        balancer = RoundRobin((self.one,))
        self.assertEqual((balancer.latency(self.one), dict(balancer.starts())), (None, {}))

    def test_silent(self) -> None:
        """One that never answers is silent until something comes of it: ejected first, then on trial."""
        health, liveness, both = Health(), Liveness(), (self.one, self.two)
        for _ in range(MISSES):
            liveness.miss(self.now)
            health.silent(self.one, both, self.now, liveness)
        self.assertEqual(
            (health.back_at(self.one), health.back_at(self.two)), (self.now + FIRST_SECONDS, None)
        )
        self.assertEqual((health.is_silent(self.one), health.is_on_trial(self.one)), (True, False))
        health.returning(self.now + FIRST_SECONDS)
        self.assertEqual((health.back_at(self.one), health.is_on_trial(self.one)), (None, True))
