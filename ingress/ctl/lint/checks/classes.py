"""Whose an object is, by its class."""

import shlex
from collections.abc import Iterator

from ingress.annotations.values import quoted
from ingress.ctl.close_names import CloseNames
from ingress.ctl.lint.finding import Change, Finding
from ingress.ctl.lint.rules import CLASS_BY_ANNOTATION, NO_CLASS, OTHER_CLASS
from ingress.ctl.lint.survey import Subject, Survey
from ingress.model.problems import Reason
from ingress.translate.readers.gateway.not_ours import why_not_served_here
from ingress.translate.readers.ingress.classes import class_named, controller_of
from ingress.translate.readers.ingress.objects import CLASS_ANNOTATION, Ingress, classes_of

_FIELD = "spec.ingressClassName"
_BETWEEN = "/"
"""Between words of a name, as in no name of a class: one with a word more is another class."""


def check_classes(survey: Survey, subject: Subject) -> Iterator[Finding]:
    """Yield what the class of an Ingress says, whether it is ours or not."""
    value, options = subject.value, survey.given.options
    if not isinstance(value, Ingress):
        return
    is_told = any(problem.reason is Reason.CLASS_CONFLICT for problem in subject.problems)
    if not subject.verdict.is_ours:
        if is_told:
            return
        name = class_named(value)
        yield subject.found(
            OTHER_CLASS, why_not_ours(survey, subject), _FIELD, _to_have_judged(survey, name) if name else ""
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
    if not isinstance(value, Ingress):
        return why_not_served_here(value, survey.given.state, survey.given.options.gateway)
    name = class_named(value)
    if not name:
        return "it names no class, and the default class is another controller's"
    options, controller = survey.given.options, controller_of(name, survey.given.state)
    if controller is None:
        return f"its class is {quoted(name)}, and only class {quoted(options.ingress_class)} is judged"
    whose = f"whose controller is {quoted(controller)}"
    judged = f"only those of {quoted(options.controller_class)} are judged"
    return f"its class is {quoted(name)}, {whose}, and {judged}"


def _to_have_judged(survey: Survey, name: str) -> str:
    """Say how Ingresses of the class *name*, which is not ours, are judged, and which class may be meant by it."""
    controller = controller_of(name, survey.given.state)
    if controller is not None:
        # The name decides nothing where there is a class of it.
        option = f"controller-class={controller}"
        return f"to have its classes judged: -o {shlex.quote(option)}" if controller else ""
    judged = f"to have class {name} judged: {option_of_class(name)}"
    options = survey.given.options
    classes = classes_of(survey.given.state).items()
    ours = {key.name for key, one in classes if one.controller == options.controller_class}
    for meant in CloseNames({*ours, options.ingress_class}, _BETWEEN).close_to(name):
        more = name.removeprefix(meant)
        # nginx-internal or nginx2 is another class beside nginx.
        if more == name or (len(more) == 1 and more.isalpha()):
            return f"did you mean {meant}? Otherwise, {judged}"
    return judged


def option_of_class(name: str) -> str:
    """Return the option that has the class *name* judged, as a shell takes it."""
    return f"-o {shlex.quote(f'ingress-class={name}')}"
