"""Print ``docs/annotations.md``, made from the families of annotations.

``python -m scripts.annotations_page > docs/annotations.md`` brings the page into step after a change of a family;
a test says when that is due.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ingress.annotations.annotations import FAMILIES
from ingress.annotations.contract.values import Family, Place
from ingress.annotations.operator_filters import operator_filters
from ingress.annotations.unhonored import UNHONORED
from ingress.filters import Phase
from scripts.markdown import cell

_HEAD = """\
# Annotations: what each of them does

The annotations that are read, below the prefix of `--annotations-prefix`, in the order of their names. This page is made by
`python -m scripts.annotations_page` from the families in `ingress/annotations/`, one file a family; edit these instead.
What is wrong with a value is a [problem](problems.md) of the object, which names annotation, value and reason. A value without
anything in it asks for nothing, where its line says no more. Spaces around a value are nothing, but around a boolean.

*Values* says what may stand there and, behind the semicolon, what holds where nothing does. Booleans are written in quotes, as `"true"`.
*Risk* is what an author of Ingresses whom nobody trusts could do with it, as ingress-nginx grades its own; `--annotations-risk-level` says
how much any Ingress may have. Where the last column is empty, an annotation does what it does in ingress-nginx.

| Annotation | Values | Meaning | Risk | Where it differs |
|---|---|---|---|---|
"""

_PHASES = """\

## Where they stand

Some annotations become **filters** of routes ([filters.md](filters.md)). Those say in which *phase* of the chain they stand, and in
which *place*: filters for everything come first within a phase, then those of the host, of the route, and of a weighted backend.
The phases are, in order, as in nginx: {phases}. The others are settings of what the proxy does anyway, and stand
nowhere in the chain.

| Annotations | What they act on, or do | Phase | Place |
|---|---|---|---|
"""

_FOOT = """
`Strict-Transport-Security` is no annotation but an option, and a filter in phase ANSWER for hosts that redirect to HTTPS. [Compression](compression.md)
is options alone, too, and a filter in phase CODING: it goes by what those in phase ANSWER have made of an answer. What
stands before a host as a whole stands there where no route matches, too.
"""


def annotations_page() -> str:
    """Return the whole page."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    families: tuple[Family[Any], ...] = (*FAMILIES, operator_filters(()))
    yield _HEAD
    meanings = {name: row for family in families for name, row in family.annotations.items()}
    for name, row in sorted({**UNHONORED, **meanings}.items()):
        yield f"| `{name}` | {cell(row.values)} | {cell(row.meaning)} | {row.risk.value} | {cell(row.differs)} |\n"
    yield _PHASES.format(phases=", ".join(phase.name for phase in Phase))
    for family in sorted((one for one in families if one.annotations), key=lambda one: min(one.annotations)):
        phases = "any" if len(family.phases) == len(Phase) else ", ".join(one.name for one in family.phases)
        yield _place_row(family.annotations, family.acts, phases, family.place if family.phases else None)
    yield _FOOT


def _place_row(names: Iterable[str], acts: str, phases: str, place: Place | None) -> str:
    shown = ", ".join(f"`{name}`" for name in sorted(names))
    return f"| {shown} | {acts} | {phases} | {place.value if place else ''} |\n" if shown else ""


if __name__ == "__main__":
    sys.stdout.write(annotations_page())
