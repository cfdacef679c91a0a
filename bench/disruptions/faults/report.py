"""Findings as a table for the terminal, and as JSON for other programs.  Pure, but for the writing of the file."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.disruptions.faults.checks import Finding, Verdict
from bench.disruptions.faults.fault import Fault
from bench.disruptions.faults.proxies import TITLES
from bench.setup.errors import BenchError

RESULTS = Path(__file__).parents[2] / "faults-results.json"
SCHEMA = 1
_WIDTHS = {"row": 17, "required": 32, "target": 8, "measured": 72}
_GAP = "  "


def head() -> str:
    """The first lines of the table."""
    names = _GAP.join(name.ljust(width) for name, width in _WIDTHS.items())
    return f"{names}{_GAP}verdict\n{'-' * (len(names) + len(_GAP) + len('verdict'))}"


def rows(fault: Fault, findings: Sequence[Finding]) -> str:
    """The lines of *fault*: its sentence, and below it what was measured at each proxy."""
    width = sum(_WIDTHS.values()) + len(_GAP) * len(_WIDTHS) - _WIDTHS["row"]
    indent = " " * (_WIDTHS["row"] + len(_GAP))
    lines = [fault.name.ljust(_WIDTHS["row"]) + _GAP]
    lines[0] += f"\n{indent}".join(textwrap.wrap(fault.sentence, width))
    for number, finding in enumerate(findings):
        required = textwrap.wrap(fault.required, _WIDTHS["required"]) if number == 0 else []
        measured = textwrap.wrap(finding.measured, _WIDTHS["measured"]) or [""]
        for line in range(max(len(required), len(measured))):
            cells = (
                "",
                required[line] if line < len(required) else "",
                TITLES[finding.target] if line == 0 else "",
                measured[line] if line < len(measured) else "",
            )
            row = _GAP.join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS.values(), strict=True))
            lines.append(f"{row}{_GAP}{finding.verdict.value if line == 0 else ''}".rstrip())
    return "\n".join(lines)


def summary(findings: Sequence[Finding]) -> str:
    """One line for each proxy: how many rows it passed."""
    lines = []
    for target in dict.fromkeys(finding.target for finding in findings):
        own = [finding for finding in findings if finding.target == target]
        passed = sum(finding.verdict is Verdict.PASSED for finding in own)
        failed = ", ".join(finding.fault for finding in own if finding.verdict is not Verdict.PASSED)
        lines.append(f"{TITLES[target]}: {passed} of {len(own)} passed{f'; not {failed}' if failed else ''}")
    return "\n".join(lines)


def document(
    faults: Sequence[Fault], findings: Sequence[Finding], setting: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything as JSON; the keys are described in ``docs/faults.md``."""
    found: dict[str, Any] = {"schema": SCHEMA, **setting, "faults": {}}
    for fault in faults:
        found["faults"][fault.name] = {
            "sentence": fault.sentence,
            "required": fault.required,
            "targets": {
                finding.target: {
                    "verdict": finding.verdict.name.lower(),
                    "measured": finding.measured,
                    "seconds": round(finding.seconds, 1),
                    "checks": [
                        {
                            "name": check.name,
                            "value": _json_number(check.value),
                            "unit": check.unit,
                            "bound": check.bound,
                            "met": check.is_met,
                        }
                        for check in finding.checks
                    ],
                }
                for finding in findings
                if finding.fault == fault.name
            },
        }
    return found


def write(found: Mapping[str, Any], path: Path) -> None:
    """Write the JSON.  Raises BenchError."""
    try:
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise BenchError(f"{path} cannot be written: {error.strerror}") from None


def _json_number(value: float | bool | str) -> float | bool | str | None:
    """What JSON knows of *value*: it has no infinity."""
    if isinstance(value, float):
        return None if value in (float("inf"), float("-inf")) else round(value, 4)
    return value
