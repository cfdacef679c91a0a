"""Filters that the operator installed: what names and arguments mean, and the annotation ``filters``.

A package brings them by an entry point of the group ``txingress.filters``; how such a package is written is in
``docs/filters.md``.  The operator puts one before all routes, or allows Ingresses to ask for it by name.
A tenant's text chooses among names that were allowed and gives arguments, and is never code.

What an Ingress asks for and cannot have may have been a guard, so its paths answer 503 then.
"""

import re
from collections.abc import Callable, Hashable, Mapping
from typing import Final

from attrs import field

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Risk, ValueRefused, quoted
from ingress.filters import Filter, FilterSpec, Phase, Services
from ingress.model.frozen import frozen

ANNOTATION: Final = "filters"
OPTION: Final = "--allow-filter"

MAX_FILTERS: Final = 16
"""Of one Ingress."""
MAX_ARGUMENTS: Final = 4096
"""Characters."""

FilterFactory = Callable[[str], FilterSpec]
"""Makes a spec of the text behind ``NAME=``, empty where there is none, or raises ``ValueError`` with a reason."""

_is_name = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*").fullmatch


@frozen
class InstalledFilter:
    """A filter that a package brings: its name, and what makes specs of it."""

    name: str
    factory: FilterFactory = field(eq=False, repr=False)


@frozen
class OperatorFilter:
    """A spec of an installed filter.  Equal names and arguments are equal specs, and that is how it travels."""

    name: str
    arguments: str
    spec: FilterSpec = field(eq=False, repr=False)
    """What the factory made of these."""

    @property
    def phase(self) -> Phase:
        """Where its filter stands."""
        return self.spec.phase

    def describe(self) -> str:
        """Say what the spec says."""
        return self.spec.describe()

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return self.spec.make(services)


def split_filter(text: str) -> tuple[str, str]:
    """Read ``NAME`` or ``NAME=ARGUMENTS``; raise ``ValueRefused`` for what is neither."""
    name, _, arguments = text.strip().partition("=")
    if _is_name(name) is None:
        raise ValueRefused("does not begin with the name of a filter; write NAME or NAME=ARGUMENTS")
    if len(arguments) > MAX_ARGUMENTS:
        raise ValueRefused(f"has more than {MAX_ARGUMENTS} characters of arguments")
    return name, arguments


def operator_filter(installed: InstalledFilter, arguments: str) -> OperatorFilter:
    """Return the spec of *installed* with *arguments*; raise ``ValueRefused`` with a reason if there is none.

    A factory is foreign code: whatever it raises is its refusal, and what it returns is looked at before it is trusted.
    """
    try:
        spec = installed.factory(arguments)
        fault = _fault(spec)
    except ValueError as error:
        raise ValueRefused(f"is refused by filter {installed.name}: {error}") from None
    except Exception as error:
        raise ValueRefused(f"makes filter {installed.name} fail: {type(error).__name__}: {error}") from error
    if fault:
        raise ValueRefused(f"makes filter {installed.name} return no filter spec: {fault}")
    return OperatorFilter(installed.name, arguments, spec)


def _fault(spec: object) -> str:
    """Say why *spec* is none, empty if it is one."""
    if not isinstance(getattr(spec, "phase", None), Phase):
        return "its phase is none"
    if not isinstance(getattr(spec, "name", None), str):
        return "it has no name"
    for method in ("make", "describe"):
        if not callable(getattr(spec, method, None)):
            return f"it has no method {method}"
    if not isinstance(spec, Hashable):
        return "it has no hash"
    return ""


@frozen
class FilterSettings:
    """What the annotations of one Ingress say about filters of the operator's."""

    asked: tuple[FilterSpec, ...] = ()
    """In order; what closes the paths where something was asked for that cannot be had."""


def operator_filters(allowed: tuple[InstalledFilter, ...]) -> Family[FilterSettings]:
    """Return the family of the annotation ``filters``, by which Ingresses ask for those that are *allowed*."""
    by_name: Mapping[str, InstalledFilter] = {one.name: one for one in allowed}

    def parse(text: str) -> tuple[OperatorFilter, ...]:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) > MAX_FILTERS:
            raise ValueRefused(f"names more than {MAX_FILTERS} filters")
        return tuple(found(line) for line in lines)

    def found(line: str) -> OperatorFilter:
        name, arguments = split_filter(line)
        installed = by_name.get(name)
        if installed is None:
            known = ", ".join(sorted(by_name)) or "none"
            raise ValueRefused(
                f"names filter {quoted(name)}, which the operator does not allow; allowed by {OPTION}: {known}"
            )
        return operator_filter(installed, arguments)

    return Family(
        name="operator_filters",
        settings=FilterSettings(),
        acts="whatever filters of the operator's do",
        annotations={
            ANNOTATION: Annotation(
                "asked",
                parse,
                refused=(GuardMissing(),),
                instead="its paths answer 503, lest a guard is missing",
                values="`NAME` or `NAME=ARGUMENTS`, one a line",
                meaning="puts filters before the paths that the operator allows by `--allow-filter`",
                differs="is not in ingress-nginx",
                risk=Risk.MEDIUM,
            )
        },
        phases=tuple(Phase),
        filters=_filters,
    )


def _filters(settings: FilterSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    return settings.asked
