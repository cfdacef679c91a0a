"""Annotations that keep requests out, where this controller does not honor them.

An Ingress that asks for a guard must not be served to everybody because its controller has none: its routes answer 503 until the
annotation is removed.  A snippet that cannot be read as one (``ingress.annotations.snippets``), or that the operator allows nobody, is
looked at for the words of directives that would keep somebody out.
"""

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from ingress.filter_parts.judging import Judging, status_reply
from ingress.filters import Filter, Phase, Reply, Services
from ingress.model.frozen import frozen

HOST_SNIPPET: Final = "server-snippet"
"""The snippet that stands before all paths of a host, those of other Ingresses included."""
_SNIPPETS: Final = frozenset(("configuration-snippet", HOST_SNIPPET))
_FIREWALL: Final = "modsecurity-snippet"

_REPLY: Final = status_reply(
    503, reason="an annotation asks for a guard that is not honored, so the route is closed"
)

# The words of nginx's configuration: quoted or not, with braces only in variables; comments begin words only.
_WORDS: Final = re.compile(
    r"""
    \s+ | \#[^\n]*
    | (?P<sign>[;{}])
    | "(?P<double>(?:[^"\\]|\\.)*)(?:"|\\?\Z)
    | '(?P<single>(?:[^'\\]|\\.)*)(?:'|\\?\Z)
    | (?P<plain>(?:\\.|\$\{|(?<=\$)\{|[^\s;{}\\])+|\\)
    """,
    re.VERBOSE | re.DOTALL,
)
_KEEPING_OUT: Final = frozenset({"allow", "deny", "internal", "limit_except", "satisfy"})
_KEEPING_OUT_FAMILIES: Final = ("access_by_lua", "auth_", "modsecurity")
_KEEPING_NOBODY_OUT: Final = "auth_request_set"
"""That of a family which refuses nothing."""
# Without any of these there is nothing to read; of a longer text only the beginnings of statements are looked at.
_TELLING: Final = (*sorted(_KEEPING_OUT), *_KEEPING_OUT_FAMILIES, "return")
_RETURNS_OTHERS: Final = re.compile(r"return[\s\"']+[^4]")
_BETWEEN: Final = re.compile(r"[;{}\n]")
_MOST_CHARACTERS: Final = 8192
_CLIENT_ERROR: Final = re.compile(r"4[0-9][0-9]")


def keeps_requests_out(name: str, value: str) -> bool:
    """Whether the annotation *name*, without its prefix, guards anything with *value*.

    An empty value guards nothing.
    """
    if not value.strip():
        return False
    # Snippets come here where the operator does not allow any.
    if name in _SNIPPETS:
        return snippet_keeps_requests_out(value)
    return name == _FIREWALL


def may_keep_requests_out(name: str) -> bool:
    """Whether the annotation *name*, without its prefix, may guard something with a value that cannot be had."""
    return name == _FIREWALL or name in _SNIPPETS


def snippet_keeps_requests_out(text: str) -> bool:
    """Whether *text*, written for nginx, has a directive that refuses requests, in whatever block.

    These are ``allow``, ``deny``, ``satisfy``, ``auth_...`` and others of nginx's access phase, and
    ``return`` with a status of 400 to 499.  What is switched ``off``, and ``allow all``, refuse nothing;
    comments and the arguments of other directives are no directives.  Of a text of above 8,192 characters
    nothing but the words are read that statements and lines begin with, and what one of these may mean counts.
    """
    lowered = text.lower()
    if not any(word in lowered for word in _TELLING):
        return False
    if len(text) > _MOST_CHARACTERS:
        return any(map(_may_refuse, _BETWEEN.split(lowered)))
    return any(_refuses(statement) for statement in _statements(text))


def _may_refuse(lowered: str) -> bool:
    statement = lowered.lstrip(" \t\r\f\v\"'")
    return statement.startswith(_TELLING) and _RETURNS_OTHERS.match(statement) is None


def _refuses(statement: list[str]) -> bool:
    directive, arguments = statement[0].lower(), statement[1:]
    if directive == "return":
        return bool(arguments) and _CLIENT_ERROR.fullmatch(arguments[0]) is not None
    if directive == _KEEPING_NOBODY_OUT:
        return False
    if directive in _KEEPING_OUT:
        return statement != ["allow", "all"]
    return directive.startswith(_KEEPING_OUT_FAMILIES) and arguments != ["off"]


def _statements(text: str) -> Iterator[list[str]]:
    """Yield the statements of *text*, each as its words; a block is one statement up to its brace."""
    words: list[str] = []
    for word in _WORDS.finditer(text):
        kind = word.lastgroup
        if kind == "sign":
            if words:
                yield words
            words = []
        elif kind is not None:
            words.append(word.group(kind))
    if words:
        yield words


@frozen
class GuardMissing:
    """Answers 503: the guard that the Ingress asks for is not there."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "guard-missing"

    def describe(self) -> str:
        """Say why nobody gets in."""
        return "answers 503: an annotation asks for a guard that is not honored"

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        return Judging(self.judge)

    def judge(self, request: object) -> Reply | None:
        """Let nothing pass."""
        return _REPLY
