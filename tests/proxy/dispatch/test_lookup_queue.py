"""Tests for ``ingress.proxy.dispatch.lookup_queue``: requests whose route is dear to find."""

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import NoReturn

from twisted.internet.task import Clock

from ingress.model.exchanges.causes import Cause
from ingress.model.text import expressions
from ingress.model.text.expressions import read_expression
from ingress.model.text.lookup_budget import MAX_MAKING
from ingress.model.upstream.backends import BackendState
from ingress.proxy.dispatch.lookup_queue import FEW, MAX_BEHIND_SECONDS, LookupQueue
from ingress.proxy.dispatch.side_by_side import SideBySideResource
from ingress.routing.match_conditions import Compared, MatchCondition
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from tests.fakes.plain_code import need_plain_code
from tests.fakes.transports import Peer
from tests.proxy.dispatch.test_preparing import Turns
from tests.proxy.dispatch.test_side_by_side import second_resource
from tests.proxy.playing import BACKEND, OK, ONE, OWNER, ProxyCase

HOSTS = ("a.test", "b.test", "c.test", "d.test", "e.test", "f.test")
COUNT = 700
"""More than are made in one lookup."""


class LookupQueueTests(ProxyCase):
    """Hosts of which each has very many expressions."""

    def setUp(self) -> None:
        super().setUp()
        self.publish([route for host in HOSTS for route in routes_of(host, COUNT)])
        self.patch(expressions, "_KEPT", COUNT + COUNT // 2)

    def publish(self, routes: list[Route]) -> None:
        """Have *routes* served, and none of their programs kept."""
        self.stage.resource.publish(RouteTable(routes), {BACKEND: BackendState((ONE,))})
        expressions._programs.clear()

    def test_host_moves(self) -> None:
        """A request that waits while its host comes to another table, or back, is answered by the one that has it by then."""
        host = HOSTS[0]
        states = {BACKEND: BackendState((ONE,))}
        dear, none = RouteTable(routes_of(host, COUNT)), RouteTable(())
        other = second_resource(self)
        for comes, goes, is_beside in (
            (self.stage.resource, other, False),
            (self.stage.resource, other, True),
            (other, self.stage.resource, True),
        ):
            slices = Clock()
            queue = LookupQueue(slices)
            for resource in (comes, goes):
                resource._lookup_queue, resource._budget = queue, queue.budget
            comes.publish(dear, states)
            goes.publish(none, states)
            both = SideBySideResource(self.stage.resource, other)
            self.stage.site.resource = both if is_beside else comes
            expressions._programs.clear()
            client = self.stage.open()
            client.say(self.asking(host, f"{host} {COUNT - 1}b"))
            self.assertEqual(len(queue), 1)
            comes.publish(none, states)
            goes.publish(dear, states)
            both.follow()
            self.stage.site.resource = both
            for _ in range(2 * COUNT):
                slices.advance(1)
            self.assertEqual((len(queue), client.received), (0, b""))
            self.upstream().say(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            self.assert_status(client.take(), 200)

    def asking(self, host: str, version: str = "x") -> bytes:
        """Return a request that is compared with all expressions of *host*."""
        return f"GET / HTTP/1.1\r\nHost: {host}\r\nVersion: {version}\r\n\r\n".encode()

    def have(self, queue: LookupQueue) -> None:
        """Have lookups that are deferred wait in *queue*, whose turns the test takes."""
        self.stage.resource._lookup_queue, self.stage.resource._budget = queue, queue.budget

    def all_asking(self, queue: LookupQueue, hosts: Sequence[str] = HOSTS) -> list[Peer]:
        """Return clients that have asked one of *hosts* each, and wait in *queue* if they are deferred."""
        self.have(queue)
        clients = [self.stage.open() for _ in hosts]
        for client, host in zip(clients, hosts, strict=True):
            client.say(self.asking(host))
        return clients

    def test_different_programs(self) -> None:
        """Requests whose programs cannot be kept all together are answered nevertheless: one after the other has its own made."""
        slices = Clock()
        clients = self.all_asking(LookupQueue(slices))
        slices.advance(0)
        for client in clients:
            self.assert_status(client.take(), 404)

    def test_order(self) -> None:
        """Answers on one connection come in the order of the requests, and a request that waits is held up by none that needs nothing."""
        down = self.stage.open()
        down.say(self.asking("a.test", "a.test 699b"), self.asking("b.test"), self.asking("none.test"))
        self.assert_upstreams(1)
        self.upstream().say(OK)
        self.assertEqual([int(one[:3]) for one in down.take().split(b"HTTP/1.1 ")[1:]], [200, 404, 404])

    def test_one_lookup_a_turn(self) -> None:
        """However many wait, one of them has programs made in a turn; who has left meanwhile has none made."""
        turns = Turns()
        queue = LookupQueue(turns)  # type: ignore[arg-type]
        clients = self.all_asking(queue)
        self.assertEqual(len(queue), len(HOSTS))
        clients[1].reset()
        answered: list[list[int]] = []
        made: list[int] = []
        self.patch(expressions, "_KEPT", 10 * COUNT)
        is_over = False
        while not is_over:
            before = len(expressions._programs)
            is_over = not turns.take()
            made.append(len(expressions._programs) - before)
            answered.append([number for number, client in enumerate(clients) if client.received])
        self.assertLessEqual(max(made), MAX_MAKING // 4096)
        self.assertEqual(
            [one for one, _ in groupby(answered)], [[], [0], [0, 2], [0, 2, 3], [0, 2, 3, 4], [0, 2, 3, 4, 5]]
        )
        self.assertEqual(sum(f"b.test {COUNT - 1}(b+)" == text for text, _ in expressions._programs), 0)
        self.assertEqual(len(queue), 0)

    def test_one_budget(self) -> None:
        """However many ask in one turn, of hosts none of which has too many programs for one lookup, all of them together have no more made than one may."""
        self.patch(expressions, "_KEPT", 10 * COUNT)
        hosts = [f"{number}.test" for number in range(40)]
        self.publish([route for host in hosts for route in routes_of(host, 100)])
        turns = Turns()
        queue = LookupQueue(turns)  # type: ignore[arg-type]
        clients = self.all_asking(queue, hosts)
        made = [len(expressions._programs)]
        self.assertTrue(0 < len(queue) < len(hosts), len(queue))
        is_over = False
        while not is_over:
            is_over = not turns.take()
            made.append(len(expressions._programs) - sum(made))
        self.assertEqual(sum(made), 40 * 100)
        self.assertLessEqual(max(made), MAX_MAKING // 4096)
        for client in clients:
            self.assert_status(client.take(), 404)

    def test_running_is_bounded(self) -> None:
        """Where all programs are kept, too, only some of the dear lookups are made as requests arrive, and then one in a turn."""
        self.publish(routes_of("a.test", COUNT))
        turns = Turns()
        queue = LookupQueue(turns)  # type: ignore[arg-type]
        self.have(queue)
        down = self.stage.open()
        down.say(self.asking("a.test"))
        while turns.take():
            pass
        self.assert_status(down.take(), 404)
        clients = [self.stage.open() for _ in range(40)]
        for client in clients:
            client.say(self.asking("a.test"))
        at_once = sum(bool(client.received) for client in clients)
        self.assertTrue(0 < at_once < 20, at_once)
        answered = [at_once]
        while turns.take():
            answered.append(sum(bool(client.received) for client in clients))
        self.assertEqual(answered[:-1], list(range(at_once, len(clients))))
        self.assertEqual(answered[-1], len(clients))
        # Once nobody waits, requests are answered as they arrive again.
        clients[0].take()
        clients[0].say(self.asking("a.test"))
        self.assert_status(clients[0].take(), 404)

    def test_cheap_lookups_wait_for_nobody(self) -> None:
        """A host of some expressions whose programs are kept is served at once, whoever waits for others."""
        self.publish(
            [*(route for host in HOSTS for route in routes_of(host, COUNT)), *routes_of("few.test", 10)]
        )
        down = self.stage.open()
        down.say(self.asking("few.test"))
        self.assert_status(down.take(), 404)
        turns = Turns()
        clients = self.all_asking(LookupQueue(turns))  # type: ignore[arg-type]
        is_over = False
        while not is_over:
            down.say(self.asking("few.test"))
            self.assert_status(down.take(), 404)
            is_over = not turns.take()
        for client in clients:
            self.assert_status(client.take(), 404)

    def test_hosts_take_turns(self) -> None:
        """A request waits for one of each other host, and not for all that have come before it."""
        turns = Turns()
        hosts = ("a.test", "a.test", "a.test", "b.test", "b.test", "c.test")
        clients = self.all_asking(LookupQueue(turns), hosts)  # type: ignore[arg-type]
        order: list[int] = []
        while turns.take():
            order += [
                number for number, client in enumerate(clients) if client.received and number not in order
            ]
        self.assertEqual(
            [hosts[number] for number in order], ["a.test", "b.test", "c.test", "a.test", "b.test", "a.test"]
        )
        self.assertEqual(order, [0, 3, 5, 1, 4, 2])

    def test_names_below_a_wildcard(self) -> None:
        """Whoever has a wildcard has one turn with all the names below it, of which a client can make up any number."""
        self.publish([route for host in ("*.wide.test", "a.test") for route in routes_of(host, COUNT)])
        turns = Turns()
        hosts = ("1.wide.test", "2.wide.test", "3.wide.test", "a.test", "4.wide.test")
        clients = self.all_asking(LookupQueue(turns), hosts)  # type: ignore[arg-type]
        order: list[str] = []
        while turns.take():
            order += [
                host
                for host, client in zip(hosts, clients, strict=True)
                if client.received and host not in order
            ]
        self.assertEqual(order, ["1.wide.test", "a.test", "2.wide.test", "3.wide.test", "4.wide.test"])

    def test_requests_behind_each_other(self) -> None:
        """Where an answer leads to the next request of its connection at once, that has no part in the turn of the one before."""
        self.publish(routes_of("a.test", COUNT))
        turns = Turns()
        queue = LookupQueue(turns)  # type: ignore[arg-type]
        self.have(queue)
        down = self.stage.open()
        down.say(self.asking("a.test"))
        while turns.take():
            pass
        self.assert_status(down.take(), 404)
        queue.budget.running = 0
        down.say(self.asking("a.test") * 10)
        answers = [0]
        while turns.take():
            answers.append(down.received.count(b"HTTP/1.1 404 "))
        self.assertEqual([after - before for before, after in pairwise(answers)], [1] * 10)

    def test_those_who_left_are_let_go_of(self) -> None:
        """However many come and leave while one waits, few are kept that are over; who is there still is answered."""
        turns = Turns()
        queue = LookupQueue(turns)  # type: ignore[arg-type]
        self.have(queue)
        clients = [self.stage.open()]
        clients[0].say(self.asking("a.test"))
        turns.take()
        most = 0
        for number in range(3 * FEW):
            down = self.stage.open()
            down.say(self.asking(HOSTS[number % 2]))
            if number % FEW:
                down.reset()
            else:
                clients.append(down)
            most = max(most, len(queue))
        self.assertLessEqual(most, FEW + 10)
        while turns.take():
            pass
        for client in clients:
            self.assert_status(client.take(), 404)
        self.assertEqual(len(queue), 0)

    def test_too_long_behind_others(self) -> None:
        """Who has waited for too long behind others is answered 503, and has nothing made; the next one has."""
        slices = Clock()
        self.have(LookupQueue(slices))
        down = self.stage.open()
        down.say(self.asking("a.test"))
        made = len(expressions._programs)
        slices.advance(MAX_BEHIND_SECONDS + 1)
        self.assert_status(down.take(), 503)
        self.assertEqual(len(expressions._programs), made)
        self.assertEqual(self.metrics.records[-1].cause, Cause.UNAVAILABLE)
        down.say(self.asking("a.test"))
        slices.advance(0)
        self.assert_status(down.take(), 404)

    def test_bug(self) -> None:
        """Whoever meets a bug in its lookup is answered 500, and those behind go on."""
        slices = Clock()
        clients = self.all_asking(LookupQueue(slices))
        real = expressions.program_of
        self.patch(expressions, "program_of", broken)
        slices.advance(0)
        self.assertEqual([client.take()[9:12] for client in clients], [b"500"] * len(HOSTS))
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), len(HOSTS))
        self.patch(expressions, "program_of", real)
        down = self.stage.open()
        down.say(self.asking("a.test"))
        slices.advance(0)
        self.assert_status(down.take(), 404)

    def test_bug_of_its_own(self) -> None:
        """Where the queue itself fails all who wait are answered 500, and the next one is served."""
        need_plain_code()
        slices = Clock()
        clients = self.all_asking(LookupQueue(slices))
        real = LookupQueue._is_still_deferred
        self.patch(LookupQueue, "_is_still_deferred", broken)
        slices.advance(0)
        self.assertEqual([client.take()[9:12] for client in clients], [b"500"] * len(HOSTS))
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.patch(LookupQueue, "_is_still_deferred", real)
        clients[0].say(self.asking("a.test"))
        slices.advance(0)
        self.assert_status(clients[0].take(), 404)


def routes_of(host: str, count: int) -> list[Route]:
    """Return *count* routes of *host*, each with an expression of its own that no version but its own is like."""
    return [
        Route(
            host,
            "/",
            Match.PREFIX,
            OWNER,
            BACKEND,
            conditions=(
                MatchCondition(
                    Compared.HEADER,
                    b"version",
                    pattern=read_expression(f"{host.removeprefix('*')} {number}(b+)"),
                ),
            ),
            place=f"{host} {number:04}",
        )
        for number in range(count)
    ]


def broken(*_: object, **__: object) -> NoReturn:
    """Fail as a bug does."""
    raise RuntimeError
