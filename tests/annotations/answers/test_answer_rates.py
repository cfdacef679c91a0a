"""How fast answers are sent: from annotation to bytes in time."""

import gc
from datetime import UTC, datetime

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.answers import answer_rates
from ingress.annotations.answers.answer_rates import (
    ANSWER_RATES,
    AnswerRate,
    AnswerRateSettings,
    parse_kilobytes,
)
from ingress.annotations.contract.values import ValueRefused
from ingress.translate.options import TranslateOptions
from ingress.translate.translate import translate
from tests.fakes.specs import SpecOf
from tests.operator_settings import operator_settings
from tests.proxy.exchange.filtering.test_filter_bodies import Loud
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import ONE, ProxyCase
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress
from tests.workers.sent import sent

KILO = 1024


class ParsingTests(SynchronousTestCase):
    """Sizes."""

    def test_sizes(self) -> None:
        """A bare number is kilobytes, as in ingress-nginx."""
        for text, octets in (
            ("10", 10 * KILO),
            ("0", 0),
            (" 512k", 512 * KILO),
            ("2M", 2 * KILO**2),
            ("1g", KILO**3),
        ):
            self.assertEqual(parse_kilobytes(text), octets)

    def test_refused(self) -> None:
        """Nothing else."""
        for text in ("", "-1", "10.5", "1e9", "10kb", "k", "9" * 10, "1" * 262_144, "٣", "1\n2", "$rate"):
            with self.assertRaises(ValueRefused, msg=text[:20]):
                parse_kilobytes(text)


class TranslationTests(SynchronousTestCase):
    """From object to filter."""

    def test_settings(self) -> None:
        """An Ingress may ask for another rate than the operator's, or for none; what comes before goes with it."""
        for operators, written, expected in (
            (AnswerRateSettings(), {}, ()),
            (AnswerRateSettings(), {"limit-rate-after": "5"}, ()),
            (
                AnswerRateSettings(),
                {"limit-rate": "10", "limit-rate-after": "5m"},
                (AnswerRate(10 * KILO, 5 * KILO**2),),
            ),
            (AnswerRateSettings(7), {}, (AnswerRate(7),)),
            (AnswerRateSettings(7, 8), {"limit-rate": "1"}, (AnswerRate(KILO, 8),)),
            (AnswerRateSettings(7), {"limit-rate": "0"}, ()),
            (AnswerRateSettings(), {"limit-rate": "-1"}, ()),
        ):
            options = TranslateOptions(operators=operator_settings((ANSWER_RATES, operators)))
            found = translate(state_of([ingress("a", "/", **written)]), options, datetime.now(UTC))
            read = sent(found)
            for one in (found, read):
                (route,) = one.table.routes
                self.assertEqual(route.filters, expected, written)


class PaceTests(FilterCase):
    """Bodies in time, over HTTP/1.1."""

    BODY = b"0123456789abcdef" * KILO * 3  # 48 KiB, which is three slices

    def ask(self, spec: AnswerRate, *outer: SpecOf) -> None:
        """Have an answer come at once, at the pace of *spec*."""
        self.stage.publish((ONE,), filters=(*outer, spec))
        self.asking = self.get()
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(self.BODY) + self.BODY)

    def came(self) -> int:
        """Return how much of the body came."""
        heard = self.asking.heard()
        self.assertEqual(self.BODY[: len(heard.body)], heard.body)
        return len(heard.body)

    def test_rate(self) -> None:
        """The first second's bytes come at once; then as many by the second, to a slice of 16 KiB.  The length is told as it came."""
        self.ask(AnswerRate(16 * KILO))
        for second in range(3):
            self.assertGreaterEqual(self.came(), 16 * KILO * (second + 1))
            self.assertLessEqual(self.came(), 16 * KILO * (second + 2))
            self.assertEqual(self.metrics.ended, [] if second < 2 else self.metrics.ended[-1:])
            self.reactor.pass_time(1)
        self.assert_ended(200)
        self.assertEqual(self.asking.heard().all(b"content-length"), [b"%d" % len(self.BODY)])

    def test_after(self) -> None:
        """What comes before the rate holds comes at once; a slice may be ahead of its time, and is waited for."""
        self.ask(AnswerRate(KILO, after=15 * KILO))
        for seconds, came in ((0, 32), (15, 32), (2, 48)):
            self.reactor.pass_time(seconds)
            self.assertEqual(self.came(), came * KILO)
        self.reactor.pass_time(14)
        self.assert_ended()
        self.reactor.pass_time(2)
        self.assert_ended(200)

    def test_small(self) -> None:
        """What is within a second's bytes is sent as without a rate, with its length."""
        self.ask(AnswerRate(64 * KILO))
        heard = self.asking.heard()
        self.assertEqual((heard.is_whole, heard.all(b"content-length")), (True, [b"49152"]))

    def test_endpoint_waits(self) -> None:
        """An endpoint that has more to say is not read meanwhile, and its deadline does not run."""
        self.stage.publish((ONE,), filters=(AnswerRate(KILO),))
        self.asking = self.get()
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"#" * 31 * KILO)
        self.upstream().post(b"#" * KILO)
        for seconds, came in ((1, 16), (13, 16), (2, 31), (70, 32)):
            self.reactor.pass_time(seconds)
            self.assertEqual(self.asking.heard().body.count(b"#"), came * KILO, seconds)
        self.asking.leave()

    def test_client_that_leaves(self) -> None:
        """A client that leaves amid the body ends it, and nothing is kept of it once the next look is due."""
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        self.ask(AnswerRate(16 * KILO))
        self.assertEqual(self.paces(), 1)
        self.asking.leave()
        self.reactor.pass_time(10)
        self.assertEqual(self.paces(), 0)
        self.assert_ended(200)

    @staticmethod
    def paces() -> int:
        """Return how many there are in memory."""
        return sum(isinstance(one, answer_rates._Pace) for one in gc.get_objects())

    def test_beside_others(self) -> None:
        """Another stage behind or before it has its part of the body at the same pace."""
        loud = Loud(answers=True)
        self.ask(AnswerRate(16 * KILO), SpecOf(loud))
        self.reactor.pass_time(10)
        self.assertEqual(self.asking.heard().body, self.BODY.upper() + b"!")
        self.assertEqual(sum(map(len, loud.stages[0].fed)), len(self.BODY))

    def test_routes_that_change(self) -> None:
        """An answer under way keeps its pace when its route goes."""
        self.ask(AnswerRate(16 * KILO))
        self.stage.publish((ONE,), host="other.test")
        self.assertLess(self.came(), len(self.BODY))
        self.reactor.pass_time(5)
        self.assertTrue(self.asking.heard().is_whole)


class PaceOverHttp2Tests(PaceTests):
    """The same over HTTP/2."""

    is_http2 = True


class SpliceTests(ProxyCase):
    """Bodies that the kernel would move."""

    on_epoll = True

    def test_large_plain_body(self) -> None:
        """A large body between plain connections is at its pace, too."""
        self.stage.publish((ONE,), filters=(AnswerRate(32 * KILO),))
        client = self.stage.open()
        client.say(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n" + b"#" * 64 * KILO)
        self.assertLess(client.received.count(b"#"), 64 * KILO)
        self.reactor.pass_time(3)
        self.assertEqual(client.received.count(b"#"), 64 * KILO)
        client.reset()
