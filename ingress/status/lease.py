"""A Lease as a value, from and to the API's JSON.  Pure.

Source: ``LeaseSpec`` of ``coordination.k8s.io/v1``; its times are ``MicroTime``, RFC 3339 with
exactly six decimals.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from ingress.model.cluster.objects import ObjectKey
from ingress.model.frozen import frozen

MAX_INT32: Final = 0x7FFFFFFF


@frozen
class Lease:
    """Who leads, and since when.  Times are as they were written, by a clock that nobody trusts."""

    holder: str = ""
    """Empty when it was released."""
    duration_seconds: int = 0
    """0 when the Lease does not say."""
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0


def read_lease(raw: Mapping[str, Any]) -> Lease:
    """Read what the API server answered; a field that is not of its type counts as absent."""
    spec = raw.get("spec")
    if not isinstance(spec, dict):
        return Lease()
    return Lease(
        holder=_text(spec.get("holderIdentity")),
        duration_seconds=_number(spec.get("leaseDurationSeconds")),
        acquired=_text(spec.get("acquireTime")),
        renewed=_text(spec.get("renewTime")),
        transitions=_number(spec.get("leaseTransitions")),
    )


def is_lease(raw: Mapping[str, Any], key: ObjectKey) -> bool:
    """Whether *raw*, which was answered for the Lease *key*, may be it: what is written in its place is made of it."""
    metadata = raw.get("metadata")
    return (
        isinstance(metadata, Mapping)
        and (metadata.get("namespace"), metadata.get("name")) == (key.namespace, key.name)
        and bool(_text(metadata.get("resourceVersion")))
        and isinstance(raw.get("spec") or {}, Mapping)
    )


def lease_object(lease: Lease, key: ObjectKey, raw: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the object to write in place of *raw*, or as the first of that *key*.

    What others keep in the object stays.  The resource version of *raw* makes the API server
    refuse the write when somebody else was quicker.
    """
    spec = dict((raw or {}).get("spec") or {})
    spec |= {
        "holderIdentity": lease.holder,
        "leaseDurationSeconds": lease.duration_seconds,
        "acquireTime": lease.acquired,
        "renewTime": lease.renewed,
        "leaseTransitions": lease.transitions,
    }
    metadata = {"namespace": key.namespace, "name": key.name} if raw is None else raw["metadata"]
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def micro_time(moment: datetime) -> str:
    """Return *moment* as the API's ``MicroTime``."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_INT32 else 0
