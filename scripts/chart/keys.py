"""The keys of the chart, as ``values.yaml`` has them: what each is for, which may hold anything, and which type it has."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from attrs import frozen

CHART: Final = Path(__file__).resolve().parent.parent.parent / "k8s" / "chart"
FREE: Final = frozenset(
    {
        "controller.containerPort",
        "controller.metrics.dashboard.labels",
        "controller.nodeSelector",
        "controller.resources",
        "defaultBackend.nodeSelector",
    }
)
"""Mappings with a default that may have any other keys besides; those without any may in any case."""
_LINE: Final = re.compile(r"( *)([A-Za-z]+):(.*)")


@frozen
class Key:
    """One key, with all that is above it: ``controller.service.type``."""

    path: str
    comment: str
    default: Any
    is_free: bool
    """Whether what is below it is the user's alone."""

    @property
    def has_keys(self) -> bool:
        """Whether the chart has keys below it."""
        return isinstance(self.default, dict) and not self.is_free


def keys(text: str | None = None) -> tuple[Key, ...]:
    """Return the keys of the chart in their order, of ``values.yaml`` unless another *text* is given."""
    return tuple(_keys((CHART / "values.yaml").read_text("utf-8") if text is None else text))


def _keys(text: str) -> Iterator[Key]:
    values = yaml.load(text, yaml.CSafeLoader)
    parents: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in text.splitlines():
        if line.strip().startswith("#"):
            comment.append(line.strip(" #"))
            continue
        found = _LINE.fullmatch(line)
        if found is not None:
            depth = len(found[1])
            parents = [one for one in parents if one[0] < depth]
            path = ".".join([*(name for _, name in parents), found[2]])
            if not any(name in FREE for name in _above(path)):
                default = _value(values, path)
                is_free = path in FREE or default == {}
                yield Key(path, " ".join(comment), default, is_free)
            parents.append((depth, found[2]))
        comment = []


def _above(path: str) -> Iterator[str]:
    names = path.split(".")
    for length in range(1, len(names)):
        yield ".".join(names[:length])


def _value(values: Mapping[str, Any], path: str) -> Any:
    found: Any = values
    for name in path.split("."):
        found = found[name]
    return found
