"""An ``Event`` as Kubernetes has it.  Pure.

An Event is named after what it says, about which object: the same problem again is the same
name, which the API server refuses, so that nobody has to remember what was said.

Source: ``events.k8s.io/v1``, and the validation of Events by the API server: a controller that is a
qualified name, an instance, an action and a reason of at most 128 bytes each, a note of at
most 1024, a time, the namespace of the object or ``default``, and none of the deprecated fields.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from ingress.cluster.kinds import KINDS
from ingress.model.cluster.objects import ObjectKey
from ingress.model.reporting.reports import Event
from ingress.status.lease import micro_time

REPORTING_CONTROLLER = "txingress"
ACTION = "Translate"
"""What was done with the object when the problem showed."""

MAX_NOTE_BYTES = 1024
MAX_INSTANCE_BYTES = 128

# With a dot and the digest, this stays within the 253 characters of a name.
_NAME_CHARACTERS = 200
_DIGEST_CHARACTERS = 16
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def event_key(event: Event) -> ObjectKey:
    """Return namespace and name of *event*."""
    key = event.key
    told = (event.kind, key.namespace, key.name, event.uid, event.reason, event.field, event.message)
    digest = sha256("\0".join(told).encode("utf-8", "replace")).hexdigest()[:_DIGEST_CHARACTERS]
    begin = key.name[:_NAME_CHARACTERS].rstrip(".-")
    name = f"{begin}.{digest}" if _SUBDOMAIN.fullmatch(begin) else f"problem.{digest}"
    return ObjectKey(key.namespace or "default", name)


def event_object(event: Event, instance: str, now: datetime) -> dict[str, Any]:
    """Return *event* as the API has it, as *instance* reports it."""
    key = event_key(event)
    regarding = {"kind": event.kind, "name": event.key.name}
    version = _api_version(event.kind)
    if version:
        regarding["apiVersion"] = version
    if event.key.namespace:
        regarding["namespace"] = event.key.namespace
    if event.uid:
        regarding["uid"] = event.uid
    if event.field:
        regarding["fieldPath"] = event.field
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": key.namespace, "name": key.name},
        "eventTime": micro_time(now),
        "type": event.type,
        "reason": event.reason,
        "action": ACTION,
        "note": shortened(
            f"{event.field}: {event.message}" if event.field else event.message, MAX_NOTE_BYTES
        ),
        "reportingController": REPORTING_CONTROLLER,
        "reportingInstance": shortened(instance, MAX_INSTANCE_BYTES),
        "regarding": regarding,
    }


def series_patch(count: int, now: datetime) -> dict[str, Any]:
    """Return the merge patch that says how often an Event came, two times or more, and that it came *now*."""
    return {"series": {"count": count, "lastObservedTime": micro_time(now)}}


def series_count(event: Mapping[str, Any]) -> int:
    """Return how often *event* came, as the API server has it; once, where it does not say."""
    series = event.get("series")
    count = series.get("count") if isinstance(series, dict) else None
    return count if isinstance(count, int) and count > 0 else 1


def shortened(text: str, most_bytes: int) -> str:
    """Return *text* in at most so many bytes of UTF-8, with dots where something is left out."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= most_bytes:
        return encoded.decode()
    return encoded[: most_bytes - 3].decode("utf-8", "ignore") + "..."


def _api_version(kind: str) -> str:
    read = next((read for read in KINDS.values() if read.kind == kind), None)
    if read is None:
        return ""
    return f"{read.group}/{read.version}" if read.group else read.version
