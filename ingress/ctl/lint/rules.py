"""The rules: every finding is of one of these, and each says how much it matters.

Each reason of a problem is a rule (``docs/problems.md``), and lint has some of its own.
"""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from ingress.ctl.lint.finding import Level
from ingress.model.problems import Reason


@frozen
class Rule:
    """*name* is CamelCase, *means* a sentence for lists of rules."""

    name: str
    level: Level
    means: str


_NOTES: Final = frozenset(
    {
        Reason.ANNOTATION_NOTE,
        Reason.OPTION_NOTE,
    }
)
_WARNINGS: Final = frozenset(
    {
        Reason.CERTIFICATE_EXPIRED,
        Reason.CERTIFICATE_NOT_YET_VALID,
        Reason.DEPRECATED_VERSION,
        Reason.MISSING_PATH_TYPE,
        Reason.OPTION_OVERRIDDEN,
        Reason.UNKNOWN_ANNOTATION,
        Reason.UNRENDERED_MANIFEST,
    }
)


def _of_reason(reason: Reason) -> Rule:
    level = Level.NOTE if reason in _NOTES else Level.WARNING if reason in _WARNINGS else Level.ERROR
    return Rule(reason.value, level, f"a problem of the reason {reason.value}, as docs/problems.md has it")


RULES: Final[Mapping[str, Rule]] = {rule.name: rule for rule in map(_of_reason, Reason)}
"""By name."""
