"""A lint and the options in, the report of a migration out.  Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import evolve

from ingress.ctl.inputs.ingress_nginx.installation import Surroundings
from ingress.ctl.inputs.ingress_nginx.usual_config_map import find_config_map
from ingress.ctl.inputs.input import Input
from ingress.ctl.lint.finding import LintReport, ObjectReport, Standing
from ingress.ctl.lint.rules import NOT_JUDGED
from ingress.ctl.migrate.arguments import arguments_report
from ingress.ctl.migrate.config_map import config_map_report
from ingress.ctl.migrate.firewall import asks_for_firewall
from ingress.ctl.migrate.matters import Located, Matters
from ingress.ctl.migrate.migration import Annotation, Count, Entry, Matter, Migration, NotOurs, Row
from ingress.ctl.migrate.outcome import Outcome, outcome_of, outcome_of_finding
from ingress.ctl.migrate.owners import owner_label, owner_of
from ingress.ctl.migrate.raw_ingress import before
from ingress.ctl.migrate.whole_mending import Mending, whole_mending
from ingress.model.cluster.objects import ObjectId

_WORST: Final = tuple(reversed(Standing))


def assess(given: Input, report: LintReport, owner_labels: Sequence[str] = ()) -> Migration:
    """Return what becomes of *given*, of which *report* is the lint; *owner_labels* are those that say whose objects are."""
    ours = [one for one in report.objects if one.is_ours]
    label = owner_label(ours, owner_labels)
    matters = Matters()
    for one in ours:
        matters.add(one)
    sorted_matters = list(matters.sorted())
    entries = sorted(
        _contested(_entries(whole_mending(given, report), ours, sorted_matters, label)), key=_order
    )
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for entry in entries:
        groups.setdefault((entry.object_id[1].namespace, entry.owner), []).append(entry.outcome)
    rows = [Row(*group, count(outcomes)) for group, outcomes in groups.items()]
    mistaken = {located for matter, fields in sorted_matters if matter.is_mistake for located in fields}
    found = config_map_report(given)
    around = Surroundings(given.around)
    config_map = find_config_map(given)
    inspects = asks_for_firewall(ours, {} if config_map is None else config_map.content)
    return Migration(
        count(entry.outcome for entry in entries),
        len(mistaken),
        tuple(sorted(_not_ours(report.objects), key=lambda one: (-one.count, one.why, one.advice))),
        label,
        tuple(sorted(rows, key=_row_order)),
        tuple(entries),
        tuple(matter for matter, _ in sorted_matters),
        tuple(_annotations(ours)),
        tuple(arguments_report(one, around, inspects=inspects) for one in given.workloads),
        found,
        tuple(one for one in report.others if found is None or one.object_id != found.object_id),
        report.not_checked,
        lacks_firewall=inspects and not given.settings.translate.firewall.processes,
    )


def count(outcomes: Iterable[Outcome]) -> Count:
    """Return how many of *outcomes* there are of each."""
    found = Counter(outcomes)
    closed = found[Outcome.CLOSED]
    return Count(
        found.total(),
        found[Outcome.WORKS],
        found[Outcome.DIFFERS],
        found[Outcome.NEEDS_CHANGE] + closed,
        closed,
    )


def _entries(
    mendings: Mapping[Located, Mending],
    reports: Iterable[ObjectReport],
    matters: Sequence[tuple[Matter, Mapping[Located, str]]],
    label: str,
) -> Iterable[Entry]:
    having: dict[Located, list[tuple[int, str]]] = {}
    for number, (_, fields) in enumerate(matters):
        for located, field in fields.items():
            having.setdefault(located, []).append((number, field))
    for report in reports:
        mending = mendings[report.object_id, report.place]
        own = having.get((report.object_id, report.place), ())
        yield Entry(
            report.object_id,
            report.place,
            owner_of(report, label),
            outcome_of(report),
            tuple(number for number, _ in own),
            tuple(field for _, field in own),
            mending.changes,
            any(outcome_of_finding(one) >= Outcome.NEEDS_CHANGE for one in mending.left),
            () if mending.known is None else before(mending.changes, mending.known.raw),
        )


def _not_ours(reports: Iterable[ObjectReport]) -> Iterable[NotOurs]:
    """Yield why objects are not judged, with the advice of the finding that says so."""
    found: Counter[tuple[str, str]] = Counter()
    for report in reports:
        if not report.is_ours:
            advices = (one.advice for one in report.findings if one.rule in NOT_JUDGED)
            found[report.why_not, next(advices, "")] += 1
    for (why, advice), how_many in found.items():
        yield NotOurs(why, advice, how_many)


def _contested(entries: Iterable[Entry]) -> Iterable[Entry]:
    """Yield *entries*, each with where the same object stands that would be changed otherwise."""
    by_object: dict[ObjectId, list[Entry]] = {}
    for entry in entries:
        by_object.setdefault(entry.object_id, []).append(entry)
    for some in by_object.values():
        first = some[0]
        if all((one.changes, one.before) == (first.changes, first.before) for one in some):
            yield from some
        else:
            places = tuple(one.place for one in some)
            yield from (evolve(one, otherwise=places) for one in some)


def _order(entry: Entry) -> tuple[object, ...]:
    return -entry.outcome, entry.object_id, str(entry.place)


def _row_order(row: Row) -> tuple[object, ...]:
    own = row.count
    return -own.closed, -own.needs_change, -own.differs, row.namespace, row.owner


def _annotations(reports: Iterable[ObjectReport]) -> Iterable[Annotation]:
    counts: dict[str, Counter[Standing]] = {}
    for report in reports:
        for one in report.annotations:
            counts.setdefault(one.name, Counter())[one.standing] += 1
    for name, found in sorted(counts.items(), key=lambda one: (-one[1].total(), one[0])):
        yield Annotation(
            name, found.total(), {standing: found[standing] for standing in _WORST if found[standing]}
        )
