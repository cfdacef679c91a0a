"""Print ``k8s/monitoring/txingress.json``, the Grafana dashboard, made from the panels of ``scripts.grafana_panels``.

``python -m scripts.grafana_dashboard > k8s/monitoring/txingress.json`` brings the file into step after a change; a test
says when that is due.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any, Final

from scripts.grafana_panels import POD, ROWS, Panel

TITLE: Final = "txingress"
UID: Final = "txingress"
_COLUMNS: Final = 24
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana takes it (schema version 36, Grafana 9 and later)."""
    return {
        "uid": UID,
        "title": TITLE,
        "description": "What the ingress controller serves, what fails and why, and how much room there is.",
        "tags": ["ingress", "txingress"],
        "schemaVersion": 36,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "",
        "links": [],
        "annotations": {"list": [_worker_ends()]},
        "templating": {"list": list(_variables())},
        "panels": list(_panels()),
    }


def _worker_ends() -> dict[str, Any]:
    """Return the marks where a worker ended."""
    return {
        "name": "Workers ended",
        "datasource": _SOURCE,
        "enable": True,
        "expr": f"sum by (pod, cause) (increase(ingress_worker_ends_total{{{POD}}}[1m])) > 0",
        "titleFormat": "{{pod}}: a worker ended, {{cause}}",
        "iconColor": "red",
        "step": "60s",
    }


def _variables() -> Iterator[dict[str, Any]]:
    yield {
        "name": "datasource",
        "type": "datasource",
        "query": "prometheus",
        "label": "Prometheus",
        "hide": 0,
    }
    yield _variable("job", "Job", "label_values(ingress_routes, job)", is_many=False)
    yield _variable("pod", "Pod", 'label_values(ingress_routes{job="$job"}, pod)')
    yield _variable("namespace", "Namespace", 'label_values(ingress_requests_total{job="$job"}, namespace)')
    yield _variable(
        "ingress",
        "Ingress",
        'label_values(ingress_requests_total{job="$job", namespace=~"$namespace"}, ingress)',
    )


def _variable(name: str, label: str, query: str, is_many: bool = True) -> dict[str, Any]:
    """Return a variable; one of many values is all of them to begin with, none included (``.*``)."""
    found: dict[str, Any] = {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _SOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "hide": 0,
        "multi": is_many,
        "includeAll": is_many,
    }
    if is_many:
        found |= {"allValue": ".*", "current": {"selected": True, "text": "All", "value": "$__all"}}
    return found


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 1, 0
    for row in ROWS:
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "panels": [],
            "gridPos": {"x": 0, "y": top, "w": _COLUMNS, "h": 1},
        }
        number, top, left = number + 1, top + 1, 0
        for panel in row.panels:
            if left + panel.width > _COLUMNS:
                top, left = top + row.height, 0
            place = {"x": left, "y": top, "w": panel.width, "h": row.height}
            yield {"id": number, "gridPos": place, **_drawn(panel)}
            number, left = number + 1, left + panel.width
        top += row.height


def _drawn(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0}
    if panel.kind in ("stat", "bargauge"):
        del defaults["min"]
    if panel.decimals is not None:
        defaults["decimals"] = panel.decimals
    if panel.bounds:
        steps = [
            {"color": color, "value": None if place == 0 else value}
            for place, (value, color) in enumerate(panel.bounds)
        ]
        defaults |= {"thresholds": {"mode": "absolute", "steps": steps}, "color": {"mode": "thresholds"}}
    if panel.kind == "timeseries":
        defaults["color"] = {"mode": "palette-classic"}
        defaults["custom"] = {
            "drawStyle": "line",
            "lineWidth": 1,
            "fillOpacity": 20 if panel.stacked else 5,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
            "thresholdsStyle": {"mode": "line" if panel.bounds else "off"},
        }
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "targets": [_target(panel, place, *query) for place, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": _options(panel),
    }


def _target(panel: Panel, place: int, expression: str, legend: str) -> dict[str, Any]:
    target: dict[str, Any] = {
        "refId": chr(ord("A") + place),
        "datasource": _SOURCE,
        "expr": expression,
        "legendFormat": legend,
        "range": panel.kind in ("timeseries", "heatmap"),
        "instant": panel.kind in ("stat", "bargauge"),
        "exemplar": "request_duration" in expression and panel.kind == "timeseries",
    }
    if panel.kind == "heatmap":
        target["format"] = "heatmap"
    return target


def _options(panel: Panel) -> dict[str, Any]:
    last = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    match panel.kind:
        case "stat":
            return {"reduceOptions": last, "colorMode": "value", "graphMode": "none", "textMode": "value"}
        case "bargauge":
            return {"reduceOptions": last, "orientation": "horizontal", "displayMode": "basic"}
        case "heatmap":
            return {
                "calculate": False,
                "yAxis": {"unit": panel.unit},
                "color": {"scheme": "Oranges", "steps": 64},
            }
    return {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(dashboard(), indent=1) + "\n")
