"""The options of a controller that runs in a cluster: by those its objects are judged there.

They are the arguments of a container, of this controller or of ingress-nginx.  Of the latter those are taken over that
mean the same here; what is left is told.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.live.api_server import ApiServer, Forbidden
from ingress.model.frozen import frozen
from ingress.model.objects import ObjectKey
from ingress.options.table import SPELLINGS

_KINDS: Final = (("Deployment", "deployments"), ("DaemonSet", "daemonsets"))
_NAMES: Final = {"watch-ingress-without-class": "watch-without-class"}
"""Arguments of ingress-nginx that have another name here."""
_WHERE: Final = frozenset({"context", "kubeconfig", "manifests", "namespace", "server"})
"""Options that say where objects come from, which is for the person to say."""
_TRUE: Final = frozenset({"1", "t", "true"})


@frozen
class LikeOptions:
    """*texts* as ``-o`` has them; *left* are the names of the arguments that are not taken over."""

    texts: tuple[str, ...]
    left: tuple[str, ...] = ()


def options_like(server: ApiServer, key: ObjectKey) -> LikeOptions:
    """Return the options of the controller that the Deployment or DaemonSet *key* runs; raises ``Mistake``."""
    for kind, plural in _KINDS:
        found = server.single(f"/apis/apps/v1/namespaces/{key.namespace}/{plural}/{key.name}")
        if isinstance(found, Forbidden):
            raise Mistake(f"{kind} {key} may not be read: {found.why}")
        if found is not None:
            arguments = _arguments(found)
            if not arguments:
                raise Mistake(f"{kind} {key} has no container with arguments of a controller")
            return read_arguments(arguments, key.namespace)
    raise Mistake(f"there is neither a Deployment nor a DaemonSet {key} at {server.url}")


def _arguments(workload: Any) -> list[str]:
    """Return the arguments of the container that looks most like a controller; none where there is none."""
    try:
        containers = workload["spec"]["template"]["spec"]["containers"]
        lines = [[*(one.get("command") or ()), *(one.get("args") or ())] for one in containers]
    except (AttributeError, KeyError, TypeError):
        return []
    texts = [[str(word) for word in line] for line in lines]
    return next((line for line in texts if any("ingress" in word for word in line)), [])


def read_arguments(arguments: Sequence[str], namespace: str) -> LikeOptions:
    """Read *arguments*, a whole command line, of a container in *namespace*.  Pure."""
    texts: list[str] = []
    left: list[str] = []
    for name, value in _pairs(arguments):
        option = SPELLINGS.get(_NAMES.get(name, name))
        text = None if value is None else value.replace("$(POD_NAMESPACE)", namespace)
        if option is None or option.name in _WHERE or (text is not None and "$(" in text):
            left.append(name)
        elif option.read is None:
            if text is None or text.lower() in _TRUE:
                texts.append(option.name)
        elif text is not None:
            texts.append(f"{option.name}={text}")
    return LikeOptions(tuple(texts), tuple(dict.fromkeys(left)))


def _pairs(arguments: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield names and values of ``--name=value``, ``--name value`` and ``--name``."""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            continue
        name, has_value, value = word[2:].partition("=")
        option = SPELLINGS.get(_NAMES.get(name, name))
        if not has_value and option is not None and option.read is not None and rest:
            yield name, rest.pop(0)
        else:
            yield name, value if has_value else None


def unsaid_by(like: LikeOptions, names: Collection[str]) -> tuple[str, ...]:
    """Return those texts of *like* whose options are not among *names*, which a person said herself."""
    return tuple(text for text in like.texts if SPELLINGS[text.partition("=")[0]].name not in names)
