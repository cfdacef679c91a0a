"""Tells Ingresses whose regular expressions no request gets to, since more of their host are asked before than one lookup may run."""

from collections.abc import Sequence

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import Stepwise
from ingress.routing.out_of_reach import OutOfReach, out_of_reach
from ingress.translate.claims import Claim
from ingress.wording import number_of


def tell_out_of_reach(host: str, claims: Sequence[Claim]) -> Stepwise[tuple[Problem, ...]]:
    """Find, in steps, which of *claims*, those that won the paths of *host*, are out of reach; each of their owners is told once, by the first."""
    by_owner: dict[object, list[OutOfReach]] = {}
    for one in (yield from out_of_reach(claims)):
        by_owner.setdefault(claims[one.number].owner, []).append(one)
    return tuple(_problem(host, claims[some[0].number], some[0], len(some) - 1) for some in by_owner.values())


def _problem(host: str, claim: Claim, first: OutOfReach, more: int) -> Problem:
    shown = f"host {host}" if host else "all hosts"
    others = f" and {number_of(more, 'more path')} of this {claim.owner.kind}" if more else ""
    long = f" whose path has {first.path_bytes} bytes or more and" if first.path_bytes else ""
    message = (
        f"path {quoted(claim.path)} of {shown}{others}: too many regular expressions that begin alike are asked before,"
        f" of which one request is compared with {first.runs} at the most; requests{long} that none of these takes are answered 414"
    )
    return claim.owner.problem(Reason.TOO_MANY_EXPRESSIONS, message, f"{claim.field}.path")
