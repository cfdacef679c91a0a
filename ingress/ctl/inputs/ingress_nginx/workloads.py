"""The Deployments and DaemonSets of ingress-nginx among raw objects, and the words that they start it with.  Pure.

One is told by its image, by the program that it starts, by its controller class, or by the labels that Helm gives it.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from ingress.ctl.inputs.ingress_nginx.raw_values import object_in, objects_in
from ingress.ctl.inputs.input import NOWHERE, Place, Workload
from ingress.model.cluster.objects import ObjectKey
from ingress.object_fields import RawObject, is_object
from ingress.options.ingress_nginx_arguments import ARGUMENTS

WORKLOADS: Final = {"Deployment": "deployments", "DaemonSet": "daemonsets"}
"""The kinds, each with its plural in the group ``apps``."""
PROGRAM: Final = "nginx-ingress-controller"
_IMAGE: Final = re.compile(
    rf"(?:.*/)?(?:ingress-nginx/controller|{PROGRAM})(?:-chroot)?(?:[:@].*)?", re.DOTALL
)
_OUR_IMAGE: Final = re.compile(r"(?:.*/)?txingress(?:[:@].*)?", re.DOTALL)
_CLASS: Final = "--controller-class=k8s.io/ingress-nginx"
_NAME_LABEL, _COMPONENT_LABEL = "app.kubernetes.io/name", "app.kubernetes.io/component"
_REFERENCE: Final = re.compile(r"\$\$|\$\(([^()\s]{1,253})\)")
_MOST_CHARACTERS: Final = 65_536
_NAMESPACE_FIELD: Final = "metadata.namespace"


def workload_of(raw: object, namespace: str, place: Place = NOWHERE) -> Workload | None:
    """Return what *raw* starts ingress-nginx with; None where it does not.  *namespace* is that of what names none."""
    kind = raw.get("kind") if is_object(raw) else None
    if not is_object(raw) or not isinstance(kind, str) or kind not in WORKLOADS:
        return None
    container = _container(objects_in(_pod(raw), "containers"), object_in(raw, "metadata"))
    return None if container is None else _made(raw, container, namespace, place)


def controller_of(raw: object, namespace: str) -> Workload | None:
    """Return the same of what somebody has named, whichever controller it runs; None where it looks like none."""
    found = workload_of(raw, namespace)
    if found is not None or not is_object(raw):
        return found
    containers = objects_in(_pod(raw), "containers")
    likely = next((one for one in containers if any("ingress" in word for word in _words(one))), None)
    return None if likely is None else _made(raw, likely, namespace, NOWHERE)


def _pod(raw: RawObject) -> RawObject:
    return object_in(object_in(object_in(raw, "spec"), "template"), "spec")


def _made(raw: RawObject, container: RawObject, namespace: str, place: Place) -> Workload | None:
    metadata = object_in(raw, "metadata")
    name, own = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str):
        return None
    key = ObjectKey(own if isinstance(own, str) and own else namespace, name)
    variables = _variables(container, key.namespace)
    words = tuple(_with_variables(word, variables) for word in _words(container))
    on_host_network = _pod(raw).get("hostNetwork") is True
    return Workload(
        str(raw.get("kind")), key, words, on_host_network, place, object_in(raw, "spec"), container
    )


def arguments_in(words: Sequence[str]) -> list[str]:
    """Return those of *words* that are arguments of the controller, without the programs before them."""
    for place, word in enumerate(words):
        if word.rpartition("/")[2] == PROGRAM:
            return list(words[place + 1 :])
        if PROGRAM in word and any(character.isspace() for character in word):
            # A line for a shell.
            try:
                return arguments_in(shlex.split(word, comments=True))
            except ValueError:
                return []
    first = next(
        (place for place, word in enumerate(words) if len(word) > 2 and word.startswith("-")), len(words)
    )
    return list(words[first:])


def _container(containers: Sequence[RawObject], metadata: RawObject) -> RawObject | None:
    """Return the container that is the controller; None where there is none."""
    for is_controller in (_has_image, _starts_program, _has_class):
        for one in containers:
            if is_controller(one):
                return one
    labels = object_in(metadata, "labels")
    if (
        labels.get(_NAME_LABEL) != "ingress-nginx"
        or labels.get(_COMPONENT_LABEL, "controller") != "controller"
    ):
        return None
    named = [one for one in containers if one.get("name") == "controller"]
    return next(
        (one for one in named or containers if not _has_our_image(one) and not is_ours(_words(one))), None
    )


def _has_image(container: RawObject) -> bool:
    image = container.get("image")
    return isinstance(image, str) and _IMAGE.fullmatch(image) is not None


def _starts_program(container: RawObject) -> bool:
    return any(PROGRAM in word for word in _words(container))


def _has_class(container: RawObject) -> bool:
    words = _words(container)
    return _CLASS in words and not _has_our_image(container) and not is_ours(words)


def _has_our_image(container: RawObject) -> bool:
    image = container.get("image")
    return isinstance(image, str) and _OUR_IMAGE.fullmatch(image) is not None


def is_ours(words: Sequence[str]) -> bool:
    """Whether *words* start this controller, which may serve the same class: it has options that there are nowhere else."""
    # Of all that a command begins with, the table takes longest to make, and here it is seldom asked.
    from ingress.options.table import SPELLINGS

    names = {word[2:].partition("=")[0] for word in words if word.startswith("--")}
    return "twistd" in words or not names.isdisjoint(SPELLINGS.keys() - ARGUMENTS.keys())


def _words(container: RawObject) -> list[str]:
    return [
        word
        for name in ("command", "args")
        for word in _list(container, name)
        if isinstance(word, str) and len(word) <= _MOST_CHARACTERS
    ]


def _variables(container: RawObject, namespace: str) -> Mapping[str, str]:
    """Return the variables of *container* whose values stand in the object, by name."""
    known = {"POD_NAMESPACE": namespace}
    for one in objects_in(container, "env"):
        name, value = one.get("name"), one.get("value")
        if not isinstance(name, str):
            continue
        known.pop(name, None)
        if isinstance(value, str):
            known[name] = _with_variables(value, known)
        elif object_in(object_in(one, "valueFrom"), "fieldRef").get("fieldPath") == _NAMESPACE_FIELD:
            known[name] = namespace
    return known


def _with_variables(text: str, known: Mapping[str, str]) -> str:
    """Return *text* as the kubelet has it: ``$(NAME)`` is a variable, ``$$`` a dollar; what is not *known* stays as it is."""
    return _REFERENCE.sub(lambda found: "$" if found[1] is None else known.get(found[1], found[0]), text)


def unknown_variable(text: str) -> str:
    """Return the reference to a variable that is left in *text*; empty where there is none."""
    found = re.search(r"\$\([^()\s]{1,253}\)", text)
    return found[0] if found else ""


def _list(raw: RawObject, name: str) -> list[object]:
    found = raw.get(name)
    return found if isinstance(found, list) else []
