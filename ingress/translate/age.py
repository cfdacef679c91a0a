"""Who comes first when two Ingresses want the same: the older one.

An Ingress without creation time, as in manifests, counts as the oldest.  Among equals
namespace and name decide, so that the order never depends on how objects arrived.
"""

from ingress.model.objects import Ingress


def by_age(ingress: Ingress) -> tuple[str, str, str]:
    """Sort key; creation times are RFC 3339 in UTC, and so sort as text."""
    return (ingress.created, ingress.key.namespace, ingress.key.name)


def why_first(winner: Ingress, loser: Ingress) -> str:
    """Say in a clause about *winner* why it comes before *loser*."""
    if winner.created == loser.created:
        return "which is of the same age and comes first by namespace and name"
    if not winner.created:
        return "which has no creation time and so counts as the oldest"
    return f"which is older ({winner.created})"
