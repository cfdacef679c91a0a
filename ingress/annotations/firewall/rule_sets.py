"""Which rules a route has: what its Ingress says, what the operator says for all, and in which order.

As in ingress-nginx: the snippet of an Ingress, and in its place, where it has none and the operator has no firewall for all, the
recommended configuration; the core rules; then, where the operator has a firewall for all, the operator's snippet or the
recommended configuration, and the core rules again.  Nothing is loaded twice.
"""

from enum import Enum
from functools import lru_cache
from typing import Final

from ingress.annotations.firewall.properties import (
    ANSWER_BODY_ACCESS,
    ANSWER_BODY_LIMIT,
    ANSWER_BODY_LIMIT_ACTION,
    ANSWER_TYPES,
    ARGUMENTS_LIMIT,
    AUDIT,
    AUDIT_PARTS,
    BODIES_OF_ANSWERS,
    BODY_ACCESS,
    BODY_LIMIT,
    BODY_LIMIT_ACTION,
    MODE,
    PROPERTIES,
)
from ingress.annotations.firewall.reading import EMPTY, FirewallSnippet
from ingress.annotations.firewall.recommended import ANSWER_TYPES as RECOMMENDED_TYPES
from ingress.annotations.firewall.recommended import PROPERTIES as RECOMMENDED
from ingress.annotations.firewall.recommended import RULES
from ingress.model.exchanges.firewall import CORE_RULES, FirewallPlan, InspectedBodies, RuleSet
from ingress.model.frozen import frozen
from ingress.model.requests.templates import Template


class Switch(Enum):
    """What is said of whether requests are inspected."""

    UNSAID = "unsaid"
    ON = "on"
    OFF = "off"
    UNREADABLE = "unreadable"


@frozen
class FirewallSettings:
    """What the annotations of one Ingress say about the firewall, and what the operator says of it."""

    switch: Switch = Switch.UNSAID
    core_rules: bool = False
    snippet: FirewallSnippet = EMPTY
    transaction_id: Template | None = None
    operators_on: bool = False
    operators_core_rules: bool = False
    operators_snippet: FirewallSnippet = EMPTY
    plan: FirewallPlan | None = None
    """None where the operator has no firewall."""

    @property
    def is_asked_for(self) -> bool:
        """Whether requests are to be inspected."""
        if self.switch is Switch.UNSAID:
            return self.operators_on
        return self.switch is not Switch.OFF

    @property
    def lacks_guard(self) -> bool:
        """Whether what was asked for is not known, or not all there."""
        if self.lacks_operators_guard:
            return True
        return self.is_asked_for and (self.plan is None or self.snippet.lacks_guard)

    @property
    def lacks_operators_guard(self) -> bool:
        """Whether that is so by what the operator says for all, or because nobody can tell what the Ingress says."""
        if not self.is_asked_for:
            return False
        if self.plan is not None and self.switch is Switch.UNREADABLE:
            return True
        return self.operators_on and (self.plan is None or self.operators_snippet.lacks_guard)


_RECOMMENDED: Final = FirewallSnippet(
    tuple(sorted(RECOMMENDED.items())), (RULES,), answer_types=RECOMMENDED_TYPES
)
_CORE_RULES: Final = FirewallSnippet((), (CORE_RULES,), watches_answers=True, watches_bodies=True)
_UNLIMITED: Final = 0
_MORE_ARGUMENTS: Final = (
    'SecRule "&ARGS" "@ge {limit}"'
    " \"id:1999200007,phase:2,t:none,log,deny,status:400,msg:'More arguments than are looked at',severity:2\""
)
"""By an id that nobody has: the recommended configuration has its own."""


@lru_cache(maxsize=256)
def rule_set(settings: FirewallSettings) -> RuleSet | None:
    """Return the rules of routes with *settings*; None where nothing is inspected."""
    if settings.plan is None or not settings.is_asked_for:
        return None
    texts: list[FirewallSnippet] = []
    if settings.snippet != EMPTY:
        texts.append(settings.snippet)
    elif not settings.operators_on:
        texts.append(_RECOMMENDED)
    if settings.core_rules:
        texts.append(_CORE_RULES)
    if settings.operators_on:
        texts.append(_RECOMMENDED if settings.operators_snippet == EMPTY else settings.operators_snippet)
        if settings.operators_core_rules:
            texts.append(_CORE_RULES)
    said: dict[str, str] = {}
    parts: list[str | None] = []
    for text in texts:
        for name, value in text.properties:
            said.setdefault(name, value)
        parts += [part for part in text.parts if part not in (CORE_RULES, RULES) or part not in parts]
    mode = said.get(MODE, "Off").lower()
    if mode == "off":
        return None
    reads_body = said.get(BODY_ACCESS, "Off").lower() == "on" or any(text.reads_body for text in texts)
    body_bytes = _limited(said, BODY_LIMIT, settings.plan)
    # As the reference manual has it; the library does nothing where nobody says it.
    said.setdefault(BODY_LIMIT_ACTION, "Reject")
    is_audited = said.get(AUDIT, "Off").lower() != "off"
    answer_bodies, types = _answer_bodies(texts, said, settings.plan, is_audited=is_audited)
    # What is beyond the limit, rules do not see; and without one, ten thousand of them keep a process busy for seconds.
    arguments = int(said.setdefault(ARGUMENTS_LIMIT, RECOMMENDED[ARGUMENTS_LIMIT]))
    is_counted = RULES in parts and arguments >= int(RECOMMENDED[ARGUMENTS_LIMIT])
    counting = () if is_counted else (_MORE_ARGUMENTS.format(limit=arguments),)
    # Nothing is written to a file: this is the pipe to whoever serves, who has it in the log.
    audit = "SecAuditLogType Serial\nSecAuditLogFormat JSON\nSecAuditLog /dev/stdout"
    head = "\n".join(
        (*(_line(name, value) for name, value in sorted(said.items())), *types, audit, *counting)
    )
    return RuleSet(
        (head, *parts),
        blocks=mode == "on",
        body_bytes=body_bytes if reads_body else 0,
        # What is audited goes by the status of the answer, too.
        watches_answers=is_audited
        or answer_bodies is not None
        or any(text.watches_answers for text in texts),
        answer_bodies=answer_bodies,
        may_refuse=mode == "on" or any(text.starts_refusing for text in texts),
        is_operators=settings.snippet == EMPTY,
    )


def _limited(said: dict[str, str], name: str, plan: FirewallPlan) -> int:
    """Return how much of bodies is inspected by the limit *name*, and have the library told that."""
    limit = int(said.get(name, _UNLIMITED))
    size = min(limit, plan.body_bytes) if limit else plan.body_bytes
    said[name] = str(size)
    return size


def _answer_bodies(
    texts: list[FirewallSnippet], said: dict[str, str], plan: FirewallPlan, *, is_audited: bool
) -> tuple[InspectedBodies | None, tuple[str, ...]]:
    """Return which bodies of answers are inspected, if any, and the lines by which the library knows their types."""
    is_looked_at = any(text.watches_bodies for text in texts) or (
        is_audited and BODIES_OF_ANSWERS in said.get(AUDIT_PARTS, "")
    )
    if said.get(ANSWER_BODY_ACCESS, "Off").lower() != "on" or not is_looked_at:
        return None, ()
    size = _limited(said, ANSWER_BODY_LIMIT, plan)
    # Where nobody says it, the library refuses no answer for its length.
    said.setdefault(ANSWER_BODY_LIMIT_ACTION, "ProcessPartial")
    types: frozenset[str] = frozenset()
    for text in texts:
        types = frozenset(text.answer_types) | (frozenset() if text.clears_types else types)
    listed = tuple(sorted(types))
    lines = (f"{ANSWER_TYPES} {' '.join(listed)}",) if listed else ()
    return InspectedBodies(size, listed), lines


def _line(name: str, value: str) -> str:
    return f'{name} "{value}"' if PROPERTIES[name.lower()].is_quoted else f"{name} {value}"
