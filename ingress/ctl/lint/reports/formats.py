"""The formats by their names; each is imported when it is asked for."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Final

from ingress.ctl.lint.reports.results import Results

TABLE: Final = "table"
MACHINE_FORMATS: Final = ("json", "sarif", "github", "junit")
"""Each is a module beside this one, with a function ``lines`` of results."""
FORMATS: Final = (TABLE, *MACHINE_FORMATS)


def machine_lines(name: str, results: Results) -> Iterator[str]:
    """Yield the lines of *results* in the format *name*, one of ``MACHINE_FORMATS``."""
    lines: Callable[[Results], Iterator[str]] = import_module(f"ingress.ctl.lint.reports.{name}").lines
    return lines(results)
