"""An Ingress as an API server holds it, as far as its projection tells: what its fields say, to be tested and changed.  Pure.

Like the server, it has no member that says nothing, and has the spelling of ``networking.k8s.io/v1``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ingress.ctl.lint.finding import Change
from ingress.ctl.migrate.migration import Before
from ingress.translate.readers.ingress.objects import Ingress, IngressBackend, IngressPath, IngressRule


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


def before(changes: Iterable[Change], raw: Mapping[str, Any]) -> tuple[Before, ...]:
    """Return what *raw* has where *changes* are made.

    Of a member of a list it is all of that, and what tells the members from others that it is in: a place in a list is
    another one as soon as something has come or gone before it.
    """
    found: dict[tuple[str | int, ...], Before] = {}
    for change in changes:
        for steps in _told_by(change.steps, raw):
            value = _at(raw, steps)
            if value is not None:
                found[steps] = Before(steps, value)
    return tuple(found[steps] for steps in sorted(found, key=_places))


def _told_by(steps: tuple[str | int, ...], raw: Mapping[str, Any]) -> Iterator[tuple[str | int, ...]]:
    members = [steps[: place + 1] for place, step in enumerate(steps) if isinstance(step, int)]
    if not members:
        yield steps
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
    kind, _, group = backend.resource_kind.partition(".")
    port = _without_empty(name=backend.port.name, number=backend.port.number)
    return _without_empty(
        service=_without_empty(name=backend.service, port=port),
        resource=_without_empty(apiGroup=group, kind=kind, name=backend.resource_name),
    )


def _without_empty(**members: object) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}
