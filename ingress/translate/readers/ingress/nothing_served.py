"""Why nothing is served: in words for the operator, who is about to look for the mistake."""

from collections import Counter
from typing import Final

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.classes import class_named, controller_of, judge_class
from ingress.translate.readers.ingress.objects import ingresses_of
from ingress.wording import number_of

_CLASSES_NAMED: Final = 5
_LOOKED_AT_ONCE: Final = 200


def why_nothing_is_served(state: ClusterState, options: TranslateOptions) -> Stepwise[str]:
    """Say, in steps, what kept all Ingresses of *state* from having a route: which classes they are of, and which are served.

    The text goes on after a colon.  Looks at every Ingress; those that come meanwhile are not looked at.
    """
    ingresses = ingresses_of(state)
    if not ingresses:
        where = (
            "the manifests hold" if options.from_manifests else "the cluster, or what is watched of it, has"
        )
        selected = (
            " in namespaces that --watch-namespace-selector selects" if options.selects_namespaces else ""
        )
        return f"{where} no Ingresses{selected}"
    counts: Counter[str] = Counter()
    ours = 0
    for number, ingress in enumerate(tuple(ingresses.values()), 1):
        if not number % _LOOKED_AT_ONCE:
            yield
        if judge_class(ingress, state, options).is_ours:
            ours += 1
        else:
            counts[class_named(ingress)] += 1
    if not counts:
        return f"the problems of {_ingresses(ours)} say why"
    without = counts.pop("", 0)
    named = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    parts = [f"{_ingresses(count)} of {_class(name, state)}" for name, count in named[:_CLASSES_NAMED]]
    more = sum(count for _, count in named[_CLASSES_NAMED:])
    parts += [f"{_ingresses(more)} of other classes"] if more else []
    parts += [f"{_ingresses(without)} without class"] if without else []
    parts += [f"the problems of {_ingresses(ours)} say why"] if ours else []
    served = [f"served is class {quoted(options.ingress_class)} (--ingress-class)"]
    whatever = ", or whatever controller it has (--ingress-class-by-name)" if options.class_by_name else ""
    served.append(f"with the controller {quoted(options.controller_class)} (--controller-class){whatever}")
    if without and not options.watch_without_class:
        served.append("and none without class (--watch-without-class)")
    return f"left alone are {', '.join(parts)}; {', '.join(served)}"


def _ingresses(count: int) -> str:
    return number_of(count, "Ingress")


def _class(name: str, state: ClusterState) -> str:
    controller = controller_of(name, state)
    whose = "" if controller is None else f" (of the controller {quoted(controller)})"
    return f"class {quoted(name)}{whose}"
