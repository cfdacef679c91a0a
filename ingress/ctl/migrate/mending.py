"""The changes that mend an object: those of its findings, put together so that they can be made at once.  Pure."""

from collections.abc import Iterable, Iterator

from ingress.ctl.lint.finding import Change, Finding, Level
from ingress.model.cluster.problems import Reason
from ingress.translate.readers.ingress.objects import Ingress


def mended(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield those of *findings*, which are all of an object, that say what to write instead, without any that contradicts one before it.

    What is for information alone is left as it is.  So are rules of which one, or a path, could not be read: it is left out, and
    what comes behind it has another place than it seems.
    """
    some = tuple(findings)
    has_places = not any(
        one.rule == Reason.MALFORMED_OBJECT.value and _is_of_rules(one.field) and ".backend" not in one.field
        for one in some
    )
    said: dict[str, object] = {}
    for finding in some:
        if finding.level is Level.NOTE or not finding.changes:
            continue
        if not has_places and any(_is_of_rules(change.field) for change in finding.changes):
            continue
        if any(said.get(change.field, change.value) != change.value for change in finding.changes):
            continue
        said.update((change.field, change.value) for change in finding.changes)
        yield finding


def _is_of_rules(field: str) -> bool:
    return field.startswith("spec.rules")


def put_together(changes: Iterable[Change], value: Ingress | None) -> tuple[Change, ...]:
    """Return *changes* of the object *value* without any within what goes; what would be left empty goes as a whole.

    An API server takes no rule without paths.  Where no rule would be left, none goes: that is for somebody to decide.
    """
    some = list(dict.fromkeys(changes))
    if value is not None:
        some = _without_empty_rules(some, value)
    gone = {change.steps for change in some if change.value is None}
    return tuple(
        one for one in some if gone.isdisjoint(one.steps[:length] for length in range(len(one.steps)))
    )


def _without_empty_rules(changes: list[Change], value: Ingress) -> list[Change]:
    gone = {change.steps for change in changes if change.value is None}
    rules = {
        number
        for number, rule in enumerate(value.rules)
        if ("spec", "rules", number) in gone
        or (
            rule.paths
            and all(
                ("spec", "rules", number, "http", "paths", place) in gone for place in range(len(rule.paths))
            )
        )
    }
    if rules and len(rules) == len(value.rules):
        return [one for one in changes if one.value is not None or one.steps[:2] != ("spec", "rules")]
    whole = [Change(f"spec.rules[{number}]", None) for number in sorted(rules)]
    return list(dict.fromkeys((*changes, *whole)))
