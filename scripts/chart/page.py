"""Print the page of the chart, ``k8s/chart/README.md``, with a table of its values and of what becomes of others."""

import json
from collections.abc import Iterator
from typing import Final

import yaml

from scripts.chart.keys import CHART, Key, keys
from scripts.markdown import cell

_HEAD: Final = (CHART / "files" / "page.md").read_text("utf-8") if (CHART / "files" / "page.md").exists() else ""


def page() -> str:
    """Return the whole page."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield _HEAD
    yield "\n## Values\n\n| Value | Default | |\n|---|---|---|\n"
    for one in keys():
        if not one.has_keys:
            yield f"| `{one.path}` | {_default(one)} | {cell(one.comment)} |\n"


def _default(one: Key) -> str:
    return f"`{json.dumps(one.default)}`"
