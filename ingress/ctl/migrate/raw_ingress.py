"""An Ingress as an API server holds it, as far as its projection tells: what its fields say, to be tested and changed.  Pure.

Like the server, it has no member that says nothing, and has the spelling of ``networking.k8s.io/v1``.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any

from attrs import evolve

from ingress.ctl.lint.finding import Change
from ingress.ctl.migrate.migration import Before
from ingress.ctl.migrate.patching.yaml_edits import make_changes
from ingress.ctl.migrate.patching.yaml_places import Unsafe
from ingress.model.cluster.objects import Kind
from ingress.model.frozen import frozen
from ingress.object_fields import FieldReader
from ingress.translate.readers.ingress.objects import Ingress, IngressBackend, IngressPath, IngressRule
from ingress.translate.readers.ingress.projection import project_ingress


def raw_of(value: Ingress, strays: Mapping[str, str]) -> dict[str, Any]:
    """Return *value* with *strays*, its annotations of other prefixes, as JSON has it; what is not kept of it is not there."""
    return {
        "metadata": {"annotations": {**strays, **value.annotations}},
        "spec": _without_empty(
            ingressClassName=value.class_name,
            defaultBackend=_backend(value.default_backend),
            tls=[
                _without_empty(hosts=list(entry.hosts), secretName=entry.secret_name) for entry in value.tls
            ],
            rules=list(map(_rule, value.rules)),
        ),
    }


@frozen
class Known:
    """What is known of an Ingress: its *value*, and its annotations behind other prefixes than *prefix*."""

    value: Ingress
    strays: Mapping[str, str]
    prefix: str

    @property
    def raw(self) -> dict[str, Any]:
        """The object as JSON has it."""
        return raw_of(self.value, self.strays)


def changed(known: Known, changes: Iterable[Change]) -> Known:
    """Return what *changes* make of *known*; raises ``Unsafe`` where there is nothing to change."""
    value, raw = known.value, known.raw
    make_changes(raw, changes)
    reader = FieldReader(Kind.INGRESS, value.key)
    metadata = raw.get("metadata", {})
    made = project_ingress(raw, metadata, reader, known.prefix, False)
    if made is None:
        raise Unsafe("nobody could read it then")
    annotations = metadata.get("annotations", {})
    strays = {name: text for name, text in known.strays.items() if name in annotations}
    kept = evolve(
        value,
        class_name=made.class_name,
        annotations=made.annotations,
        unreadable=tuple(name for name in value.unreadable if name not in made.annotations),
        rules=made.rules,
        tls=made.tls,
    )
    return Known(kept, strays, known.prefix)


def composed(first: Sequence[Change], then: Iterable[Change], known: Known) -> tuple[Change, ...]:
    """Return the changes of *known* that come to the *first* ones and, of what these make of it, those *then*.

    The places in lists of the latter are those that are left by the former.  What comes to what there was is no change.
    """
    gone = {one.steps for one in first if one.value is None}
    found = {one.field: one for one in first}
    for change in then:
        field = _field(_before_removals(change.steps, gone))
        found[field] = Change(field, change.value)
    raw = known.raw
    return tuple(one for one in found.values() if _at(raw, one.steps) != one.value)


def _before_removals(steps: Sequence[str | int], gone: Container[tuple[str | int, ...]]) -> list[str | int]:
    """Return *steps* with the places that the members of lists had before those *gone* went."""
    found: list[str | int] = []
    for step in steps:
        if isinstance(step, int):
            there = (place for place in count() if (*found, place) not in gone)
            step = next(islice(there, step, None))
        found.append(step)
    return found


def _field(steps: Sequence[str | int]) -> str:
    if steps[:2] == ["metadata", "annotations"]:
        return f"metadata.annotations[{steps[2]}]"
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def before(changes: Iterable[Change], raw: Mapping[str, Any]) -> tuple[Before, ...]:
    """Return what *raw* has where *changes* are made.

    Of a member of a list it is all of that, and what tells the members from others that it is in: a place in a list is
    another one as soon as something has come or gone before it.  Of a field that is new it is all that it comes to stand beside, which
    says that it is not there yet; but for annotations, of which an object has others that are nobody's concern.
    """
    found: dict[tuple[str | int, ...], Before] = {}
    for change in changes:
        for steps in _told_by(change.steps, raw):
            value = _at(raw, steps)
            if value is not None:
                found[steps] = Before(steps, value)
    told = [steps for steps in found if not any(steps[:length] in found for length in range(1, len(steps)))]
    return tuple(found[steps] for steps in sorted(told, key=_places))


def _told_by(steps: tuple[str | int, ...], raw: Mapping[str, Any]) -> Iterator[tuple[str | int, ...]]:
    members = [steps[: place + 1] for place, step in enumerate(steps) if isinstance(step, int)]
    if not members:
        is_new = _at(raw, steps) is None and steps[0] != "metadata"
        yield steps[:-1] if is_new else steps
        return
    *outer, innermost = members
    for way in outer:
        whole = _at(raw, way)
        if isinstance(whole, dict):
            yield from ((*way, name) for name, value in whole.items() if not isinstance(value, dict | list))
    yield innermost


def _at(raw: Any, steps: Sequence[str | int]) -> Any:
    """Return what stands at *steps*; None for nothing."""
    for step in steps:
        if isinstance(step, int):
            raw = raw[step] if isinstance(raw, list) and step < len(raw) else None
        else:
            raw = raw.get(step) if isinstance(raw, dict) else None
    return raw


def _places(steps: Sequence[str | int]) -> list[tuple[int, str]]:
    return [(step, "") if isinstance(step, int) else (-1, step) for step in steps]


def _rule(rule: IngressRule) -> dict[str, Any]:
    http = None if rule.paths is None else {"paths": list(map(_path, rule.paths))}
    return _without_empty(host=rule.host, http=http)


def _path(path: IngressPath) -> dict[str, Any]:
    return _without_empty(path=path.path, pathType=path.path_type, backend=_backend(path.backend))


def _backend(backend: IngressBackend | None) -> dict[str, Any] | None:
    if backend is None:
        return None
    port = _without_empty(name=backend.port.name, number=backend.port.number)
    return _without_empty(
        service=_without_empty(name=backend.service, port=port),
        resource=_resource(backend) if backend.resource_kind else None,
    )


def _resource(backend: IngressBackend) -> dict[str, Any]:
    """Return the resource of *backend*; an API server writes null for the group of the core (``TypedLocalObjectReference``)."""
    kind, _, group = backend.resource_kind.partition(".")
    return {"apiGroup": group or None, "kind": kind, "name": backend.resource_name}


def _without_empty(**members: object) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}
