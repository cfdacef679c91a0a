"""What an Ingress would have as problems, were it in the cluster as it is now.  Pure, and in steps.

The Ingress is put over the state of the store, which stays as it is, and a translation of its own reads it and those Ingresses that it
has to do with.  Nothing is asked of the cluster: of a Secret or ConfigMap that nobody referred to until now it is not known whether it is
there, so nothing is said of it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

from attrs import evolve

from ingress.admission.neighbours import neighbours
from ingress.admission.review import AdmissionRequest
from ingress.identity.certificates import Certificate
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Projection
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.state import ClusterState, Derived
from ingress.model.stepwise import Stepwise
from ingress.object_fields import FieldReader, is_object
from ingress.translate.absent_secrets import FORBIDDEN_REASONS, forbidden_by
from ingress.translate.incremental import Translation
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, ingresses_of
from ingress.translate.readers.ingress.projection import projecting_ingress
from ingress.translate.readers.reader import RouteKind, needing
from ingress.translate.tls.certificates import find

K = TypeVar("K")
V = TypeVar("V")


class Altered(Mapping[K, V]):
    """*below*, which may go on changing, with other values for the keys of *changes*; None stands for no entry."""

    def __init__(self, below: Mapping[K, V], changes: Mapping[K, V | None]) -> None:
        self._below = below
        self._changes = changes

    def __getitem__(self, key: K) -> V:
        if key not in self._changes:
            return self._below[key]
        value = self._changes[key]
        if value is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[K]:
        yield from (key for key in self._below if key not in self._changes)
        yield from (key for key, value in self._changes.items() if value is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


Knows = Callable[[Kind, ObjectKey, frozenset[str]], bool]
"""Whether the state has what there is under some keys of a Secret or ConfigMap, be it nothing."""

MOST_ROUNDS: Final = 3
_PROBLEMS_A_STEP: Final = 100
_NAMED = re.compile(r"\b(Secret|ConfigMap) (\S+)/([^\s/:]+):")


def projected(
    asked: AdmissionRequest, state: ClusterState, prefix: str, now: datetime
) -> Stepwise[Projection]:
    """Return what the controller would keep of the Ingress that *asked* has, and what it would tell of its shape."""
    raw = asked.ingress
    assert raw is not None
    reader = FieldReader(Kind.INGRESS, ObjectKey(asked.namespace, asked.name))
    metadata = raw.get("metadata")
    value = yield from projecting_ingress(raw, metadata if is_object(metadata) else {}, reader, prefix, False)
    if value is not None and not value.created:
        # Without a time it would count as the oldest.
        known = ingresses_of(state).get(value.key)
        created = known.created if known is not None else now.strftime("%Y-%m-%dT%H:%M:%SZ")
        value = evolve(value, created=created)
    return Projection(value, tuple(reader.problems))


def judging(
    ingress: Ingress,
    found: Sequence[Problem],
    state: ClusterState,
    options: TranslateOptions,
    now: datetime,
    kind: RouteKind,
    knows: Knows,
) -> Stepwise[Sequence[Problem] | None]:
    """Return the problems that *ingress* would have in *state*, those *found* in its shape included; None if it is not ours.

    *kind* is the row of Ingresses.
    """
    reader = kind.reader(options)
    verdict = reader.judge(ingress, state)
    if not verdict.is_ours:
        return verdict.problems or None
    yield
    unknown: dict[ObjectId, tuple[Problem, ...]] = {}
    for sort, reason in FORBIDDEN_REASONS.items():
        for key, keys in (yield from needing(reader, ingress, sort)).items():
            if not forbidden_by(state, sort, key) and not knows(sort, key, keys):
                unknown[sort, key] = (Problem(sort, key.namespace, key.name, reason, ""),)
            yield
    over = _put_over(state, ingress, found, unknown)

    def certificate_names(secret: ObjectKey) -> tuple[str, ...]:
        certificate = find(secret, over, options)
        return certificate.names if isinstance(certificate, Certificate) else ()

    beside = yield from neighbours(ingress, state, options.annotations_prefix, certificate_names)
    translation = Translation(options, (kind,))
    translation.mark((Kind.INGRESS, key) for key in (ingress.key, *beside))
    for _ in range(MOST_ROUNDS):
        yield from translation.round(over, now)
        if not translation.is_marked:
            break
    snapshot = translation.snapshot
    assert snapshot is not None
    # Two hosts may bring up the same.
    problems: dict[Problem, None] = {}
    for number, problem in enumerate(snapshot.unordered_problems(), 1):
        if not number % _PROBLEMS_A_STEP:
            yield
        is_its = (problem.kind, problem.namespace, problem.name) == (Kind.INGRESS, *ingress.key)
        if is_its and not (
            problem.reason in FORBIDDEN_REASONS.values() and _named_in(problem.message) in unknown
        ):
            problems[problem] = None
    return tuple(problems)


def _put_over(
    state: ClusterState,
    ingress: Ingress,
    found: Sequence[Problem],
    unknown: dict[ObjectId, tuple[Problem, ...]],
) -> ClusterState:
    """Return *state* with *ingress* as it is to be; what is *unknown* counts as forbidden, so that it is neither there nor missing."""
    ingresses = Altered(state.of(Kind.INGRESS), {ingress.key: ingress})
    config_maps = Altered(
        state.of(Kind.CONFIG_MAP), {key: None for kind, key in unknown if kind is Kind.CONFIG_MAP}
    )
    return ClusterState(
        objects={**state.objects, Kind.INGRESS: ingresses, Kind.CONFIG_MAP: config_maps},
        services=state.services,
        slices=state.slices,
        secrets=Altered(state.secrets, {key: None for kind, key in unknown if kind is Kind.SECRET}),
        problems_of=Altered(
            state.problems_of, {**unknown, (Kind.INGRESS, ingress.key): tuple(found) or None}
        ),
        derived=Derived(),
    )


def _named_in(message: str) -> ObjectId | None:
    """Return the Secret or ConfigMap that *message* is about."""
    match = _NAMED.search(message)
    return None if match is None else (Kind(match[1]), ObjectKey(match[2], match[3]))
