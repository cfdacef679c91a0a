"""Fields of an Ingress that there are not, in which something was written all the same.  Pure.

An API server drops them, unless whoever applies has it refuse them, as kubectl does; the controller reads past them.
Source: ``networking.k8s.io/v1`` and ``v1beta1``, and ``ObjectMeta`` of ``meta/v1``.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ingress.ctl.suggestions.close_names import did_you_mean
from ingress.model.frozen import frozen
from ingress.object_fields import RawObject, entry_path, is_object, path_of

MOST: Final = 10
"""So many are told of one object."""
_PRESENT: Final = "networking.k8s.io/v1"
_EXTENSION: Final = "x-"
"""What names begin with that are nobody's, such as those of what anchors stand for."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")

_Fields = Mapping[str, "_Fields | None"]
"""The fields of an object, or of each object of a list; None is for those into which nobody looks."""

_METADATA: Final = dict.fromkeys(
    (
        "annotations",
        "clusterName",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    )
)
_BACKEND: Final[_Fields] = {
    "service": {"name": None, "port": {"name": None, "number": None}},
    "resource": {"apiGroup": None, "kind": None, "name": None},
    # The old spelling is told of otherwise where it is not the time for it.
    "serviceName": None,
    "servicePort": None,
}
_SPEC: Final[_Fields] = {
    "defaultBackend": _BACKEND,
    "ingressClassName": None,
    "rules": {
        "host": None,
        "http": {"paths": {"backend": _BACKEND, "path": None, "pathType": None}},
    },
    "tls": {"hosts": None, "secretName": None},
}
_INGRESS: Final[_Fields] = {
    "apiVersion": None,
    "kind": None,
    "metadata": _METADATA,
    "spec": _SPEC,
    "status": None,
}
_OLD_INGRESS: Final[_Fields] = {**_INGRESS, "spec": {**_SPEC, "backend": _BACKEND}}
_LISTS: Final = frozenset({"paths", "rules", "tls"})
_OTHER_NAMES: Final = {
    "backend": "defaultBackend",
    "ingressClass": "ingressClassName",
    "className": "ingressClassName",
}
"""Of fields of the spec: what other versions and other programs call them."""


@frozen
class UnknownField:
    """*name*, which the object at *at* has not, and *meant*: what may be meant, a sentence without its full stop, or nothing."""

    at: str
    name: str
    meant: str = ""


def unknown_fields(raw: RawObject) -> tuple[UnknownField, ...]:
    """Return the fields of the Ingress *raw* that there are not, in their order."""
    known = _INGRESS if raw.get("apiVersion", _PRESENT) == _PRESENT else _OLD_INGRESS
    found = _below(raw, known, "")
    return tuple(one for one, _ in zip(found, range(MOST), strict=False))


def _below(value: object, known: _Fields, at: str) -> Iterator[UnknownField]:
    if not is_object(value):
        return
    for name, inner in value.items():
        if name not in known:
            if isinstance(name, str) and _NAME.fullmatch(name) and not name.startswith(_EXTENSION):
                yield UnknownField(at, name, _meant(name, known, at))
            continue
        below = known[name]
        if below is None:
            continue
        if isinstance(inner, list):
            for index, one in enumerate(inner):
                yield from _below(one, below, entry_path(at, name, index))
        else:
            yield from _below(inner, below, path_of(at, name))


def _meant(name: str, known: _Fields, at: str) -> str:
    if at == "spec" and name in _OTHER_NAMES:
        return f"did you mean {_OTHER_NAMES[name]}?"
    if name in _SPEC:
        return f"it belongs below spec: spec.{name}"
    if name in _METADATA and at in ("", "spec"):
        return f"it belongs below metadata: metadata.{name}"
    close = did_you_mean(name, known).removeprefix("; ")
    deeper = "" if close else _deeper(name, known, at)
    return f"it belongs deeper: {deeper}" if deeper else close


def _deeper(name: str, known: _Fields, at: str) -> str:
    """Return where below *at* there is a field *name*, in the first entries of lists; empty for nowhere."""
    for one, below in known.items():
        if below is None:
            continue
        inner = entry_path(at, one, 0) if one in _LISTS else path_of(at, one)
        found = path_of(inner, name) if name in below else _deeper(name, below, inner)
        if found:
            return found
    return ""
