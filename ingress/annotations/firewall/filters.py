"""The firewall before a route: what firewall processes judge of its requests; of its answers in ``answers``.

Requests wait here for their verdicts.  Where nobody can give one, be it that a process ended, that it took too long, or that too many
wait, what follows is what the rules are for: rules that refuse requests keep them out then, too (503); rules that only tell of
them let them pass.
"""

import re
from collections.abc import Awaitable, Callable
from typing import ClassVar, Final

from ingress.filter_parts.judging import status_reply
from ingress.filters import Facts, Filter, Phase, Reply, Scope, Services
from ingress.model.exchanges.firewall import (
    INSPECTOR,
    InspectedAnswer,
    InspectedRequest,
    Inspector,
    Loaded,
    RuleSet,
    Verdict,
)
from ingress.model.frozen import frozen
from ingress.model.requests.templates import Template

TICKET: Final = "the ticket of the firewall"
"""Under which a request has the ticket by which its answer is inspected, as long as it waits for that."""

_RESERVED_FIELDS: Final = (
    b"forwarded",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-port",
    b"x-forwarded-prefix",
    b"x-forwarded-proto",
    b"x-real-ip",
)
"""What a client may say of another one, which does not go on as it came, and is looked at as well."""
_WITH_BODY: Final = frozenset((b"POST", b"PUT", b"PATCH"))
_MOST_ID_BYTES: Final = 128
_is_visible: Final = re.compile(rb"[\x21-\x7e]+").fullmatch


@frozen(cache_hash=True)
class InspectRequests:
    """Has requests judged by *rules*; plain data."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "firewall"

    rules: RuleSet
    transaction_id: Template | None = None

    def describe(self) -> str:
        """Say what is inspected, and what comes of it."""
        rules = self.rules
        what = "refuses" if rules.blocks else "tells of"
        body = f", {rules.body_bytes} bytes of their bodies" if rules.body_bytes else ""
        return f"{what} requests that rules of ModSecurity match: their heads{body}"

    def make(self, services: Services) -> Filter:
        """Make the filter that asks firewall processes."""
        return _Inspects(self, services)


def inspector_of(services: Services) -> Inspector:
    """Return who judges for filters with *services*."""
    return services.state(Scope.WORKER, INSPECTOR, lambda: _NobodyThere(services))


def reply_to(verdict: Verdict, rules: RuleSet, services: Services, what: str) -> Reply | None:
    """Return what is answered after *verdict* on *what*, which is counted; None where it passes."""
    count = services.count
    if verdict.failure:
        count("failed")
        return status_reply(503, reason=f"the firewall {verdict.failure}") if rules.blocks else None
    if verdict.status:
        count("blocked")
        # A rule may have put there what the visitor wrote.
        where = ((b"Location", verdict.location),) if _is_visible(verdict.location) else ()
        return status_reply(verdict.status, *where, reason=f"a rule of the firewall refuses the {what}")
    if verdict.matched:
        count("detected")
    return None


class _NobodyThere:
    """Judges nothing, and says so: for whoever only asks what filters would do."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def load(self, rules: RuleSet) -> Loaded:
        """Load nothing."""
        return _NotLoaded(rules)

    def inspect(self, loaded: Loaded, request: InspectedRequest) -> Awaitable[Verdict]:
        """Have it computed that nobody judges."""
        return self._services.compute(lambda: Verdict(failure="is not there"))

    def inspect_answer(self, answer: InspectedAnswer) -> Awaitable[Verdict]:
        """Have it computed that nobody judges."""
        return self._services.compute(lambda: Verdict(failure="is not there"))

    def report_answer(self, answer: InspectedAnswer, then: Callable[[Verdict], object]) -> None:
        """Say that nobody judges."""
        then(Verdict(failure="is not there"))

    def leave(self, ticket: int) -> None:
        """Nothing was begun."""


@frozen
class _NotLoaded:
    rules: RuleSet


class _Inspects(Filter):
    def __init__(self, spec: InspectRequests, services: Services) -> None:
        self._rules = spec.rules
        self._transaction_id = spec.transaction_id
        self._services = services
        self._inspector = inspector_of(services)
        self._loaded = self._inspector.load(spec.rules)
        # One more tells a body that is longer from one that is not; what follows from that is for the rules to say.
        self.holds_body = spec.rules.body_bytes + 1 if spec.rules.body_bytes else 0

    def on_request(self, facts: Facts) -> Awaitable[Reply | None]:
        """Have the request judged."""
        return self._judge(facts)

    async def _judge(self, facts: Facts) -> Reply | None:
        verdict = await self._inspector.inspect(self._loaded, self._seen(facts))
        if verdict.ticket:
            facts.notes[TICKET] = verdict.ticket
        return reply_to(verdict, self._rules, self._services, "request")

    def _seen(self, facts: Facts) -> InspectedRequest:
        name = facts.id
        if self._transaction_id is not None:
            name = self._transaction_id.render(facts)[:_MOST_ID_BYTES] or name
        body = facts.body[: self._rules.body_bytes + 1] if self._rules.body_bytes else b""
        return InspectedRequest(
            name,
            facts.client,
            facts.host,
            facts.port,
            facts.method,
            facts.target,
            _lines_of(facts, len(body)),
            body,
            self._rules.watches_answers,
        )


def _lines_of(facts: Facts, held: int) -> bytes:
    """Return the fields of a request as lines: as they came, but for those of the connection."""
    lines = [b"Host: %b\r\n" % facts.authority, facts.lines]
    for name in _RESERVED_FIELDS:
        value = facts.field(name)
        if value:
            lines.append(b"%b: %b\r\n" % (name, value))
    if not facts.is_body_whole:
        lines.append(b"Transfer-Encoding: chunked\r\n")
    elif held or facts.method in _WITH_BODY:
        lines.append(b"Content-Length: %d\r\n" % held)
    return b"".join(lines)
