"""Reports out of plain values, and texts that somebody hopes will be obeyed."""

from collections.abc import Iterable, Sequence

from ingress.ctl.inputs.input import NOWHERE, Place
from ingress.ctl.lint.finding import AnnotationReport, Finding, Level, LintReport, ObjectReport, Standing
from ingress.ctl.lint.reports.results import Results
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07",
    "one\n::set-output name=a::b",
    "::set-env name=PATH::/tmp",
    "##[add-path]/tmp ##vso[task.setvariable variable=a]b ##teamcity[buildStatus]",
    "]]></failure></testcase><testcase name='fine'/>",
    '" onmouseover="x" <b>&amp;',
    "| a | b | [click](https://evil.example) `x` {0}",
    "\u202egnp.exe \u2066\u200f",
    "half \ud800 and \udfff",
    "\x00\x0b\x7f\x85\u2028\ufffe\uffff\U0001fffe",
    "%0A::error::x,line=2:title=y",
    "tab\tand\r\nline",
    "\u4e2d\u6587\u5b57\u7b26 e\u0301",
)
"""Each is one tenant's idea."""
FIRST_LINE = Place("deploy/shop.yaml", 1)
RATE_LIMIT = "metadata.annotations[nginx.ingress.kubernetes.io/rate-limit]"
SERVICE_LINE = Place("deploy/shop.yaml", 12)


def object_id(name: str = "shop/web", kind: Kind = Kind.INGRESS) -> ObjectId:
    """The identity of an object."""
    namespace, _, own = name.partition("/")
    return kind, ObjectKey(namespace, own)


def finding(
    level: Level = Level.ERROR,
    message: str = "there is no Service shop/wbe",
    *,
    of: ObjectId | None = None,
    rule: str = "ServiceNotFound",
    field: str = "spec.rules[0].http.paths[0].backend.service.name",
    advice: str = "",
    place: Place = SERVICE_LINE,
) -> Finding:
    """A finding of the object ``shop/web``, unless said otherwise."""
    return Finding(level, rule, of or object_id(), message, field, advice, place)


def annotation(name: str, standing: Standing = Standing.HONORED, why: str = "") -> AnnotationReport:
    """What becomes of an annotation."""
    return AnnotationReport(name, "on", standing, why)


def reported(
    name: str = "shop/web",
    findings: Iterable[Finding] = (),
    annotations: Iterable[AnnotationReport] = (),
    *,
    place: Place = FIRST_LINE,
    why_not: str = "",
) -> ObjectReport:
    """The report of an Ingress; with *why_not* it is none of ours."""
    return ObjectReport(
        object_id(name), place, not why_not, why_not, tuple(annotations), tuple(findings), (("app", "web"),)
    )


def results(
    *objects: ObjectReport,
    others: Iterable[Finding] = (),
    not_checked: Iterable[str] = (),
    fail_on: Level | None = Level.ERROR,
) -> Results:
    """The results of a lint in the folder ``/work``."""
    report = LintReport(objects, tuple(others), tuple(not_checked))
    return Results(report, fail_on=fail_on, folder="/work")


def hostile_results(texts: Sequence[str] = HOSTILE) -> Results:
    """Those in which tenants chose every text that they can choose, for each of *texts*."""
    objects = []
    for text in texts:
        identity = object_id(f"{text}/{text}")
        found = [
            finding(
                level,
                text,
                of=identity,
                field=f"metadata.annotations[{text}]",
                advice=text,
                place=Place(text, 3),
            )
            for level in Level
        ]
        some = [annotation(text, standing, text) for standing in Standing]
        objects.append(
            ObjectReport(identity, Place(text, 2), True, "", tuple(some), tuple(found), ((text, text),))
        )
        objects.append(ObjectReport(identity, NOWHERE, False, text))
    others = [finding(message=text, of=object_id(text, Kind.SECRET), place=Place("-", 1)) for text in texts]
    return results(*objects, others=others, not_checked=texts)


def many_objects(number: int) -> Results:
    """Those of so many objects, of which each has a few things said of it, some of them the same."""
    objects = []
    for each in range(number):
        name = f"team-{each % 40}/app-{each}"
        place = Place(f"deploy/{each}.yaml", 1)
        findings = [
            finding(
                message=f"there is no Service team/app-{each}, which its path needs",
                of=object_id(name),
                place=place,
            ),
            finding(Level.WARNING, "ingress-nginx never had it " * 4, of=object_id(name), place=place),
        ]
        some = [annotation(f"name-{which}") for which in range(4)]
        some.append(annotation("rewrite-target", Standing.DIFFERS, "it differs"))
        objects.append(reported(name, findings, some, place=place))
    return results(*objects)
