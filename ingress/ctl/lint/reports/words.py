"""Words for people: the sentences that sum up a lint."""

from collections.abc import Iterable

from ingress.ctl.lint.reports.results import Summary
from ingress.model.objects import ObjectId
from ingress.wording import number_of


def objects_sentence(counted: Summary, kind: str | None, advices: Iterable[str] = ()) -> str:
    """Say how many objects there are, all of *kind* if it is one, and what becomes of them; *advices* if none is served here."""
    if not counted.objects:
        return "There is no Ingress."
    if not counted.ours:
        advice = "; ".join(dict.fromkeys(advices))
        none = "none of them" if counted.objects > 1 else "not"
        return f"{number_of(counted.objects, kind or 'object')}, {none} served here{': ' * bool(advice)}{advice}."
    others = f", {counted.objects - counted.ours} of them not served here" * (counted.objects > counted.ours)
    return (
        f"{number_of(counted.objects, kind or 'object')}{others}: {counted.fully} honored fully, "
        f"{counted.differing} with differences, {counted.partly} in part."
    )


def findings_sentence(counted: Summary) -> str:
    """Say how many findings there are of each level, what is accepted, and what was not checked."""
    levels = ", ".join(
        number_of(number, word)
        for number, word in (
            (counted.errors, "error"),
            (counted.warnings, "warning"),
            (counted.notes, "note"),
        )
        if number
    )
    accepted = f", {counted.accepted} accepted" if counted.accepted else ""
    not_checked = f" {number_of(counted.not_checked, 'thing')} not checked." if counted.not_checked else ""
    return f"{levels or 'No findings'}{accepted}.{not_checked}"


def common_kind(objects: Iterable[ObjectId]) -> str | None:
    """Return the kind of all *objects*; None if there are several."""
    kinds = {kind for kind, _ in objects}
    return kinds.pop() if len(kinds) == 1 else None
