"""The rules and the dashboard of ``k8s/monitoring``, as plain data."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml
from attrs import frozen

REPOSITORY: Final = Path(__file__).resolve().parents[2]
MONITORING: Final = REPOSITORY / "k8s" / "monitoring"
RULES: Final = MONITORING / "prometheus-rule.yaml"
THEIR_NAMES: Final = MONITORING / "ingress-nginx" / "prometheus-rule.yaml"
"""The rules that record series under names of ingress-nginx."""
DASHBOARD: Final = MONITORING / "txingress.json"

_GROUPS: Final = "  groups:"


@frozen
class RecordingRule:
    """A series that Prometheus makes of others."""

    name: str
    expression: str


@frozen
class AlertRule:
    """An alert; *texts* are its labels and annotations, which may have templates in them."""

    name: str
    expression: str
    lasting: str
    """How long it has to be so, as Prometheus writes it; empty for not at all."""
    severity: str
    texts: dict[str, str]


@frozen
class Query:
    """What a panel of the dashboard asks for, and what it calls each answer."""

    panel: str
    expression: str
    legend: str


def groups_text(path: Path = RULES) -> str:
    """Return the rules as Prometheus itself reads them: the groups of the object, which is what ``sed`` makes of it in ``README.md``."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if line.startswith(_GROUPS))
    return "".join(line.removeprefix("  ") for line in lines[first:])


def rules(path: Path = RULES) -> Iterator[dict[str, Any]]:
    """Yield every rule of the object."""
    for group in yaml.safe_load(path.read_text("utf-8"))["spec"]["groups"]:
        yield from group["rules"]


def recording_rules(path: Path = RULES) -> list[RecordingRule]:
    """Return the rules that record, in their order."""
    return [RecordingRule(rule["record"], rule["expr"]) for rule in rules(path) if "record" in rule]


def alert_rules() -> list[AlertRule]:
    """Return the rules that alert, in their order."""
    return [
        AlertRule(
            rule["alert"],
            rule["expr"],
            rule.get("for", ""),
            rule["labels"]["severity"],
            {**rule["labels"], **rule["annotations"]},
        )
        for rule in rules()
        if "alert" in rule
    ]


def dashboard() -> dict[str, Any]:
    """Return the dashboard."""
    found: dict[str, Any] = json.loads(DASHBOARD.read_text("utf-8"))
    return found


def queries() -> Iterator[Query]:
    """Yield what the panels ask for, rows that are folded included."""
    for panel in dashboard()["panels"]:
        for one in (panel, *panel.get("panels", ())):
            for target in one.get("targets", ()):
                yield Query(one["title"], target["expr"], target.get("legendFormat", ""))
