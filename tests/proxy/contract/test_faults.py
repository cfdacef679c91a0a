"""Tests for ``ingress.proxy.contract.faults``: the table, walked row by row, and what reads it."""

import re
from collections.abc import Callable
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.serving.limits import AskedTimeouts
from ingress.model.upstream.retries import DEFAULT_RETRIES, RetryRule
from ingress.proxy.contract.faults import (
    TABLE,
    Again,
    Fault,
    Row,
    Side,
    State,
    Step,
    fault_of_connecting,
    next_step,
)
from ingress.proxy.contract.transport import REFUSED, TIMED_OUT
from tests.fakes.specs import SpecOf
from tests.fakes.transports import Peer
from tests.proxy.exchange.filtering.test_filter_decisions import Waits
from tests.proxy.playing import GET, OK, ONE, TWO, ProxyCase

ARCHITECTURE = Path(__file__).resolve().parents[3] / "docs" / "architecture.md"
ALLOWED = (Again.ANOTHER, Again.RENEWED)
NO_MORE = b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"
BEGUN = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab"
EVERYTHING = RetryRule(on_invalid=True, on_late=True, statuses=frozenset({503}))
"""All that a route can ask for, but for requests that are not idempotent."""


class TableTests(ProxyCase):
    """Every row of the table happens, and what follows is what it says."""

    on_epoll = True

    def setUp(self) -> None:
        super().setUp()
        self.method = b"GET"
        self.down = self.stage.open()
        self.stage.publish((ONE, TWO), retries=EVERYTHING)

    def ask(self, end: bytes = b"Content-Length: 2\r\n\r\nhi") -> None:
        """Send a request of the method at hand, with a body."""
        self.down.say(b"%b / HTTP/1.1\r\nHost: shop.test\r\n%b" % (self.method, end))

    def ask_in_part(self) -> None:
        """Send a request whose body has only begun."""
        self.ask(b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n")

    def keep_one(self) -> Peer:
        """Return an upstream peer that was answering a moment ago, of an upstream that keeps connections."""
        self.stage.publish((ONE,), retries=EVERYTHING)
        other = self.stage.open()
        other.say(GET)
        self.down.say(GET)
        self.upstream(0).say(OK)
        self.reactor.pass_time(3)
        self.upstream(1).say(OK)
        self.down.take()
        self.stage.publish((ONE, TWO), retries=EVERYTHING)
        return self.upstream(1)

    # What makes each row happen, until right after it has

    def waiting_no_endpoint(self) -> None:
        self.stage.publish(())
        self.ask()

    def waiting_unreadable(self) -> None:
        self.stage.publish((ONE, TWO), max_body_bytes=1)
        self.ask()

    def waiting_left(self) -> None:
        self.stage.publish((ONE, TWO), filters=(SpecOf(Waits()),))
        self.ask()
        self.down.reset()

    def connecting_no_socket(self) -> None:
        self.connector.unreachable[ONE] = "Too many open files"
        self.ask()

    def connecting_unreachable(self) -> None:
        self.connector.unreachable[ONE] = REFUSED
        self.ask()

    def connecting_connect_timeout(self) -> None:
        self.connector.unreachable[ONE] = TIMED_OUT
        self.ask()

    def connecting_unreadable(self) -> None:
        self.connector.is_slow = True
        self.ask_in_part()
        self.down.say(b"zz\r\n")

    def connecting_left(self) -> None:
        self.connector.is_slow = True
        self.ask()
        self.down.reset()

    def awaiting_untaken(self) -> None:
        kept = self.keep_one()
        kept.has_left = True
        self.ask()
        kept.finish()

    def awaiting_stale(self) -> None:
        kept = self.keep_one()
        self.ask()
        kept.reset()

    def awaiting_dropped(self) -> None:
        self.ask()
        self.upstream().finish()

    def decline(self, fault: Fault) -> None:
        """Have upstream tell that it did nothing with the request, for which HTTP/1.1 has no word."""
        self.upstream().protocol._break_off("declined", fault)  # type: ignore[attr-defined]
        self.reactor.settle()

    def awaiting_declined(self) -> None:
        self.keep_one()
        self.ask()
        self.decline(Fault.DECLINED)

    def awaiting_declined_at_once(self) -> None:
        self.keep_one()
        self.ask()
        self.decline(Fault.DECLINED_AT_ONCE)

    def awaiting_silent(self) -> None:
        self.ask()
        self.reactor.pass_time(61)

    def awaiting_invalid(self) -> None:
        self.ask()
        self.upstream().say(b"nonsense\r\n\r\n")

    def late(self) -> None:
        """Publish a route that bounds each attempt, and repeats what takes longer."""
        timeouts = AskedTimeouts(attempt_seconds=0.5)
        self.stage.publish((ONE, TWO), retries=EVERYTHING, timeouts=timeouts)

    def awaiting_late(self) -> None:
        self.late()
        self.ask()
        self.reactor.pass_time(0.6)

    def awaiting_refused_status(self) -> None:
        self.ask()
        self.upstream().say(NO_MORE)

    def awaiting_broken(self) -> None:
        self.ask()
        self.upstream().say(b"HTTP/1.1 2")
        self.upstream().finish()

    def awaiting_stalled(self) -> None:
        self.ask()
        self.upstream().say(b"HTTP/1.1 2")
        self.reactor.pass_time(62)

    def awaiting_unreadable(self) -> None:
        self.ask_in_part()
        self.down.say(b"zz\r\n")

    def awaiting_left(self) -> None:
        self.ask()
        self.down.reset()

    def answering_invalid(self) -> None:
        self.ask()
        self.upstream().say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", b"zz\r\n")

    def answering_broken(self) -> None:
        self.ask()
        self.upstream().say(BEGUN)
        self.upstream().finish()

    def answering_stalled(self) -> None:
        self.ask()
        self.upstream().say(BEGUN)
        self.reactor.pass_time(62)

    def answering_late(self) -> None:
        self.late()
        self.ask()
        self.upstream().say(BEGUN)
        self.reactor.pass_time(0.6)

    def answering_unreadable(self) -> None:
        self.ask_in_part()
        self.upstream().say(BEGUN)
        self.down.say(b"zz\r\n")

    def answering_left(self) -> None:
        self.ask()
        self.upstream().say(BEGUN)
        self.down.reset()

    def open_tunnel(self) -> None:
        """Have upstream switch protocols."""
        self.ask(b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        self.upstream().say(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        )

    def tunnel_broken(self) -> None:
        self.open_tunnel()
        self.upstream().reset()

    def tunnel_stalled(self) -> None:
        self.open_tunnel()
        self.upstream().protocol._break_off("silent", Fault.STALLED)  # type: ignore[attr-defined]
        self.reactor.settle()

    def tunnel_left(self) -> None:
        self.open_tunnel()
        self.down.reset()

    # What follows

    def expect(self, row: Row, fault: Fault) -> None:
        """Check what became of the request."""
        repeatable = self.method == b"GET"
        again = row.again in ALLOWED or (row.again is not Again.NEVER and repeatable)
        failures = self.metrics.value("ingress_upstream_failures_total")
        if again:
            renewed = row.again in (Again.RENEWED, Again.RENEWED_IF_REPEATABLE)
            self.assertEqual(self.connector.asked[-1], ONE if renewed else TWO)
            self.assertEqual(self.metrics.value("ingress_attempts_repeated_total"), 1)
            # What was taken of a GET is not found out, for it makes no difference.
            reason = Fault.STALE if fault is Fault.UNTAKEN and repeatable else fault
            self.assertEqual(self.metrics.value("ingress_attempts_repeated_total", reason=reason.word), 1)
            self.assertEqual(failures, row.blames is Side.UPSTREAM)
            self.assertTrue(self.upstream().take().endswith(b"\r\n\r\nhi"))
            self.upstream().say(OK)
            self.assert_status(self.down.take(), 200)
            self.assertEqual([status for _, status, _ in self.metrics.ended][-1], 200)
            return
        self.assertEqual(self.metrics.value("ingress_attempts_repeated_total"), 0)
        _, status, _ = self.metrics.ended[-1]
        if fault is Fault.UNREADABLE and row.status:
            self.assertIn(status, (400, 408, 413))
        elif row.status:
            self.assertEqual(status, row.status)
        if fault is Fault.REFUSED_STATUS:
            self.assertEqual(status, 503)
            self.assertTrue(self.down.received.endswith(b"busy"))
        elif not row.status:
            self.assertTrue(self.down.saw_end or self.down.closed)
        elif status != 499:
            self.assert_status(self.down.received, status)
        at_fault = row.blames is Side.UPSTREAM or (row.blames is Side.NOBODY and row.status)
        sent = fault not in (Fault.NO_ENDPOINT, Fault.REFUSED_STATUS)
        self.assertEqual(failures, bool(at_fault and sent))


def add_walks() -> None:
    """Give ``TableTests`` a test for every row and kind of method, named after it."""
    for (state, fault), row in TABLE.items():
        scenario: Callable[[TableTests], None] = getattr(TableTests, f"{state.name}_{fault.name}".lower())
        for method in (b"GET", b"POST"):

            def walk(
                self: TableTests,
                scenario: Callable[[TableTests], None] = scenario,
                method: bytes = method,
                row: Row = row,
                fault: Fault = fault,
            ) -> None:
                self.method = method
                scenario(self)
                self.expect(row, fault)

            walk.__doc__ = f"{method.decode()}, {state.value}: {fault.value}."
            name = f"test_{state.name}_{fault.name}_{method.decode()}".lower()
            walk.__name__ = name
            setattr(TableTests, name, walk)


add_walks()


class RuleTests(SynchronousTestCase):
    """What a route may change, and what it may not."""

    def step(
        self,
        fault: Fault,
        rule: RetryRule = DEFAULT_RETRIES,
        method: bytes = b"GET",
        is_held: bool = True,
        tries: int = 1,
        seconds: float = 1.0,
        state: State = State.AWAITING,
    ) -> Step:
        """What follows."""
        return next_step(TABLE[state, fault], rule, method, is_held, tries, seconds)

    def test_defaults(self) -> None:
        """By default another endpoint is tried after errors and timeouts, and after no answer whatever it is."""
        found = {
            fault for fault in Fault if (State.AWAITING, fault) in TABLE and self.step(fault) is Step.ANOTHER
        }
        self.assertEqual(found, {Fault.DROPPED, Fault.DECLINED_AT_ONCE, Fault.SILENT})

    def test_off(self) -> None:
        """With ``off`` only stale connections are replaced."""
        off = RetryRule(on_error=False, on_timeout=False)
        steps = {
            (state, fault): next_step(row, off, b"GET", True, 1, 0.0) for (state, fault), row in TABLE.items()
        }
        others = {key for key, step in steps.items() if step is not Step.FAIL}
        renewed = (Fault.UNTAKEN, Fault.STALE, Fault.DECLINED)
        self.assertEqual(others, {(State.AWAITING, fault) for fault in renewed})

    def test_methods(self) -> None:
        """The methods that RFC 9110 calls idempotent are sent again, and others only if the route says so."""
        for method in (b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE"):
            self.assertIs(self.step(Fault.DROPPED, method=method), Step.ANOTHER)
        for method in (b"POST", b"PATCH", b"LOCK", b"PROPFIND"):
            self.assertIs(self.step(Fault.DROPPED, method=method), Step.FAIL)
            self.assertIs(
                self.step(Fault.DROPPED, RetryRule(non_idempotent=True), method=method), Step.ANOTHER
            )
            self.assertIs(self.step(Fault.UNREACHABLE, method=method, state=State.CONNECTING), Step.ANOTHER)
            self.assertIs(self.step(Fault.UNTAKEN, method=method), Step.RENEW)
            self.assertIs(self.step(Fault.DECLINED, method=method), Step.RENEW)
            self.assertIs(self.step(Fault.DECLINED_AT_ONCE, method=method), Step.ANOTHER)

    def test_body_not_held(self) -> None:
        """What is not held whole any more is never sent again."""
        for (_, fault), row in TABLE.items():
            rule = RetryRule(on_invalid=True, statuses=frozenset({503}), non_idempotent=True)
            self.assertIs(next_step(row, rule, b"GET", False, 1, 0.0), Step.FAIL, fault)

    def test_tries(self) -> None:
        """So many endpoints are tried and no more; 0 means that only their number limits it."""
        self.assertIs(self.step(Fault.DROPPED, tries=2), Step.ANOTHER)
        self.assertIs(self.step(Fault.DROPPED, tries=3), Step.FAIL)
        self.assertIs(self.step(Fault.DROPPED, RetryRule(max_tries=0), tries=99), Step.ANOTHER)
        self.assertIs(self.step(Fault.STALE, tries=3), Step.RENEW)

    def test_seconds(self) -> None:
        """No further attempt begins when the time is over."""
        rule = RetryRule(max_seconds=5.0)
        self.assertIs(self.step(Fault.DROPPED, rule, seconds=4.9), Step.ANOTHER)
        self.assertIs(self.step(Fault.DROPPED, rule, seconds=5.0), Step.FAIL)

    def test_never_after_the_answer_began(self) -> None:
        """No row of an exchange that is answering, a tunnel, or past the first byte allows an attempt."""
        for (state, fault), row in TABLE.items():
            if state in (State.ANSWERING, State.TUNNEL) or fault in (Fault.BROKEN, Fault.STALLED):
                self.assertIs(row.again, Again.NEVER)

    def test_own_faults(self) -> None:
        """A lack of our own is not taken for a fault of the endpoint."""
        for why in ("Too many open files", "cannot assign requested address", "No buffer space available"):
            self.assertIs(fault_of_connecting(why), Fault.NO_SOCKET)
        self.assertIs(fault_of_connecting(TIMED_OUT), Fault.CONNECT_TIMEOUT)
        for why in (REFUSED, "no route to host", "name not found"):
            self.assertIs(fault_of_connecting(why), Fault.UNREACHABLE)


def table_lines() -> list[str]:
    """The table as ``docs/architecture.md`` shows it."""
    lines = []
    for (state, fault), row in TABLE.items():
        told = {0: "cut", 400: "400, 408 or 413", 499: "499, in the log alone"}.get(
            row.status, str(row.status)
        )
        if fault is Fault.REFUSED_STATUS:
            told = "the answer"
        elif state is State.TUNNEL:
            told = "end"
        when = {
            "on_error": "error",
            "on_timeout": "timeout",
            "on_invalid": "invalid_header",
            "on_late": "backendRequest",
            "statuses": "http_…",
        }
        word = f" (`{when[row.when]}`)" if row.when else ""
        lines.append(
            f"| {state.value} | {fault.value} | {row.again.value}{word} | {row.blames.value} | {told} |"
        )
    return lines


class DocumentTests(SynchronousTestCase):
    """``docs/architecture.md`` shows the table."""

    def test_table(self) -> None:
        """Row by row, in the same order."""
        text = ARCHITECTURE.read_text("utf-8")
        states = "|".join(state.value for state in State)
        shown = re.findall(rf"^\| (?:{states}) \| .*$", text, re.MULTILINE)
        self.assertEqual(shown, table_lines())
