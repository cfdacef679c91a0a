"""Which ``server-snippet`` stands before the paths of a host.

As in ingress-nginx there is one for a host: that of the oldest Ingress which has one.  There, it stands before the paths of
everybody.  Here it stands before those of its own namespace; where the host belongs to that, also where nobody has a
path, and, if it keeps somebody out, before the paths of all others: what somebody guards on a host of his own is guarded.  Both
sides are told.  Where hosts are shared, all namespaces are one.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import Factory

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.contract.snippet_blocks import EMPTY, Snippet
from ingress.annotations.snippets.family import SERVER_SNIPPET, SNIPPETS
from ingress.annotations.snippets.levels import keeping
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.translate.age import why_first
from ingress.translate.claims import ParsedObject
from ingress.translate.ownership import OPTION, is_stranger, owner_of, told


@frozen
class ServerSnippets:
    """What stands before the paths of one host.  ``NO_SNIPPETS`` for nearly all."""

    of_host: Snippet = EMPTY
    """Where nobody has a path."""
    by_owner: Mapping[Owner, Snippet] = Factory(dict)
    problems: tuple[Problem, ...] = ()

    def of(self, owner: Owner) -> Snippet:
        """Return what stands before the paths of *owner*."""
        return self.by_owner.get(owner, EMPTY)

    @property
    def differ_by_path(self) -> bool:
        """Whether what they become may be something else for another path of the same Ingress."""
        return bool(self.by_owner)


NO_SNIPPETS: Final = ServerSnippets()
_AT_ONCE: Final = 500
_CLOSELY_AT_ONCE: Final = 50
"""Objects that are looked at in one step, and those of which much is asked."""


def server_snippets(
    host: str, all_parsed: Sequence[ParsedObject], annotations: AnnotationReader, *, is_shared: bool
) -> Stepwise[ServerSnippets]:
    """Decide, in steps, about *host*; *all_parsed* have a say about it, and are sorted oldest first."""
    asking: list[ParsedObject] = []
    for number, one in enumerate(all_parsed, 1):
        server = one.settings.of(SNIPPETS).server
        if server is not EMPTY and server != EMPTY and host in one.hosts:
            asking.append(one)
        if not number % _AT_ONCE:
            yield
    if not asking:
        return NO_SNIPPETS
    naming = [one for one in all_parsed if host in one.hosts]
    owner = None if is_shared else owner_of(host, naming)
    field = annotations.field(SERVER_SNIPPET)
    shown = f"host {host}" if host else "hosts that no rule names"
    first: dict[str, ParsedObject] = {}
    problems: list[Problem] = []
    for number, one in enumerate(asking, 1):
        if not number % _CLOSELY_AT_ONCE:
            yield
        scope = "" if is_shared else one.owner.key.namespace
        winner = first.setdefault(scope, one)
        if winner is not one:
            message = (
                f"{SERVER_SNIPPET} has no effect on {shown}: there is one for a host, and {winner.owner} has it, "
                f"{why_first(winner.owner, one.owner)}"
            )
            problems.append(one.owner.problem(Reason.HOST_CONFLICT, message, field))
        elif owner is not None and is_stranger(one.owner, owner):
            what = f"{SERVER_SNIPPET} is for its own paths alone"
            problems.append(told(one.owner, field, what, host, owner))
    of_owner = first.get("" if owner is None else owner.key.namespace)
    of_host = EMPTY if of_owner is None else of_owner.settings.of(SNIPPETS).server
    by_owner: dict[Owner, Snippet] = {}
    strangers: list[ParsedObject] = []
    for number, one in enumerate(naming, 1):
        if not number % _CLOSELY_AT_ONCE:
            yield
        own = first.get("" if is_shared else one.owner.key.namespace)
        snippet = EMPTY if own is None else own.settings.of(SNIPPETS).server
        if owner is not None and of_owner is not None and is_stranger(one.owner, owner):
            strangers.append(one)
            snippet = keeping(of_host).beside(snippet) if of_host.keeps_out else snippet
        if snippet is not EMPTY and snippet != EMPTY:
            by_owner[one.owner] = snippet
    if strangers and of_owner is not None:
        problems += yield from _both_sides(of_owner, strangers, shown, field)
    return ServerSnippets(of_host, by_owner, tuple(problems))


def _both_sides(
    asking: ParsedObject, strangers: Sequence[ParsedObject], shown: str, field: str
) -> Stepwise[list[Problem]]:
    """Find, in steps, what is told of a snippet to whom it belongs, and to those of other namespaces whose paths are on the host."""
    guards = asking.settings.of(SNIPPETS).server.keeps_out
    reaches = (
        "stands before its paths, too, for it keeps somebody out" if guards else "does not reach its paths"
    )
    problems: list[Problem] = []
    message = f"{SERVER_SNIPPET} of {asking.owner}, to whose namespace {shown} belongs, {reaches}"
    for number, one in enumerate(strangers, 1):
        problems.append(one.owner.problem(Reason.HOST_CONFLICT, message, one.rules_field))
        if not number % _CLOSELY_AT_ONCE:
            yield
    if not guards:
        namespaces = sorted({one.owner.key.namespace for one in strangers})
        message = (
            f"{SERVER_SNIPPET} does not reach paths that namespaces {', '.join(namespaces[:5])} have on {shown}; "
            f"with {OPTION} it does"
        )
        problems.append(asking.owner.problem(Reason.HOST_CONFLICT, message, field))
    return problems
