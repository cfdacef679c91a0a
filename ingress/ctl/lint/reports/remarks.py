"""What the table says of each object, and what it says of many objects at once.  Pure."""

from collections.abc import Iterable, Iterator

from attrs import evolve

from ingress.ctl.inputs.input import NOWHERE, Place
from ingress.ctl.lint.finding import AnnotationReport, Finding, LintReport, ObjectReport, Standing
from ingress.ctl.lint.reports.texts import annotation_of, message
from ingress.ctl.lint.rules import CRITICAL_RISK
from ingress.model.cluster.objects import Kind, ObjectId
from ingress.model.frozen import frozen

MANY = 3
"""What is said of so many objects is said once, of all of them."""


@frozen
class Remark:
    """A finding, or what else there is to know of an annotation, without the object that it is about."""

    weight: int
    """What it is sorted by: the level; 0 for what is no finding."""
    mark: str
    """The word of its level or standing."""
    text: str
    advice: str = ""
    rule: str = ""


@frozen
class Spot:
    """Where in an object something is; *field* is empty for an annotation, which the text of the remark names."""

    place: Place
    field: str = ""


@frozen
class AboutObject:
    """The remarks on one object, the worst first, each with where in it that holds."""

    object_id: ObjectId
    place: Place
    remarks: tuple[tuple[Remark, tuple[Spot, ...]], ...]
    annotations: tuple[AnnotationReport, ...] = ()

    @property
    def weight(self) -> int:
        """That of the worst remark."""
        return self.remarks[0][0].weight if self.remarks else 0


@frozen
class OneOfMany:
    """One of the objects that something is said of, and what is its own about that."""

    object_id: ObjectId
    place: Place
    advice: str = ""


@frozen
class AboutMany:
    """A remark on several objects; on one alone where it is no finding."""

    remark: Remark
    """Without advice where that differs from object to object."""
    objects: tuple[OneOfMany, ...]

    @property
    def weight(self) -> int:
        """That of the remark."""
        return self.remark.weight


def remarks_of(
    report: LintReport, accepted: Iterable[Finding], sums_up: bool
) -> list[AboutMany | AboutObject]:
    """Return what there is to say of *report*, the worst first; without *sums_up* nothing is taken together.

    What *accepted* say of annotations is not said otherwise, either.  Objects with nothing to say of are left out where it
    is taken together.
    """
    accepted_of: dict[tuple[ObjectId, str], list[Finding]] = {}
    for finding in accepted:
        accepted_of.setdefault((finding.object_id, finding.place.file), []).append(finding)
    about = [_about(one, accepted_of.get((one.object_id, one.place.file), ())) for one in report.objects]
    about += _about_others(report.others)
    many: list[AboutMany | AboutObject] = []
    if sums_up:
        objects_of: dict[Remark, list[OneOfMany]] = {}
        for one in about:
            for remark, spots in one.remarks:
                of_many = OneOfMany(one.object_id, spots[0].place, remark.advice)
                objects_of.setdefault(_without_advice(remark), []).append(of_many)
        summed = {
            remark for remark, objects in objects_of.items() if len(objects) >= MANY or not remark.weight
        }
        many += (_about_many(remark, objects_of[remark]) for remark in objects_of if remark in summed)
        about = [one for one in (_without(one, summed) for one in about) if one.remarks]
    # Python's sort keeps the order of equals: what is said of many comes first, objects by namespace and name.
    return sorted([*many, *about], key=lambda one: -one.weight)


def _without_advice(remark: Remark) -> Remark:
    return evolve(remark, advice="") if remark.advice else remark


def _about_many(remark: Remark, objects: list[OneOfMany]) -> AboutMany:
    advices = {one.advice for one in objects}
    if len(advices) > 1:
        return AboutMany(remark, tuple(objects))
    return AboutMany(evolve(remark, advice=advices.pop()), tuple(evolve(one, advice="") for one in objects))


def _about(one: ObjectReport, accepted: Iterable[Finding]) -> AboutObject:
    # That ingress-nginx grades an annotation so says nothing of what it does here.
    told = (finding for finding in one.findings if finding.rule != CRITICAL_RISK.name)
    said = "\n".join(map(message, (*told, *accepted)))
    remarks = list(_joined(one.findings))
    for annotation in one.annotations:
        tells = annotation.why and annotation.standing is not Standing.HONORED
        if tells and annotation.name not in said and annotation.why not in said:
            remark = Remark(0, _MARKS[annotation.standing], f"{annotation.name}: {annotation.why}")
            remarks.append((remark, (Spot(one.place),)))
    return AboutObject(one.object_id, one.place, tuple(remarks), one.annotations)


_MARKS = {
    Standing.DIFFERS: "differs",
    Standing.IGNORED: "ignored",
    Standing.NEVER_EXISTED: "never",
    Standing.UNSAFE: "unsafe",
    Standing.CLOSED: "closes",
}


def _about_others(findings: Iterable[Finding]) -> Iterator[AboutObject]:
    by_object: dict[tuple[ObjectId, str], list[Finding]] = {}
    for finding in findings:
        by_object.setdefault((finding.object_id, finding.place.file), []).append(finding)
    for (object_id, _), some in by_object.items():
        # The name of a manifest says already which file it is.
        place = NOWHERE if object_id[0] == Kind.MANIFEST else some[0].place
        yield AboutObject(object_id, place, tuple(_joined(some)))


def _joined(findings: Iterable[Finding]) -> Iterator[tuple[Remark, tuple[Spot, ...]]]:
    """Yield what *findings* of one object say, each thing once."""
    spots: dict[Remark, dict[Spot, None]] = {}
    for one in findings:
        remark = Remark(int(one.level), one.level.word, message(one), one.advice, one.rule)
        field = "" if annotation_of(one.field) else one.field
        spots.setdefault(remark, {})[Spot(one.place, field)] = None
    for remark, some in spots.items():
        yield remark, tuple(some)


def _without(one: AboutObject, summed: set[Remark]) -> AboutObject:
    left = tuple((remark, spots) for remark, spots in one.remarks if _without_advice(remark) not in summed)
    if len(left) == len(one.remarks):
        return one
    return AboutObject(one.object_id, one.place, left, one.annotations)
