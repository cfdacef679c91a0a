"""Fields in which something is written, and which there are not."""

from collections.abc import Iterator

from ingress.annotations.contract.values import quoted
from ingress.ctl.lint.finding import Finding
from ingress.ctl.lint.rules import UNKNOWN_FIELD
from ingress.ctl.lint.survey import Subject, Survey
from ingress.object_fields import path_of


def check_fields(survey: Survey, subject: Subject) -> Iterator[Finding]:
    """Yield the fields of an Ingress that no Ingress has."""
    for one in subject.unknown:
        where = one.at or "an Ingress"
        yield subject.found(
            UNKNOWN_FIELD,
            f"{where} has no field {quoted(one.name)}, so nothing of it has an effect",
            path_of(one.at, one.name),
            one.meant,
        )
