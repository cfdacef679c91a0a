"""The options of a controller that somebody names: objects are judged by those.

They are the arguments of a container, of this controller or of ingress-nginx.  Of the latter those count that come to an option
here; what is lost is told.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.ingress_nginx.taken_arguments import judged_by, taken_arguments
from ingress.ctl.inputs.ingress_nginx.workloads import is_ours, unknown_variable
from ingress.ctl.inputs.input import Unread, Workload
from ingress.model.cluster.objects import ObjectKey
from ingress.model.frozen import frozen
from ingress.options.table import SPELLINGS
from ingress.wording import first_of

_WHERE: Final = frozenset({"context", "kubeconfig", "manifests", "namespace", "server"})
"""Options that say where objects come from, which is for the person to say."""
_NAMED: Final = 3


@frozen
class LikeOptions:
    """*texts* as ``-o`` has them; *left* are the names of the arguments that are not taken over."""

    texts: tuple[str, ...]
    left: tuple[str, ...] = ()
    workloads: tuple[Workload, ...] = ()
    """The controller, if it is ingress-nginx."""


def among(found: Sequence[Workload], name: str) -> Workload:
    """Return the one of *found* that *name* means, ``NAMESPACE/NAME``; raises ``Mistake``."""
    for workload in found:
        if str(workload.key) == name:
            return workload
    others = first_of([str(one.key) for one in found], _NAMED)
    hint = f"; there is {others}" if found else ""
    raise Mistake(f"--like {name}: no such Deployment or DaemonSet of ingress-nginx is among the files{hint}")


def left_by(like: LikeOptions, name: str) -> tuple[Unread, ...]:
    """Return what is to be told of the arguments of the controller called *name* that are not taken over."""
    return (Unread(f"options of {name}", f"not taken over: {', '.join(like.left)}"),) if like.left else ()


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
