"""Asking the filters of a request what they do with it: their real hooks, with real facts, and services that only note.

What a hook decides at once is what the proxy would do.  What it would wait for is a condition, and the
explanation goes on as if that let the request pass.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from inspect import iscoroutine
from typing import Final

from ingress.explain.explanation import FilterSeen, Says
from ingress.explain.services import AskedServices, Awaited
from ingress.filters import FilterSpec, Hook, MoreBody
from ingress.http.edited_heads import AnswerChange, RequestChange
from ingress.http.field_values import first_value
from ingress.http.grpc import is_grpc
from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead
from ingress.model.exchanges.causes import Cause, cause_of_reply
from ingress.model.exchanges.reply import Reply
from ingress.model.exchanges.sub_requests import SubAnswer, SubRequestFailed
from ingress.model.frozen import frozen
from ingress.plain_data.secret_fields import tells_of_secrets
from ingress.proxy.exchange.facts import RequestFacts
from ingress.proxy.exchange.filtering.chain import Chain, FilterNotMade, LiveFilter, NoFilter, live_filter
from ingress.proxy.exchange.filtering.consulting import check_reply, consult
from ingress.proxy.exchange.grpc_replies import trailers_only
from ingress.proxy.exchange.replies import Replies, accepts_html, head_of, phrase_of

CREDENTIALS: Final = frozenset((b"authorization", b"proxy-authorization", b"cookie", b"set-cookie"))
"""Fields whose values are never shown."""
NOT_SHOWN: Final = "(not shown)"
_MOST_SHOWN: Final = 512
_REFUSALS: Final = (401, 403)


@frozen(eq=False)
class MadeFilter:
    """A filter that was made to be asked."""

    spec: FilterSpec
    live: LiveFilter
    services: AskedServices


def make_filter(spec: FilterSpec, now: datetime, replicas: int) -> MadeFilter:
    """Make the filter of *spec* as the proxy does; never raises."""
    services = AskedServices(now, replicas)
    try:
        live = live_filter(spec.name, spec.make(services), spec.phase)
    except Exception as error:  # A foreign filter may raise anything, and its requests get 500.
        live = live_filter(spec.name, NoFilter(spec.name, error), spec.phase)
    return MadeFilter(spec, live, services)


@frozen
class Answered:
    """An answer of the proxy's own, as it is sent."""

    head: ResponseHead
    status: int
    """What the log calls it; another one than that of *head* for gRPC."""
    by: str
    """The filter that answered, or failed; empty for the proxy itself."""
    conditions: tuple[str, ...] = ()

    @property
    def location(self) -> str:
        """Where it sends the client."""
        return first_value(self.head.start.partition(b"\r\n")[2], b"location").decode("latin-1")


class AskedFilters:
    """The filters on the way of one request."""

    def __init__(
        self, made: tuple[MadeFilter, ...], facts: RequestFacts, head: RequestHead, replies: Replies
    ) -> None:
        """*made* are in order."""
        self.facts = facts
        self.head = head
        self.conditions: list[str] = []
        """What has to come true for the request to go on, a sentence each."""
        self.failed: LiveFilter | None = None
        """The one that raised last."""
        self._made = made
        self._chain = Chain(tuple(one.live for one in made))
        self._replies = replies
        self._says: dict[LiveFilter, tuple[Says, str]] = {}
        self._changes: dict[LiveFilter, tuple[str, ...]] = {}

    def seen(self) -> tuple[FilterSeen, ...]:
        """Return what is known of each now."""
        return tuple(map(self._seen, self._made))

    def _seen(self, one: MadeFilter) -> FilterSeen:
        says, sentence = self._says.get(one.live, (Says.NOT_ASKED, "an answer came before it was asked"))
        if one.live not in self._says and Hook.REQUEST not in one.live.hooks:
            says, sentence = Says.LATER, _later(one.live)
        return FilterSeen(
            one.spec.name,
            one.spec.phase.name,
            _described(one.spec),
            says,
            sentence,
            self._changes.get(one.live, ()),
        )

    # The request

    def ask(self) -> tuple[LiveFilter, Reply] | None:
        """Ask all until one answers; return who that is, and its reply."""
        for live, hook in self._chain.requests:
            if live.filter.asks_unsized:
                self._says[live] = self._of_length(live)
                continue
            if not live.is_asked(self.facts):
                asked = f"{self.facts.method.decode('latin-1')} by {self.facts.scheme.decode('latin-1')}"
                self._says[live] = Says.NOT_ASKED, f"is not asked about {asked}"
                continue
            try:
                verdict: object = hook(self.facts)
                if not isinstance(verdict, Reply | None):
                    verdict = self._wait(live, verdict)
                if isinstance(verdict, Reply):
                    check_reply(verdict)
            except Exception as error:  # Whatever it raises, the proxy answers 500.
                return live, self._fail(live, error)
            if isinstance(verdict, Reply):
                self._says[live] = Says.ANSWERS, _shown_reply(verdict)
                return live, verdict
            if live not in self._says:
                self._says[live] = self._let_pass(live)
        return None

    def _of_length(self, live: LiveFilter) -> tuple[Says, str]:
        """Return what *live* says of a body that is not there, and that it holds where it has no length."""
        if self.facts.body_length is not None:
            return Says.PASSES, "lets it pass"
        sentence = (
            f"lets it pass if its body, which has no length, has at most {live.filter.holds_body - 1} bytes"
        )
        self.conditions.append(f"{live.name} {sentence}")
        return Says.DEPENDS, sentence

    def _let_pass(self, live: LiveFilter) -> tuple[Says, str]:
        services = self._services(live)
        if services.keeps_count:
            does = next(_described(one.spec) for one in self._made if one.live is live)
            self.conditions.append(f"{live.name} {does}")
            return Says.DEPENDS, "lets this one pass, unless others came before"
        if services.told:
            told = services.told[-1]
            return Says.PASSES, f"lets it pass, and tells {told.method.decode('latin-1')} {told.url}"
        return Says.PASSES, "lets it pass"

    def _services(self, live: LiveFilter) -> AskedServices:
        return next(one.services for one in self._made if one.live is live)

    def _fail(self, live: LiveFilter, error: Exception) -> Reply:
        cause = error.reason if isinstance(error, FilterNotMade) else error
        self.failed = live
        self._says[live] = Says.FAILS, f"fails: {type(cause).__name__}: {cause}"
        return self._replies.of(500, accepts_html(self.head.forward))

    def _wait(self, live: LiveFilter, coming: object) -> Reply | None:
        """Note what is waited for, and what would follow; return what needs no waiting after all."""
        if not isinstance(coming, Awaitable):
            raise TypeError(f"a hook returned {type(coming).__name__}, and no reply")
        awaited, verdict = first_wait(coming)
        if awaited is None:
            if verdict is not None:
                check_reply(verdict)
            return verdict if isinstance(verdict, Reply) else None
        sentence = self._condition(awaited)
        self._says[live] = Says.DEPENDS, sentence
        self.conditions.append(f"{live.name} {sentence}")
        return None

    def _condition(self, awaited: object) -> str:
        if not isinstance(awaited, Awaited):
            return "decides later, by what only it knows"
        request = awaited.request
        if request is None:
            return "goes on or answers by what comes of it: the hash of a password, or what rules of ModSecurity say"
        method, target = request.method.decode("latin-1"), request.target.decode("latin-1")
        where = f"Service {request.backend}" if request.backend is not None else f"{request.url}{target}"
        asks = f"asks {method} {where}"
        then = awaited.then
        if then is None:
            return f"{asks}, and goes by the answer"
        failed = _outcome(partial(then, SubRequestFailed("")))
        refused = [f"{status}: {_outcome(partial(then, SubAnswer(status)))}" for status in _REFUSALS]
        # Last, since what lets it pass is what the rest goes by.
        passed = _outcome(partial(then, SubAnswer(200)))
        return f"{asks}: if that says 200, {passed}; {'; '.join(refused)}; no answer: {failed}"

    # What goes upstream

    def change_request(self, head: RequestHead, fields: bytes) -> RequestHead | Reply:
        """Have them change *head* and *fields*, which go to the endpoint; return the head then, or the answer where one fails."""
        change = RequestChange(head, fields)
        for live, hook in self._chain.upstreams:
            before = change.head, change.fields
            try:
                hook(self.facts, change)
            except Exception as error:  # As in the proxy, which answers 500.
                return self._fail(live, error)
            told = tuple(_changes(before, (change.head, change.fields)))
            if told:
                self._changes[live] = told
        return change.head

    # Answers of our own

    def answered(self, reply: Reply, by: LiveFilter | None) -> Answered:
        """Return what becomes of *reply* on its way back through the filters."""
        silenced = frozenset({by} if by is not None and by is self.failed else ())
        while True:
            came = _for_client(
                reply, self.head, None if by is None else cause_of_reply(by.cause, reply.status)
            )
            change, first = AnswerChange(head_of(came), True), 0
            conditions: list[str] = []
            replaced: tuple[LiveFilter, Reply] | None = None
            while (stop := consult(self._chain, self.facts, change, first, silenced)) is not None:
                assert stop.live is not None
                first = stop.at + 1
                if stop.error is not None:
                    replaced = stop.live, self._fail(stop.live, stop.error)
                elif isinstance(stop.verdict, Reply):
                    replaced = stop.live, stop.verdict
                elif isinstance(stop.verdict, MoreBody) and change.body is None:
                    # All of it is there.
                    change.body, change.is_body_whole, first = came.body, True, stop.at
                elif isinstance(stop.verdict, Awaitable):
                    awaited, verdict = first_wait(stop.verdict)
                    if isinstance(verdict, Reply):
                        replaced = stop.live, verdict
                    elif awaited is not None:
                        conditions.append(f"{stop.live.name} {self._page(awaited)}")
                else:
                    replaced = stop.live, self._fail(stop.live, TypeError("a hook returned no reply"))
                if replaced is not None:
                    break
            if replaced is None:
                head = change.head
                status = reply.status if head.status == came.status else head.status
                return Answered(head, status, "" if by is None else by.name, tuple(conditions))
            by, reply = replaced
            silenced |= {by}

    @staticmethod
    def _page(awaited: object) -> str:
        request = awaited.request if isinstance(awaited, Awaited) else None
        if request is None:
            return "may put another answer in its place"
        where = f"Service {request.backend}" if request.backend is not None else request.url
        return (
            f"asks {where} for a page in its place, whose status counts; without an answer it stays as it is"
        )


def answered_plainly(replies: Replies, status: int, head: RequestHead) -> Answered:
    """Return the proxy's own answer with *status* to *head*, which no filter sees."""
    reply = replies.of(status, accepts_html(head.forward))
    return Answered(head_of(_for_client(reply, head)), status, "")


def _for_client(reply: Reply, head: RequestHead, cause: Cause | None = None) -> Reply:
    is_error = reply.status >= 300 and is_grpc(head)
    return trailers_only(reply.status, False, cause) if is_error else reply


def first_wait(coming: Awaitable[object]) -> tuple[object, object]:
    """Return what *coming* waits for first, or else None and what it comes to; it is not gone on with."""
    if isinstance(coming, Awaited):
        return coming, None
    steps = coming if iscoroutine(coming) else coming.__await__()
    try:
        return steps.send(None), None
    except StopIteration as end:
        return None, end.value
    finally:
        close = getattr(steps, "close", None)
        if close is not None:
            close()


def _outcome(decide: Callable[[], object]) -> str:
    """Say what *decide* comes to."""
    try:
        verdict = decide()
    except Exception as error:  # As in the proxy, which answers 500.
        return f"500, since {type(error).__name__} is raised"
    if verdict is None:
        return "it goes on"
    return _shown_reply(verdict) if isinstance(verdict, Reply) else "it waits for more"


def _shown_reply(reply: Reply) -> str:
    location = next((value for name, value in reply.fields if name.lower() == b"location"), b"")
    to = f" to {location.decode('latin-1')}" if location else ""
    return f"answers {reply.status} {phrase_of(reply.status)}".rstrip() + to


def _described(spec: FilterSpec) -> str:
    try:
        return str(spec.describe())
    except Exception as error:  # Of a foreign filter: it may raise anything.
        return f"cannot be described: {type(error).__name__}"


def _later(live: LiveFilter) -> str:
    what = [
        word
        for hooks, word in (
            ({Hook.UPSTREAM, Hook.REQUEST_BODY}, "what goes to the endpoint"),
            ({Hook.ANSWER, Hook.ANSWER_BODY}, "answers"),
            ({Hook.END}, "the end"),
        )
        if hooks & live.hooks or (word == "answers" and live.on_answer is not None)
    ]
    return f"looks at {' and '.join(what)}" if what else "does nothing"


def _changes(before: tuple[RequestHead, bytes], after: tuple[RequestHead, bytes]) -> list[str]:
    (was, fields_before), (now, fields_after) = before, after
    found: list[str] = []
    if was.target != now.target:
        found.append(f"asks for {_text(now.target)}")
    if was.authority != now.authority:
        found.append(f"asks as Host {_text(now.authority)}")
    lines_before, lines_after = _lines(fields_before), _lines(fields_after)
    came, went = lines_after - lines_before, lines_before - lines_after
    put = {line.partition(b":")[0].lower() for line in came}
    found += [f"sends {shown_field(line)}" for line in came]
    gone = {line.partition(b":")[0] for line in went}
    found += [f"drops {_text(name)}" for name in sorted(gone) if name.lower() not in put]
    if now.cgi is not None and now.cgi is not was.cgi:
        found += [f"tells {_text(name)}={_shown_param(name, value)}" for name, value in now.cgi.params]
    return found


def _shown_param(name: bytes, value: bytes) -> str:
    """Return the *value* of a param for people; credentials are not shown."""
    return NOT_SHOWN if tells_of_secrets(name.decode("latin-1")) else _text(value)


def _lines(fields: bytes) -> Counter[bytes]:
    return Counter(line for line in fields.split(b"\r\n") if line)


def shown_field(line: bytes) -> str:
    """Return the field of *line* for people; credentials are not shown."""
    name, _, value = line.partition(b":")
    shown = NOT_SHOWN if name.strip().lower() in CREDENTIALS else _text(value.strip(b" \t"))
    return f"{_text(name)}: {shown}"


def _text(octets: bytes) -> str:
    text = octets.decode("utf-8", "backslashreplace")
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
