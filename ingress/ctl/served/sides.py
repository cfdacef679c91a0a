"""Two inputs that are to be compared, each completed by what it cannot know and the other does.

Manifests hardly ever have Secrets, ConfigMaps that programs write, or EndpointSlices; a person may not be allowed to read
some kinds of a cluster.  What one side does not know is taken to be there as on the other one, so it makes no difference,
and what depends on it is compared all the same.  What neither knows is the same for both.

Where manifests are compared with a cluster they stand for what would be there once they were applied: an object that is
there keeps its age, a new one is younger than all others, and the default class is that of the cluster.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

from attrs import evolve

from ingress.ctl.inputs.coverage import Coverage
from ingress.ctl.inputs.input import Input
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.state import ClusterState
from ingress.translate.absent_secrets import forbidden_by
from ingress.translate.readers.ingress.objects import Ingress, classes_of, ingresses_of
from ingress.wording import first_of, plural_of

V = TypeVar("V")

_BY_NAME: Final = frozenset({Kind.SECRET, Kind.CONFIG_MAP})
"""Kinds of which manifests rarely have all objects of a namespace: other programs write some."""
_SHOWN: Final = 3


def alike(old: Input, new: Input) -> tuple[Input, Input, tuple[str, ...]]:
    """Return two layers, each completed by what the other one knows, and a sentence for each sort of thing that was not compared."""
    told: dict[str, None] = {}
    first = _completed(old, new, "OLD", "NEW", told)
    second = _completed(new, old, "NEW", "OLD", told)
    if old.options.from_manifests is not new.options.from_manifests:
        first, second = _applied(first, second), _applied(second, first)
    for given in (first, second):
        told.update(dict.fromkeys(_unknown(given)))
    return first, second, tuple(told)


def _completed(given: Input, other: Input, name: str, others_name: str, told: dict[str, None]) -> Input:
    state, others = given.state, other.state
    services = _lacking(given, Kind.SERVICE, state.services, others.services)
    # An EndpointSlice is of the namespace of its Service, and the manifests that have one have none of other Services.
    slices = _lacking(given, Kind.ENDPOINT_SLICE, state.slices, others.slices)
    secrets = _lacking(given, Kind.SECRET, state.secrets, others.secrets)
    borrowed: dict[Kind, Mapping[ObjectKey, ClusterObject]] = {
        kind: _lacking(given, kind, state.of(kind), others.of(kind))
        for kind in (Kind.CONFIG_MAP, Kind.INGRESS_CLASS)
    }
    keys = {Kind.SECRET: set(secrets), Kind.SERVICE: set(services)}
    keys.update((kind, set(some)) for kind, some in borrowed.items())
    for kind, named in keys.items():
        if named:
            told[f"{_these(kind, named)}: {name} does not have what {others_name} has"] = None
    coverage = _joined(given.coverage, other.coverage)
    hidden = dict(_hidden(given, other))
    if not (services or slices or secrets or hidden or any(borrowed.values())):
        return given if coverage == given.coverage else evolve(given, coverage=coverage)
    objects = dict(state.objects)
    for kind, some in borrowed.items():
        if some:
            objects[kind] = {**some, **state.of(kind)}
    problems = {
        object_id: some
        for object_id, some in state.problems_of.items()
        if object_id[1] not in (secrets if object_id[0] is Kind.SECRET else borrowed.get(object_id[0], ()))
    }
    completed = evolve(
        state,
        objects=objects,
        services={**services, **state.services},
        slices={**slices, **state.slices},
        secrets={**secrets, **state.secrets},
        problems_of={**hidden, **problems},
    )
    return evolve(given, state=completed, coverage=coverage)


def _hidden(given: Input, other: Input) -> Iterator[tuple[ObjectId, tuple[Problem, ...]]]:
    """Yield what says that *other* may not read something that *given* does not have: nobody knows of it then."""
    for object_id, some in other.state.problems_of.items():
        kind, key = object_id
        if kind not in _BY_NAME or not forbidden_by(other.state, kind, key):
            continue
        has: Mapping[ObjectKey, Any] = given.state.secrets if kind is Kind.SECRET else given.state.of(kind)
        if key not in has:
            yield object_id, some


def _joined(one: Coverage, other: Coverage) -> Coverage:
    """Return what is known by either."""
    namespaces = dict(one.namespaces)
    for kind, some in other.namespaces.items():
        namespaces[kind] = namespaces.get(kind, frozenset()) | some
    return evolve(one, whole=one.whole | other.whole, namespaces=namespaces)


def _lacking(
    given: Input, kind: Kind, has: Mapping[ObjectKey, Any], others: Mapping[ObjectKey, V]
) -> dict[ObjectKey, V]:
    """Return what *others* has and *given*, which *has* some of *kind*, cannot know."""
    coverage = given.coverage
    if kind in _BY_NAME and given.options.from_manifests and kind not in coverage.whole:
        return {key: value for key, value in others.items() if key not in has}
    return {
        key: value
        for key, value in others.items()
        if key not in has
        and (not coverage.knows(kind, key.namespace) or forbidden_by(given.state, kind, key))
    }


def _these(kind: Kind, keys: Iterable[ObjectKey]) -> str:
    named = sorted(map(str, keys))
    return f"{kind if len(named) == 1 else plural_of(kind)} {first_of(named, _SHOWN)}"


def _applied(given: Input, other: Input) -> Input:
    """Return *given* as it would be in a cluster, where *other* is one or both are to be read alike."""
    options = evolve(given.options, from_manifests=False)
    state = given.state
    if given.options.from_manifests:
        ages = ingresses_of(other.state)
        usual = _default_class(state)
        there = {
            key: _in_cluster(ingress, ages.get(key), usual, given.now)
            for key, ingress in ingresses_of(state).items()
        }
        state = evolve(state, objects={**state.objects, Kind.INGRESS: there})
    # Whoever reads a cluster asks for each Secret that is referred to: a selector hides none.
    settings = evolve(given.settings, translate=options, secret_field_selector="")
    return evolve(given, state=state, settings=settings)


def _in_cluster(ingress: Ingress, there: Ingress | None, usual: str | None, now: datetime) -> Ingress:
    if not ingress.created:
        created = now.strftime("%Y-%m-%dT%H:%M:%SZ") if there is None else there.created
        ingress = evolve(ingress, created=created)
    if (
        usual is not None
        and ingress.class_name is None
        and "kubernetes.io/ingress.class" not in ingress.annotations
    ):
        ingress = evolve(ingress, class_name=usual)
    return ingress


def _default_class(state: ClusterState) -> str | None:
    """Return the class that an API server gives to Ingresses without any."""
    defaults = [one.key.name for one in classes_of(state).values() if one.is_default]
    return defaults[0] if len(defaults) == 1 else None


def _unknown(given: Input) -> Iterator[str]:
    """Yield what neither side knows."""
    namespaces: dict[Kind, set[str]] = {}
    for problem in given.snapshot.problems:
        kind = given.coverage.unknown(problem)
        if kind is not None:
            namespaces.setdefault(kind, set()).add(problem.looked_in)
    for kind, some in sorted(namespaces.items()):
        yield f"whether {plural_of(kind)} exist in {first_of(sorted(some), _SHOWN)}: neither side has any of there"
