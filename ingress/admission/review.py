"""What an API server asks of a webhook, and how it is answered: AdmissionReviews of ``admission.k8s.io/v1``.  Pure.

The answer is always yes.  Warnings are what the API server takes of them: 256 characters each, 4096 of all, and no control characters
(https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#response).
"""

import json
from collections.abc import Sequence
from typing import Final

from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.stepwise import SORTED_AT_ONCE, Stepwise, in_order
from ingress.object_fields import RawObject, is_object, is_text

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
MOST_CHARACTERS: Final = 256
MOST_BYTES: Final = 4096
NOT_LOOKED_AT: Final = "txingress: this Ingress was not looked at: {why}"

UNREAD: Final = frozenset(
    {
        "oldObject",
        "options",
        "userInfo",
        "managedFields",
        "status",
        "labels",
        "ownerReferences",
        "kubectl.kubernetes.io/last-applied-configuration",
    }
)
"""Names in a review under which stands nothing that is looked at."""

_OPERATIONS: Final = ("CREATE", "UPDATE")
_MOST_UID_CHARACTERS: Final = 128
_ANNOTATIONS: Final = "metadata.annotations["
_MORE_BYTES: Final = 80
"""What is left for the line that says how many more there are."""

MILD: Final = frozenset(
    {
        Reason.DEPRECATED_VERSION,
        Reason.MISSING_PATH_TYPE,
        Reason.TARGET_PORT_NAMED,
        Reason.SECRET_FORBIDDEN,
        Reason.CONFIG_MAP_FORBIDDEN,
        Reason.CERTIFICATE_EXPIRED,
        Reason.CERTIFICATE_NOT_YET_VALID,
        Reason.CERTIFICATE_CONFLICT,
        Reason.CANARY_WITHOUT_PRIMARY,
        Reason.HOST_CONFLICT,
        Reason.PASSTHROUGH_CONFLICT,
        Reason.CLASS_CONFLICT,
        Reason.UNSUPPORTED_ANNOTATION,
        Reason.UNKNOWN_ANNOTATION,
    }
)
"""What lint calls a warning and no error, of Ingresses: it is told last."""


class ReviewRefusedError(ValueError):
    """A body that is no review; the message says why, in one line."""


@frozen
class AdmissionRequest:
    """One review: what is to be admitted, of which object, if it is an Ingress."""

    uid: str
    namespace: str = ""
    name: str = ""
    ingress: RawObject | None = None
    """The Ingress as it is to be; None where nothing is to be judged."""


def read_review(document: object) -> AdmissionRequest:
    """Return what *document* asks; raises ``ReviewRefusedError`` where there is nothing to answer."""
    if not is_object(document) or (document.get("apiVersion"), document.get("kind")) != (API_VERSION, KIND):
        raise ReviewRefusedError(f"this is no {KIND} of {API_VERSION}")
    request = document.get("request")
    uid = request.get("uid") if is_object(request) else None
    if not is_object(request) or not is_text(uid) or not 0 < len(uid) <= _MOST_UID_CHARACTERS:
        raise ReviewRefusedError(f"this {KIND} has no request.uid by which it could be answered")
    resource, ingress = request.get("resource"), request.get("object")
    if (
        not is_object(resource)
        or (resource.get("group"), resource.get("version"), resource.get("resource"))
        != ("networking.k8s.io", "v1", "ingresses")
        or request.get("subResource")
        or request.get("operation") not in _OPERATIONS
        or not is_object(ingress)
    ):
        return AdmissionRequest(uid)
    metadata = ingress.get("metadata")
    metadata = metadata if is_object(metadata) else {}
    # Of one that is to be named by the API server, the beginning of the name is known.
    name = _first_text(metadata.get("name"), request.get("name"), metadata.get("generateName"))
    namespace = _first_text(request.get("namespace"), metadata.get("namespace"))
    if not name or not namespace:
        return AdmissionRequest(uid)
    return AdmissionRequest(uid, namespace, name, ingress)


def _first_text(*values: object) -> str:
    return next((value for value in values if is_text(value) and value), "")


def answer(uid: str, warnings: Sequence[str] = ()) -> bytes:
    """Return the answer to the review *uid*: yes, with *warnings*."""
    response: dict[str, object] = {"uid": uid, "allowed": True}
    if warnings:
        response["warnings"] = list(warnings)
    return json.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": response}).encode()


def told(problems: Sequence[Problem]) -> Stepwise[Sequence[Problem]]:
    """Find those of *problems* that whoever applies the object is told, the worst first: those that are Events, too."""
    found: list[Problem] = []
    for number, one in enumerate(problems, 1):
        if not one.is_note and not one.is_the_operators:
            found.append(one)
        if not number % SORTED_AT_ONCE:
            yield
    # All are of one object; problems themselves take long to compare.
    return (yield from in_order(found, lambda one: (one.reason in MILD, one.reason, one.message, one.field)))


def warnings_of(problems: Sequence[Problem]) -> tuple[str, ...]:
    """Return what whoever applies the object reads of its *problems*: as many as there is room for, in their order."""
    warnings: list[str] = []
    room = MOST_BYTES
    for number, problem in enumerate(problems):
        warning = _warning(problem)
        size = len(warning.encode())
        is_last = number + 1 == len(problems)
        if size > room - (0 if is_last else _MORE_BYTES):
            warnings.append(
                f"txingress: and {len(problems) - number} more, which its Events say once it is applied"
            )
            break
        room -= size
        warnings.append(warning)
    return tuple(warnings)


def _warning(problem: Problem) -> str:
    """Return *problem* in a line; where it is too long the reason stays, by which docs/problems.md says more."""
    field, message = problem.field, problem.message
    # What is told of an annotation most often begins with its name.
    is_named = field.startswith(_ANNOTATIONS) and message.startswith(f"{field.rpartition('/')[2][:-1]}:")
    at = f"{field}: " if field and not is_named else ""
    begin, end = _plain(f"txingress: {at}{message}"), f" ({problem.reason})"
    room = MOST_CHARACTERS - len(end)
    return (begin if len(begin) <= room else f"{begin[: room - 1]}…") + end


def _plain(text: str) -> str:
    return text if text.isprintable() else "".join(one if one.isprintable() else " " for one in text)
