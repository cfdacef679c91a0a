"""Tests for ``ingress.proxy.exchange.sub_requests.sub_requests``: what filters ask other services, and what they tell them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

from attrs import evolve
from twisted.internet.defer import CancelledError, Deferred

from ingress.model.exchanges.sub_requests import SubAnswer, SubRequest, SubRequestFailed
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.proxy.contract.transport import REFUSED, TIMED_OUT
from ingress.proxy.exchange.sub_requests.sub_exchange import SubExchange
from ingress.proxy.exchange.sub_requests.sub_requests import MAX_KNOWN
from tests.fakes.transports import Peer
from tests.proxy.exchange.sub_requests.sub_request_case import (
    ASKED,
    AUTH,
    OF_BACKEND,
    POST,
    URL,
    SubRequestCase,
)
from tests.proxy.playing import BACKEND, GET, OK, ONE, TWO


class AskTests(SubRequestCase):
    """Requests whose answers are waited for."""

    def test_answer(self) -> None:
        """The request has what it was given and nothing else, and its answer comes whole; it stands in no access log."""
        asked = self.ask(
            evolve(ASKED, fields=((b"X-Original-URL", b"http://shop.test/"), (b"Cookie", b"a=b")))
        )
        self.assertEqual(
            self.upstream().take(),
            b"GET /verify?a=b HTTP/1.1\r\nHost: auth.test:8080\r\n"
            b"X-Original-URL: http://shop.test/\r\nCookie: a=b\r\n\r\n",
        )
        self.assertNoResult(asked)
        answer = self.answered(
            asked, b"HTTP/1.1 401 No\r\nX-Auth: one\r\nX-Auth: two\r\nContent-Length: 3\r\n\r\nno", b"!"
        )
        self.assertEqual((answer.status, answer.body), (401, b"no!"))
        self.assertEqual([value for name, value in answer.fields if name == b"X-Auth"], [b"one", b"two"])
        self.assertEqual(answer.field(b"x-auth"), b"one")
        self.assertEqual(self.stage.log_lines(), [])
        self.assert_ended()
        self.assert_counts("ask", answered=1)

    def test_framings(self) -> None:
        """The answer is whole however its end is told, and what comes before it is not taken for it."""
        for said, body in (
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", b"ok"),
            (b"HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No\r\n\r\n", b""),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""),
        ):
            self.assertEqual(self.answered(self.ask(), said).body, body)
        self.assert_upstreams(1)
        asked = self.ask()
        self.upstream().say(b"HTTP/1.1 200 OK\r\n\r\nto the ", b"end")
        self.assertNoResult(asked)
        self.upstream().finish()
        self.assertEqual(self.successResultOf(asked).body, b"to the end")

    def test_small_pieces(self) -> None:
        """An answer that comes in pieces of two octets takes little more memory than there are octets."""
        count = 20_000
        asked = self.ask()
        self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % count)
        tracemalloc.start()
        try:
            for number in range(count // 2 - 1):
                self.upstream().say(b"%02d" % (number % 100))
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        whole = b"".join(b"%02d" % number for number in range(100)) * (count // 200)
        self.assertEqual(self.answered(asked, b"99").body, whole)
        self.assertLess(kept, 6 * count)

    def test_head(self) -> None:
        """A body that does not come is not too large."""
        asked = self.ask(evolve(ASKED, method=b"HEAD"))
        answer = self.answered(asked, b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        self.assertEqual((answer.status, answer.body), (200, b""))

    def test_body(self) -> None:
        """A body goes with its length, and a POST without one says so."""
        self.answered(self.ask(POST), OK)
        self.assertTrue(self.upstream().take().endswith(b"\r\nContent-Length: 6\r\n\r\nname=x"))
        self.reactor.pass_time(1)
        self.ask(evolve(POST, body=b"", max_bytes=10))
        self.assertIn(b"\r\nContent-Length: 0\r\n", self.upstream().take())

    def test_pool(self) -> None:
        """Its connection is of the pool: kept, shared with requests of clients, and looked after as theirs are."""
        self.stage.publish((ONE,))
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(OK)
        self.upstream().take()
        self.rotation = self.stage.resource.rotation_of(BACKEND)
        self.answered(self.ask(OF_BACKEND), OK)
        self.assert_upstreams(1)
        down.say(GET)
        self.assert_upstreams(1)
        self.upstream().say(OK)
        self.assert_ended(200, 200)

    def test_address_rules(self) -> None:
        """A URL leads where a tenant's external name may, unless the operator chose it; TLS is verified unless it need not be."""
        self.ask()
        self.ask(evolve(ASKED, is_trusted=True))
        self.ask(evolve(ASKED, url="https://auth.test/"))
        self.ask(evolve(ASKED, url="https://[2001:db8::1]/", verifies=False, is_trusted=True))
        plain, trusted, secure, unverified = self.connector.asked
        self.assertEqual(plain, AUTH)
        self.assertEqual(trusted, Endpoint("auth.test", 8080))
        assert secure.link_settings is not None and secure.link_settings.tls is not None
        self.assertEqual((secure.address, secure.port), ("auth.test", 443))
        self.assertTrue(secure.link_settings.is_external and secure.link_settings.tls.tls_settings.verify)
        assert unverified.link_settings is not None and unverified.link_settings.tls is not None
        self.assertEqual(unverified.address, "2001:db8::1")
        self.assertFalse(
            unverified.link_settings.is_external or unverified.link_settings.tls.tls_settings.verify
        )

    def test_lines(self) -> None:
        """Lines go as they are, but for those that are not to, before the fields; and ask for another target of the URL."""
        lines = b"Cookie: a=b\r\nX-User: root\r\nx-other: c\r\n"
        request = evolve(
            ASKED,
            lines=lines,
            without=(b"x-user",),
            fields=((b"X-User", b"anna"),),
            target=b"/other?c",
            body=None,
        )
        self.ask(evolve(request, method=b"POST"))
        heard = self.upstream().take()
        self.assertTrue(heard.startswith(b"POST /other?c HTTP/1.1\r\nHost: auth.test:8080\r\n"), heard)
        self.assertIn(b"Cookie: a=b\r\nx-other: c\r\nX-User: anna\r\n", heard)
        self.assertNotIn(b"Content-Length", heard)
        for wrong in (
            evolve(request, lines=b"Host: a\r\n"),
            evolve(request, lines=b"X: a\r\nconnection: b\r\n"),
            evolve(request, lines=b"X: a"),
            evolve(request, lines=b"X: a\nY: b\r\n"),
            evolve(request, lines=b"X: a\0\r\n"),
            evolve(request, lines=b"X a\r\n"),
            evolve(request, lines=b"\r\n"),
            evolve(request, fields=((b"X", b"a\r\nY: b"),)),
            evolve(request, fields=((b"X:", b"a"),)),
            evolve(request, target=b"other"),
            evolve(request, target=b"/a b"),
            evolve(request, target=b"/a#b"),
        ):
            self.assertRaises(ValueError, self.sub_requests.ask, wrong)

    def test_without_body(self) -> None:
        """Where its body is not wanted, an answer has none; a long one is not waited for."""
        request = evolve(ASKED, wants_body=False, max_bytes=4)
        answer = self.answered(self.ask(request), b"HTTP/1.1 403 No\r\nX: y\r\nContent-Length: 2\r\n\r\nno")
        self.assertEqual((answer.status, answer.field(b"x"), answer.body), (403, b"y", b""))
        self.assertEqual(
            self.answered(self.ask(request), b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").status, 200
        )
        self.assertTrue(self.upstream().closed)
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"
        self.assertEqual(self.answered(self.ask(request), chunked).status, 200)
        self.assertTrue(self.upstream().closed)

    def test_then(self) -> None:
        """What is made of an answer, or of there being none, is awaited; what it raises is raised."""
        heard: list[object] = []

        def ask(then: Callable[[SubAnswer | SubRequestFailed], object]) -> None:
            self.sub_requests.ask_then(ASKED, then).listen(heard.append, heard.append)

        ask(lambda answer: isinstance(answer, SubAnswer) and answer.status)
        self.upstream().say(OK)
        self.connector.unreachable = {AUTH: REFUSED}
        self.upstream().reset()
        ask(str)
        error = ValueError()

        def fail(answer: object) -> None:
            raise error

        ask(fail)
        self.assertEqual(heard, [200, f"{URL}: {REFUSED}", error])
        self.assertRaises(ValueError, self.sub_requests.ask_then, evolve(ASKED, seconds=61.0), str)

    def test_then_cancelled(self) -> None:
        """Who does not wait any more ends it, and is told nothing."""
        heard: list[object] = []
        pending = self.sub_requests.ask_then(ASKED, heard.append)
        pending.cancel()
        self.reactor.settle()
        self.assertEqual((heard, self.upstream().closed), ([], True))
        self.assert_counts("ask", cancelled=1)

    def test_known(self) -> None:
        """Where a URL leads is found once; what differs in anything leads elsewhere, and any number is too many to remember."""
        for _ in range(2):
            self.answered(self.ask(), OK)
        self.assertEqual(self.connector.asked, [AUTH])
        within = ("10.0.0.0/8",)
        self.ask(evolve(ASKED, within=within))
        self.assertEqual(
            self.connector.asked[-1],
            Endpoint("auth.test", 8080, LinkSettings(is_external=True, within=within)),
        )
        self.connector.unreachable = {
            Endpoint(f"a{number}.test", 80, LinkSettings(is_external=True)): REFUSED for number in range(1100)
        }
        for number in range(1100):
            self.ask(SubRequest(f"http://a{number}.test/"))
        self.assertLessEqual(len(self.sub_requests.known), MAX_KNOWN)

    def test_backend(self) -> None:
        """A backend of the snapshot is asked as its routes ask it; any other has no endpoint."""
        self.answered(self.ask(OF_BACKEND), OK)
        self.assertEqual(self.connector.asked, [ONE])
        self.assertIn(b"\r\nHost: auth.test:8080\r\n", self.upstream().take())
        other = evolve(ASKED, backend=BackendReference("shop", "other", 80))
        self.assert_failed(self.ask(other), "no route of the snapshot leads to this backend")
        assert self.rotation is not None
        self.rotation.assign(())
        self.assert_failed(self.ask(OF_BACKEND), "no endpoint")
        self.assert_counts("ask", answered=1, failed=2)

    def test_wrong(self) -> None:
        """What is no request is refused at once, and nothing is sent."""
        for request in (
            evolve(ASKED, url="ftp://auth.test/"),
            evolve(ASKED, fields=((b"Host", b"other"),)),
            evolve(ASKED, fields=((b"X", b"a\r\nY: b"),)),
            evolve(ASKED, method=b"CONNECT"),
            evolve(ASKED, seconds=0.0),
            evolve(ASKED, seconds=float("nan")),
            evolve(ASKED, seconds=float("inf")),
            evolve(ASKED, max_bytes=-1),
        ):
            self.assertRaises(ValueError, self.sub_requests.ask, request)
            self.assertRaises(ValueError, self.sub_requests.tell, request)
        self.assertEqual(self.connector.asked, [])
        self.assert_counts("ask")


class AgainTests(SubRequestCase):
    """Another attempt, where nothing can have been done twice."""

    def test_another_endpoint(self) -> None:
        """One that cannot be connected to, or that drops a new connection, is passed over for another."""
        self.connector.unreachable = {ONE: REFUSED}
        self.answered(self.ask(OF_BACKEND), OK)
        self.assertEqual(self.connector.asked, [ONE, TWO])
        self.upstream().reset()
        self.connector.unreachable = {}
        self.connector.asked.clear()
        asked = self.ask(OF_BACKEND)
        self.upstream().finish()
        self.answered(asked, OK)
        self.assertEqual(sorted(self.connector.asked), [ONE, TWO])

    def test_none_left(self) -> None:
        """When none is left, who asks is told why the last one failed."""
        self.connector.unreachable = {ONE: REFUSED, TWO: TIMED_OUT}
        self.assert_failed(self.ask(OF_BACKEND), TIMED_OUT)
        self.connector.unreachable = {AUTH: REFUSED}
        self.assert_failed(self.ask(), REFUSED)

    def test_stale(self) -> None:
        """A kept connection that ends under a GET costs nothing."""
        self.answered(self.ask(), OK)
        asked = self.ask()
        self.upstream().reset()
        self.assert_upstreams(2)
        self.answered(asked, OK)

    def test_dropped_post(self) -> None:
        """A POST that was sent is not sent again."""
        asked = self.ask(evolve(POST, backend=BACKEND))
        self.upstream().finish()
        self.assert_failed(asked, "connection closed")
        self.assert_upstreams(1)

    def test_full(self) -> None:
        """An endpoint with as many connections as it may have gets no other one."""
        self.stage.pool.most = 1
        waits = [self.ask(OF_BACKEND), self.ask(OF_BACKEND)]
        self.assertEqual(sorted(self.connector.asked), [ONE, TWO])
        self.assert_failed(self.ask(OF_BACKEND), "all endpoints have the connections they may")
        for each in waits:
            each.cancel()
            self.failureResultOf(each, CancelledError)


class HostileTests(SubRequestCase):
    """Answers that are none, or that nobody should wait for."""

    def test_too_large(self) -> None:
        """An answer that is larger than it may be ends when that is known, and its connection with it."""
        small = evolve(ASKED, max_bytes=100)
        self.assertEqual(
            self.answered(
                self.ask(small), b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + bytes(100)
            ).body,
            bytes(100),
        )
        for said in (
            (b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + bytes(101),),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"32\r\n" + bytes(50) + b"\r\n",
                b"33\r\n" + bytes(51),
            ),
            (b"HTTP/1.1 200 OK\r\n\r\n", bytes(60), bytes(60)),
        ):
            asked = self.ask(small)
            self.upstream().say(*said)
            self.assert_failed(asked, "the answer has more than 100 bytes")
        self.assertEqual([peer for peer in self.busy() if peer.protocol.exchange], [])  # type: ignore[attr-defined]

    def test_never_ending(self) -> None:
        """An answer that comes on and on is over with the time that all of it may take, however small it is."""
        for beginning in (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        ):
            asked = self.ask()
            self.upstream().say(beginning)
            for _ in range(4):
                self.reactor.pass_time(1)
                self.upstream().say(b"1\r\nx\r\n" if b"chunked" in beginning else b"x")
            self.assertNoResult(asked)
            self.reactor.pass_time(1)
            self.assert_failed(asked, "took longer than 5 s")
            self.assertTrue(self.upstream().saw_reset)

    def test_silent(self) -> None:
        """So is one that never comes, and a connection that is never made, which is then nobody's."""
        asked = self.ask(evolve(ASKED, seconds=2.5))
        self.reactor.pass_time(3)
        self.assert_failed(asked, "took longer than 2.5 s")
        self.assertEqual(self.busy(), [])
        self.connector.is_slow = True
        asked = self.ask(evolve(ASKED, seconds=2.5))
        self.assertEqual(self.connector.seconds, 2.5)
        self.reactor.pass_time(3)
        self.assert_failed(asked, "took longer than 2.5 s")
        self.connector.let_through()
        self.assertEqual(repr(self.stage.pool), "<UpstreamPool 0 busy, 1 idle, 0 connecting>")

    def test_cut(self) -> None:
        """A part of an answer is none."""
        for end in (Peer.finish, Peer.reset):
            asked = self.ask()
            self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            end(self.upstream())
            self.assertIn("the answer was cut short: connection ", str(self.failureResultOf(asked).value))

    def test_nonsense(self) -> None:
        """What is no answer is none, and neither is a switch to what was not asked for."""
        for said in (
            b"SSH-2.0-OpenSSH_9\r\n\r\n",
            b"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        ):
            asked = self.ask()
            self.upstream().say(said)
            self.failureResultOf(asked, SubRequestFailed)
            self.assertEqual(self.busy(), [])
        self.assert_counts("ask", failed=2)


class EndTests(SubRequestCase):
    """Ends that have nothing to do with an answer."""

    def test_cancelled(self) -> None:
        """Who cancels hears of that alone; the endpoint sees that nobody waits, and a connection in the making is for others."""
        for said in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"):
            asked = self.ask()
            self.upstream().say(said)
            asked.cancel()
            self.reactor.settle()
            self.failureResultOf(asked, CancelledError)
            self.assertTrue(self.upstream().saw_reset)
        self.connector.is_slow = True
        asked = self.ask()
        asked.cancel()
        self.failureResultOf(asked, CancelledError)
        self.ask()
        self.assertEqual(len(self.connector.waiting), 1)
        self.assert_counts("ask", cancelled=3)

    def test_cancelled_awaiting(self) -> None:
        """A coroutine that awaits an answer takes its cancellation on to the sub-request."""

        async def decide() -> int:
            return (await self.sub_requests.ask(ASKED)).status

        decision = Deferred.fromCoroutine(decide())
        decision.cancel()
        self.reactor.settle()
        self.failureResultOf(decision, CancelledError)
        self.assertTrue(self.upstream().saw_reset)
        self.assert_counts("ask", cancelled=1)

    def test_too_late(self) -> None:
        """To cancel what is over changes nothing, and its connection serves the next."""
        asked = self.ask()
        self.answered(asked, OK)
        asked.cancel()
        self.answered(self.ask(), OK)
        self.assert_upstreams(1)
        self.assert_counts("ask", answered=2)

    def test_close(self) -> None:
        """When the process ends, who waits is told so at once."""
        asked = self.ask()
        self.sub_requests.tell(ASKED)
        self.sub_requests.close()
        self.assert_failed(asked, "the process ends")
        self.reactor.settle()
        self.assert_upstreams(1)
        self.assert_counts("tell", failed=1)

    def test_bug(self) -> None:
        """A bug costs the sub-request that meets it, wherever it is met, and no other."""
        for name in ("upstream_connected", "upstream_head", "upstream_lost"):
            other = self.ask()
            method = getattr(SubExchange, name)

            def broken(*arguments: object, name: str = name) -> None:
                setattr(SubExchange, name, method)  # noqa: B023 - called in this round
                raise ZeroDivisionError(name)

            self.patch(SubExchange, name, broken)
            asked = self.ask()
            if name == "upstream_head":
                self.upstream().say(OK)
            elif name == "upstream_lost":
                self.upstream().reset()
            self.assert_failed(asked, "a bug of the proxy")
            self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
            self.busy()[0].say(OK)
            self.successResultOf(other)
            self.busy()[0].reset()

    def test_repr(self) -> None:
        """A sub-request shows what it asks, and where it is."""
        self.ask()
        self.assertEqual(repr(self.sub_requests), "<SubRequests: 1 under way, 0 of them mirrors>")
        self.assertIn("<SubExchange b'GET' b'auth.test:8080' awaiting>", repr(self.upstream().protocol))


class SubRequestsOnEpoll(HostileTests):
    """Hostile answers, on the epoll set's transports."""

    on_epoll = True
