"""Causes: why answers differ, as far as can be told by the objects that take the requests.  Pure.

Differences of one sort are told once, with the object whose rule takes the requests, and what is known of it: what documents
say of everybody, and what of its annotations is not done, or otherwise.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from attrs import evolve, field

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
from ingress.ctl.comparing.expected import Expected
from ingress.ctl.comparing.given_requests import route_of
from ingress.ctl.comparing.samples import Sample
from ingress.ctl.inputs.input import Input
from ingress.ctl.lint.finding import Level, LintReport, ObjectReport, Standing
from ingress.model.cluster.objects import ObjectId
from ingress.model.frozen import frozen
from ingress.routing.paths import PathError, normal_path, other_reading

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
_TELLING: Final = frozenset((STATUS, ANSWER, BACKEND, ANSWERED_BY))
"""Aspects of which each pair of values is a sort of its own."""
_Sort = tuple[tuple[str, ...], ...]
_MAX_TITLE: Final = 80
_MAX_SUSPECTS: Final = 8
MAX_OBJECTS: Final = 4
_BADNESS: Final = tuple(Standing)
"""From the best to the worst."""
_ALIKE: Final = frozenset((Standing.HONORED, Standing.NEVER_EXISTED))
"""What becomes of annotations that both sides take alike: what never existed does nothing on either."""
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
    taken: tuple[Taken, ...]
    """What takes the requests here, sorted; empty where that has nothing to do with it."""
    known: str
    """What is known of everybody; empty for nothing."""
    suspects: tuple[str, ...]
    """What of each of these objects may have to do with it, a sentence each, the worst first."""
    expected: str
    """What becomes of the first of the requests here by the objects that are given; empty where none are."""
    compared: tuple[Compared, ...] = field(repr=False)


class Attribution:
    """Says what takes a sample by the objects of *given*, of which *lint* has told; without any it knows nothing."""

    def __init__(self, given: Input | None, lint: LintReport | None) -> None:
        self._layers = () if given is None else given.layers
        self.expected: Final = Expected(given)
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
        for annotation in sorted(report.annotations, key=lambda one: -_BADNESS.index(one.standing)):
            if annotation.standing not in _ALIKE and _may_concern(annotation.name, told):
                found.append(f"{annotation.name} ({annotation.standing.value}): {annotation.why}")
        for finding in report.findings:
            if finding.level is Level.ERROR and _is_failure(told) and finding.message not in "\n".join(found):
                found.append(f"{finding.message} ({finding.rule})")
        return tuple(dict.fromkeys(found))[:_MAX_SUSPECTS]


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
    raw = sample.path.encode()
    try:
        normal_path(raw)
    except PathError:
        return True
    return other_reading(raw) is not None


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
        "HTTP is read strictly here: a path that two programs may read in two ways (an escaped backslash, an escaped"
        " slash that decides which route it takes, dot segments behind an empty one) is refused with 400, where nginx forwards it",
    ),
)


def causes(found: Iterable[Compared], attribution: Attribution) -> tuple[Cause, ...]:
    """Return the causes of those in *found* that differ, the worst first, and of equally bad ones that of most samples.

    What is so for more than ``MAX_OBJECTS`` objects has nothing to do with any of them, and is told once.
    """
    by_known: dict[_Known, list[Compared]] = {}
    by_sort: dict[_Sort, dict[str, list[tuple[Taken, Compared]]]] = {}
    for one in _parts(found):
        known = next((some for some in _KNOWN if some.holds(one.sample, one.differences)), None)
        if known is not None:
            by_known.setdefault(known, []).append(one)
        else:
            taken = attribution.taken(one.sample)
            by_sort.setdefault(_sort(one.differences), {}).setdefault(str(taken), []).append((taken, one))
    made = [_cause(known.title, (), known.means, (), "", some) for known, some in by_known.items()]
    expect = attribution.expected.of
    for by_object in by_sort.values():
        if len(by_object) > MAX_OBJECTS:
            everything = [pair for some in by_object.values() for pair in some]
            made.append(
                _cause(
                    "", _objects(everything), "", (), expect(everything[0][1]), [one for _, one in everything]
                )
            )
            continue
        for some in by_object.values():
            taken, first = some[0]
            suspects = attribution.suspects(taken, first.differences)
            made.append(_cause("", _objects(some), "", suspects, expect(first), [one for _, one in some]))
    return tuple(
        sorted(made, key=lambda one: (-one.weight, -len(one.compared), one.title, list(map(str, one.taken))))
    )


def _cause(
    title: str,
    taken: tuple[Taken, ...],
    known: str,
    suspects: tuple[str, ...],
    expected: str,
    some: list[Compared],
) -> Cause:
    weight = max(difference.weight for one in some for difference in one.differences)
    return Cause(weight, title or _title(some), taken, known, suspects, expected, tuple(some))


def _objects(some: list[tuple[Taken, Compared]]) -> tuple[Taken, ...]:
    """Return what takes *some*, each object once; with path and backend where these are the same for all."""
    by_object: dict[str, set[Taken]] = {}
    for taken, _ in some:
        by_object.setdefault(str(taken), set()).add(taken)
    found = [
        one.pop() if len(one) == 1 else Taken(min(one, key=repr).object_id) for one in by_object.values()
    ]
    return tuple(sorted(found, key=str))


def _parts(found: Iterable[Compared]) -> Iterator[Compared]:
    """Yield those that differ; what is about the certificate, and so about the host, is apart from what is about the answer."""
    for one in found:
        shown = tuple(some for some in one.differences if some.aspect == CERTIFICATE)
        answered = tuple(some for some in one.differences if some.aspect != CERTIFICATE)
        yield from (evolve(one, differences=some) for some in (shown, answered) if some)


def _sort(differences: tuple[Difference, ...]) -> _Sort:
    """Return what is the same for all differences of one sort."""
    return tuple(
        (one.aspect, one.theirs, one.ours) if one.aspect in _TELLING else (one.aspect,) for one in differences
    )


def _title(some: list[Compared]) -> str:
    """Say what differs in *some*, which are of one sort; with the values, where these are short and the same in all."""
    first, *others = (one.differences for one in some)
    parts = []
    for number, one in enumerate(first):
        is_same = all(other[number] == one for other in others)
        is_short = len(one.theirs) + len(one.ours) <= _MAX_TITLE
        values = f"{one.theirs} there, {one.ours} here" if is_same and is_short else "differs"
        parts.append(f"{one.aspect} {values}")
    return "; ".join(parts)
