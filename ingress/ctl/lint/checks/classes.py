"""Whose an object is, by its class."""

import shlex
from collections.abc import Iterator

from ingress.annotations.values import quoted
from ingress.ctl.lint.finding import Change, Finding
from ingress.ctl.lint.rules import CLASS_BY_ANNOTATION, NO_CLASS, OTHER_CLASS
from ingress.ctl.lint.survey import Subject, Survey
from ingress.model.problems import Reason
from ingress.translate.readers.ingress.classes import class_named
from ingress.translate.readers.ingress.objects import CLASS_ANNOTATION, Ingress, classes_of

_FIELD = "spec.ingressClassName"


def check_classes(survey: Survey, subject: Subject) -> Iterator[Finding]:
    """Yield what the class of an Ingress says, whether it is ours or not."""
    value, options = subject.value, survey.given.options
    if not isinstance(value, Ingress):
        return
    is_told = any(problem.reason is Reason.CLASS_CONFLICT for problem in subject.problems)
    if not subject.verdict.is_ours:
        if is_told:
            return
        advice = f"to have class {class_named(value)} judged: {option_of_class(class_named(value))}"
        yield subject.found(
            OTHER_CLASS, why_not_ours(survey, subject), _FIELD, advice if class_named(value) else ""
        )
    elif subject.is_classless:
        yield subject.found(
            NO_CLASS,
            "it names no class, so it is served only where the class is the default, or with --watch-without-class",
            _FIELD,
            f"write ingressClassName: {options.ingress_class}",
            [Change(_FIELD, options.ingress_class)],
        )
    by_annotation = value.annotations.get(CLASS_ANNOTATION, "")
    if is_told or not (subject.verdict.is_ours and by_annotation):
        return
    named = [] if value.class_name else [Change(_FIELD, by_annotation)]
    yield subject.found(
        CLASS_BY_ANNOTATION,
        f"{CLASS_ANNOTATION} is deprecated, and the field says the same"
        if value.class_name
        else f"{CLASS_ANNOTATION} is deprecated; the field for it is {_FIELD}",
        f"metadata.annotations[{CLASS_ANNOTATION}]",
        "remove the annotation" if value.class_name else f"write {_FIELD}: {by_annotation}",
        [*named, Change(f"metadata.annotations[{CLASS_ANNOTATION}]", None)],
    )


def why_not_ours(survey: Survey, subject: Subject) -> str:
    """Say why an object is not judged."""
    value = subject.value
    name = class_named(value) if isinstance(value, Ingress) else ""
    if not name:
        return "it names no class, and the default class is another controller's"
    seen = next((one for key, one in classes_of(survey.given.state).items() if key.name == name), None)
    whose = "" if seen is None else f", whose controller is {quoted(seen.controller)}"
    options = survey.given.options
    return f"its class is {quoted(name)}{whose}, and only class {quoted(options.ingress_class)} is judged"


def option_of_class(name: str) -> str:
    """Return the option that has the class *name* judged, as a shell takes it."""
    return f"-o {shlex.quote(f'ingress-class={name}')}"
