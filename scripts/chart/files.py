"""Write what of the chart is made of other things: its tables, its schema, its copies of the alerts and of the dashboard, its page.

``python -m scripts.chart.files`` brings them into step; a test says when that is due.
"""

import json
from typing import Final

import yaml

from scripts.chart.keys import CHART
from scripts.chart.page import page
from scripts.chart.schema import schema
from scripts.chart.tables import tables

_MADE: Final = "# Made by `make docs` of the tables in the code: options, arguments and ConfigMap of ingress-nginx, and values.yaml.\n"
_MONITORING: Final = CHART.parent / "monitoring"
_COPIES: Final = {
    "files/prometheus-rule.yaml": "prometheus-rule.yaml",
    "files/ingress-nginx-names.yaml": "ingress-nginx/prometheus-rule.yaml",
    "files/txingress.json": "txingress.json",
}
"""A chart can read no file outside of its folder."""


def files() -> dict[str, str]:
    """Return the texts of all these files, by their paths in the chart."""
    return {
        "files/tables.yaml": _MADE
        + yaml.safe_dump(tables(), sort_keys=False, width=1000, allow_unicode=True),
        "values.schema.json": json.dumps(schema(), indent=2) + "\n",
        "README.md": page(),
        **{name: (_MONITORING / source).read_text("utf-8") for name, source in _COPIES.items()},
    }


if __name__ == "__main__":
    for name, text in files().items():
        (CHART / name).write_text(text, "utf-8")
