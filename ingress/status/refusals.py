"""What we are not permitted to do, said once.

Without the right to write, everything is served all the same.  So this is one line in the log
for each right that is missing, and one more when it was granted.
"""

from enum import StrEnum

from twisted.logger import Logger

from ingress.errors import KubernetesError

log = Logger()


class Right(StrEnum):
    """What has to be permitted, and what there is not without it; for statuses see ``write_status``."""

    LEAD = "take part in the election (leases: get, create, update); nobody writes statuses and Events"
    COUNT_EVENTS = "count Events (events.k8s.io: patch); how often a problem came is not shown"
    KEEP_SERVICES = (
        "keep Services for Gateways (services: create, patch); "
        "labels and annotations of spec.infrastructure go nowhere"
    )
    WRITE_EVENTS = "write Events (events.k8s.io: create); problems are in the log and at /api/v1/problems"


def write_status(objects: str, resource: str, loss: str) -> str:
    """Return the right to write the status of *objects* of a *resource*, and the *loss* without it."""
    return f"write the status of {objects} ({resource}: patch); {loss}"


class Refusals:
    """Remembers which right was refused."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    def refused(self, right: str, error: KubernetesError) -> None:
        """Note that the API server does not permit it."""
        if right not in self._refused:
            self._refused.add(right)
            log.warn(
                "Not permitted to {right}. Requests are served all the same. The API server says: {words}",
                right=str(right),
                words=error.message,
            )

    def granted(self, right: str) -> None:
        """Note that it is permitted."""
        if right in self._refused:
            self._refused.remove(right)
            log.info("Permitted now to {right}", right=right.partition(";")[0])


def is_forbidden(error: KubernetesError) -> bool:
    """Whether a right is missing: in a namespace that is being deleted nobody has the right to create."""
    return error.status == 403 and "because it is being terminated" not in error.message
