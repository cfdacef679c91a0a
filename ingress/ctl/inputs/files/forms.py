"""The same object in several files of one folder: equal, or another form of it.  Pure.

A folder of examples, or of manifests for several ways to install something, has the same names again and again.  What is
equal is the same object.  A file that has a route object otherwise than a file before it is judged by itself, with the
Services, Secrets and so on of the whole folder.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from attrs import evolve

from ingress.cluster.kinds import KINDS
from ingress.cluster.manifests.manifest_files import ManifestContent, ManifestObject
from ingress.ctl.inputs.files.layers import Unit
from ingress.model.cluster.objects import ObjectId
from ingress.model.cluster.problems import Problem, Reason
from ingress.wording import number_of

MOST_FORMS: Final = 50
"""Files of a folder that are judged by themselves; those after them are told of as duplicates."""
MOST_BESIDE: Final = 100_000
"""Objects that all forms of a folder have beside them, at most."""
_MOST_NAMED: Final = 3
_ROUTES: Final = frozenset(row.read.kind for row in KINDS.routes)

_File = tuple[str, ManifestContent]
_Forms = dict[ObjectId, list[tuple[str, ManifestObject]]]
"""What is different of each object, with its file, the first before all."""


def forms_of(unit: Unit) -> Iterator[Unit]:
    """Yield *unit*, each object of its files once, and then what is in it in other forms."""
    forms: _Forms = {}
    differing: dict[ObjectId, list[str]] = {}
    read: list[tuple[str, ManifestContent, bool]] = []
    for name, content in unit.files:
        # What nobody applies twice is left out; a file that says something twice itself is told of.
        left = [one for one in content.objects if _is_new(one, name, forms, differing)]
        is_other = any(one.id[0] in _ROUTES and forms[one.id][0][0] != name for one in left)
        read.append((name, evolve(content, objects=tuple(left)), is_other))
    besides = sum(one.id[0] not in _ROUTES for _, content, _ in read for one in content.objects)
    most = min(MOST_FORMS, MOST_BESIDE // max(besides, 1))
    varying = [(name, content) for name, content, is_other in read if is_other][:most]
    by_themselves = {name for name, _ in varying}
    files = [(name, content) for name, content, _ in read if name not in by_themselves]
    beside = [(name, _but_routes(content)) for name, content in varying]
    told: dict[ObjectId, list[str]] = {}
    for object_id, names in differing.items():
        is_route = object_id[0] in _ROUTES
        left_out = [name for name in names if not (is_route and name in by_themselves)]
        if left_out:
            told[object_id] = left_out
    yield evolve(unit, files=tuple(_told([*files, *beside], forms, told)))
    for name, content in varying:
        own = {one.id for one in content.objects}
        others = ((other, _but_routes(found, own)) for other, found in [*files, *beside] if other != name)
        noted = tuple(_noted(one, forms, told) if one.id[0] in _ROUTES else one for one in content.objects)
        yield evolve(unit, files=((name, evolve(content, objects=noted)), *_told(others, forms, {})))


def _is_new(
    one: ManifestObject,
    name: str,
    forms: _Forms,
    differing: dict[ObjectId, list[str]],
) -> bool:
    """Whether *one* of the file *name* is not what another file has already; what is otherwise there is noted."""
    known = forms.setdefault(one.id, [(name, one)])
    if known[0][0] == name:
        return True
    if any(form.projection == one.projection for file, form in known if file != name):
        return False
    if len(known) <= MOST_FORMS:
        known.append((name, one))
    names = differing.setdefault(one.id, [])
    if names[-1:] != [name]:
        names.append(name)
    return True


def _but_routes(content: ManifestContent, but: Iterable[ObjectId] = ()) -> ManifestContent:
    left = tuple(one for one in content.objects if one.id[0] not in _ROUTES and one.id not in but)
    return ManifestContent(left)


def _told(
    files: Iterable[_File],
    forms: _Forms,
    differing: dict[ObjectId, list[str]],
) -> Iterator[_File]:
    """Yield *files* with the first form of each object; where *differing* names others, it says so."""
    for name, content in files:
        yield name, evolve(content, objects=tuple(_first_forms(name, content, forms, differing)))


def _first_forms(
    name: str,
    content: ManifestContent,
    forms: _Forms,
    differing: dict[ObjectId, list[str]],
) -> Iterator[ManifestObject]:
    for one in content.objects:
        if forms[one.id][0][0] == name:
            yield _noted(one, forms, differing)


def _noted(one: ManifestObject, forms: _Forms, differing: dict[ObjectId, list[str]]) -> ManifestObject:
    """Return *one*, with what there is to say of its other forms if it is the first."""
    file, known = forms[one.id][0]
    names = differing.get(one.id)
    if one is not known or names is None:
        return one
    kind, key = one.id
    more = f" and {number_of(len(names) - _MOST_NAMED, 'more file')}" if len(names) > _MOST_NAMED else ""
    message = f"stands in {file}, which is used, and otherwise in {', '.join(names[:_MOST_NAMED])}{more}"
    problem = Problem(kind, key.namespace, key.name, Reason.DUPLICATE_OBJECT, message)
    projection = one.projection
    return evolve(one, projection=evolve(projection, problems=(*projection.problems, problem)))
