"""Bugs of ours: whatever raises on the way of a request, it costs that request and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingress.model.exchanges.records import Record
from ingress.process.version import running_code
from ingress.proxy.downstream.channel import DownstreamChannel
from ingress.proxy.exchange import exchange
from ingress.proxy.exchange.context import ExchangeContext
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.exchange.request_passage import RequestPassage
from ingress.proxy.upstream import connection as upstream
from ingress.proxy.upstream.connection import UpstreamConnection
from tests.fakes.plain_code import need_plain_code
from tests.fakes.transports import Peer
from tests.proxy.playing import GET, OK, ProxyCase

PUT = b"PUT / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\n\r\n"
BEGIN = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"


Case = tuple[Any, str, Callable[[Peer], None]]
"""Who raises, in which of its calls, and what is played."""
IN_REACH: tuple[Any, ...] = ("site", "resource")
"""Whose calls can be made to raise in compiled code, too, where all others are direct."""


class Bug(Exception):  # noqa: N818 - it is what it is
    """What is raised; nothing of ours expects it."""


class BugTests(ProxyCase):
    """A method that raises, once, for one of two requests."""

    def assert_one_line_each(self) -> None:
        """Not checked: where the log itself raises there is no line."""

    def break_once(self, owner: Any, name: str) -> None:
        """Have the next call of a method, or of a function of a module, raise."""
        if owner is not self.stage.resource:
            need_plain_code()
        method = getattr(owner, name)

        def broken(*arguments: Any, **named: Any) -> Any:
            setattr(owner, name, method)
            raise Bug(name)

        self.patch(owner, name, broken)

    def in_reach(self, cases: list[Case]) -> list[Case]:
        """Return those of *cases* that can be played with the code that runs."""
        return [case for case in cases if running_code() == "plain" or case[0] in IN_REACH]

    def break_listener_once(self, context: ExchangeContext, name: str) -> None:
        """Have the first or the last of those who listen to the ends of exchanges raise once."""
        listeners = context.listeners
        at = 0 if name == "first listener" else len(listeners) - 1

        def broken(record: Record) -> None:
            context.listeners = listeners
            raise Bug(name)

        context.listeners = (*listeners[:at], broken, *listeners[at + 1 :])

    def play(self, owner: Any, name: str, script: Callable[[Peer], None]) -> bytes:
        """Play *script* on a connection whose request meets a bug; return what downstream got.

        *owner* may be the name of a part of the stage, which is a new one.
        """
        self.setUp()
        if isinstance(owner, str):
            owner = getattr(self.stage, owner)
        before = self.stage.open()
        before.say(GET)
        self.upstream().say(OK)
        before.take()
        other = self.stage.open()
        other.say(GET)
        busy = self.upstream()
        down = self.stage.open()
        if owner is self.stage.site:
            self.break_listener_once(owner.context, name)
        else:
            self.break_once(owner, name)
        script(down)
        self.assertEqual(len(self.flushLoggedErrors(Bug)), 1, name)
        # A connection whose next request cannot be found lingers for a while.
        self.reactor.pass_time(8)
        self.assertTrue(down.closed, name)
        self.assertEqual(repr(self.stage.pool)[:20], "<UpstreamPool 1 busy", name)
        # Neither who was there nor who comes is the worse for it.
        busy.say(OK)
        self.assert_status(other.take(), 200)
        new = self.stage.open()
        new.say(GET)
        busy.say(OK)
        self.assert_status(new.take(), 200)
        return down.received

    def test_before_an_answer(self) -> None:
        """The request gets 500, and its connection ends."""

        def get(down: Peer) -> None:
            down.say(GET)

        def answered(down: Peer) -> None:
            down.say(GET)
            self.upstream().say(OK)

        def dropped(down: Peer) -> None:
            down.say(GET)
            self.upstream().finish()

        def put(down: Peer) -> None:
            down.say(PUT)
            down.say(b"abcd")

        cases: list[Case] = [
            ("resource", "render", get),
            ("pool", "acquire", get),
            (exchange, "upstream_fields_of", get),
            (UpstreamConnection, "begin", get),
            (Exchange, "proxy", get),
            (DownstreamChannel, "_begin", get),
            (upstream, "parse_response_head", answered),
            (UpstreamConnection, "_read_body", lambda down: (down.say(GET), self.upstream().say(BEGIN))[0]),  # type: ignore[func-returns-value]
            (Exchange, "upstream_lost", dropped),
            (RequestPassage, "take", put),
            (UpstreamConnection, "send_body", put),
            (RequestPassage, "end", put),
        ]
        for owner, name, script in self.in_reach(cases):
            answer = self.play(owner, name, script)
            self.assert_status(answer, 500)

    def test_in_the_middle(self) -> None:
        """An answer that has begun breaks off, and never gets a second status line."""

        def begun(down: Peer) -> None:
            down.say(GET)
            self.upstream().say(BEGIN)
            self.upstream().say(b"cd")

        def replied(down: Peer) -> None:
            down.say(GET.replace(b"shop", b"other"))

        cases: list[Case] = [
            (Exchange, "upstream_body", begun),
            (DownstreamChannel, "send_body", begun),
            (exchange.Exchange, "_finish", begun),
            ("site", "first listener", begun),
            ("site", "last listener", begun),
            (DownstreamChannel, "finished", begun),
            (Exchange, "_finish", replied),
            ("site", "last listener", replied),
        ]
        for owner, name, script in self.in_reach(cases):
            answer = self.play(owner, name, script)
            self.assertEqual(answer.count(b"HTTP/1.1 "), 1, name)
            self.assertNotIn(b" 500 ", answer)

    def test_back_pressure(self) -> None:
        """What transports tell may meet a bug, too."""
        for name in ("downstream_full", "downstream_drained"):
            down = self.stage.open(window=1000)
            down.say(GET)
            self.break_once(Exchange, name)
            self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + bytes(200_000))
            down.widen(190_000)
            down.widen()
            self.assertEqual(len(self.flushLoggedErrors(Bug)), 1, name)
            self.assertTrue(down.closed)
            self.assertEqual(down.received.count(b"HTTP/1.1 "), 1)

    def test_at_a_deadline(self) -> None:
        """So may what the deadlines ends."""
        down = self.stage.open()
        down.say(PUT)
        self.break_once(Exchange, "request_broken")
        self.reactor.pass_time(40)
        self.assertEqual(len(self.flushLoggedErrors(Bug)), 1)
        self.assert_status(down.received, 500)
        self.assertTrue(self.upstream().closed)

    def test_at_the_end(self) -> None:
        """A client that leaves while we fail leaves nothing behind."""
        down = self.stage.open()
        down.say(GET)
        self.break_once(Exchange, "downstream_lost")
        down.reset()
        self.assertEqual(len(self.flushLoggedErrors(Bug)), 1)
        self.assertTrue(self.upstream().closed)
        self.assertEqual(self.stage.site.connections.all, set())


class BugTestsOnEpoll(BugTests):
    """The same on the epoll set's transports."""

    on_epoll = True
