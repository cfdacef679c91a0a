"""Snippets in words, for pages that show what stands before a route."""

from collections.abc import Iterable
from typing import Final

from ingress.annotations.contract.snippet_blocks import (
    AccessRule,
    Block,
    If,
    Level,
    MethodAccess,
    Return,
    Rewrite,
    SetVariable,
    Statement,
)
from ingress.wording import first_of

_MOST: Final = 8


def statements(block: Block) -> str:
    """Name the statements of *block*, in order."""
    return _some(map(_statement, block.statements)) or "nothing"


def access(level: Level) -> str:
    """Name the rules of *level*."""
    kept = [_rule(rule) for rules in level.kept for rule in rules]
    return (
        _some([*kept, *map(_rule, level.access), *map(_methods, level.by_method)])
        or "rules within if and location"
    )


def answer_fields(level: Level) -> str:
    """Name the fields that answers get or lose."""
    names = [one.name.decode() for one in level.fields] + [one.name.decode() for one in level.added]
    names += [one.decode() for one in sorted(level.hidden)]
    if level.expires is not None:
        names.append("Expires")
    return _some(dict.fromkeys(names)) or "those within if and location"


def request_fields(level: Level) -> str:
    """Name the fields that endpoints get or lose."""
    names = [one.name.decode() for one in (*level.inputs, *level.sent)]
    return _some(dict.fromkeys(names)) or "those within if, or the target"


def auth_variables(level: Level) -> str:
    """Name the variables that are set by what the service of ``auth-url`` said."""
    return _some(f"${one.name}" for one in level.from_auth) or "those within location"


def _statement(statement: Statement) -> str:
    if isinstance(statement, If):
        return f"if {statement.condition.subject} ({_some(map(_statement, statement.block.statements)) or 'fields'})"
    if isinstance(statement, Return):
        return f"return {statement.status}"
    if isinstance(statement, Rewrite):
        return f"rewrite {_shown(statement.search.text)}"
    if isinstance(statement, SetVariable):
        return f"set ${statement.name}"
    return "break"


def _rule(rule: AccessRule) -> str:
    return f"{'allow' if rule.allows else 'deny'} {rule.network or 'all'}"


def _methods(limited: MethodAccess) -> str:
    methods = ", ".join(sorted(one.decode() for one in limited.methods))
    return f"other methods than {methods}: {_some(map(_rule, limited.rules)) or 'all'}"


def _some(names: Iterable[str]) -> str:
    return first_of(list(map(_shown, names)), _MOST)


def _shown(text: str) -> str:
    """Return *text* in one line, and no longer than is sane."""
    shown = text.encode("ascii", "backslashreplace").decode()
    shown = "".join(one if one.isprintable() else "?" for one in shown)
    return shown if len(shown) <= 200 else f"{shown[:200]}..."
