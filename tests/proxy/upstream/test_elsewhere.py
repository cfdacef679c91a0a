"""Endpoints that hints leave to other zones stand in for those near by, and get nothing before."""

from collections import Counter
from unittest.mock import patch

from ingress.model.requests.templates import read_template
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.balancing import Balancing
from ingress.proxy.contract.transport import REFUSED
from ingress.routing.balancing.health import FAILURES
from tests.proxy.playing import BACKEND, FOUR, GET, ONE, THREE, TWO
from tests.proxy.upstream.test_rotation import BalancedCase

FIVE = Endpoint("10.0.0.5", 8000)


class Watched(Endpoint):
    """An endpoint that counts how often one is compared with another."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Watched.compared += 1
        return super().__eq__(other)

    __hash__ = Endpoint.__hash__


class ElsewhereTests(BalancedCase):
    """Two endpoints near by, and three elsewhere."""

    def setUp(self) -> None:
        super().setUp()
        self.publish()

    def publish(self, balancing: Balancing | None = None) -> None:
        """Publish all of them."""
        self.stage.publish((ONE, TWO), elsewhere=(THREE, FOUR, FIVE), balancing=balancing)

    def asked(self, requests: int = 30) -> Counter[Endpoint]:
        """Return how often each endpoint is connected to, or tried to, during so many requests, all of which are answered."""
        before = len(self.connector.asked)
        for _ in range(requests):
            self.assert_status(self.ask(), 200)
            # Each makes connections of its own.
            self.stage.pool.close()
        return Counter(self.connector.asked[before:])

    def refuse(self, *endpoints: Endpoint) -> None:
        """Have just these refuse connections."""
        self.connector.unreachable = dict.fromkeys(endpoints, REFUSED)

    def test_all_is_well(self) -> None:
        """As long as those near by do, nobody else is asked."""
        self.assertEqual(self.asked(), {ONE: 15, TWO: 15})
        self.assertEqual(self.states(), (2, 0, 0))

    def test_one_is_left(self) -> None:
        """One that is left near by has all requests."""
        self.refuse(ONE)
        self.assertEqual(set(self.asked()), {ONE, TWO})
        self.assertEqual(set(self.asked()), {TWO})
        self.assertEqual(self.states(), (1, 0, 1))

    def test_stand_in(self) -> None:
        """When all near by are ejected, the others share the requests evenly, nobody notices, and metrics say who is out."""
        self.refuse(ONE, TWO)
        first = self.asked()
        self.assertEqual((first[ONE], first[TWO]), (3, 3))
        self.assertEqual(self.asked(), {THREE: 10, FOUR: 10, FIVE: 10})
        self.assertEqual(self.states(), (0, 0, 2))

    def test_return(self) -> None:
        """Those near by have the requests again as soon as they are back, after ten seconds or a change of endpoints."""
        self.refuse(ONE, TWO)
        self.asked()
        self.refuse()
        self.reactor.pass_time(11)
        self.assertEqual(set(self.asked()), {ONE, TWO})
        self.assertEqual(self.states(), (2, 0, 0))
        self.refuse(ONE, TWO)
        self.asked()
        self.stage.publish((ONE, TWO, FOUR), elsewhere=(THREE, FIVE))
        self.assertEqual(set(self.asked()), {FOUR})

    def test_none_near_by_is_left_for_a_request(self) -> None:
        """A request that all near by have failed is answered by the others in turn, before anybody is ejected."""
        self.refuse(ONE, TWO)
        self.assertEqual(self.asked(1), {ONE: 1, TWO: 1, FOUR: 1})
        self.assertEqual(self.asked(1), {ONE: 1, TWO: 1, FIVE: 1})
        self.assertEqual(self.states(), (2, 0, 0))

    def test_all_fail(self) -> None:
        """When all fail, near by and elsewhere, each request has its 502, and the first that is back is found."""
        self.refuse(ONE, TWO, THREE, FOUR, FIVE)
        for _ in range(30):
            self.assert_status(self.ask(), 502)
        self.refuse(ONE, TWO, FOUR, FIVE)
        self.reactor.pass_time(61)
        statuses = [self.ask()[9:12] for _ in range(30)]
        self.assertEqual(set(statuses[-10:]), {b"200"})

    def test_ejected_elsewhere(self) -> None:
        """One elsewhere that fails is ejected as well."""
        self.refuse(ONE, TWO, THREE)
        self.asked()
        self.assertEqual(set(self.asked()), {FOUR, FIVE})

    def test_full(self) -> None:
        """When those near by have all the connections they may, the others get requests."""
        self.stage.pool.most = 1
        for _ in range(5):
            self.stage.open().say(GET)
        self.assertEqual(set(self.connector.asked), {ONE, TWO, THREE, FOUR, FIVE})
        down = self.stage.open()
        down.say(GET)
        self.assert_status(down.received, 503)

    def test_by_hash(self) -> None:
        """What a hash decides is decided among those that stand in, and as before once those near by are back."""
        self.publish(Balancing(hash_by=read_template("$request_uri")))
        (before,) = self.asked()
        self.refuse(ONE, TWO)
        self.asked()
        (meanwhile,) = self.asked()
        self.assertIn(meanwhile, (THREE, FOUR, FIVE))
        self.refuse()
        self.reactor.pass_time(11)
        self.assertEqual(set(self.asked()), {before})

    def test_stale(self) -> None:
        """A kept connection to one elsewhere is replaced by a new one to the same when it turns out to be closed."""
        self.stage.publish((ONE,), elsewhere=(FOUR,))
        self.refuse(ONE)
        self.assert_status(self.ask(), 200)
        down = self.stage.open()
        down.say(GET)
        (kept,) = self.asked_but()
        kept.finish()
        self.assertEqual(self.connector.asked, [ONE, FOUR, ONE, FOUR])
        self.answer_all()
        self.assert_status(down.take(), 200)

    def test_many_ejected(self) -> None:
        """To pass over many that are ejected takes one look at each, and none at all others for it."""
        many = tuple(Watched(f"10.1.0.{number}", 8000) for number in range(100))
        rotation = self.stage.resource.rotation_of(BACKEND)
        assert rotation is not None
        rotation.assign((ONE,), many)
        for endpoint in many * FAILURES:
            rotation.unreachable(endpoint)
        with patch.object(Watched, "compared", 0):
            self.assertIs(rotation.another({ONE}, b""), many[0])
            self.assertLessEqual(Watched.compared, len(many))

    def test_nobody_elsewhere_any_more(self) -> None:
        """Once all endpoints are near by, the last one stays as ever."""
        self.refuse(ONE, TWO)
        self.asked()
        self.stage.publish((ONE, TWO))
        for _ in range(10):
            self.assert_status(self.ask(), 502)
        rotation = self.stage.resource.rotation_of(BACKEND)
        assert rotation is not None
        self.assertEqual(len(rotation.endpoints), 1)
