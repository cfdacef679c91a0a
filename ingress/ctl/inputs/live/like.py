"""The options of a controller that runs in a cluster: by those its objects are judged there.

They are the arguments of a container, of this controller or of ingress-nginx.  Of the latter those count that come to an option
here; what is lost is told.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from attrs import evolve

from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.input import Workload
from ingress.ctl.inputs.live.api_server import ApiServer, Forbidden
from ingress.ctl.inputs.taken_arguments import judged_by, taken_arguments
from ingress.ctl.inputs.workloads import WORKLOADS, controller_of, is_ours, unknown_variable
from ingress.model.frozen import frozen
from ingress.model.objects import ObjectKey
from ingress.options.table import SPELLINGS

_WHERE: Final = frozenset({"context", "kubeconfig", "manifests", "namespace", "server"})
"""Options that say where objects come from, which is for the person to say."""


@frozen
class LikeOptions:
    """*texts* as ``-o`` has them; *left* are the names of the arguments that are not taken over."""

    texts: tuple[str, ...]
    left: tuple[str, ...] = ()
    workloads: tuple[Workload, ...] = ()
    """The controller, if it is ingress-nginx."""


def options_like(server: ApiServer, key: ObjectKey) -> LikeOptions:
    """Return the options of the controller that the Deployment or DaemonSet *key* runs; raises ``Mistake``."""
    for kind, plural in WORKLOADS.items():
        found = server.single(f"/apis/apps/v1/namespaces/{key.namespace}/{plural}/{key.name}")
        if isinstance(found, Forbidden):
            raise Mistake(f"{kind} {key} may not be read: {found.why}")
        if found is not None:
            controller = controller_of(found, key.namespace)
            if controller is None:
                raise Mistake(f"{kind} {key} has no container with arguments of a controller")
            like = read_arguments(controller.words, controller.key.namespace)
            return like if is_ours(controller.words) else evolve(like, workloads=(controller,))
    raise Mistake(f"there is neither a Deployment nor a DaemonSet {key} at {server.url}")


def read_arguments(arguments: Sequence[str], namespace: str) -> LikeOptions:
    """Read *arguments*, a whole command line, of a controller in *namespace*, of ours or of ingress-nginx.  Pure."""
    if is_ours(arguments):
        return _read_own(arguments)
    taken = taken_arguments(Workload("", ObjectKey(namespace, ""), tuple(arguments)))
    texts = (one for one in judged_by(taken) if one.partition("=")[0] not in _WHERE)
    return LikeOptions(tuple(texts), tuple(one.name for one in taken if one.is_lost))


def _read_own(arguments: Sequence[str]) -> LikeOptions:
    texts: list[str] = []
    left: list[str] = []
    for name, text in _pairs(arguments):
        option = SPELLINGS.get(name)
        if option is None or option.name in _WHERE or (text is not None and unknown_variable(text)):
            left.append(name)
        elif option.read is None:
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
        option = SPELLINGS.get(name)
        if not has_value and option is not None and option.read is not None and rest:
            yield name, rest.pop(0)
        else:
            yield name, value if has_value else None


def unsaid_by(like: LikeOptions, names: Collection[str]) -> tuple[str, ...]:
    """Return those texts of *like* whose options are not among *names*, which a person said herself."""
    return tuple(text for text in like.texts if SPELLINGS[text.partition("=")[0]].name not in names)
