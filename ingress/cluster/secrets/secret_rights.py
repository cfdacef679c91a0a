"""Whether the first sync waits for a right to read Secrets, and for which.  Pure.

A replica that may not read the Secrets of its Ingresses would show a certificate of its own, and a
rolling update with a late Role would put it in place of good ones.  So before the first sync:

- where Secrets are watched, it waits while list or watch is refused and a Secret that is
  referred to is refused by its name, too;
- where they are read by name alone, it waits while all that are referred to are refused: rights
  may be limited to names, so one that is refused is a problem of its own;
- it waits for the Secret that the operator named in any case.

With ``--namespace`` each namespace is judged by itself.  Nobody waits where nothing is referred to.
"""

from collections.abc import Collection, Iterable, Set

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Problem
from ingress.translate.absent_secrets import FORBIDDEN_REASONS
from ingress.translate.readers.reader import KindRead
from ingress.wording import first_of

_NAMED = 3


def rights_awaited(
    needed: Iterable[ObjectKey],
    forbidden: Set[ObjectKey],
    *,
    operators: Collection[ObjectKey] = (),
    namespaces: Collection[str] = (),
    refused_lists: Collection[str] | None = None,
) -> tuple[str, ...]:
    """Say which rights are missing that the first sync waits for, one line for each scope.

    *needed* are the Secrets that are referred to, those of *operators* by the operator, and
    *forbidden* those of them that may not be read by name.  *namespaces* are those that are read,
    all when empty.  *refused_lists* has the namespaces (the empty one is the whole cluster) where list
    or watch is refused; None says that Secrets are not watched.
    """
    if not forbidden:
        return ()

    def scope_of(key: ObjectKey) -> str:
        return key.namespace if namespaces else ""

    scopes: dict[str, list[ObjectKey]] = {}
    for key in sorted(forbidden):
        scopes.setdefault(scope_of(key), []).append(key)
    readable = {scope_of(key) for key in needed if key not in forbidden}
    lines = []
    for scope, keys in scopes.items():
        is_refused = scope not in readable if refused_lists is None else scope in refused_lists
        awaited = keys if is_refused else [key for key in keys if key in operators]
        if not awaited:
            continue
        by_name = f"get {_secrets(awaited)}"
        if is_refused and refused_lists is not None:
            where = f"in namespace {scope}" if scope else "in all namespaces"
            lines.append(f"Secret: no right to list and watch secrets {where}, and none to {by_name}")
        else:
            lines.append(f"Secret: no right to {by_name}")
    return tuple(lines)


def forbidden_problem(read: KindRead, key: ObjectKey) -> Problem:
    """Return what the operator is told of an object that may not be read; what was read of it before counts on."""
    message = f"no right to get {read.plural} in namespace {key.namespace}, to which another object or an option refers"
    return Problem(read.kind, key.namespace, key.name, FORBIDDEN_REASONS[read.kind], message)


def _secrets(keys: list[ObjectKey]) -> str:
    """Name Secrets by namespace, few of them."""
    by_namespace: dict[str, list[str]] = {}
    for key in keys:
        by_namespace.setdefault(key.namespace, []).append(key.name)
    named = [
        f"secrets in namespace {namespace} ({first_of(names, _NAMED)})"
        for namespace, names in by_namespace.items()
    ]
    return first_of(named, _NAMED)
