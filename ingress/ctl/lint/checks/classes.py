"""Whose an object is, by its class."""

from collections.abc import Iterator, Sequence

from ingress.annotations.contract.values import quoted
from ingress.ctl.lint.finding import Change, Finding
from ingress.ctl.lint.rules import (
    CLASS_BY_ANNOTATION,
    MISTYPED_CLASS,
    MISTYPED_CONTROLLER,
    NO_CLASS,
    OTHER_CLASS,
    UNKNOWN_CLASS,
)
from ingress.ctl.lint.survey import Subject, Survey
from ingress.ctl.suggestions.close_names import is_slip
from ingress.model.cluster.objects import Kind
from ingress.model.cluster.problems import Reason
from ingress.translate.readers.gateway.not_ours import why_not_served_here
from ingress.translate.readers.gateway.objects.gateways import Gateway, GatewayClass
from ingress.translate.readers.ingress.classes import class_named, controller_of
from ingress.translate.readers.ingress.objects import CLASS_ANNOTATION, Ingress, classes_of

_FIELD = "spec.ingressClassName"
_TOLD = (Reason.CLASS_CONFLICT, Reason.CATCH_ALL_DISABLED)
_ANNOTATION = f"metadata.annotations[{CLASS_ANNOTATION}]"


def check_classes(survey: Survey, subject: Subject) -> Iterator[Finding]:
    """Yield what the class of an Ingress says, whether it is ours or not, and of which GatewayClass ours is meant."""
    value, options = subject.value, survey.given.options
    if isinstance(value, GatewayClass | Gateway):
        yield from _slips_of_gateways(survey, subject, value)
    if not isinstance(value, Ingress):
        return
    is_told = any(problem.reason in _TOLD for problem in subject.problems)
    if not subject.verdict.is_ours:
        if not is_told:
            yield _not_judged(survey, subject, value)
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
        _ANNOTATION,
        "remove the annotation" if value.class_name else f"write {_FIELD}: {by_annotation}",
        [*named, Change(_ANNOTATION, None)],
    )


def why_not_ours(survey: Survey, subject: Subject) -> str:
    """Say why an object is not judged."""
    value = subject.value
    if not isinstance(value, Ingress):
        return why_not_served_here(value, survey.given.state, survey.given.options.gateway)
    for problem in subject.verdict.problems:
        if problem.reason is Reason.CATCH_ALL_DISABLED:
            return problem.message
    name = class_named(value)
    if not name:
        return "it names no class, and the default class is another controller's"
    options, controller = survey.given.options, controller_of(name, survey.given.state)
    if controller is None:
        return f"its class is {quoted(name)}, and {survey.classes.judged}"
    whose = f"whose controller is {quoted(controller)}"
    by_name = f" and class {quoted(options.ingress_class)}" if options.class_by_name else ""
    judged = f"only those of {quoted(options.controller_class)}{by_name} are judged"
    return f"its class is {quoted(name)}, {whose}, and {judged}"


def check_controllers(survey: Survey) -> Iterator[Finding]:
    """Yield the IngressClasses whose controller is meant to be ours."""
    given = survey.given
    ours = given.options.controller_class
    for key, one in sorted(classes_of(given.state).items()):
        if survey.classes.is_mistyped(one):
            object_id = (Kind.INGRESS_CLASS, key)
            yield Finding(
                MISTYPED_CONTROLLER.level,
                MISTYPED_CONTROLLER.name,
                object_id,
                f"its controller is {quoted(one.controller)}, and only classes of {quoted(ours)} are judged",
                "spec.controller",
                f"did you mean {ours}?",
                given.place(object_id),
                (Change("spec.controller", ours),),
            )


def _slips_of_gateways(survey: Survey, subject: Subject, value: GatewayClass | Gateway) -> Iterator[Finding]:
    """Yield the controller of a GatewayClass that is meant to be ours, or the class of a Gateway that is meant to be one of ours."""
    options = survey.given.options.gateway
    if subject.verdict.is_ours or not options.is_served:
        return
    names: Sequence[str]
    if isinstance(value, GatewayClass):
        rule, field, written = MISTYPED_CONTROLLER, "spec.controllerName", value.controller
        names = [options.controller_name]
    else:
        rule, field, written = MISTYPED_CLASS, "spec.gatewayClassName", value.class_name
        names = survey.gateway_classes(written)
    meant = next((name for name in names if is_slip(written, name)), None)
    if meant is not None:
        message, advice = why_not_ours(survey, subject), f"did you mean {meant}?"
        yield subject.found(rule, message, field, advice, [Change(field, meant)])


def _not_judged(survey: Survey, subject: Subject, value: Ingress) -> Finding:
    """Return what is said of an Ingress that is not ours."""
    name = class_named(value)
    field = _FIELD if value.class_name or not name else _ANNOTATION
    message, advice = why_not_ours(survey, subject), survey.classes.advice(name) if name else ""
    if not name or not survey.is_class_of_nobody(name):
        return subject.found(OTHER_CLASS, message, field, advice)
    meant = survey.classes.slip(name)
    if meant:
        return subject.found(MISTYPED_CLASS, message, field, advice, [Change(field, meant)])
    return subject.found(UNKNOWN_CLASS, message, field, advice)
