"""Causes: why answers differ, as far as can be told by the objects that take the requests.  Pure.

Differences of one sort are told once, with the object whose rule takes the requests, and what is known of it: what documents
say of everybody, and what of its annotations is not done, or otherwise.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from attrs import evolve, field, frozen

from ingress.ctl.comparing.differences import (
    ANSWER,
    ANSWERED_BY,
    BACKEND,
    CERTIFICATE,
    LOCATION,
    STATUS,
    Compared,
    Difference,
    Weight,
)
from ingress.ctl.comparing.given_requests import route_of
from ingress.ctl.comparing.samples import Sample
from ingress.ctl.inputs.input import Input
from ingress.ctl.lint.finding import Level, LintReport, ObjectReport, Standing
from ingress.model.objects import ObjectId
from ingress.routing.paths import PathError, normal_path

_WORDS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (LOCATION.lower(), ("redirect", "rewrite", "root", "signin", "www")),
    (BACKEND, ("canary", "rewrite", "regex", "backend")),
    (ANSWERED_BY, ("errors", "default-backend", "rewrite", "regex", "auth")),
    (CERTIFICATE, ("tls", "ssl", "cert")),
    ("access-control-", ("cors",)),
    ("strict-transport-security", ("hsts", "snippet")),
    ("set-cookie", ("cookie", "affinity")),
    ("content-encoding", ("gzip", "brotli", "compress")),
    ("www-authenticate", ("auth",)),
)
"""What differs, and what annotations about it have in their names."""
_ANY_FIELD: Final = ("header", "snippet", "cors")


@frozen
class Taken:
    """What of our own takes a sample: the object whose rule it is, and where that leads; empty where nothing does."""

    object_id: ObjectId | None = None
    path: str = ""
    backend: str = ""

    def __str__(self) -> str:
        if self.object_id is None:
            return "the default backend" if self.backend else "no rule"
        kind, key = self.object_id
        return f"{kind} {key}"


@frozen
class Cause:
    """Differences of one sort, and why there are such."""

    weight: Weight
    title: str
    taken: Taken
    known: str
    """What is known of everybody; empty for nothing."""
    suspects: tuple[str, ...]
    """What of the object may have to do with it, a sentence each."""
    compared: tuple[Compared, ...] = field(repr=False)


class Attribution:
    """Says what takes a sample by the objects of *given*, of which *lint* has told; without any it knows nothing."""

    def __init__(self, given: Input | None, lint: LintReport | None) -> None:
        self._layers = () if given is None else given.layers
        self._reports: Mapping[ObjectId, ObjectReport] = {
            one.object_id: one for one in (() if lint is None else lint.objects)
        }

    def taken(self, sample: Sample) -> Taken:
        """Return what takes *sample*."""
        for layer in self._layers:
            route = route_of(layer, sample.host, sample.target)
            if route is not None:
                owner = None if route.owner is None else route.owner.id
                return Taken(owner, f"{route.host or '*'}{route.path}", str(route.backend))
        return Taken()

    def suspects(self, taken: Taken, differences: Iterable[Difference]) -> tuple[str, ...]:
        """Return what of the object that takes a request may make these *differences*."""
        report = None if taken.object_id is None else self._reports.get(taken.object_id)
        if report is None:
            return ()
        told = list(differences)
        found = []
        for annotation in report.annotations:
            if annotation.standing is not Standing.HONORED and _may_concern(annotation.name, told):
                found.append(f"{annotation.name} ({annotation.standing.value}): {annotation.why}")
        for finding in report.findings:
            if finding.level is Level.ERROR and _is_failure(told) and finding.message not in "\n".join(found):
                found.append(f"{finding.message} ({finding.rule})")
        return tuple(dict.fromkeys(found))


def _may_concern(name: str, differences: list[Difference]) -> bool:
    for one in differences:
        if one.aspect in (STATUS, ANSWER):
            return True
        words = next((words for start, words in _WORDS if one.aspect.lower().startswith(start)), _ANY_FIELD)
        if any(word in name for word in words):
            return True
    return False


def _is_failure(differences: list[Difference]) -> bool:
    return any(one.aspect in (STATUS, ANSWER, CERTIFICATE, BACKEND) for one in differences)


def _read_strictly(sample: Sample, differences: tuple[Difference, ...]) -> bool:
    if not any(one.aspect == STATUS and one.ours == "400" for one in differences):
        return False
    try:
        normal_path(sample.path.encode())
    except PathError:
        return True
    return False


@frozen
class _Known:
    """What is different for everybody (docs/from-ingress-nginx.md): when it *holds*, a *title*, and the sentence that *means* it."""

    holds: Callable[[Sample, tuple[Difference, ...]], bool]
    title: str
    means: str


_KNOWN: Final = (
    _Known(
        _read_strictly,
        "a path that can be read in two ways",
        "HTTP is read strictly here: a path that two programs may read in two ways (an escaped slash or backslash, dot"
        " segments behind an empty one) is refused with 400, where nginx forwards it",
    ),
)


def causes(found: Iterable[Compared], attribution: Attribution) -> tuple[Cause, ...]:
    """Return the causes of those in *found* that differ, the worst first, and of equally bad ones that of most samples."""
    groups: dict[tuple[str, str], list[Compared]] = {}
    known_by: dict[tuple[str, str], _Known | None] = {}
    taken_by: dict[tuple[str, str], Taken] = {}
    for one in _parts(found):
        taken = attribution.taken(one.sample)
        known = next((some for some in _KNOWN if some.holds(one.sample, one.differences)), None)
        # What is so for everybody is told once, and not for each object.
        key = ("", known.title) if known else (str(taken), _title(one.differences))
        groups.setdefault(key, []).append(one)
        known_by.setdefault(key, known)
        taken_by.setdefault(key, taken)
    made = []
    for key, some in groups.items():
        known, taken = known_by[key], taken_by[key]
        weight = max(difference.weight for one in some for difference in one.differences)
        suspects = () if known else attribution.suspects(taken, some[0].differences)
        made.append(
            Cause(
                weight,
                key[1],
                Taken() if known else taken,
                known.means if known else "",
                suspects,
                tuple(some),
            )
        )
    return tuple(sorted(made, key=lambda one: (-one.weight, -len(one.compared), one.title, str(one.taken))))


def _parts(found: Iterable[Compared]) -> Iterator[Compared]:
    """Yield those that differ; what is about the certificate, and so about the host, is apart from what is about the answer."""
    for one in found:
        shown = tuple(some for some in one.differences if some.aspect == CERTIFICATE)
        answered = tuple(some for some in one.differences if some.aspect != CERTIFICATE)
        yield from (evolve(one, differences=some) for some in (shown, answered) if some)


def _title(differences: tuple[Difference, ...]) -> str:
    parts = []
    for one in differences:
        if one.aspect in (STATUS, ANSWER, BACKEND, ANSWERED_BY):
            parts.append(f"{one.aspect} {one.theirs} there, {one.ours} here")
        else:
            parts.append(f"{one.aspect} differs")
    return "; ".join(parts)
