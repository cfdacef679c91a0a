"""What aliases of one namespace may have together: each is all routes of a host over again, for a few bytes of an annotation.

What an Ingress asks for counts as far as it would be served by itself, whether another one gets the host or not; so nobody's share depends on
who is served where.  An alias that several of the namespace ask for is served once, and so it counts once, for the oldest of them.
Older Ingresses come first.  Other namespaces have no part in it.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from itertools import chain, islice
from typing import Final

from ingress.model.cluster.objects import Owner
from ingress.model.stepwise import Stepwise
from ingress.translate.claims import ParsedObject, claims_to

MOST_ALIASED: Final = 16_384
"""Routes that aliases of one object add at most, canaries of them counted, too: about as many as fit into the largest object as they are."""
MOST_OF_NAMESPACE: Final = 16 * MOST_ALIASED
"""The same for all objects of a namespace: some 60 MiB, and seven seconds of a first translation."""

RoutesOf = Callable[[str, str], int]
"""How many routes, canaries counted, come along from a host if one of a namespace asks."""
NO_LIMITS: Final[Mapping[Owner, int]] = {}
_AT_ONCE: Final = 50
"""Objects in a step, of which each may have 128 aliases."""


def aliases_of(parsed: ParsedObject) -> list[str]:
    """Return the hosts that *parsed* asks for as aliases, in its order."""
    return [one.host for one in parsed.further if not one.is_redirect]


def wanted_by(
    parsed: ParsedObject, routes_of: Callable[[str], int], besides: Container[str] = frozenset()
) -> int:
    """Return how many routes the aliases of *parsed* would have by themselves, without those of *besides*; *routes_of* as for ``limits_of``."""
    targets = [one.target for one in parsed.further if not one.is_redirect and one.host not in besides]
    return min(MOST_ALIASED, sum(map(routes_of, targets)))


def routes_on(
    host: str,
    namespace: str,
    naming: Iterable[ParsedObject],
    canaries: Iterable[ParsedObject],
    *,
    are_shared: bool,
) -> int:
    """Return how many routes come along from *host* if one of *namespace* asks; *naming* have a rule for it, *canaries* want a part of it."""

    def comes(parsed: ParsedObject) -> bool:
        return are_shared or parsed.owner.key.namespace == namespace

    own = (claim for parsed in naming if comes(parsed) for claim in claims_to(parsed, host))
    behind = (
        claim for parsed in canaries if comes(parsed) for claim in parsed.canary_claims if claim.host == host
    )
    # What is more makes no difference.
    return sum(1 for _ in islice(chain(own, behind), MOST_ALIASED + 1))


def limits_of(askers: Iterable[ParsedObject], routes_of: Callable[[str], int]) -> Stepwise[dict[Owner, int]]:
    """Return, in steps, how many routes the aliases may have of those of *askers* to whom older ones leave fewer than they ask for.

    *askers* are all of a namespace that ask for aliases, sorted oldest first; *routes_of* says how many come along from a host.
    """
    found: dict[Owner, int] = {}
    asked: set[str] = set()
    left = MOST_OF_NAMESPACE
    for number, parsed in enumerate(askers, 1):
        wanted = wanted_by(parsed, routes_of, asked)
        if wanted > left:
            found[parsed.owner] = left
        left = max(0, left - wanted)
        asked.update(aliases_of(parsed))
        if not number % _AT_ONCE:
            yield
    return found
