"""Chains of live filters: made once for equal specs, in order, and kept as long as a snapshot has these."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any, ClassVar, cast
from weakref import ref

from attrs import frozen
from twisted.internet.interfaces import IReactorTime
from twisted.trial.unittest import SynchronousTestCase

from ingress.filters import Facts, Filter, Phase, Reply, Services
from ingress.model.upstream.backends import BackendState
from ingress.proxy.exchange.filtering.chain import live_filter
from ingress.proxy.exchange.filtering.chains import Chains
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from ingress.routing.variants import RequestCondition, Said, Variant, WeightedBackend
from tests.fakes.clocks.step_clocks import StepClock
from tests.fakes.counting import calls
from tests.fakes.filter_parts import FakeServices
from tests.properties import examples
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import BACKEND, GET, OK, ONE, OWNER, TWO, Stage

OTHER = BACKEND._replace(name="other")


class Counts(Filter):
    """Says how many requests it has seen, in all."""

    def __init__(self, spec: Counting, services: Services) -> None:
        self.spec = spec
        self._services = services
        self._count = 0

    def on_request(self, facts: Facts) -> Reply | None:
        self._count += 1
        self._services.count("seen")
        self.spec.log.append(self.spec.number)
        return Reply(200, body=b"%d" % self._count) if self.spec.replies else None


class Journal(list[int]):
    """What was asked, in order; all are equal, so that specs are that have one."""

    def __hash__(self) -> int:  # type: ignore[override]
        return 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Journal)


class Torn(Journal):
    """One by which nothing can be counted."""

    def __hash__(self) -> int:  # type: ignore[override]
        raise ZeroDivisionError


@frozen
class Counting:
    """A spec by value."""

    name: ClassVar[str] = "counting"

    number: int
    log: Journal
    phase: Phase = Phase.ACCESS
    replies: bool = False
    is_broken: bool = False

    def describe(self) -> str:
        """Say so."""
        return "counts"

    def make(self, services: Services) -> Filter:
        """Make it, or fail."""
        if self.is_broken:
            raise ZeroDivisionError("cannot be made")
        return Counts(self, services)


def route(*specs: Counting, path: str = "/", **more: object) -> Route:
    """Return a route with these."""
    return Route("shop.test", path, Match.PREFIX, OWNER, BACKEND, filters=specs, **more)  # type: ignore[arg-type]


class Told(str):
    """A text of which is known how long it lives."""


class OddSettings(Filter):
    """Has settings of other types than they are said to have."""

    def __init__(self, **settings: Any) -> None:
        vars(self).update(settings)


class SettingTests(SynchronousTestCase):
    """What a filter says of itself."""

    def test_wrong_types(self) -> None:
        """Settings of other types than ``Filter`` says are refused when the filter is made, by their names."""
        for filter_, why in (
            (OddSettings(holds_body=None), "holds_body of a filter is NoneType, and not"),
            (OddSettings(holds_body=2.5), "holds_body of a filter is float, and not"),
            (OddSettings(asked_methods={b"GET"}), "asked_methods of a filter is set, and not"),
            (OddSettings(asks_unsized="no"), "asks_unsized of a filter is str, and not"),
            (OddSettings(asked_schemes=b"http"), "asked_schemes of a filter is bytes, and not"),
        ):
            error = self.assertRaises(TypeError, live_filter, "odd", filter_)
            self.assertIn(why, str(error))


class ChainTests(FilterCase):
    """What becomes of specs."""

    table: RouteTable

    def publish(self, *hosts: tuple[str, HostRoutes | None]) -> None:
        """Publish the table that comes of the current one by these changes."""
        self.table = self.table.patched(dict(hosts))
        self.stage.resource.publish(self.table, {BACKEND: BackendState((ONE,)), OTHER: BackendState((TWO,))})

    def setUp(self) -> None:
        super().setUp()
        self.table = RouteTable()
        self.log = Journal()
        self.spec_ = Counting(0, self.log, replies=True)

    def body(self, target: bytes = b"/", host: bytes = b"shop.test") -> bytes:
        """Return the answer to a GET."""
        down = self.stage.open()
        down.say(GET.replace(b" / ", b" %b " % target).replace(b"shop.test", host))
        return down.take().partition(b"\r\n\r\n")[2]

    def test_state_survives(self) -> None:
        """A filter lives on in the next snapshot, whose specs are equal, and others."""
        self.publish(("shop.test", HostRoutes((route(self.spec_),))))
        self.assertEqual(self.body(), b"1")
        again = Counting(0, self.log, replies=True)
        self.publish(("shop.test", HostRoutes((route(again), route(again, path="/x")))))
        self.assertEqual((self.body(), self.body(b"/x")), (b"2", b"3"))

    def test_moves(self) -> None:
        """It does also where its spec moves to another host, and into another tuple."""
        self.publish(("shop.test", HostRoutes((route(self.spec_),))))
        self.assertEqual(self.body(), b"1")
        passing = Counting(1, self.log)
        moved = HostRoutes((route(passing, Counting(0, self.log, replies=True)),))
        self.publish(("shop.test", None), ("new.test", moved))
        self.assertEqual(self.body(host=b"new.test"), b"2")

    def test_dropped(self) -> None:
        """A filter that no snapshot has any more is forgotten, and begins anew when it comes back."""
        self.publish(("shop.test", HostRoutes((route(self.spec_),))))
        self.assertEqual((self.body(), self.body()), (b"1", b"2"))
        self.publish(("shop.test", HostRoutes((route(),))))
        self.publish(("shop.test", HostRoutes((route(self.spec_),))))
        self.assertEqual(self.body(), b"1")

    def table_of(self, count: int, first: int) -> RouteTable:
        """Return a table of so many hosts, each with a spec of its own, of numbers from *first* on."""
        hosts: dict[str, HostRoutes | None] = {
            f"{one}.test": HostRoutes((route(Counting(first + one, self.log, replies=True)),))
            for one in range(count)
        }
        return self.table.patched(hosts)

    def test_many_specs(self) -> None:
        """What thousands of hosts have of their own is counted behind the publication, and forgotten when no host has it any more."""
        publish = partial(self.stage.resource.publish, backends={BACKEND: BackendState((ONE,))})
        table, other = self.table_of(1000, 0), self.table_of(500, 0)
        self.assertLess(calls(partial(publish, table)), 8000)
        self.assertEqual((self.body(host=b"7.test"), self.body(host=b"7.test")), (b"1", b"2"))
        self.assertEqual(self.body(host=b"700.test"), b"1")
        for one in (other, table, other):
            publish(one)
        self.stage.reactor.advance(0)
        publish(table)
        self.stage.reactor.advance(0)
        self.assertEqual((self.body(host=b"7.test"), self.body(host=b"700.test")), (b"3", b"1"))

    def test_many_hosts(self) -> None:
        """Specs that many hosts share are hashed a few times when all of these hosts change, and not for each host."""
        self.publish(("shop.test", HostRoutes((route(),))))
        hashed: list[Counting] = []

        def hash_of(spec: Counting) -> int:
            hashed.append(spec)
            return spec.number

        self.patch(Counting, "__hash__", hash_of)
        for number in range(3):
            one = HostRoutes((route(),), (Counting(number, self.log),))
            self.publish(*((f"{number}.test", one) for number in range(200)))
        self.assertLess(len(hashed), 60)

    def test_order(self) -> None:
        """Filters are asked by phase; within one those of everything, of the route, of the backend, as they were given."""
        stage = self.stage = Stage(everything=(Counting(1, self.log), Counting(9, self.log, Phase.EDITS)))
        own = (Counting(0, self.log, Phase.REDIRECT), Counting(2, self.log), Counting(3, self.log))
        backend = WeightedBackend(OTHER, 1, (Counting(4, self.log), Counting(8, self.log, Phase.LIMITS)))
        self.connector = stage.connector
        self.publish(("shop.test", HostRoutes((route(*own, weighted=(backend,)),))))
        stage.open().say(GET)
        self.assertEqual(list(self.log), [0, 8, 1, 2, 3, 4, 9])
        self.assertEqual(self.connector.asked, [TWO])

    def test_everything(self) -> None:
        """What the operator puts before everything stands also before what no host takes."""
        stage = self.stage = Stage(everything=(self.spec_,))
        down = stage.open()
        down.say(GET.replace(b"shop", b"none"))
        self.assertEqual(down.take().partition(b"\r\n\r\n")[2], b"1")

    def test_variant(self) -> None:
        """A variant has its own filters and backend; what does not meet its conditions has those of the route."""
        said = RequestCondition(Said.HEADER, b"x-canary", frozenset((b"always",)))
        variant = Variant((said,), (WeightedBackend(OTHER),), (Counting(5, self.log),))
        self.publish(("shop.test", HostRoutes((route(Counting(6, self.log), variants=(variant,)),))))
        self.get(fields=((b"x-canary", b"always"),))
        self.get()
        self.assertEqual((list(self.log), self.connector.asked), ([5, 6], [TWO, ONE]))

    def test_weights(self) -> None:
        """Requests are shared among weighted backends, without any filter, too."""
        weighted = (WeightedBackend(BACKEND, 1), WeightedBackend(OTHER, 1))
        self.publish(("shop.test", HostRoutes((route(weighted=weighted),))))
        for _ in range(40):
            client = self.get()
            self.upstream(self.connector.asked.index(self.connector.asked[-1])).say(OK)
            client.leave()
        self.assertEqual(set(self.connector.asked), {ONE, TWO})

    def test_not_made(self) -> None:
        """A spec whose filter cannot be made costs its requests a 500 that names it, and never lets one pass."""
        self.publish(
            ("shop.test", HostRoutes((route(Counting(0, self.log, is_broken=True)), route(path="/x"))))
        )
        for _ in range(2):
            self.assertEqual(self.get().heard().status, 500)
        errors = self.flushLoggedErrors(ZeroDivisionError)
        self.assertGreaterEqual(len(errors), 1)
        self.flushLoggedErrors()
        self.assertEqual([record.filter for record in self.metrics.records], ["counting", "counting"])
        self.assertEqual(self.failures("counting"), 2)
        self.get(target=b"/x")
        self.assert_upstreams(1)

    def test_counts(self) -> None:
        """What a filter counts is a series under its name."""
        self.publish(("shop.test", HostRoutes((route(self.spec_),))))
        self.body()
        self.body()
        self.assertEqual(
            self.metrics.value("ingress_filter_events_total", filter="counting", event="seen"), 2
        )


class ChainStepTests(SynchronousTestCase):
    """How a table takes the place of another, whose hosts have filters of their own."""

    def setUp(self) -> None:
        self.log = Journal()
        self.clock = StepClock()
        self.chains = Chains(cast(IReactorTime, self.clock), lambda name: FakeServices())

    def table(self, count: int) -> RouteTable:
        """Return a table of so many hosts, each with a spec of its own."""
        hosts = {f"{one}.test": HostRoutes((route(Counting(one, self.log)),)) for one in range(count)}
        return RouteTable().patched(hosts)

    def filter_of(self, number: int) -> Filter:
        """Return the live filter of a spec, asked for by a tuple of its own."""
        ((live, _),) = self.chains.chain((Counting(number, self.log),)).requests
        return live.filter

    def longest(self, count: int) -> int:
        """Return how many calls the longest step takes that makes 0, *count* and 0 hosts of each other."""
        found = 0
        none, some = RouteTable(), self.table(count)
        for before, after in ((none, some), (some, none)):
            found = max(found, calls(partial(self.chains.replace, before, after)), self.clock.work())
        return found

    def test_longest_step(self) -> None:
        """The longest step does not depend on how many hosts there are."""
        few = self.longest(1000)
        self.assertLess(few, 8000)
        self.assertLess(self.longest(8000), 2 * few)

    def test_same_anew(self) -> None:
        """Nor does it where a table was put together anew of the same hosts."""
        found = []
        for count in (1000, 8000):
            some = self.table(count)
            other = RouteTable().patched(dict(some.by_host()))
            self.chains.replace(RouteTable(), some)
            self.clock.work()
            found.append(max(calls(partial(self.chains.replace, some, other)), self.clock.work()))
        self.assertLess(found[1], 2 * found[0])

    def test_let_go(self) -> None:
        """A table that nobody else has is let go little by little, with all that its hosts have."""
        hosts = {f"{one}.test": HostRoutes((route(path=Told(f"/{one}")),)) for one in range(3000)}
        tables = [RouteTable(), RouteTable().patched(hosts)]
        hosts.clear()
        lives = [ref(one.path) for one in tables[1].unordered()]
        self.chains.replace(*tables)
        self.clock.work()
        self.chains.replace(*tables[::-1])
        tables.clear()
        most, left = 0, len(lives)
        while self.clock.calls:
            self.clock.calls.pop()()
            now = sum(one() is not None for one in lives)
            most, left = max(most, left - now), now
        self.assertEqual(left, 0)
        self.assertLess(most, 300)

    def test_meanwhile(self) -> None:
        """A filter that is made before it is counted is the one of all equal specs; one that a table has again is not forgotten."""
        none, some, few = RouteTable(), self.table(1000), self.table(500)
        self.chains.replace(none, some)
        made = self.filter_of(700)
        self.assertIs(self.filter_of(700), made)
        self.chains.replace(some, few)
        self.chains.replace(few, some)
        self.clock.work()
        self.assertIs(self.filter_of(700), made)
        self.chains.replace(some, few)
        self.clock.work()
        self.assertIsNot(self.filter_of(700), made)

    def test_unused(self) -> None:
        """One that is made meanwhile, and that no table has in the end, is forgotten."""
        none, some = RouteTable(), self.table(1000)
        self.chains.replace(none, some)
        self.chains.replace(some, none)
        made = self.filter_of(7)
        self.clock.work()
        self.assertIsNot(self.filter_of(7), made)

    def test_bug(self) -> None:
        """Where a spec cannot be counted that is told once, the table is served, and no filter is forgotten, or made twice, from then on."""
        for count in (30, 1000):
            self.chains = Chains(cast(IReactorTime, self.clock), lambda name: FakeServices())
            none, torn, some = RouteTable(), self.table(count - 1), self.table(count)
            torn = torn.patched({"torn.test": HostRoutes((route(Counting(count, Torn())),))})
            self.chains.replace(none, torn)
            made = self.filter_of(7)
            self.clock.work()
            self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
            for before, after in ((torn, some), (some, none), (none, some)):
                self.chains.replace(before, after)
                self.clock.work()
                self.assertIs(self.filter_of(7), made)

    def test_random_histories(self) -> None:
        """However tables follow each other, and whatever is asked between two steps, a filter lives as long as its spec is in one."""
        chance = Random(3)
        for _ in range(examples(12)):
            self.chains = Chains(cast(IReactorTime, self.clock), lambda name: FakeServices())
            tables = [RouteTable(), RouteTable()]
            known: dict[int, Filter] = {}
            for _ in range(40):
                match chance.randrange(3):
                    case 0:
                        place = chance.randrange(2)
                        before = tables[place]
                        hosts = chance.sample(range(400), chance.choice((1, 50, 390)))
                        tables[place] = before.patched(
                            {f"{one}.test": self.some_host(chance) for one in hosts}
                        )
                        self.chains.replace(before, tables[place])
                    case 1:
                        if self.clock.calls:
                            self.clock.calls.pop()()
                    case _:
                        in_use = self.numbers(tables)
                        known = {number: made for number, made in known.items() if number in in_use}
                        for number in chance.sample(sorted(in_use), min(len(in_use), 20)):
                            made = known.setdefault(number, self.filter_of(number))
                            self.assertIs(self.filter_of(number), made)
                in_use = self.numbers(tables)
                known = {number: made for number, made in known.items() if number in in_use}
            self.clock.work()
            self.assertLessEqual({cast(Counting, one).number for one in self.chains._live}, in_use)
            self.assertEqual({cast(Counting, one).number for one in self.chains._spec_uses}, in_use)
            for number, made in known.items():
                self.assertIs(self.filter_of(number), made)

    def some_host(self, chance: Random) -> HostRoutes | None:
        """Return a host with some specs, or none."""
        specs = [Counting(chance.randrange(300), self.log) for _ in range(chance.randrange(3))]
        return HostRoutes((route(*specs),)) if chance.random() < 0.8 else None

    def numbers(self, tables: list[RouteTable]) -> set[int]:
        """Return the numbers of the specs in *tables*."""
        return {
            cast(Counting, spec).number
            for table in tables
            for one in table.unordered()
            for spec in one.filters
        }


class ChainTestsHttp2(ChainTests):
    """The same over HTTP/2."""

    is_http2 = True


class KeptChainTests(ChainTests):
    """The same by tables that count how often each tuple of specs is used, as those of workers do."""

    def setUp(self) -> None:
        super().setUp()
        self.table.keep_uses()

    def test_hosts_are_not_looked_at(self) -> None:
        """However many hosts are others, none of them is looked at when a table takes the place of another."""
        specs = (self.spec_,)

        def table(path: str) -> RouteTable:
            some = RouteTable()
            some.keep_uses()
            one = HostRoutes((route(path=path),), specs)
            return some.patched({f"{number}.test": one for number in range(300)})

        tables = [table("/a"), table("/b")]
        self.stage.resource.publish(table("/c"), {BACKEND: BackendState((ONE,))})
        self.patch(RouteTable, "replaced_since", None)
        for one in tables:
            self.stage.resource.publish(one, {BACKEND: BackendState((ONE,))})
        self.assertEqual((self.body(b"/x", b"7.test"), self.body(b"/x", b"8.test")), (b"1", b"2"))
