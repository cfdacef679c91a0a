"""What a side of a comparison may have and nobody read: the other side's alone is neither gone nor new then.

A hole is a file, or a folder, in which route objects may stand.  One that both sides have is none of either: what stands there
is no difference that anybody looks for.
"""

from collections.abc import Iterable

from ingress.cluster.manifests.manifest_listing import display_name
from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.beside import ROUTE_KINDS
from ingress.ctl.inputs.files.texts import STANDARD_INPUT
from ingress.ctl.inputs.input import Input
from ingress.ctl.served.differences import Comparison, Difference, Subject
from ingress.ctl.served.pairing import below
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen
from ingress.wording import first_of

_OF_ROUTES = frozenset(
    (
        Subject.HOST,
        Subject.ROUTE,
        Subject.STREAM,
        Subject.CERTIFICATE,
        Subject.HANDSHAKE,
        Subject.LISTENER,
        Subject.ENDPOINTS,
        Subject.REDUNDANT,
    )
)
_MOST_NAMES = 20
_MOST_FILES = 3


@frozen
class Side:
    """One side: what it is called, its *holes* below its root, and its route objects."""

    name: str
    holes: tuple[str, ...]
    objects: frozenset[ObjectId]


def sides(old: Input, new: Input, roots: tuple[str, str]) -> tuple[Side, Side]:
    """Return both sides, of all layers; *roots* are the paths by which they are named."""
    before, after = _holes(old, roots[0]), _holes(new, roots[1])
    return (
        Side("OLD", tuple(one for one in before if one not in after), _objects(old)),
        Side("NEW", tuple(one for one in after if one not in before), _objects(new)),
    )


def malformed(given: Input) -> Iterable[tuple[str, str]]:
    """Yield the names of files that are no manifests, each with why: those that cannot be read, and those without any object."""
    filled = {place.file for layer in given.layers for place in layer.places.values()}
    for layer in given.layers:
        for problem in layer.state.problems:
            is_other = problem.reason is Reason.MALFORMED_OBJECT and problem.kind == Kind.MANIFEST
            if problem.reason is Reason.MALFORMED_MANIFEST or (is_other and problem.name not in filled):
                yield problem.name, problem.message


def check_named(paths: Iterable[str], given: Input) -> None:
    """Raise ``Mistake`` where one of *paths* itself is no manifest, so that nothing can be said of what is served by it."""
    named = {display_name(path): path for path in paths}
    for name, why in malformed(given):
        if name in named:
            raise Mistake(f"{'standard input' if named[name] == STANDARD_INPUT else name}: {why}")


def without_unknown(comparison: Comparison, old: Side, new: Side) -> Comparison:
    """Return *comparison* without what one side alone has and the other one may have in a hole; that was not compared."""
    kept: list[Difference] = []
    left: dict[str, list[str]] = {}
    for one in comparison.differences:
        lacking = {"vanishes": new, "appears": old}.get(one.change)
        if lacking is not None and lacking.holes and _may_be_in_a_hole(one, lacking):
            left.setdefault(lacking.name, []).append(_name(one))
        else:
            kept.append(one)
    told = (
        f"{first_of(list(dict.fromkeys(left[side.name])), _MOST_NAMES)}: {other.name} alone has it,"
        f" and {side.name} may have it in {first_of(side.holes, _MOST_FILES)}, which could not be read"
        for side, other in ((old, new), (new, old))
        if side.name in left
    )
    return Comparison(tuple(kept), (*told, *comparison.not_compared))


def _holes(given: Input, root: str) -> tuple[str, ...]:
    found = [one.what for one in given.unread if one.may_have_routes]
    found += [name for name, _ in malformed(given)]
    return tuple(dict.fromkeys(below(one, root) for one in found))


def _objects(given: Input) -> frozenset[ObjectId]:
    return frozenset(object_id for layer in given.layers for object_id, _ in layer.route_objects())


def _may_be_in_a_hole(one: Difference, lacking: Side) -> bool:
    if one.subject is not Subject.PROBLEM:
        return one.subject in _OF_ROUTES
    kind, key = _object_of(one)
    return kind in ROUTE_KINDS and (kind, key) not in lacking.objects


def _object_of(one: Difference) -> ObjectId:
    problem = one.old if one.new is None else one.new
    return Kind(problem["kind"]), ObjectKey(problem["namespace"], problem["name"])


def _name(one: Difference) -> str:
    if one.subject is Subject.PROBLEM:
        kind, key = _object_of(one)
        return f"{kind} {key}"
    place = one.place
    return f"{place.host or '*'}{place.path}" if place.host or place.path or not one.field else one.field
