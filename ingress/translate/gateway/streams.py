"""The streams of one host in a table of Gateways: which route has them.

A listener gives its streams for one host to one route: the one whose own hostname says more of it, then the oldest, then the first by
namespace and name.  The others are told, and stay attached (``TCPRoute`` and ``TLSRoute`` of ``gateway.networking.k8s.io/v1``, "Conflicts" in
the API's guidelines).
"""

from collections.abc import Iterable

from ingress.model.objects import Owner
from ingress.model.problems import Problem, Reason
from ingress.routing.side_by_side import how_specific
from ingress.routing.streams import StreamRoute
from ingress.translate.age import by_age, why_first
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.claims import StreamClaim, StreamLead


def decide_stream(
    table: str, host: str, claiming: Iterable[ParsedObject]
) -> tuple[StreamRoute | None, tuple[Problem, ...]]:
    """Return what *host* of *table*, about which *claiming* say something, leads to; None where none says anything of streams."""
    held: StreamClaim | None = None
    asking: list[tuple[Owner, StreamClaim, StreamLead]] = []
    for parsed in claiming:
        claim = parsed.gateway.stream(table, host)
        if claim is None:
            continue
        if claim.lead is None:
            held = claim
        else:
            asking.append((parsed.owner, claim, claim.lead))
    if not asking:
        return (None if held is None else StreamRoute(host, held.sort, None)), ()
    asking.sort(key=lambda one: by_age(one[0]))
    # The sort is stable, so that age decides where hostnames say the same.
    asking.sort(key=lambda one: how_specific(one[1].hostname.encode("utf-8")), reverse=True)
    (owner, claim, lead), *others = asking
    route = StreamRoute(host, claim.sort, owner, lead.weighted, sends_header=lead.sends_header)
    what = f"streams for {host}" if host else "all streams of the listener"
    problems = tuple(
        other.problem(
            Reason.LISTENER_CONFLICT,
            f"{what} go where {owner} says, "
            + (
                why_first(owner, other)
                if one.hostname == claim.hostname
                else "whose hostname says more of it"
            ),
            one.field,
        )
        for other, one, _ in others
    )
    return route, problems
