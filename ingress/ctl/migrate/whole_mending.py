"""All changes that mend objects: what is changed is judged again, until nothing is left that can be mended.  Pure.

A path without a type becomes one that a rewrite takes all requests from, an annotation that nobody reads becomes one that counts:
who made the first changes alone would have made something worse than it was.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import evolve

from ingress.ctl.inputs.input import Input
from ingress.ctl.lint.finding import Change, Finding, LintReport
from ingress.ctl.lint.linting import lint
from ingress.ctl.migrate.matters import Located
from ingress.ctl.migrate.mending import mended, put_together
from ingress.ctl.migrate.patching.yaml_places import Unsafe
from ingress.ctl.migrate.raw_ingress import Known, changed, composed
from ingress.model.cluster.state import Derived
from ingress.model.frozen import frozen
from ingress.translate.readers.ingress.objects import Ingress

MOST_TIMES: Final = 6
"""How often objects are judged; what has not come to rest by then keeps its first changes."""


@frozen
class Mending:
    """What mends one object, as it was *known*, and what is found of it then."""

    changes: tuple[Change, ...]
    left: tuple[Finding, ...]
    known: Known | None
    """None of what is no Ingress, and has no changes."""


def whole_mending(given: Input, report: LintReport) -> Mapping[Located, Mending]:
    """Return what mends each object of *given* that is ours; *report* is the lint of *given*."""
    found = {
        (one.object_id, one.place): _first(given, (one.object_id, one.place), one.findings)
        for one in report.objects
        if one.is_ours
    }
    first = dict(found)
    made = {located: one.known for located, one in found.items() if one.known is not None}
    moving = {located for located, one in found.items() if one.changes}
    for _ in range(MOST_TIMES - 1):
        for located in moving:
            known = _made(found[located])
            if known is None:
                # It is told of as it was: a part of it could not be read, and places in it are others than they seem.
                del made[located]
            else:
                made[located] = known
        layers = [layer for layer in (_changed(one, made) for one in given.layers) if layer is not None]
        if not moving or not layers:
            return found
        again = lint(evolve(layers[0], others=tuple(layers[1:])))
        moving = set()
        for one in again.objects:
            located = one.object_id, one.place
            if located not in made:
                continue
            before = found[located]
            further = _further(before, one.findings)
            found[located] = evolve(before, changes=further, left=one.findings)
            if further != before.changes:
                moving.add(located)
    return {**found, **{located: first[located] for located in moving}}


def _first(given: Input, located: Located, findings: Sequence[Finding]) -> Mending:
    (kind, key), place = located
    layer = next((one for one in given.layers if one.place(located[0]) == place), given)
    value = layer.state.of(kind).get(key)
    known = (
        Known(value, layer.strays.get(located[0], {}), layer.options.annotations_prefix)
        if isinstance(value, Ingress)
        else None
    )
    changes = put_together(_wanted(findings), None if known is None else known.value)
    return Mending(changes, tuple(findings), known)


def _wanted(findings: Iterable[Finding]) -> Iterable[Change]:
    return (change for one in mended(findings) for change in one.changes)


def _further(before: Mending, findings: Sequence[Finding]) -> tuple[Change, ...]:
    """Return all changes of an object that has those *before* made and of which *findings* are told then."""
    known = before.known
    if known is None:
        return before.changes
    return put_together(composed(before.changes, _wanted(findings), known), known.value)


def _made(one: Mending) -> Known | None:
    """Return the object with its changes made; None where that cannot be done."""
    try:
        return None if one.known is None else changed(one.known, one.changes)
    except Unsafe:
        return None


def _changed(layer: Input, made: Mapping[Located, Known]) -> Input | None:
    """Return *layer* with its objects as they are *made*; None where they are the same."""
    objects = {kind: dict(some) for kind, some in layer.state.objects.items()}
    strays = dict(layer.strays)
    is_changed = False
    for (object_id, place), one in made.items():
        kind, key = object_id
        if layer.place(object_id) == place and layer.state.of(kind).get(key) != one.value:
            objects[kind][key], strays[object_id] = one.value, one.strays
            is_changed = True
    if not is_changed:
        return None
    state = evolve(layer.state, objects=objects, derived=Derived())
    return evolve(layer, state=state, strays=strays, others=())
