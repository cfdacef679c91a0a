"""Filters that packages bring, by entry points of the group ``txingress.filters``.

Only what the operator names is imported: a package that is merely installed runs nothing here.
"""

from typing import TYPE_CHECKING

from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.operator_filters import (
    InstalledFilter,
    OperatorFilter,
    operator_filter,
    split_filter,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "txingress.filters"


def entry_points(group: str, name: str = "") -> "EntryPoints":
    """Return the entry points of *group* that installed packages have, those called *name* if that is given."""
    # Where no filter is named, nobody waits for what looks through packages.
    from importlib import metadata

    found = metadata.entry_points(group=group)
    return found.select(name=name) if name else found


def installed_filter(name: str) -> InstalledFilter:
    """Import the filter called *name*; raise ``ValueError`` with a reason if there is none that can be had."""
    brought = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if not brought:
        known = ", ".join(sorted({point.name for point in entry_points(group=GROUP)})) or "none"
        raise ValueError(f"no installed package brings filter {name}; brought are: {known}")
    if len(brought) > 1:
        raise ValueError(f"filter {name} is brought more than once: {', '.join(sorted(brought))}")
    (point,) = brought.values()
    try:
        factory = point.load()
    except Exception as error:
        # Foreign code runs here for the first time, and may fail in any way.
        raise ValueError(
            f"filter {name} cannot be imported from {point.value}: {type(error).__name__}: {error}"
        ) from error
    if not callable(factory):
        raise ValueError(f"filter {name}: {point.value} cannot be called, and so makes no filter spec")
    return InstalledFilter(name, factory)


def read_filter(text: str) -> OperatorFilter:
    """Read ``NAME`` or ``NAME=ARGUMENTS``: the spec of an installed filter."""
    try:
        name, arguments = split_filter(text)
        return operator_filter(installed_filter(name), arguments)
    except ValueRefused as refusal:
        raise ValueError(str(refusal)) from refusal


def read_allowed_filter(text: str) -> InstalledFilter:
    """Read the name of an installed filter, which Ingresses may give arguments of their own."""
    try:
        name, arguments = split_filter(text)
    except ValueRefused as refusal:
        raise ValueError(str(refusal)) from refusal
    if arguments or "=" in text:
        raise ValueError("is allowed by its name alone; arguments are for the Ingress to give")
    return installed_filter(name)
