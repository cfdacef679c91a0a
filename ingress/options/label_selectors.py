"""Selectors of labels as ``kubectl --selector`` has them, and ``labels.Parse`` of ``k8s.io/apimachinery``, but for numbers (``>`` and ``<``)."""

import re
from collections.abc import Iterator
from typing import Final

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.label_selectors import LabelRequirement, LabelSelector

_PART: Final = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_KEY: Final = rf"(?P<key>(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?{_PART})"
_ONE: Final = re.compile(
    rf"\s*(?:(?P<not>!)\s*{_KEY.replace('key', 'absent')}"
    rf"|{_KEY}(?:\s*(?P<sign>==|=|!=)\s*(?P<value>(?:{_PART})?)|\s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\))?)"
    r"\s*(?P<end>,|\Z)"
)
_VALUE: Final = re.compile(rf"(?:{_PART})?")
_OPERATORS: Final = {"=": "In", "==": "In", "!=": "NotIn", "in": "In", "notin": "NotIn"}
_MOST_NAME: Final = 63
_MOST_PREFIX: Final = 253


def read_label_selector(text: str) -> LabelSelector | None:
    """Read requirements with commas between them; nothing at all selects everything, which is None."""
    return LabelSelector(tuple(_requirements(text))) if text.strip() else None


def _requirements(text: str) -> Iterator[LabelRequirement]:
    place, end = 0, ","
    while end:
        found = _ONE.match(text, place)
        if found is None:
            rest = text[place:].strip()
            raise ValueError(
                f"{quoted(rest)} is no requirement of labels such as team=a, team!=a, team in (a,b), team notin (a,b), team or !team"
            )
        yield _requirement(found)
        place, end = found.end(), found["end"]


def _requirement(found: re.Match[str]) -> LabelRequirement:
    key = found["absent"] or found["key"]
    prefix, _, name = key.rpartition("/")
    if len(name) > _MOST_NAME or len(prefix) > _MOST_PREFIX:
        raise ValueError(f"{quoted(key)} is too long for the name of a label")
    if found["not"]:
        return LabelRequirement(key, "DoesNotExist")
    word = found["sign"] or found["word"]
    if not word:
        return LabelRequirement(key, "Exists")
    values = [found["value"]] if found["sign"] else [one.strip() for one in found["values"].split(",")]
    if values == [""] and not found["sign"]:
        raise ValueError(f"there are no values in the parentheses behind {quoted(key)}")
    for value in values:
        if not _VALUE.fullmatch(value) or len(value) > _MOST_NAME:
            raise ValueError(f"{quoted(value)} cannot be the value of a label")
    return LabelRequirement(key, _OPERATORS[word], tuple(dict.fromkeys(values)))
