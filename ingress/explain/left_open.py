"""What objects leave open that are not all there are: guards and certificates of Secrets and ConfigMaps that were not given.

A controller of all objects may have what these lack.  So what is closed only because something was not given is a
condition, and the explanation goes on as if it were there.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.client_certificates.check import HostClosed
from ingress.explain.objects import Objects
from ingress.filters import FilterSpec
from ingress.model.cluster.problems import Problem

_CLOSE: Final = (GuardMissing, HostClosed)
_ANNOTATIONS: Final = "metadata.annotations["
_CLOSED: Final = ("answer 503", "answer 403")


class LeftOpen(NamedTuple):
    """The filters of a route without those that stand where something was not given."""

    specs: tuple[FilterSpec, ...]
    conditions: tuple[str, ...] = ()
    """What has to be there, a sentence each."""


def without_closed(specs: tuple[FilterSpec, ...], problems: Iterable[Problem], objects: Objects) -> LeftOpen:
    """Leave out of *specs* what closes the route, if nothing else of the *problems* of its owner closes it than what was not given."""
    if not any(isinstance(one, _CLOSE) for one in specs):
        return LeftOpen(specs)
    conditions: list[str] = []
    for problem in sorted(problems):
        if problem.is_note or not problem.field.startswith(_ANNOTATIONS):
            continue
        closes = any(words in problem.message for words in _CLOSED)
        why = objects.not_checked(problem)
        if closes and not why:
            return LeftOpen(specs)
        if closes:
            annotation = problem.message.partition(":")[0]
            conditions.append(f"{annotation}: {why}; without it {problem.message.rpartition('; ')[2]}")
    if not conditions:
        return LeftOpen(specs)
    return LeftOpen(tuple(one for one in specs if not isinstance(one, _CLOSE)), tuple(conditions))


def certificate_not_checked(problems: Sequence[Problem], objects: Objects) -> str:
    """Say why it is not known which certificate is shown, by the *problems* of who asks for one; empty where it is."""
    found = (objects.not_checked(one) for one in sorted(problems) if one.field.startswith("spec.tls"))
    return next((why for why in found if why), "")
