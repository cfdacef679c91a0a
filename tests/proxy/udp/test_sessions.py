"""Sessions of UDP in memory: where datagrams go, when a session is over, and what it leaves behind."""

from __future__ import annotations

import errno
from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall

from ingress.model.serving.limits import Limits
from ingress.model.upstream.backends import BackendState, Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.proxy.udp.port import MOST_DATAGRAMS
from ingress.proxy.udp.session import MOST_ANSWERS, MOST_KEPT
from ingress.proxy.udp.sessions import AT_ONCE, LEAVING_SECONDS, MAX_KEPT, MOST_FINDING
from ingress.routing.streams import StreamTable
from ingress.routing.table import RouteTable
from tests.fakes.datagrams import CLIENT, error_of
from tests.proxy.playing import ONE, OWNER, THREE, TWO
from tests.proxy.udp.udp_case import DNS, REFUSED, REST, UdpCase


class SessionTests(UdpCase):
    """One session."""

    def test_one_answer(self) -> None:
        """A question and its answer are a session, which has one line and nothing left; the next question is another."""
        self.say(b"who?")
        self.assertEqual(self.at().sent, [b"who?"])
        self.assertEqual(self.metrics.value("ingress_stream_connections", sort="udp"), 1)
        self.reactor.pass_time(2)
        self.answer(b"nobody")
        self.assertEqual(self.answers, [(b"nobody", CLIENT)])
        (record,) = self.kept.records
        self.assertEqual(
            (
                record.method,
                record.target,
                record.client,
                record.status,
                record.bytes_received,
                record.bytes_sent,
            ),
            (b"UDP", b":53", b"192.0.2.1", 200, 4, 6),
        )
        self.assertEqual(
            (record.owner, record.backend, record.reason, record.cause), (OWNER.key, DNS, "", None)
        )
        self.assertEqual([(one.endpoint, one.outcome) for one in record.attempts], [(ONE, "200")])
        self.assertEqual((record.seconds, record.attempts[0].ended), (2.0, 2.0))
        self.assertEqual(self.at().fileno(), -1)
        self.say(b"who?")
        self.assertEqual(self.went_to, [ONE.address, TWO.address])
        for direction, count in (("received", 1), ("sent", 1)):
            found = self.metrics.value("ingress_udp_datagrams_total", direction=direction)
            self.assertEqual(found, count)
        self.assertEqual(self.metrics.value("ingress_stream_bytes_total", sort="udp", direction="sent"), 6)

    def test_as_many_answers(self) -> None:
        """As many answers are awaited as are due for all datagrams of the client; they may come in any order."""
        self.limit(stream_responses=2)
        self.say(b"1")
        self.say(b"2")
        self.assertEqual((self.at().sent, self.went_to), ([b"1", b"2"], [ONE.address]))
        self.answer(b"a", b"b", b"c")
        self.assertEqual((len(self.answers), self.ended), (3, []))
        self.say(b"3")
        self.answer(b"d", b"e")
        self.assertEqual(self.ended, [])
        self.answer(b"f")
        self.assertEqual((len(self.answers), self.ended), (6, [(200, "")]))

    def test_no_answer_awaited(self) -> None:
        """Where no answer is due a session is over as soon as its datagram was sent."""
        self.limit(stream_responses=0)
        self.say(b"log line")
        self.assertEqual((self.at().sent, self.ended, self.answers), ([b"log line"], [(200, "")], []))
        self.say(b"another")
        self.assertEqual((len(self.sockets.opened), self.sockets.open_count), (2, 0))

    def test_not_awaited_any_more(self) -> None:
        """That no answer is due any more is true of sessions that there are; what their clients send is sent once."""
        self.limit(stream_responses=100)
        self.say(b"1")
        self.answer(b"a")
        self.limit(stream_responses=0)
        self.say(b"2")
        self.assertEqual(
            (self.at().sent, self.ended, len(self.sockets.opened)), ([b"1", b"2"], [(200, "")], 1)
        )

    def test_each_client_has_its_own(self) -> None:
        """Clients, by address and port, have sessions and sockets of their own, and get the answers that are theirs."""
        others = [("192.0.2.1", 4001), ("192.0.2.2", 4000)]
        for number, client in enumerate((CLIENT, *others)):
            self.say(b"%d" % number, client)
        self.assertEqual([sock.sent for *_, sock in self.sockets.opened], [[b"0"], [b"1"], [b"2"]])
        self.answer(b"for 1", number=1)
        self.answer(b"for 0", number=0)
        self.assertEqual(self.answers, [(b"for 1", others[0]), (b"for 0", CLIENT)])

    def test_empty_and_large(self) -> None:
        """Datagrams of no byte and of as many as there can be go both ways."""
        self.limit(stream_responses=2)
        self.say(b"")
        self.say(b"x" * 65_507)
        self.answer(b"", b"y" * 65_507)
        self.assertEqual([len(one) for one in self.at().sent], [0, 65_507])
        self.assertEqual([len(one) for one, _ in self.answers], [0, 65_507])

    def test_idle(self) -> None:
        """A session in which nothing moves for --stream-timeout is over: 504 where no answer came, as nginx has 502."""
        self.limit(stream_responses=10)
        self.say()
        other = self.stranger()
        self.say(client=other)
        self.answer(b"a", number=1)
        self.reactor.pass_time(REST - 10)
        self.assertEqual(self.ended, [])
        third = self.stranger()
        self.say(client=third)
        self.reactor.pass_time(11)
        self.assertEqual(sorted(self.ended), [(200, ""), (504, "no answer came")])
        self.say(client=third)
        self.reactor.pass_time(REST - 10)
        self.answer(b"late", number=2)
        self.reactor.pass_time(REST - 10)
        self.assertEqual(len(self.ended), 2)
        self.reactor.pass_time(11)
        self.assertEqual(self.ended[2:], [(200, "")])

    def test_shorter(self) -> None:
        """A shorter timeout holds for sessions that there are, at the next look."""
        self.say()
        self.limit(stream_rest_seconds=5.0)
        self.sessions.allow(1000)
        self.reactor.pass_time(3)
        self.assertEqual(self.ended, [])
        self.reactor.pass_time(3)
        self.assertEqual(self.ended, [(504, "no answer came")])

    def test_kernel_is_full(self) -> None:
        """What the kernel does not take, or refuses as it is, is dropped and counted; the session goes on."""
        self.limit(stream_responses=10)
        self.say(b"1")
        for number, cause in (
            (errno.EAGAIN, "full"),
            (errno.EMSGSIZE, "unsendable"),
            (errno.EPERM, "unsendable"),
        ):
            before = self.dropped(cause)
            self.at().refusing = error_of(number)
            self.say(b"2")
            self.assertEqual(self.dropped(cause), before + 1)
            self.port_socket.refusing = error_of(number)
            self.answer(b"a")
            self.assertEqual(self.dropped(cause), before + 2)
        self.say(b"3")
        self.assertEqual((self.at().sent, self.ended, len(self.sockets.opened)), ([b"1", b"3"], [], 1))

    def test_bug(self) -> None:
        """A bug costs the session that meets it."""
        self.say()
        self.sockets.descriptors[self.at().fileno()].failed(None)  # type: ignore[arg-type]
        self.assertEqual(self.ended, [(502, "a bug of the proxy")])


class EndpointTests(UdpCase):
    """Endpoints that are not there, leave, or have a name."""

    limits = Limits(stream_responses=100)

    def test_refused(self) -> None:
        """What an endpoint refuses goes to another one, all of it and in order, as long as no answer has come."""
        self.say(b"1")
        self.say(b"2")
        self.answer(REFUSED)
        self.assertEqual(self.went_to, [ONE.address, TWO.address])
        self.assertEqual((self.at().sent, self.at(0).fileno()), ([b"1", b"2"], -1))
        self.answer(b"a")
        self.assertEqual((self.answers, self.ended), ([(b"a", CLIENT)], []))
        self.reactor.pass_time(REST + 2)
        (record,) = self.kept.records
        self.assertEqual(
            [(one.endpoint, one.outcome) for one in record.attempts],
            [(ONE, "no connection could be made"), (TWO, "200")],
        )
        self.assertEqual(self.metrics.value("ingress_attempts_repeated_total", reason="unreachable"), 1)
        self.assertEqual(self.metrics.value("ingress_upstream_failures_total"), 1)

    def test_refused_when_sending(self) -> None:
        """An endpoint whose refusal is told with the next datagram loses neither this one nor those before."""
        self.say(b"1")
        self.at().refusing = REFUSED
        self.say(b"2")
        self.assertEqual((self.went_to, self.at().sent), ([ONE.address, TWO.address], [b"1", b"2"]))

    def test_refused_by_all(self) -> None:
        """Where no endpoint is there the session is over, with 502; three are tried, as in ingress-nginx."""
        four = Endpoint("10.0.0.4", 8000)
        for endpoints, tried in (((ONE,), 1), ((ONE, TWO), 2), ((ONE, TWO, THREE, four), 3)):
            self.lead(*endpoints)
            self.sockets.opened.clear()
            self.say()
            while not self.kept.records:
                self.answer(REFUSED)
            self.assertEqual((len(self.sockets.opened), self.ended), (tried, [(502, "Connection refused")]))
            self.kept.records.clear()

    def test_no_way(self) -> None:
        """An address that there is no way to is as one that refuses; an error of our own is not the endpoint's."""
        self.sockets.failing = {ONE.address: errno.ENETUNREACH}
        self.say(b"1")
        self.assertEqual((self.went_to, self.at().sent), ([TWO.address], [b"1"]))
        self.sockets.failing = dict.fromkeys((ONE.address, TWO.address), errno.EHOSTUNREACH)
        failed = self.metrics.value("ingress_upstream_failures_total")
        self.say(client=self.stranger())
        self.assertEqual(self.ended, [(502, "No route to host")])
        self.assertEqual(self.metrics.value("ingress_upstream_failures_total"), failed + 2)

    def test_refused_after_an_answer(self) -> None:
        """An endpoint that answered and is gone ends the session; what the client says next begins another one, at another endpoint."""
        self.say(b"1")
        self.answer(b"a")
        self.answer(REFUSED)
        self.assertEqual(self.ended, [(502, "Connection refused")])
        self.say(b"2")
        self.answer(b"b")
        self.at().refusing = REFUSED
        self.say(b"3")
        self.assertEqual(
            (len(self.ended), [one.sent for *_, one in self.sockets.opened]), (2, [[b"1"], [b"2"], [b"3"]])
        )

    def test_ejected(self) -> None:
        """An endpoint that refuses again and again is left out for a while, and sessions at it move with their next datagram."""
        self.say(b"1")
        self.answer(b"a")
        self.assertEqual(self.went_to, [ONE.address])
        for _ in range(6):
            self.say(client=self.stranger())
            if self.went_to[-1] == ONE.address:
                self.answer(REFUSED)
        self.assertEqual(self.metrics.value("ingress_endpoint_ejections_total"), 1)
        self.say(b"2")
        self.assertEqual(
            (self.ended, self.at().sent, self.went_to[-1]),
            ([(200, "the endpoint has left")], [b"2"], TWO.address),
        )

    def test_stand_in(self) -> None:
        """A session at an endpoint elsewhere stays there when those near by are back; it moves when its own has left."""
        self.stand_in()
        self.say(b"1")
        self.answer(REFUSED)
        self.answer(b"a")
        for _ in range(2):
            self.say(client=self.stranger())
            self.answer(REFUSED)
        self.say(b"2")
        self.reactor.pass_time(11)
        self.say(client=self.stranger())
        self.assertEqual(self.went_to, [ONE.address, TWO.address] * 3 + [ONE.address])
        self.say(b"3")
        self.assertEqual((self.at(1).sent, self.ended), ([b"1", b"2", b"3"], []))
        self.lead(ONE, THREE)
        self.say(b"4")
        self.assertEqual(self.ended, [(200, "the endpoint has left")])

    def stand_in(self) -> None:
        """Have the port lead to one endpoint near by, and one elsewhere."""
        backends = {DNS: BackendState((ONE,), elsewhere=(TWO,))}
        self.stage.resource.publish(RouteTable(), backends, StreamTable((self.route,)))

    def test_too_large_on_the_way(self) -> None:
        """That a router had no room for a datagram is said of it alone: the endpoint is there, and the session goes on."""
        self.say(b"x" * 9000)
        self.answer(error_of(errno.EMSGSIZE), b"a")
        self.say(b"2")
        self.answer(error_of(errno.EMSGSIZE), b"b")
        self.assertEqual(([one for one, _ in self.answers], self.ended), ([b"a", b"b"], []))
        self.assertEqual((self.went_to, self.dropped("unsendable")), ([ONE.address], 2))
        self.assertEqual(self.metrics.value("ingress_upstream_failures_total"), 0)

    def test_withdrawn(self) -> None:
        """A session whose endpoint has left the Service moves with its next datagram; one whose endpoint stays does not."""
        self.say(b"1")
        self.lead(TWO, THREE)
        self.assertEqual(self.ended, [])
        self.say(b"2")
        self.assertEqual(self.ended, [(503, "the endpoint has left")])
        self.assertEqual((self.at().sent, len(self.sockets.opened)), ([b"2"], 2))
        moved = self.went_to[-1]
        self.lead(*(one for one in (ONE, TWO, THREE) if one.address == moved or one is ONE))
        self.say(b"3")
        self.assertEqual((self.at().sent, len(self.sockets.opened)), ([b"2", b"3"], 2))
        self.lead()
        self.say(b"4")
        self.assertEqual(
            self.ended[1:], [(503, "the endpoint has left"), (503, "the backend has no endpoint")]
        )

    def test_no_endpoint(self) -> None:
        """Without an endpoint datagrams are dropped, with a line that says so; so they are where the port leads nowhere."""
        self.lead(reason="none is ready")
        self.say(b"12345")
        self.assertEqual(self.ended, [(503, "the backend has no endpoint")])
        (record,) = self.kept.records
        self.assertEqual((record.bytes_received, record.backend, record.attempts), (5, DNS, ()))
        self.stage.resource.publish(RouteTable(), {}, StreamTable())
        self.say()
        self.assertEqual((len(self.ended), self.dropped("no-endpoint"), self.dropped("unserved")), (1, 1, 1))
        self.assertEqual(self.sockets.opened, [])

    def test_name(self) -> None:
        """An endpoint with a name is found first; what comes meanwhile goes to the first address that there is a way to."""
        external = Endpoint("dns.test", 53, LinkSettings(is_external=True))
        self.lead(external)
        self.say(b"1")
        self.say(b"2")
        ((endpoint, dial, failed),) = self.finding
        self.assertEqual((endpoint, self.sockets.opened), (external, []))
        for _ in range(MOST_KEPT):
            self.say(b"3")
        self.assertEqual(self.dropped("waiting"), 2)
        dial("10.0.0.77", 1.0, failed)
        self.assertEqual(
            (self.went_to, self.at().sent), (["10.0.0.77"], [b"1", b"2", *[b"3"] * (MOST_KEPT - 2)])
        )
        self.answer(b"a")
        self.assertEqual(len(self.answers), 1)

    def test_name_and_no_answer(self) -> None:
        """Where no answer is due all that came while an endpoint was looked for is sent before the session is over."""
        self.limit(stream_responses=0)
        self.lead(Endpoint("logs.test", 514, LinkSettings(is_external=True)))
        self.say(b"1")
        self.say(b"2")
        ((_, dial, failed),) = self.finding
        self.assertEqual(self.ended, [])
        dial("10.0.0.77", 1.0, failed)
        self.assertEqual((self.at().sent, self.ended), ([b"1", b"2"], [(200, "")]))

    def test_addresses_of_a_name(self) -> None:
        """Where there is no way to one address of a name, the next one is tried, and none is an endpoint that failed."""
        self.lead(Endpoint("dns.test", 53, LinkSettings(is_external=True)))
        self.say(b"1")
        _, dial, _ = self.finding[0]
        self.sockets.failing = {"2001:db8::1": errno.ENETUNREACH}
        failed: list[str] = []
        dial("2001:db8::1", 1.0, failed.append)
        self.assertEqual((failed, self.ended), (["Network is unreachable"], []))
        dial("10.0.0.77", 1.0, failed.append)
        self.assertEqual((self.went_to, self.at().sent), (["10.0.0.77"], [b"1"]))
        self.assertEqual(self.metrics.value("ingress_upstream_failures_total"), 0)

    def test_too_many_of_names(self) -> None:
        """An address is looked for on behalf of so many at a time, be they over or not: all would be told in one turn."""
        self.lead(Endpoint("dns.test", 53, LinkSettings(is_external=True)))
        for _ in range(MOST_FINDING):
            self.say(client=self.stranger())
        self.sessions.abort()
        self.kept.records.clear()
        self.say()
        self.assertEqual((len(self.finding), self.dropped("waiting")), (MOST_FINDING, 1))
        self.assertEqual(self.ended, [(503, "too many wait for the address of their endpoint")])
        (_, dial, failed), (_, _, other_failed), *_ = self.finding
        dial("10.0.0.77", 1.0, failed)
        other_failed("name not found")
        for _ in range(3):
            self.say(client=self.stranger())
        self.assertEqual((len(self.finding), self.dropped("waiting")), (MOST_FINDING + 2, 2))

    def test_name_not_found(self) -> None:
        """A name that leads nowhere ends the session; whoever ended meanwhile is not dialed for."""
        self.lead(Endpoint("dns.test", 53, LinkSettings(is_external=True)))
        self.say(b"1")
        _, dial, failed = self.finding[0]
        failed("name not found")
        self.assertEqual(self.ended, [(502, "name not found")])
        dial("10.0.0.77", 1.0, failed)
        failed("name not found")
        self.assertEqual((self.sockets.opened, len(self.ended)), ([], 1))


class BoundTests(UdpCase):
    """How much there may be of it."""

    limits = Limits(stream_responses=100)

    def use(self, most: int) -> None:
        """Have *most* sessions at a time."""
        self.sessions.allow(most)

    def test_too_many(self) -> None:
        """The session that was idle longest makes way, which is logged once and counted."""
        self.use(3)
        clients = [self.stranger() for _ in range(5)]
        for client in clients[:3]:
            self.say(b"1", client)
        self.say(b"2", clients[0])
        self.say(b"1", clients[3])
        self.assertEqual(self.at(1).fileno(), -1)
        self.assertNotEqual(self.at(0).fileno(), -1)
        self.say(b"1", clients[4])
        self.assertEqual(self.ended, [(503, "made way for another session")] * 2)
        self.assertEqual(
            (len(self.sessions), self.metrics.value("ingress_udp_sessions_displaced_total")), (3, 2)
        )

    def test_flood(self) -> None:
        """A flood of clients that are not there pushes out none whose client has shown that it is; the flood leaves nothing."""
        self.use(100)
        known = [self.stranger() for _ in range(50)]
        for client in known:
            self.say(b"1", client)
            self.answer(b"a")
            self.say(b"2", client)
        for _ in range(1000):
            self.say(b"x", self.stranger())
        self.assertEqual((len(self.sessions), self.sockets.open_count), (100, 100))
        for number, client in enumerate(known):
            self.say(b"3", client)
            self.assertEqual(self.at(number).sent, [b"1", b"2", b"3"])

    def test_newcomers(self) -> None:
        """However many are proven, a newcomer is not pushed out by the next one before it can be answered."""
        self.use(8)
        for client in [self.stranger() for _ in range(8)]:
            self.say(b"1", client)
            self.answer(b"a")
            self.say(b"2", client)
        self.say(b"x", self.stranger())
        self.say(b"y", self.stranger())
        self.answer(b"for x", number=-2)
        self.assertEqual(self.answers[-1][0], b"for x")

    def test_no_descriptor(self) -> None:
        """Where no descriptor is left another session gives its own; alone it is over with 503, and no endpoint is blamed."""
        self.sockets.room = 2
        for _ in range(3):
            self.say(b"1", self.stranger())
        self.assertEqual((self.sockets.open_count, self.ended), (2, [(503, "made way for another session")]))
        self.sessions.abort()
        self.kept.records.clear()
        self.sockets.room = 0
        failed = self.metrics.value("ingress_upstream_failures_total")
        self.say(b"1", self.stranger())
        self.assertEqual(self.ended, [(503, "Too many open files")])
        self.assertEqual(self.metrics.value("ingress_upstream_failures_total"), failed)

    def test_kept(self) -> None:
        """What is kept in case of a refusal is bounded, for one session and for all; what is not kept is not sent again."""
        for _ in range(MOST_KEPT + 1):
            self.say(b"x" * 10)
        self.assertEqual(self.sessions.kept_bytes, MOST_KEPT * 10)
        self.answer(REFUSED)
        self.assertEqual((self.ended, len(self.sockets.opened)), ([(502, "Connection refused")], 1))
        size = 65_507
        for _ in range(MAX_KEPT // size + 5):
            self.say(b"x" * size, self.stranger())
            self.assertLessEqual(self.sessions.kept_bytes, MAX_KEPT)
        first = self.at(1)
        self.sockets.put(first, REFUSED)
        self.assertEqual(len(self.ended), 2)
        self.answer(REFUSED)
        self.assertEqual((len(self.ended), len(self.at().sent[0])), (2, size))
        self.answer(b"a")
        kept = self.sessions.kept_bytes
        self.say(b"x" * size, self.stranger())
        self.assertLessEqual(self.sessions.kept_bytes, kept + size)

    def test_turns(self) -> None:
        """A port, and an endpoint, are read so far at a time, however much waits there."""
        self.port_socket.inbox.extend((b"x", CLIENT) for _ in range(1000))
        self.port.ready(0)
        self.assertEqual(len(self.port_socket.inbox), 1000 - MOST_DATAGRAMS)
        self.port_socket.inbox.clear()
        self.at().inbox.extend([b"y"] * 1000)
        self.sockets.descriptors[self.at().fileno()].ready(0)
        self.assertEqual(len(self.at().inbox), 1000 - MOST_ANSWERS)

    def test_many_end_at_once(self) -> None:
        """Those that are over at the same time end some in a turn."""
        for _ in range(3 * AT_ONCE):
            self.say(b"x", self.stranger())
        later: list[Callable[[], None]] = []

        call_later = self.reactor.callLater

        def keep(seconds: float, call: Callable[[], None]) -> IDelayedCall:
            later.append(call)
            return call_later(1e9, call)

        self.patch(self.reactor, "callLater", keep)
        self.stage.deadlines.now += REST + 1
        self.sessions.expire()
        for turn in (1, 2, 3):
            self.assertEqual(len(self.ended), turn * AT_ONCE)
            later.pop()()
        self.assertEqual((len(self.ended), later), (3 * AT_ONCE, []))
        for call in list(self.reactor.getDelayedCalls()):
            if call.getTime() > 1e8:
                call.cancel()

    def test_own_ports(self) -> None:
        """What comes from a port of our own, or from none, is dropped: its answer would come back for ever."""
        self.say(b"x", ("10.9.9.9", 53))
        self.say(b"x", ("10.9.9.8", 0))
        self.assertEqual((self.dropped("loop"), self.sockets.opened), (2, []))
        self.say(b"x", ("10.9.9.8", 53))
        self.say(b"x", ("10.9.9.9", 54))
        self.assertEqual(len(self.sockets.opened), 2)

    def test_unreadable(self) -> None:
        """An error of the port's socket ends nothing."""
        self.sockets.put(self.port_socket, error_of(errno.ENOMEM), (b"x", CLIENT))
        self.assertEqual((self.dropped("unreadable"), len(self.sockets.opened)), (1, 1))


class EndTests(UdpCase):
    """A port that is closed, and the end of the process."""

    def many(self, count: int = 3) -> None:
        """Have some sessions."""
        for _ in range(count):
            self.say(b"x", self.stranger())

    def test_unread(self) -> None:
        """What the kernel had no room for counts, until the port is closed and then no more."""
        self.port_socket.unread = 7
        self.assertEqual(self.dropped("unread"), 7)
        self.port_socket.unread = 9
        self.successResultOf(self.close())
        self.port_socket.unread = 20
        self.assertEqual(self.dropped("unread"), 9)

    def test_port_closed(self) -> None:
        """The sessions of a port that is closed end, some in a turn; its socket is closed at once, and what comes late is for nobody."""
        self.many(AT_ONCE + 1)
        last = self.at()
        self.successResultOf(self.close())
        self.assertEqual((self.port_socket.fileno(), len(self.ended)), (-1, AT_ONCE))
        self.port_socket.refusing = error_of(errno.EBADF)
        self.sockets.put(last, b"late")
        self.reactor.advance(0)
        self.assertEqual((len(self.sessions), self.answers), (0, []))

    def test_leaving(self) -> None:
        """While the process ends, nothing more is taken, but what is awaited is still answered from the port."""
        self.many(2)
        self.stage.site.connections.begin_draining()
        self.successResultOf(self.close())
        self.assertNotEqual(self.port_socket.fileno(), -1)
        self.assertNotIn(self.port_socket.fileno(), self.sockets.descriptors)
        drained = self.sessions.drain()
        self.assertNoResult(drained)
        self.answer(b"a", number=0)
        self.assertEqual(len(self.answers), 1)
        self.reactor.pass_time(LEAVING_SECONDS + 2)
        self.successResultOf(drained)
        self.assertEqual((self.ended, self.port_socket.fileno()), ([(200, ""), (504, "no answer came")], -1))

    def test_leaving_twice(self) -> None:
        """Whoever asks for the end while others wait for it waits for the same, and they for no other."""
        self.many(2)
        asked = [self.sessions.drain(), self.sessions.drain()]
        self.reactor.pass_time(LEAVING_SECONDS + 2)
        for drained in asked:
            self.successResultOf(drained)

    def test_nothing_awaited(self) -> None:
        """Nothing is waited for where nothing goes on."""
        self.successResultOf(self.sessions.drain())

    def test_long_idle(self) -> None:
        """Those from which nothing came for long end as soon as the process is about to."""
        self.many(2)
        self.reactor.pass_time(LEAVING_SECONDS + 2)
        self.say(b"x", self.stranger())
        drained = self.sessions.drain()
        self.assertEqual(len(self.ended), 2)
        self.answer(b"a")
        self.successResultOf(drained)

    def test_cut(self) -> None:
        """When the time is over what is left is cut."""
        self.many(2)
        drained = self.sessions.drain()
        self.stage.site.context.is_cutting_off = True
        self.sessions.abort()
        self.successResultOf(drained)
        self.assertEqual(self.ended, [(503, "the process ends")] * 2)
