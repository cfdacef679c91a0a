"""Print ``docs/lint-rules.md``, made from the table of rules.

``python -m scripts.lint_rules_page > docs/lint-rules.md`` brings the page into step after a change of a rule;
a test says when that is due.
"""

import sys
from collections.abc import Iterator

from ingress.ctl.lint.finding import Level
from ingress.ctl.lint.rules import RULES
from ingress.model.cluster.problems import Reason
from scripts.markdown import cell

_HEAD = """\
# What `ingressctl lint` looks for

The rules by which `ingressctl lint` finds something, each with how much it matters; `--fail-on` names a level, and
`.ingressctl.toml` accepts rules by name ([ingressctl.md](ingressctl.md)). This page is made by
`python -m scripts.lint_rules_page` from `ingress/ctl/lint/rules.py`; edit that instead.

An **error** is something that was asked for and is not done, or must not be; a **warning** something that may not be what its
owner means; a **note** is worth knowing, and everything that was asked for is done. What a finding says of its object names
field, value and the other object, and often what to write instead.

Rules that are [problems](problems.md) of the controller, too, have a mark in the last column: it tells of them by the same name.
The others are looked for here alone.

| Rule | Level | What it means | What helps | Problem |
|---|---|---|---|---|
"""


def lint_rules_page() -> str:
    """Return the whole page."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield _HEAD
    reasons = {reason.value for reason in Reason}
    for level in sorted(Level, reverse=True):
        for rule in RULES.values():
            if rule.level is level:
                mark = "✓" if rule.name in reasons else ""
                yield f"| `{rule.name}` | {level.word} | {cell(rule.means)} | {cell(rule.advice)} | {mark} |\n"


if __name__ == "__main__":
    sys.stdout.write(lint_rules_page())
