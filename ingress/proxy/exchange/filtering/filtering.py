"""One exchange on its way through the filters of its chain; made only where there is a chain.

Its exchange asks it for a decision about the request (``ask``), hands it the request on its way upstream
(``change_request``, ``stage_request``) and each answer, be it an endpoint's or our own (``answer``); this calls the
hooks, and tells the exchange what comes of it.  At most one decision is awaited at a time.  What comes of an answer while one
is, waits here, and its sender is paused; but where a filter wants to see some of the body first, until that has come.

A filter that raises, or whose decision comes too late, costs the exchange its answer: 500 or 504 in its
place, or a cut once its head was sent.  That error, too, passes the filters, but none that failed before; and none twice that
replaced an answer.  So it ends.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from twisted.python.failure import Failure

from ingress.filters import MoreBody, Reply
from ingress.http.edited_heads import AnswerChange, RequestChange, without_length
from ingress.http.field_values import first_value
from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead
from ingress.model.exchanges.causes import Cause
from ingress.model.exchanges.records import Record
from ingress.proxy.contract.limits import DECISION_SECONDS
from ingress.proxy.contract.pending import Pending
from ingress.proxy.exchange.context import ExchangeContext
from ingress.proxy.exchange.facts import RequestFacts
from ingress.proxy.exchange.filtering.answer_passage import AnswerPassage
from ingress.proxy.exchange.filtering.body_stages import BodyStages, StageFailed
from ingress.proxy.exchange.filtering.chain import Chain, LiveFilter
from ingress.proxy.exchange.filtering.consulting import Stop, check_reply, consult
from ingress.proxy.exchange.filtering.decisions import Decision
from ingress.proxy.exchange.held_body import HeldBody
from ingress.proxy.exchange.request_passage import RequestPassage


class Filtered(Protocol):
    """What its filters ask of an exchange."""

    is_answer_filtered: bool
    """Whether pieces of the answer go to ``Filtering.answer_body``, and not on."""

    passage: RequestPassage | None
    """What becomes of the request body."""

    def replied(self, name: str, reply: Reply, cause: Cause) -> None:
        """Filter *name* answers, in place of whatever else would; if it is with an error, that is the *cause*."""

    def fail(self, status: int, why: str) -> None:
        """Answer with the error *status*, for *why*."""

    def filter_failed(self, name: str, status: int, why: str) -> None:
        """Filter *name* failed: answer with *status*, or end an answer that has begun."""

    def deliver(
        self, status: int, head: ResponseHead, body: bytes, ended: bool, trailers: list[bytes]
    ) -> None:
        """Send an answer that has passed its filters; the log calls it *status*."""

    def deliver_switch(self, head: ResponseHead, first: bytes) -> None:
        """Open a tunnel, whose head has passed its filters."""

    def deliver_body(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Send more of the answer."""

    def downstream_full(self) -> None:
        """Have the endpoint say no more for now."""

    def downstream_drained(self) -> None:
        """Have it go on, if nobody else has it wait."""

    def crash(self) -> None:
        """End the exchange, which met a bug of ours; called while it is handled."""


class _SentHead:
    """The head of an answer as it is sent; satisfies ``ingress.filters.AnswerHead``."""

    def __init__(self, head: ResponseHead) -> None:
        self._head = head
        self.status = head.status
        self.content_length = head.content_length if head.content_length >= 0 else None

    def field(self, name: bytes) -> bytes:
        """Return the value of the first field called *name*, in lower case; empty for none."""
        return first_value(self._head.start, name)


GoOn = Callable[[], object]
"""What is to be done when nobody objects."""


class Filtering:
    """What the filters of *chain* have to say about *exchange*."""

    # What most leave as it is stands here, and costs each of them nothing.
    _silenced: frozenset[LiveFilter] = frozenset()
    """Those that see no further answer: they failed, or replaced one."""
    _awaits = ""
    """The name of the filter whose decision that is, ..."""
    _awaits_since = 0.0
    """... and since when."""
    # The request
    _asked = 0
    """How many were asked about it."""
    _go_on: GoOn | None = None
    _request_stages: BodyStages | None = None
    # The answer
    _change: AnswerChange | None = None
    """Of the head that is not sent yet."""
    _logged = 0
    """The status that the log shows of it, ..."""
    _came = 0
    """... and the one that it came with."""
    _consulted = 0
    """How many were asked about it."""
    _wanted = 0
    """How many bytes of its body the next of them waits for; 0 for none."""
    _is_whole = False
    _lost: tuple[int, str] | None = None
    """What is to be answered where the rest of it will not come, and why."""
    _is_switch = False
    _is_paused = False
    """Whether its endpoint waits for us."""
    _answer_passage: AnswerPassage | None = None

    def __init__(
        self,
        chain: Chain,
        exchange: Filtered,
        facts: RequestFacts,
        context: ExchangeContext,
    ) -> None:
        self._chain = chain
        self._exchange = exchange
        self._decision: Decision | Pending[object] | None = None
        self._facts = facts
        self._clock = context.clock
        self._tracer = context.tracer
        self._errors = context.filter_errors
        self._held: HeldBody | None = None
        """What came of the body of an answer, while it is held."""
        self._trailers: list[bytes] = []
        if exchange.passage is not None:
            exchange.passage.filtering = self

    # Decisions about the request

    def ask(self, go_on: GoOn, stop: Stop | None = None) -> None:
        """Have the filters decide; *go_on* is called when all let the request pass.

        With *stop*, some have been asked (``ask_at_once``), and the last of them said something.
        """
        self._go_on = go_on
        if stop is None or stop.live is None:
            self._ask()
        else:
            self._asked = stop.at + 1
            self._said(stop.live, stop.verdict, stop.error)

    def body_came(self) -> None:
        """As much of the request body is there as was waited for."""
        self._ask()

    def _ask(self) -> None:
        requests = self._chain.requests
        while self._asked < len(requests):
            live, hook = requests[self._asked]
            if not live.is_asked(self._facts):
                self._asked += 1
                continue
            if live.filter.holds_body and not self._holds(live.filter.holds_body):
                return
            self._asked += 1
            verdict: object = None
            error: Exception | None = None
            try:
                verdict = hook(self._facts)
                if isinstance(verdict, Reply):
                    check_reply(verdict)
            except Exception as raised:
                error = raised
            if verdict is not None or error is not None:
                self._said(live, verdict, error)
                return
        go_on, self._go_on = self._go_on, None
        if go_on is not None:
            go_on()

    def _said(self, live: LiveFilter, verdict: object, error: Exception | None) -> None:
        """Do what follows what *live* said of the request."""
        if error is None and not isinstance(verdict, Reply):
            try:
                self._await(live, verdict, self._decided)
            except Exception as raised:
                error = raised
        if error is not None:
            self._failed(live, error)
        elif isinstance(verdict, Reply):
            self._exchange.replied(live.name, verdict, live.cause)

    def _holds(self, size: int) -> bool:
        """Whether as much of the request body is there; ``body_came`` is called when it is, unless that cannot be."""
        passage, facts = self._exchange.passage, self._facts
        if passage is not None:
            body = passage.so_far(size)
            if body is None:
                return False
            facts.body, facts.is_body_whole = body, passage.is_whole
        return True

    def _decided(self, live: LiveFilter, reply: Reply | None) -> None:
        if reply is None:
            self._ask()
        else:
            self._exchange.replied(live.name, reply, live.cause)

    # Waiting

    def _await(
        self,
        live: LiveFilter,
        coming: object,
        decided: Callable[[LiveFilter, Reply | None], None],
    ) -> None:
        """Have *decided* called with the reply that comes, or have *live* fail."""

        if self._tracer is not None:
            self._awaits, self._awaits_since = live.name, self._clock.seconds()

        def came(reply: object) -> None:
            self._decision = None
            if self._tracer is not None:
                self._waited("")
            try:
                if reply is not None:
                    check_reply(reply)
            except (TypeError, ValueError) as error:
                self._contain(self._failed, live, error)
            else:
                self._contain(decided, live, reply)

        if isinstance(coming, Pending):
            # Its own time is bounded.
            self._decision = coming
            coming.listen(came, partial(self._raised, live))
            return

        def raised(failure: Failure) -> None:
            self._raised(live, failure.value)

        def late() -> None:
            self._decision = None
            self._waited("did not decide in time")
            self._contain(self._late, live)

        if not isinstance(coming, Awaitable):
            raise TypeError(f"a hook returned {type(coming).__name__}, and no reply")
        decision = self._decision = Decision(coming, came, raised, late)
        decision.start(self._clock, DECISION_SECONDS)

    def _waited(self, why: str) -> None:
        """Tell who traces that what was awaited is there, or *why* it is not."""
        if self._tracer is not None:
            self._tracer.waited(self._facts.trace, self._awaits, self._awaits_since, why)

    def _raised(self, live: LiveFilter, error: BaseException | None) -> None:
        self._decision = None
        self._waited(f"{type(error).__name__}: {error}")
        self._contain(self._failed, live, error)

    def _contain(self, call: Callable[..., None], *arguments: object) -> None:
        """Call what nobody else would see raise."""
        try:
            call(*arguments)
        except Exception:
            self._exchange.crash()

    def _stop_waiting(self) -> None:
        decision, self._decision = self._decision, None
        if decision is not None:
            self._waited("nobody waits any longer")
            decision.cancel()

    # Failures

    def _late(self, live: LiveFilter) -> None:
        self._errors.late(live.name)
        self._silenced |= {live}
        why = f"filter {live.name} did not decide within {DECISION_SECONDS:g} s"
        self._exchange.filter_failed(live.name, 504, why)

    def _failed(self, live: LiveFilter, error: BaseException) -> None:
        self._errors.raised(live.name, error, self._facts.id)
        self._silenced |= {live}
        why = f"filter {live.name} failed: {type(error).__name__}: {error}"
        self._exchange.filter_failed(live.name, 500, why)

    def stage_failed(self, failed: StageFailed) -> None:
        """A stage raised."""
        self._failed(failed.live, failed.error)

    # The request on its way upstream

    def change_request(self, head: RequestHead, fields: bytes) -> tuple[RequestHead, bytes]:
        """Have the filters change the request for one attempt; return its head and all its fields, as they are then."""
        passage = self._exchange.passage
        is_continued = passage is not None and passage.is_continued
        change = RequestChange(head, fields)
        change.is_unframed = self._request_stages is not None and self._request_stages.may_change
        change.is_expected = head.expect_continue and not is_continued
        for live, hook in self._chain.upstreams:
            try:
                hook(self._facts, change)
            except Exception as error:
                self._failed(live, error)
                return head, fields
        return change.head, change.fields

    def stage_request(self, passage: RequestPassage | None) -> bool:
        """Have the request body, if there is one, pass its stages, if it has some; return whether none failed."""
        if passage is None:
            return True
        stages = BodyStages(passage.pause, passage.resume)
        try:
            for live, hook in self._chain.request_bodies:
                stages.add(live, partial(hook, self._facts))
        except StageFailed as failed:
            self.stage_failed(failed)
            return False
        if not stages:
            return True
        self._request_stages = stages
        return passage.pass_through(stages)

    # The answer

    def answer(
        self,
        logged: int,
        head: ResponseHead,
        body: bytes,
        ended: bool,
        trailers: list[bytes],
        change: AnswerChange,
        stop: Stop | None = None,
    ) -> None:
        """Have the filters see an answer, and send what they make of it; the log calls its status *logged*.

        It takes the place of any other that is not sent yet.  Where *change* was seen by some of them, *stop* is what
        they said; if that is nothing, all have seen it that have to.
        """
        self._take(logged, head, body, change)
        self._is_whole, self._trailers = ended, trailers
        self._is_switch = False
        if stop is None:
            self._send(change)
        else:
            self._stopped(stop, change)

    def answer_ourselves(self, logged: int, head: ResponseHead, body: bytes) -> None:
        """Have them see a reply of our own."""
        change = AnswerChange(head, True)
        self.answer(logged, head, body, True, [], change, Stop(-1, None, None, None))

    def switch(self, head: ResponseHead, first: bytes) -> None:
        """Have them see the head that opens a tunnel, whose bytes begin with *first*."""
        change = AnswerChange(head, False)
        self._take(head.status, head, first, change)
        self._is_whole, self._trailers = False, []
        self._is_switch = True
        self._consult(change)

    def _take(self, logged: int, head: ResponseHead, body: bytes, change: AnswerChange) -> None:
        if self._decision is not None:
            self._stop_waiting()
        self._exchange.is_answer_filtered = True
        self._lost = None
        self._change = change
        self._logged, self._came = logged, head.status
        self._consulted = self._wanted = 0
        self._held = HeldBody()
        self._held.replace(body)

    def _consult(self, change: AnswerChange) -> None:
        """Have those see the answer that have not."""
        stop = consult(self._chain, self._facts, change, self._consulted, self._silenced)
        if stop is None:
            self._send(change)
        else:
            self._stopped(stop, change)

    def _stopped(self, stop: Stop, change: AnswerChange) -> None:
        """One of them said something."""
        self._consulted = stop.at + 1
        live, verdict = stop.live, stop.verdict
        if live is None:
            self._consult(change)
        elif stop.error is not None:
            self._failed(live, stop.error)
        elif isinstance(verdict, Reply):
            self._replace(live, verdict)
        elif isinstance(verdict, MoreBody):
            self._consulted = stop.at
            self._want(live, verdict, change)
        else:
            self._is_paused = True
            self._exchange.downstream_full()
            try:
                self._await(live, verdict, self._consulted_by)
            except (TypeError, ValueError) as error:
                self._failed(live, error)

    def _want(self, live: LiveFilter, wanted: MoreBody, change: AnswerChange) -> None:
        """Have *live* asked again once so much of the body is there as is *wanted*."""
        held = self._held
        assert held is not None
        if change.body is not None and (change.is_body_whole or wanted.size <= len(change.body)):
            self._failed(live, ValueError("asks for a body that it has"))
            return
        self._wanted = wanted.size
        if self._is_whole or self._is_switch or held.size >= wanted.size:
            self._show(change)
        elif self._is_paused:
            self._is_paused = False
            self._exchange.downstream_drained()

    def _show(self, change: AnswerChange) -> None:
        """As much of the body is there as was waited for: ask whoever wanted it."""
        held = self._held
        assert held is not None
        self._wanted = 0
        # What opens a tunnel has no body.
        body = b"" if self._is_switch else held.joined()
        if not self._is_switch:
            held.replace(body)
        change.body, change.is_body_whole = body, self._is_whole or self._is_switch
        self._consult(change)

    def _consulted_by(self, live: LiveFilter, reply: Reply | None) -> None:
        if reply is not None:
            self._replace(live, reply)
        elif self._lost is not None:
            self._exchange.fail(*self._lost)
        elif self._change is not None:
            self._consult(self._change)

    def _replace(self, live: LiveFilter, reply: Reply) -> None:
        self._silenced |= {live}
        self._exchange.replied(live.name, reply, live.cause)

    def _send(self, change: AnswerChange) -> None:
        """Send the answer, which all filters have seen."""
        exchange, head, held = self._exchange, change.head, self._held
        assert held is not None
        body = held.joined()
        if self._is_switch:
            self._sends(None)
            exchange.deliver_switch(head, body)
        else:
            passage, is_whole = None, self._is_whole
            if self._chain.answer_bodies:
                try:
                    passage = self._stage_answer(head)
                    if passage is not None:
                        head = without_length(head) if passage.stages.may_change else head
                        body, is_whole = passage.begin(body, is_whole, self._trailers)
                except StageFailed as failed:
                    self.stage_failed(failed)
                    return
            self._sends(passage)
            status = self._logged if head.status == self._came else head.status
            exchange.deliver(status, head, body, is_whole, self._trailers)
        if self._is_paused:
            self._is_paused = False
            exchange.downstream_drained()

    def _sends(self, passage: AnswerPassage | None) -> None:
        """From now on the answer goes on, by *passage* if it has stages to pass."""
        self._change = None
        self._held = None
        self._answer_passage = passage
        self._exchange.is_answer_filtered = passage is not None

    def _stage_answer(self, head: ResponseHead) -> AnswerPassage | None:
        if not head.has_body or self._facts.method == b"HEAD":
            return None
        exchange = self._exchange
        passage = AnswerPassage(
            exchange.downstream_full,
            exchange.downstream_drained,
            exchange.deliver_body,
            self.stage_failed,
            self._contain,
        )
        shown = _SentHead(head)
        for live, hook in self._chain.answer_bodies:
            if live not in self._silenced:
                passage.stages.add(live, partial(hook, self._facts, shown))
        return passage if passage.stages else None

    def answer_body(self, piece: bytes, ended: bool, trailers: list[bytes]) -> None:
        """Take more of an answer whose head waits, or whose body has stages."""
        if self._held is not None:
            held, change = self._held, self._change
            held.add(piece)
            self._is_whole, self._trailers = ended, trailers
            if self._wanted and change is not None and (ended or held.size >= self._wanted):
                self._show(change)
            return
        assert self._answer_passage is not None
        self._answer_passage.take(piece, ended, trailers)

    def waits_without(self, status: int, why: str) -> bool:
        """Whether something may come in place of an answer that broke off; if it does not, *status* is answered, for *why*."""
        if self._change is None or self._decision is None:
            return False
        self._lost = status, why
        return True

    @property
    def holds_answer(self) -> bool:
        """Whether the endpoint is to wait with the rest of the answer."""
        return self._is_paused or (self._answer_passage is not None and self._answer_passage.holds)

    # The end

    def close(self) -> None:
        """The exchange is over: nothing is awaited any more, and whatever comes late changes nothing."""
        if self._decision is not None:
            self._stop_waiting()
        if self._request_stages is not None:
            self._request_stages.close()
        if self._answer_passage is not None:
            self._answer_passage.close()
            self._answer_passage = None

    def tell_end(self, record: Record) -> None:
        """Tell the filters what became of the exchange."""
        for live, hook in self._chain.ends:
            try:
                hook(self._facts, record)
            except Exception as error:
                self._errors.raised(live.name, error, self._facts.id)
