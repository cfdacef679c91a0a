"""Who comes first when two objects want the same: the older one.

An object without creation time, as in manifests, counts as the oldest.  Among equals
namespace, name and kind decide, so that the order never depends on how objects arrived.  The first comes first, as the
Gateway API has it; of Ingresses the last, as in ingress-nginx (``sortIngressSlice``): a chart makes all of its
Ingresses within one second, which is all that a creation time tells.
"""

from typing import Final

from ingress.model.cluster.objects import Kind, Owner

_BACKWARDS: Final = {number: 127 - number for number in range(128)}
_BEHIND_ALL: Final = chr(0x10FFFF)
"""Ends a text, so that one which another begins with comes behind it."""


SORTED_AT_ONCE: Final = 500
"""Objects that are sorted by age in one step, of a millisecond."""


def by_age(owner: Owner) -> tuple[str, str, str, str]:
    """Sort key; creation times are RFC 3339 in UTC, and so sort as text."""
    kind, key, created = owner
    if kind == Kind.INGRESS:
        return (created, f"{key.namespace}/{key.name}".translate(_BACKWARDS) + _BEHIND_ALL, "", kind)
    return (created, key.namespace, key.name, kind)


def why_first(winner: Owner, loser: Owner) -> str:
    """Say in a clause about *winner* why it comes before *loser*."""
    if winner.created == loser.created:
        place = "later" if winner.kind == Kind.INGRESS else "first"
        return f"which is of the same age and comes {place} by namespace and name"
    if not winner.created:
        return "which has no creation time and so counts as the oldest"
    return f"which is older ({winner.created})"
