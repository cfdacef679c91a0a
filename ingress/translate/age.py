"""Who comes first when two objects want the same: the older one.

An object without creation time, as in manifests, counts as the oldest.  Among equals
namespace, name and kind decide, so that the order never depends on how objects arrived.
"""

from ingress.model.objects import Owner


def by_age(owner: Owner) -> tuple[str, str, str, str]:
    """Sort key; creation times are RFC 3339 in UTC, and so sort as text."""
    kind, key, created = owner
    return (created, key.namespace, key.name, kind)


def why_first(winner: Owner, loser: Owner) -> str:
    """Say in a clause about *winner* why it comes before *loser*."""
    if winner.created == loser.created:
        return "which is of the same age and comes first by namespace and name"
    if not winner.created:
        return "which has no creation time and so counts as the oldest"
    return f"which is older ({winner.created})"
