"""
What the API refuses in the objects that a controller writes: Leases, Events, the status of an Ingress.

Values of the wrong type are refused when they are decoded (400), values that make
no sense when they are validated (422), as a real API server does.  Everything
else is taken as it is.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from tests.fakes.apiserver.kinds import Json, ResourceType
from tests.fakes.apiserver.statuses import StatusError, invalid

#: The longest name of a field manager.
MAX_MANAGER_CHARACTERS = 128

_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)")
# The API bounds a name as a whole, and not its labels.
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_QUALIFIED_NAME = re.compile(
    rf"(?:(?=[^/]{{1,253}}/){_LABEL}(?:\.{_LABEL})*/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?"
)
_INT32 = range(-(2**31), 2**31)


def check_written(kind: ResourceType, obj: Json, *, is_new: bool, is_status: bool) -> None:
    """Raise 400 or 422 for what a client may not write."""
    match kind.kind:
        case "Lease":
            _check_lease(kind, obj)
        case "Event" if is_new:
            _check_event(kind, obj)
        case "Ingress" if is_status:
            _check_ingress_status(kind, obj)


def check_manager(name: str) -> None:
    """Raise 422 for what cannot be the name of a field manager."""
    if len(name) > MAX_MANAGER_CHARACTERS or not name.isprintable():
        raise StatusError(422, f"fieldManager: Invalid value: {name!r}")


def _check_lease(kind: ResourceType, obj: Json) -> None:
    spec = _decoded(obj, "spec", dict) or {}
    for field in ("acquireTime", "renewTime"):
        _check_micro_time(spec, field)
    for field in ("leaseDurationSeconds", "leaseTransitions"):
        value = _decoded(spec, field, int)
        if value is not None and value not in _INT32:
            raise StatusError(400, f"spec.{field}: {value} overflows int32")
    _decoded(spec, "holderIdentity", str)
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    _demand(
        kind, obj, duration is None or duration > 0, "spec.leaseDurationSeconds", "must be greater than 0"
    )
    _demand(kind, obj, transitions is None or transitions >= 0, "spec.leaseTransitions", "must be 0 or more")
    _check_name(kind, obj)


def _check_event(kind: ResourceType, obj: Json) -> None:
    _check_micro_time(obj, "eventTime")
    regarding = _decoded(obj, "regarding", dict) or {}
    _check_name(kind, obj)
    _demand(kind, obj, bool(obj.get("eventTime")), "eventTime", "is required")
    _demand(
        kind, obj, obj.get("type") in ("Normal", "Warning"), "type", f"has invalid value: {obj.get('type')}"
    )
    series = _decoded(obj, "series", dict)
    if series is not None:
        _check_micro_time(series, "lastObservedTime")
        _demand(kind, obj, (_decoded(series, "count", int) or 0) >= 2, "series.count", "should be at least 2")
        _demand(
            kind, obj, bool(series.get("lastObservedTime")), "series.lastObservedTime", "should be specified"
        )
    for field, limit in (("reportingInstance", 128), ("action", 128), ("reason", 128)):
        value = _decoded(obj, field, str) or ""
        _demand(kind, obj, bool(value), field, "is required")
        _demand(kind, obj, len(value.encode()) <= limit, field, f"can have at most {limit} characters")
    note = _decoded(obj, "note", str) or ""
    _demand(kind, obj, len(note.encode()) <= 1024, "message", "can have at most 1024 characters")
    controller = _decoded(obj, "reportingController", str) or ""
    _demand(
        kind,
        obj,
        _QUALIFIED_NAME.fullmatch(controller) is not None,
        "reportingController",
        "must be a qualified name",
    )
    namespace = regarding.get("namespace") or ""
    own = obj["metadata"]["namespace"]
    _demand(
        kind,
        obj,
        own in ("default", "kube-system") if not namespace else own == namespace,
        "involvedObject.namespace",
        "does not match event.namespace",
    )
    for field in (
        "deprecatedSource",
        "deprecatedFirstTimestamp",
        "deprecatedLastTimestamp",
        "deprecatedCount",
    ):
        _demand(kind, obj, not obj.get(field), field, "needs to be unset")


def _check_ingress_status(kind: ResourceType, obj: Json) -> None:
    status = _decoded(obj, "status", dict) or {}
    balancer = _decoded(status, "loadBalancer", dict) or {}
    for number, entry in enumerate(_decoded(balancer, "ingress", list) or []):
        at = f"status.loadBalancer.ingress[{number}]"
        ip, hostname = _decoded(entry, "ip", str), _decoded(entry, "hostname", str)
        _demand(kind, obj, not ip or _is_ip(ip), f"{at}.ip", "must be a valid IP address")
        if hostname:
            _demand(kind, obj, bool(_SUBDOMAIN.fullmatch(hostname)), f"{at}.hostname", "must be a DNS name")
            _demand(
                kind, obj, not _is_ip(hostname), f"{at}.hostname", "must be a DNS name, not an IP address"
            )


def _check_name(kind: ResourceType, obj: Json) -> None:
    name = obj["metadata"].get("name") or ""
    _demand(kind, obj, bool(_SUBDOMAIN.fullmatch(name)), "metadata.name", "must be a DNS subdomain")


def _check_micro_time(obj: Json, field: str) -> None:
    value = _decoded(obj, field, str)
    if value is not None and not _MICRO_TIME.fullmatch(value):
        raise StatusError(400, f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse')


def _decoded(obj: Any, field: str, wanted: type) -> Any:
    """Return a field, None when it is absent or null; raise 400 when it is of another type."""
    value = obj.get(field) if isinstance(obj, dict) else obj
    if value is not None and (not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))):
        raise StatusError(400, f"json: cannot unmarshal {type(value).__name__} into field {field}")
    return value


def _demand(kind: ResourceType, obj: Json, holds: bool, field: str, why: str) -> None:
    if not holds:
        raise invalid(kind.group, kind.kind, str(obj["metadata"].get("name") or ""), field, why)


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text
