"""The values of a lint: findings, what becomes of annotations, and the report of all."""

import re
from enum import Enum, IntEnum
from typing import Final

from attrs import field as attribute
from attrs import frozen

from ingress.ctl.inputs.input import NOWHERE, Place
from ingress.model.cluster.objects import ObjectId


class Level(IntEnum):
    """How much a finding matters; ``--fail-on`` names one of these."""

    NOTE = 1
    """Worth knowing; everything that was asked for is done."""
    WARNING = 2
    """Something may not be what its owner means."""
    ERROR = 3
    """Something that was asked for is not done, or must not be."""

    @property
    def word(self) -> str:
        """What it is called on the command line and in reports."""
        return self.name.lower()


class Standing(Enum):
    """What becomes of one annotation, from the best to the worst."""

    HONORED = "honored"
    DIFFERS = "honored with a difference"
    IGNORED = "ignored"
    NEVER_EXISTED = "never existed"
    UNSAFE = "unsafe"
    """It is honored, and lets in, shows or passes on what it had better not."""
    CLOSED = "closes"
    """It would keep somebody out and is not honored, so what it stands before answers 503."""


_STEPS: Final = re.compile(r"\[(\d+)\]|[^.\[\]]+")
_ANNOTATIONS: Final = "metadata.annotations["


@frozen
class Change:
    """A field of an object, and what it should be instead.

    *field* is a path as problems have it: ``spec.rules[0].http.paths[1].path``, ``metadata.annotations[NAME]``.  *value* is
    the whole new value, a number where the field holds one; None removes the field, or the member of a list.
    A field that is not there yet is added.
    """

    field: str
    value: str | int | None

    @property
    def steps(self) -> tuple[str | int, ...]:
        """The way to the field: names of members, and places in lists from zero."""
        if self.field.startswith(_ANNOTATIONS):
            return ("metadata", "annotations", self.field[len(_ANNOTATIONS) : -1])
        return tuple(int(found[1]) if found[1] else found[0] for found in _STEPS.finditer(self.field))


@frozen(order=True)
class Finding:
    """One thing that the owner of an object should know.

    *rule* is the name of a row of ``ingress.ctl.lint.rules``; *field* the path of the field in the object, empty for all of
    it; *message* a sentence without its full stop; *advice* what to do about it, which may be empty.
    """

    level: Level
    rule: str
    object_id: ObjectId
    message: str
    field: str = ""
    advice: str = ""
    place: Place = attribute(default=NOWHERE, order=False)
    """Where it is, as exactly as is known."""
    changes: tuple[Change, ...] = attribute(default=(), order=False)
    """What to write instead, where that can be said; all of them together, of the object of the finding."""


@frozen
class AnnotationReport:
    """What becomes of one annotation of an object; *name* is without prefix, *why* says what else there is to know of it."""

    name: str
    value: str
    standing: Standing
    why: str = ""


@frozen
class ObjectReport:
    """What there is to say of one route object."""

    object_id: ObjectId
    place: Place
    is_ours: bool
    why_not: str = ""
    """Why it is not served, where it is not ours."""
    annotations: tuple[AnnotationReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    """The worst first."""
    labels: tuple[tuple[str, str], ...] = ()


@frozen
class LintReport:
    """What there is to say of an input: route objects by kind, namespace and name, then everything else."""

    objects: tuple[ObjectReport, ...]
    others: tuple[Finding, ...] = ()
    """Of files, Secrets and whatever else is no route object; the worst first."""
    not_checked: tuple[str, ...] = ()
    """What could not be told by this input, a sentence each."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them, object by object."""
        return (*(finding for one in self.objects for finding in one.findings), *self.others)
