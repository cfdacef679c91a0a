"""Which Ingresses are ours to serve: classes, by field, by annotation and by default.

The class name of an Ingress is ``spec.ingressClassName``, or else the old annotation
``kubernetes.io/ingress.class``; an empty text is no name.  The Ingress is ours when

1. an IngressClass of that name exists, and its ``spec.controller`` is our controller
   class, or, with ``--ingress-class-by-name``, its name is our ingress class; or
2. no IngressClass of that name can be seen (it was never made, it was deleted, or we
   may not list them), and the name is our ingress class; or
3. it has no class at all, and we are told to serve those.

On an API server, admission fills in the default class when an Ingress is created, so
an Ingress without class wants none.  Manifests have not passed admission, so there the
default IngressClass is applied here.  Admission refuses an Ingress without class when
two classes are the default; here such an Ingress is left alone and reported, unless
all of them are ours, for then nothing depends on which it is.

With ``--disable-catch-all`` an Ingress with a default backend is nobody's, as in ingress-nginx: all of it, whatever rules it has.

Source: ``hasCatchAllIngressRule``, and what is done with ``IngressClassByName`` where an IngressClass comes, of ingress-nginx's
``internal/ingress/controller/store/store.go``.  There that class stays ours when it is deleted; here it is known by its name then.
"""

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.translate.claims import DEFAULT_BACKEND_FIELD
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import CLASS_ANNOTATION, Ingress, IngressClass, classes_of
from ingress.translate.readers.reader import Verdict


def judge_ingress(ingress: Ingress, state: ClusterState, options: TranslateOptions) -> Verdict:
    """Decide whether *ingress* is ours, by its class, and by its default backend where the operator wants none."""
    verdict = judge_class(ingress, state, options)
    if not (verdict.is_ours and is_catch_all(ingress, options)):
        return verdict
    message = "--disable-catch-all forbids a defaultBackend; nothing of the Ingress is served"
    problem = ingress.owner.problem(Reason.CATCH_ALL_DISABLED, message, DEFAULT_BACKEND_FIELD)
    return Verdict(False, (*verdict.problems, problem))


def is_catch_all(ingress: Ingress, options: TranslateOptions) -> bool:
    """Whether *ingress*, of whatever class, is not served for its default backend."""
    return options.disable_catch_all and ingress.default_backend is not None


def judge_class(ingress: Ingress, state: ClusterState, options: TranslateOptions) -> Verdict:
    """Decide whether the class of *ingress* is ours.

    When field and annotation disagree the field is used.  That is reported, unless
    the Ingress is another controller's by both.
    """
    by_field = ingress.class_name or ""
    by_annotation = ingress.annotations.get(CLASS_ANNOTATION, "")
    if not by_field:
        if by_annotation:
            return Verdict(_names_ours(by_annotation, state, options))
        return _judge_classless(ingress, state, options)
    is_ours = _names_ours(by_field, state, options)
    if by_annotation in ("", by_field) or not (is_ours or _names_ours(by_annotation, state, options)):
        return Verdict(is_ours)
    consequence = "served" if is_ours else "not served"
    message = (
        f"ingressClassName says {quoted(by_field)}, the annotation {CLASS_ANNOTATION} says"
        f" {quoted(by_annotation)}; the field is used, so the Ingress is {consequence}"
    )
    return Verdict(is_ours, (_conflict(ingress, "spec.ingressClassName", message),))


def class_named(ingress: Ingress) -> str:
    """Return the class that *ingress* names, by field or else by annotation; empty for none."""
    return ingress.class_name or ingress.annotations.get(CLASS_ANNOTATION, "")


def class_names(ingress: Ingress) -> tuple[str | None, str | None]:
    """Return the two ways in which *ingress* may name a class: the field, and the annotation."""
    return ingress.class_name, ingress.annotations.get(CLASS_ANNOTATION)


def controller_of(name: str, state: ClusterState) -> str | None:
    """Return the controller of the IngressClass *name*; None where none of that name can be seen."""
    seen = classes_of(state).get(ObjectKey("", name))
    return None if seen is None else seen.controller


def is_class_ours(one: IngressClass, options: TranslateOptions) -> bool:
    """Whether an IngressClass is ours: by its controller, or, where the operator wants that, by its name."""
    return one.controller == options.controller_class or (
        options.class_by_name and one.key.name == options.ingress_class
    )


def served_classes(options: TranslateOptions) -> str:
    """Say which of the IngressClasses that there are, are ours: those of a controller, and maybe one by its name."""
    ours = f"those of {quoted(options.controller_class)} (--controller-class)"
    by_name = f" and class {quoted(options.ingress_class)} (--ingress-class-by-name)"
    return f"{ours}{by_name}" if options.class_by_name else ours


def _names_ours(name: str, state: ClusterState, options: TranslateOptions) -> bool:
    seen = classes_of(state).get(ObjectKey("", name))
    return name == options.ingress_class if seen is None else is_class_ours(seen, options)


def _judge_classless(ingress: Ingress, state: ClusterState, options: TranslateOptions) -> Verdict:
    if options.from_manifests:
        defaults = {one.key.name: one for one in classes_of(state).values() if one.is_default}
        ours = [one for one in defaults.values() if is_class_ours(one, options)]
        if defaults and len(ours) in (0, len(defaults)):
            return Verdict(bool(ours))
        if defaults:
            names = ", ".join(sorted(defaults))
            message = f"it has no class, and {names} are all the default class; the Ingress is not served"
            return Verdict(False, (_conflict(ingress, "spec.ingressClassName", message),))
    return Verdict(options.watch_without_class)


def _conflict(ingress: Ingress, field: str, message: str) -> Problem:
    return ingress.owner.problem(Reason.CLASS_CONFLICT, message, field)
