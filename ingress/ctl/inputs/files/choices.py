"""How manifests are read, as far as that is a choice."""

from collections.abc import Callable, Mapping
from typing import BinaryIO

from attrs import Factory

from ingress.model.frozen import frozen


def _no_progress(what: str, count: int, of: int) -> None:
    pass


@frozen
class How:
    """How manifests are read."""

    namespaces: tuple[str, ...] = ()
    """The namespaces that are looked at, all without any; what names no namespace is in the first."""
    all_namespaces: bool = False
    """Whether somebody has asked for all of them in so many words."""
    builds: bool = True
    """Whether kustomizations are built by the program for that."""
    allows_remote: bool = False
    """Whether that may fetch what is not here."""
    like: str = ""
    """``NAMESPACE/NAME`` of the ingress-nginx among them whose arguments count; empty for none."""
    standard_input: BinaryIO | None = None
    """What ``-`` stands for, where that is not the process's own."""
    held: Mapping[str, bytes] = Factory(dict)
    """What an earlier reading holds of that, and of pipes, which say it once: by the names of places."""
    progress: Callable[[str, int, int], None] = _no_progress
    """Told now and then what is being done, how much of it is, and out of how many, 0 for unknown."""


USUAL = How()
"""All namespaces, and what is at hand to build with."""
