"""Tests for ``ingress.annotations.external_auth.cache``: what is remembered of verdicts, and for how long."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from sys import getsizeof
from typing import Any, cast

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.external_auth.cache import (
    FORGOTTEN_AT_ONCE,
    LONGEST_SECONDS,
    LOOK_SECONDS,
    LOOKED_AT_ONCE,
    MAX_VALUE_BYTES,
    NO_DURATIONS,
    USUAL_DURATIONS,
    Durations,
    VerdictCache,
    parse_durations,
    seconds_for,
)
from ingress.annotations.external_auth.check import AuthCaching, ExternalAuth
from ingress.filters import ScheduledCall, Scope, SubAnswer, SubRequest
from ingress.model.requests.templates import read_template
from tests.fakes.filter_parts import FakeClock, FakeFacts, FakeServices

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class DurationTests(SynchronousTestCase):
    """``auth-cache-duration``."""

    def test_read(self) -> None:
        """Statuses and a time, several of these; a time alone is for 200, 301 and 302, and the first of a status counts."""
        for text, seconds in (
            ("", USUAL_DURATIONS.seconds),
            (" , ", USUAL_DURATIONS.seconds),
            ("200 202 401 5m", USUAL_DURATIONS.seconds),
            ("10s", ((200, 10.0), (301, 10.0), (302, 10.0))),
            ("200 1h30m,401 30", ((200, 5400.0), (401, 30.0))),
            ("200 1w2d", ((200, 777600.0),)),
            ("200 999999999y", ((200, LONGEST_SECONDS),)),
        ):
            self.assertEqual(parse_durations(text).seconds, seconds, text)
        self.assertEqual(parse_durations("200 1s, 200 2s").of(200), 1.0)
        self.assertEqual(USUAL_DURATIONS.of(204), 0.0)

    def test_refused(self) -> None:
        """What is no status and no time is refused."""
        for text in (
            "5x",
            "200 5m 401",
            "99 5m",
            "any 5m",
            "600 5m",
            "-5m",
            "5m\0",
            "²m",
            "1" * 999 + "s",
            "1s," * 99,
        ):
            self.assertRaises(ValueRefused, parse_durations, text)
        # A number alone is seconds, as in nginx, and a status alone is none, as in ingress-nginx.
        self.assertEqual(parse_durations("30").of(301), 30.0)
        for text in ("200", "5m, 401"):
            self.assertRaisesRegex(ValueRefused, "is a status without a time", parse_durations, text)

    def test_what_the_service_says(self) -> None:
        """What the service says of its answer comes first, and what is for one visitor alone is never remembered."""
        usual = Durations(((200, 60.0),))
        for fields, seconds in (
            ((), 60.0),
            (((b"Cache-Control", b"max-age=5"),), 5.0),
            (
                (
                    (b"cache-control", b"public"),
                    (b"Cache-Control", b's-maxage="7"'),
                ),
                7.0,
            ),
            (((b"Cache-Control", b"max-age=0"),), 0.0),
            # What caches may that many share counts for us, wherever it stands (RFC 9111 section 5.2.2.10).
            (((b"Cache-Control", b"max-age=600, s-maxage=0"),), 0.0),
            (((b"Cache-Control", b"max-age=600"), (b"Cache-Control", b"s-maxage=7")), 7.0),
            (((b"Cache-Control", b"s-maxage=7, max-age=600"),), 7.0),
            # What is no number is none of another's, nor as if nothing was said (RFC 9111 section 4.2.1).
            (((b"Cache-Control", b"max-age=600, s-maxage=-1"),), 0.0),
            (((b"Cache-Control", b"max-age=soon"),), 0.0),
            (((b"Cache-Control", b'max-age=""'), (b"Expires", b"Thu, 01 Jan 2026 00:00:08 GMT")), 0.0),
            (((b"Cache-Control", b"No-Store"),), 0.0),
            (((b"Cache-Control", b"private, max-age=5"),), 0.0),
            (((b"Cache-Control", b"no-cache"),), 0.0),
            (((b"X-Accel-Expires", b"9"), (b"Cache-Control", b"max-age=5")), 9.0),
            (((b"Expires", b"Thu, 01 Jan 2026 00:00:08 GMT"),), 8.0),
            (((b"Expires", b"Thu, 01 Jan 1970 00:00:00 GMT"),), 0.0),
            (((b"Expires", b"Thu, 01 Jan 2026 00:00:08 -0000"),), 0.0),
            # Whatever the time is here.
            (
                (
                    (b"Expires", b"Sat, 01 Jan 2028 00:00:09 GMT"),
                    (b"Date", b"Sat, 01 Jan 2028 00:00:00 GMT"),
                ),
                9.0,
            ),
            (((b"Expires", b"Thu, 01 Jan 2026 00:00:08 GMT"), (b"Date", b"now")), 8.0),
            (((b"Expires", b"0"),), 0.0),
            (((b"Expires", b"\xff\xfe"),), 0.0),
            (((b"Set-Cookie", b"a=b"),), 0.0),
            (((b"Set-Cookie", b"a=b"), (b"Cache-Control", b"max-age=5")), 0.0),
            (((b"Vary", b"Accept-Encoding"),), 60.0),
            (((b"Vary", b"Accept-Encoding, Cookie"),), 0.0),
            (((b"Vary", b"*"),), 0.0),
            (((b"Vary", b"Accept-Encoding"), (b"vary", b"Cookie")), 0.0),
        ):
            self.assertEqual(seconds_for(SubAnswer(200, fields), usual, NOW), seconds, fields)
        self.assertEqual(seconds_for(SubAnswer(401), usual, NOW), 0.0)
        self.assertEqual(seconds_for(SubAnswer(200), NO_DURATIONS, NOW), 0.0)


class CountedEntries(OrderedDict[tuple[object, bytes], tuple[float, int, str]]):
    """Entries of which it is counted how many are gone through."""

    seen = 0

    def __iter__(self) -> Iterator[tuple[object, bytes]]:
        for each in super().__iter__():
            self.seen += 1
            yield each


class CacheTests(SynchronousTestCase):
    """What one process remembers."""

    def test_time(self) -> None:
        """What is remembered is over at its time, and takes no room after that."""
        cache: VerdictCache[str] = VerdictCache()
        cache.put("a", b"key", 10.0, "yes", 1)
        self.assertEqual(cache.get("a", b"key", 9.9), "yes")
        self.assertEqual(cache.get("a", b"key", 10.0), None)
        self.assertEqual((len(cache), cache.size), (0, 0))

    def test_over(self) -> None:
        """What is over goes by itself, few in one step, and with the last entry the last look; what is not over stays."""
        sizes: list[int] = []

        class Steps(FakeClock):
            def call_later(self, seconds: float, call: Callable[[], object]) -> ScheduledCall:
                sizes.append(len(cache))
                return super().call_later(seconds, call)

        clock = Steps()
        cache: VerdictCache[str] = VerdictCache(clock=clock)
        for number in range(3 * LOOKED_AT_ONCE):
            cache.put("a", b"%d" % number, 1000.0 if number == LOOKED_AT_ONCE else 10.0, "yes", 1)
        cache.put("b", b"key", 10.0, "yes", 1)
        sizes[0] = len(cache)
        clock.clock.advance(LOOK_SECONDS)
        self.assertEqual((len(cache), len(sizes)), (1, 5))
        self.assertTrue(all(a - b <= LOOKED_AT_ONCE for a, b in pairwise(sizes)), sizes)
        clock.clock.advance(LOOK_SECONDS)
        self.assertEqual(cache.get("a", b"%d" % LOOKED_AT_ONCE, clock.seconds()), "yes")
        for _ in range(20):
            clock.clock.advance(LOOK_SECONDS)
        self.assertEqual((len(cache), cache.size), (0, 0))
        cache.put("a", b"key", clock.clock.seconds() + 1, "yes", 1)
        clock.clock.advance(LOOK_SECONDS)
        self.assertEqual(len(cache), 0)
        self.assertEqual(clock.clock.getDelayedCalls(), [])

    def test_owners(self) -> None:
        """Nobody gets what is remembered for another, and what is forgotten takes no room."""
        cache: VerdictCache[str] = VerdictCache()
        cache.put("a", b"key", 10.0, "yes", 1)
        self.assertEqual(cache.get("b", b"key", 0.0), None)
        cache.put("b", b"key", 10.0, "no", 1)
        cache.forget("a")
        self.assertEqual((cache.get("a", b"key", 0.0), cache.get("b", b"key", 0.0)), (None, "no"))
        cache.forget("b")
        self.assertEqual((len(cache), cache.size), (0, 0))

    def test_forgets_at_the_cost_of_its_own(self) -> None:
        """Nothing of what others have remembered is looked at to forget what one has."""
        cache: VerdictCache[str] = VerdictCache()
        entries = cache._entries = CountedEntries()
        for number in range(1000):
            cache.put(str(number), b"key", 10.0, "yes", 1)
        cache.forget("500")
        cache.forget("another")
        self.assertEqual((len(cache), entries.seen), (999, 0))

    def test_forgets_much_by_and_by(self) -> None:
        """Of very much some is forgotten at once, and the rest with what is remembered later; nothing else is lost for it."""
        cache: VerdictCache[str] = VerdictCache()
        cache.put("b", b"key", 10.0, "kept", 1)
        for number in range(3000):
            cache.put("a", b"%d" % number, 10.0, "yes", 1)
        cache.forget("a")
        self.assertEqual(len(cache), 3001 - FORGOTTEN_AT_ONCE)
        cache.forget("a")
        for number in range(2000):
            cache.put("b", b"%d" % number, 10.0, "yes", 1)
        self.assertEqual((len(cache), cache.get("b", b"key", 0.0)), (2001, "kept"))
        cache.forget("b")
        cache.forget("b")
        cache.forget("b")
        self.assertEqual((len(cache), cache.size), (0, 0))

    def test_forgotten_and_pushed_out(self) -> None:
        """What is to be forgotten yet may be pushed out before."""
        cache: VerdictCache[str] = VerdictCache(2000)
        for number in range(2000):
            cache.put("a", b"%d" % number, 10.0, "yes", 1)
        cache.forget("a")
        for number in range(4000):
            cache.put("b", b"%d" % number, 10.0, "yes", 1)
        self.assertEqual((len(cache), cache.get("b", b"2000", 0.0)), (2000, "yes"))
        cache.forget("c")

    def test_replaced(self) -> None:
        """What is remembered anew takes the place of what was."""
        cache: VerdictCache[str] = VerdictCache()
        cache.put("a", b"key", 10.0, "yes", 100)
        cache.put("a", b"key", 10.0, "no", 1)
        self.assertEqual((cache.get("a", b"key", 0.0), len(cache)), ("no", 1))
        self.assertLess(cache.size, 1000)

    def test_bounds(self) -> None:
        """Number and bytes are bounded: what was used least lately goes, and what is too large is never taken."""
        cache: VerdictCache[int] = VerdictCache(most=3, most_bytes=100_000)
        for number in range(3):
            cache.put("a", b"%d" % number, 10.0, number, 1)
        self.assertEqual(cache.get("a", b"0", 0.0), 0)
        cache.put("a", b"3", 10.0, 3, 1)
        self.assertEqual([cache.get("a", b"%d" % number, 0.0) for number in range(4)], [0, None, 2, 3])
        cache.put("a", b"large", 10.0, 4, MAX_VALUE_BYTES + 1)
        self.assertEqual(cache.get("a", b"large", 0.0), None)
        few: VerdictCache[int] = VerdictCache(most_bytes=40_000)
        for number in range(100):
            few.put("a", b"%d" % number, 10.0, number, 10_000)
        self.assertLessEqual(few.size, 40_000)
        self.assertEqual(few.get("a", b"99", 0.0), 99)

    def test_many_fields(self) -> None:
        """Of a verdict with many short fields, which a tenant's service may say, what these take is counted, and not their texts alone."""
        fields = tuple((b"X-%d" % number, b"%d" % number) for number in range(1000, 1090))

        async def answer(request: SubRequest) -> SubAnswer:
            return SubAnswer(200, fields)

        services = FakeServices(answer=answer)
        caching = AuthCaching(read_template("$request_uri"), USUAL_DURATIONS, "a.test/")
        asks = ExternalAuth(read_template("http://auth.test/"), caching=caching).make(services)
        self.assertIsNone(
            self.successResultOf(Deferred.fromCoroutine(cast(Any, asks.on_request(FakeFacts()))))
        )
        cache: VerdictCache[Any] = services.state(Scope.WORKER, "verdicts", VerdictCache)
        self.assertEqual(len(cache), 1)
        self.assertGreater(cache.size, sum(getsizeof(one) + sum(map(getsizeof, one)) for one in fields))
        services.clock.clock.pump([LOOK_SECONDS] * 7)
        self.assertEqual(len(cache), 0)

    def test_long_keys(self) -> None:
        """A long key is remembered by its hash, and is another one where one byte is."""
        cache: VerdictCache[str] = VerdictCache()
        cache.put("a", b"x" * 100_000, 10.0, "yes", 1)
        self.assertEqual(cache.get("a", b"x" * 100_000, 0.0), "yes")
        self.assertEqual(cache.get("a", b"x" * 99_999 + b"y", 0.0), None)
