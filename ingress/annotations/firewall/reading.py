"""``modsecurity-snippet``, read as data: what it says of the whole rule set, its rules, and what of it is not honored.

What is refused and may have kept somebody out is a finding that closes; what only loosens or records is a finding that does not.  A
rule that belongs to a chain goes with all of it.
"""

import re
from functools import lru_cache
from typing import Final

from ingress.annotations.firewall.directives import Directive, GrammarError, read_directives
from ingress.annotations.firewall.properties import (
    ANSWER_TYPES,
    CLEARS_ANSWER_TYPES,
    IGNORED,
    IGNORED_VALUES,
    PROPERTIES,
    is_media_type,
)
from ingress.annotations.firewall.recommended import ANSWER_TYPES as RECOMMENDED_TYPES
from ingress.annotations.firewall.recommended import PROPERTIES as RECOMMENDED
from ingress.annotations.firewall.recommended import RULES as RECOMMENDED_RULES
from ingress.annotations.firewall.rules import NAMES, Rule, RuleRefused, read_rule
from ingress.model.exchanges.firewall import CORE_RULES
from ingress.model.frozen import frozen

_CORE_RULES: Final = re.compile(
    r"(?:/[a-z0-9._-]+)*/(?:nginx-modsecurity\.conf|crs-setup\.conf|rules/\*\.conf|owasp-crs\.load)"
)
"""All of the core rules, wherever they are said to be: there is one place here.  A single file of them is not all."""
_RECOMMENDED: Final = re.compile(r"(?:.*/)?modsecurity\.conf(?:-recommended)?")
_LOOSENS: Final = ("secruleremove", "secruleupdatetarget")
"""What begins so takes something away from rules: without it, more is refused, and nobody gets in."""


@frozen
class Finding:
    """What is to be told of one directive."""

    directive: str
    """As it is shown; empty for the whole text."""
    line: int
    """From 1; 0 for the whole text."""
    message: str
    closes: bool = False
    """Whether it may have kept somebody out."""
    is_note: bool = False
    """Whether nothing is lost."""


@frozen(cache_hash=True)
class FirewallSnippet:
    """One text, as data."""

    properties: tuple[tuple[str, str], ...] = ()
    """What it says of the whole set: names as the library has them, and values."""
    parts: tuple[str | None, ...] = ()
    """Its rules, in order: texts, and ``CORE_RULES``."""
    watches_answers: bool = False
    watches_bodies: bool = False
    """Whether a rule may look at bodies of answers."""
    reads_body: bool = False
    """Whether a rule has the body looked at where it is not otherwise."""
    starts_refusing: bool = False
    """Whether a rule may have others refuse what they only tell of otherwise."""
    answer_types: tuple[str, ...] = ()
    """Of answers whose bodies are looked at, ..."""
    clears_types: bool = False
    """... and whether these are all, whatever texts before say."""
    findings: tuple[Finding, ...] = ()

    @property
    def lacks_guard(self) -> bool:
        """Whether something of it that is not honored may have kept somebody out."""
        return any(finding.closes for finding in self.findings)


EMPTY: Final = FirewallSnippet()
_UNREADABLE: Final = FirewallSnippet(findings=(Finding("", 0, "is too long to be read", closes=True),))
UNREADABLE: Final = _UNREADABLE
"""What a text is of which nobody knows what it says."""


@lru_cache(maxsize=256)
def read_snippet(text: str) -> FirewallSnippet:
    """Read a whole text; what cannot be honored is among the findings.  Never raises."""
    if not text.strip():
        return EMPTY
    try:
        directives = read_directives(text)
    except GrammarError as error:
        return FirewallSnippet(findings=(Finding("", 0, str(error), closes=True),))
    reading = _Reading()
    for directive in directives:
        reading.take(directive)
    return reading.result()


class _Reading:
    """Puts one text together."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._parts: list[str | None] = []
        self._lines: list[str] = []
        self._findings: list[Finding] = []
        self._watches_answers = self._watches_bodies = self._reads_body = self._starts_refusing = False
        self._types: set[str] = set()
        self._clears_types = False
        self._chain: list[str] = []
        self._is_in_chain = self._chain_is_refused = False
        self._ids: set[str] = set()

    def take(self, directive: Directive) -> None:
        name = directive.name
        if name in NAMES:
            self._rule(directive)
            return
        if self._is_in_chain:
            self._refuse(directive, "stands within a chain of rules", closes=True)
        if name == "include":
            self._include(directive)
        elif name in PROPERTIES:
            self._property(directive)
        elif name == ANSWER_TYPES.lower():
            self._take_types(directive)
        elif name == CLEARS_ANSWER_TYPES.lower():
            self._types.clear()
            self._clears_types = True
        elif name in IGNORED:
            self._ignored(directive)
        else:
            self._refuse(directive, "is not honored", closes=True)

    def _rule(self, directive: Directive) -> None:
        begins_chain = not self._is_in_chain
        if begins_chain:
            self._chain, self._chain_is_refused = [], False
        try:
            rule = read_rule(directive)
            if begins_chain:
                self._take_id(directive, rule)
        except RuleRefused as refusal:
            closes = not directive.name.startswith(_LOOSENS)
            self._refuse(directive, str(refusal), closes=closes)
            self._chain_is_refused = True
            # Whether it has a chain is not known; a text of which it is not known is closed anyway.
            self._is_in_chain = False
            return
        self._watches_answers = self._watches_answers or rule.watches_answers
        self._watches_bodies = self._watches_bodies or rule.watches_bodies
        self._reads_body = self._reads_body or rule.reads_body
        self._starts_refusing = self._starts_refusing or rule.starts_refusing
        self._chain.append(rule.text)
        self._is_in_chain = rule.chains and directive.name == "secrule"
        if not self._is_in_chain and not self._chain_is_refused:
            self._lines += self._chain

    def _take_id(self, directive: Directive, rule: Rule) -> None:
        """Raise ``RuleRefused`` for a rule without an id, or with one that another one has."""
        if directive.name == "secrule" and not rule.id:
            raise RuleRefused("has no id")
        if rule.id in self._ids:
            raise RuleRefused(f"has the id {rule.id[:32]}, which another one has")
        if rule.id and directive.name in ("secrule", "secaction"):
            self._ids.add(rule.id)

    def _include(self, directive: Directive) -> None:
        path = directive.words[0] if len(directive.words) == 1 else ""
        if _RECOMMENDED.fullmatch(path):
            self._properties.update(RECOMMENDED)
            self._types.update(RECOMMENDED_TYPES)
            if RECOMMENDED_RULES not in self._parts:
                self._end_part()
                self._parts.append(RECOMMENDED_RULES)
        elif _CORE_RULES.fullmatch(path):
            if CORE_RULES not in self._parts:
                self._end_part()
                self._parts.append(CORE_RULES)
                self._watches_answers = self._watches_bodies = True
        else:
            message = "names a file that is not read: there are the core rules (nginx-modsecurity.conf) and modsecurity.conf"
            self._refuse(directive, message, closes=True)

    def _property(self, directive: Directive) -> None:
        row = PROPERTIES[directive.name]
        value = directive.words[0] if len(directive.words) == 1 else ""
        if row.pattern.fullmatch(value) is None:
            self._refuse(directive, f"wants {row.values}", closes=True)
            return
        self._properties[row.name] = value

    def _take_types(self, directive: Directive) -> None:
        types = [one for word in directive.words for one in word.split()]
        if not types or not all(map(is_media_type, types)):
            self._refuse(directive, "wants media types, such as text/html", closes=True)
            return
        self._types.update(types)

    def _ignored(self, directive: Directive) -> None:
        told = IGNORED[directive.name]
        value = " ".join(directive.words).lower()
        if told and value not in IGNORED_VALUES.get(directive.name, ()):
            self._findings.append(
                Finding(_shown(directive), directive.line, f"changes nothing: {told}", is_note=True)
            )

    def _refuse(self, directive: Directive, message: str, *, closes: bool) -> None:
        self._findings.append(Finding(_shown(directive), directive.line, message, closes))

    def _end_part(self) -> None:
        if self._lines:
            self._parts.append("\n".join(self._lines))
            self._lines = []

    def result(self) -> FirewallSnippet:
        if self._is_in_chain:
            self._findings.append(Finding("SecRule", 0, "ends amid a chain of rules", closes=True))
        self._end_part()
        return FirewallSnippet(
            tuple(sorted(self._properties.items())),
            tuple(self._parts),
            self._watches_answers,
            self._watches_bodies,
            self._reads_body,
            self._starts_refusing,
            tuple(sorted(self._types)),
            self._clears_types,
            tuple(self._findings),
        )


def _shown(directive: Directive) -> str:
    """Return the name of a directive for a message."""
    return directive.written if re.fullmatch(r"[A-Za-z0-9_]{1,64}", directive.written) else "a directive"
