"""Which version of this program runs, and whether it runs as machine code."""

from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final

_COMPILED_IF_ANY: Final = "ingress.http.request_head"
"""A module of the hot path: they are all compiled, or none is."""


def running_version() -> str:
    """Return it; empty where the program runs from bare sources and is not installed."""
    try:
        return version("txingress")
    except PackageNotFoundError:
        return ""


def running_code() -> str:
    """Return ``compiled`` where the hot path is machine code, as in wheels, and ``plain`` where it is Python.

    It is looked up and not imported: whoever prints the version needs no more.
    """
    found = find_spec(_COMPILED_IF_ANY)
    origin = "" if found is None or found.origin is None else found.origin
    return "compiled" if origin.endswith(tuple(EXTENSION_SUFFIXES)) else "plain"
