"""Directives that decide: ``return``, ``rewrite``, ``if``, ``set`` and ``location``, as data."""

import re
from typing import Final

from ingress.annotations.contract.snippet_blocks import (
    After,
    Block,
    Condition,
    Location,
    Operator,
    PathMatch,
    Return,
    Rewrite,
    SetVariable,
)
from ingress.annotations.contract.values import quoted
from ingress.annotations.nginx.field_directives import DirectiveRefused, template_of
from ingress.model.requests.templates import Template, TemplateRefused, is_known_variable, read_template
from ingress.model.text.expressions import ExpressionRefused
from ingress.model.text.searches import Search, read_search

REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
CLOSES_CONNECTION: Final = 444

_BEGINS_URL: Final = ("http://", "https://", "$scheme")
_FLAGS: Final = {
    "last": After.STOPS,
    "break": After.STOPS,
    "redirect": After.REDIRECTS,
    "permanent": After.REDIRECTS_FOR_GOOD,
}
_FILE_TESTS: Final = frozenset(("-f", "!-f", "-d", "!-d", "-e", "!-e", "-x", "!-x"))
_COMPARES: Final = {"=": False, "!=": True}
_OF_THE_ANSWER: Final = frozenset(("status", "sent_http_", "upstream_cache_status"))
_MATCHES: Final = {"~": (False, False), "~*": (True, False), "!~": (False, True), "!~*": (True, True)}
_is_variable = re.compile(r"\$[a-zA-Z_][a-zA-Z0-9_]{0,63}").fullmatch
_is_status = re.compile(r"[0-9]{3}", re.ASCII).fullmatch


def read_return(words: tuple[str, ...], own: frozenset[str]) -> Return:
    """Read ``return``."""
    if len(words) == 1 and words[0].startswith(_BEGINS_URL):
        return Return(302, target=template_of(words[0], own, what="target"))
    if not words or len(words) > 2 or not _is_status(words[0]):
        raise DirectiveRefused("takes a status, and a text or target")
    status = int(words[0])
    if not 200 <= status <= 599:
        raise DirectiveRefused(f"has status {status}, which is none of 200 to 599")
    if len(words) == 1:
        return Return(status)
    if status in REDIRECTS:
        return Return(status, target=template_of(words[1].strip(), own, what="target"))
    return Return(status, text=template_of(words[1], own, lines=True, what="text"))


def read_rewrite(words: tuple[str, ...], own: frozenset[str]) -> Rewrite:
    """Read ``rewrite``."""
    if not 2 <= len(words) <= 3 or (len(words) == 3 and words[2] not in _FLAGS):
        raise DirectiveRefused("takes an expression, a target, and last, break, redirect or permanent")
    search = _search(words[0])
    target = words[1]
    keeps_query = not target.endswith("?")
    after = _FLAGS[words[2]] if len(words) == 3 else After.GOES_ON
    if target.startswith(_BEGINS_URL) and after is not After.REDIRECTS_FOR_GOOD:
        after = After.REDIRECTS
    path, _, query = target.removesuffix("?").partition("?")
    own |= search.names
    return Rewrite(
        search,
        template_of(path, own, what="target"),
        template_of(query, own, what="target"),
        after,
        keeps_query,
    )


def read_set(words: tuple[str, ...], own: frozenset[str]) -> SetVariable:
    """Read ``set``."""
    name, value = _variable_and_value(words)
    return SetVariable(name, template_of(value, own, lines=True))


def read_set_from_auth(words: tuple[str, ...], own: frozenset[str]) -> SetVariable:
    """Read ``auth_request_set``."""
    name, value = _variable_and_value(words)
    template = template_of(value, own, answers=True)
    if not template.variables.isdisjoint(_OF_THE_ANSWER):
        raise DirectiveRefused("asks for the answer to the client, which is not there yet")
    return SetVariable(name, template)


def _variable_and_value(words: tuple[str, ...]) -> tuple[str, str]:
    if len(words) != 2 or not _is_variable(words[0]):
        raise DirectiveRefused("takes a variable and a value")
    name = words[0][1:]
    if is_known_variable(name):
        raise DirectiveRefused(f"sets ${name}, which has a value of its own")
    return name, words[1]


def read_condition(words: tuple[str, ...], own: frozenset[str]) -> Condition:
    """Read what stands in the parentheses of an ``if``."""
    inner = _without_parentheses(words)
    if len(inner) == 2 and inner[0] in _FILE_TESTS:
        raise DirectiveRefused("asks for files, and there are none here")
    if len(inner) not in (1, 3):
        raise DirectiveRefused("takes a variable, or a variable, an operator and a value")
    subject = _subject(inner[0], own)
    if len(inner) == 1:
        return Condition(subject, Operator.FILLED)
    operator, value = inner[1:]
    if operator in _COMPARES:
        text = template_of(value, own, lines=True)
        return Condition(subject, Operator.EQUALS, text=text, negates=_COMPARES[operator])
    if operator in _MATCHES:
        ignores_case, negates = _MATCHES[operator]
        search = _search(value, ignores_case=ignores_case)
        return Condition(subject, Operator.MATCHES, search=search, negates=negates)
    raise DirectiveRefused(f"has the operator {quoted(operator)}, which is none of =, !=, ~, ~*, !~ and !~*")


def read_place(words: tuple[str, ...]) -> Location:
    """Read what a ``location`` is for, without its block."""
    if len(words) == 1:
        found = re.match(r"(\^~|~\*|~|=)(.+)", words[0], re.DOTALL)
        words = (found[1], found[2]) if found else ("", words[0])
    if len(words) != 2 or words[0] not in ("", "=", "^~", "~", "~*"):
        raise DirectiveRefused("takes =, ^~, ~ or ~*, and a path or an expression")
    sign, text = words
    if sign in ("~", "~*"):
        return Location(PathMatch.SEARCH, b"", _search(text, ignores_case=sign == "~*"), Block())
    if text.startswith("@"):
        raise DirectiveRefused("has a name in place of a path, and nothing leads there")
    if not text.startswith("/") or not text.isprintable():
        raise DirectiveRefused(f"has {quoted(text)}, which is no path")
    return Location(PathMatch(sign), text.encode("utf-8", "replace"), None, Block())


def _without_parentheses(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words or not words[0].startswith("(") or not words[-1].endswith(")"):
        raise DirectiveRefused("has no condition in parentheses")
    if len(words) == 1:
        return (words[0][1:-1],)
    begin = () if words[0] == "(" else (words[0][1:],)
    end = () if words[-1] == ")" else (words[-1][:-1],)
    return (*begin, *words[1:-1], *end)


def _subject(text: str, own: frozenset[str]) -> Template:
    if not text.startswith("$"):
        raise DirectiveRefused(f"has {quoted(text)} where a variable must stand")
    try:
        subject = read_template(text, own=own)
    except TemplateRefused as refusal:
        raise DirectiveRefused(f"has a condition that {refusal}") from None
    if len(subject.parts) != 1 or not subject.variables:
        raise DirectiveRefused(f"has {quoted(text)} where one variable must stand")
    return subject


def _search(text: str, *, ignores_case: bool = False) -> Search:
    try:
        return read_search(text, ignores_case=ignores_case)
    except ExpressionRefused as refusal:
        raise DirectiveRefused(f"has {quoted(text)}, which {refusal}") from None
