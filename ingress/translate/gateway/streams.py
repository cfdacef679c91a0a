"""The streams of one host in a table of Gateways: which route has them.

A listener gives its streams for one host to one route: the one whose own hostname says more of it, then the oldest, then the first by
namespace and name.  The others are told, and stay attached (``TCPRoute``, ``TLSRoute`` and ``UDPRoute`` of ``gateway.networking.k8s.io/v1``, "Conflicts" in
the API's guidelines).
"""

from collections.abc import Iterable
from typing import Final

from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import Stepwise, in_order
from ingress.routing.side_by_side import how_specific
from ingress.routing.streams import StreamRoute
from ingress.translate.age import by_age, why_first
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.claims import StreamClaim, StreamLead

AT_ONCE: Final = 200
"""Claims that are looked at in one step."""

_Asking = tuple[Owner, StreamClaim, StreamLead]


def decide_stream(
    table: str, host: str, claiming: Iterable[ParsedObject]
) -> Stepwise[tuple[StreamRoute | None, tuple[Problem, ...]]]:
    """Return what *host* of *table*, about which *claiming* say something, leads to; None where none says anything of streams."""
    held: StreamClaim | None = None
    asking: list[_Asking] = []
    for number, parsed in enumerate(claiming, 1):
        if not number % AT_ONCE:
            yield
        claim = parsed.gateway.stream(table, host)
        if claim is None:
            continue
        if claim.lead is None:
            held = claim
        else:
            asking.append((parsed.owner, claim, claim.lead))
    if not asking:
        return (None if held is None else StreamRoute(host, held.sort, None)), ()
    (owner, claim, lead), *others = yield from in_order(asking, _place, AT_ONCE)
    route = StreamRoute(host, claim.sort, owner, lead.weighted, sends_header=lead.sends_header)
    what = f"streams for {host}" if host else "all streams of the listener"
    problems: list[Problem] = []
    for number, (other, one, _) in enumerate(others, 1):
        if not number % AT_ONCE:
            yield
        same = one.hostname == claim.hostname
        why = why_first(owner, other) if same else "whose hostname says more of it"
        message = f"{what} go where {owner} says, {why}"
        problems.append(other.problem(Reason.LISTENER_CONFLICT, message, one.field))
    return route, tuple(problems)


def _place(asking: _Asking) -> tuple[object, ...]:
    """Return where a claim stands: by how much its hostname says, then by age."""
    owner, claim, _ = asking
    says = (-one for one in how_specific(claim.hostname.encode("utf-8")))
    return *says, *by_age(owner)
