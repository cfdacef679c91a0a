"""What is reported back to the cluster, and by which of the replicas."""

from ingress.model.cluster.object_meta import Address
from ingress.model.cluster.objects import ObjectKey
from ingress.model.frozen import frozen

LONGEST_LEASE_SECONDS = 3600
"""No Lease is waited for longer than this, whatever somebody wrote into it."""


@frozen
class Reporting:
    """What the operator decided about it."""

    election_id: str = "ingress-leader"
    """Name of the Lease by which the replicas agree on a leader."""
    election_namespace: str | None = None
    """None means the namespace that we are in."""
    election_ttl_seconds: int = 15
    """Seconds after which a leader that says nothing is replaced."""
    publish_addresses: tuple[Address, ...] = ()
    """Addresses that the Ingresses show; they come before those of the Service."""
    publish_service: ObjectKey | None = None
    """Service whose addresses the Ingresses show; it comes before Nodes."""
    clear_status_on_shutdown: bool = False
    """Whether the addresses are removed at the end, when no other replica is there."""
    publish_node_addresses: bool = False
    """Whether the Ingresses show the addresses of the Nodes that the replicas run on."""
    reports_internal_addresses: bool = False
    """Whether those of Nodes are their internal ones, though they have others."""

    @property
    def looks_for_nodes(self) -> bool:
        """Whether it is Nodes whose addresses are shown."""
        return self.publish_node_addresses and not self.publish_addresses and self.publish_service is None
