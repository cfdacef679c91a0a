"""A snapshot as JSON: routes, problems and certificates, for people and programs.

Pure functions from values to bytes.  Names of fields stay as they are once
published; new ones may join.  Key material is never looked at, and a field that a
policy keeps out of its ``repr`` is kept out here, too.
"""

import json
from datetime import datetime
from typing import Any

import attrs

from ingress.certificates import Certificate
from ingress.model.backends import BackendState
from ingress.model.policy import Policy
from ingress.translate.snapshot import Snapshot

_NO_STATE = BackendState(reason="unknown backend")


def routes_as_json(snapshot: Snapshot) -> bytes:
    """Return ``{"routes": [...]}``, sorted by host, path and match.

    Each route has ``host`` (empty: any host), ``path``, ``match`` (``Exact`` or
    ``Prefix``), ``ingress`` (``NAMESPACE/NAME``, or null for the controller's own
    default backend), ``backend``, ``endpoints`` (a list of ``ADDRESS:PORT``),
    ``reason`` (why there are no endpoints, else empty), ``protocol`` (what is spoken to
    the endpoints, ``HTTP/1.1`` or ``HTTP/2``; empty without any), ``secureBackend`` (the backend
    of what came over TLS where that is another one, else null), ``passthrough`` (the backend that TLS
    for the host goes to as it is, else null) and ``policies`` (a list of
    ``{"policy": NAME, "settings": {...}}``).
    """
    routes = []
    for route in sorted(snapshot.table.routes, key=lambda route: (route.host, route.path, route.match.value)):
        state = snapshot.backends.get(route.backend, _NO_STATE)
        routes.append(
            {
                "host": route.host,
                "path": route.path,
                "match": route.match.value,
                "ingress": None if route.ingress is None else str(route.ingress),
                "backend": str(route.backend),
                "endpoints": [str(endpoint) for endpoint in state.endpoints],
                "reason": state.reason,
                "protocol": _protocol(state),
                "secureBackend": None if route.secure_backend is None else str(route.secure_backend),
                "passthrough": None if route.passthrough is None else str(route.passthrough),
                "policies": [_policy(policy) for policy in route.policies],
            }
        )
    return _json({"routes": routes})


def problems_as_json(snapshot: Snapshot) -> bytes:
    """Return ``{"problems": [...]}``, in the order of the snapshot, which is sorted.

    Each problem has ``kind``, ``namespace``, ``name``, ``field`` (the path of the
    offending field, empty: the whole object), ``reason`` (a code of
    ``docs/problems.md``) and ``message``.
    """
    problems = [
        {
            "kind": problem.kind,
            "namespace": problem.namespace,
            "name": problem.name,
            "field": problem.field,
            "reason": problem.reason.value,
            "message": problem.message,
        }
        for problem in snapshot.problems
    ]
    return _json({"problems": problems})


def certificates_as_json(snapshot: Snapshot, now: datetime) -> bytes:
    """Return ``{"certificates": [...]}``, one entry a certificate, sorted by Secret.

    Each has ``secret`` (``NAMESPACE/NAME``), ``keyType``, ``names`` (that it covers), ``hosts``
    (that it is chosen for), ``default`` (whether it serves all other names),
    ``notBefore``, ``notAfter`` (RFC 3339), ``daysLeft`` (whole days until then, negative past it),
    ``endsSoon`` (whether that is two weeks or less) and ``fingerprint``.
    """
    table = snapshot.certificates
    hosts: dict[Certificate, list[str]] = {}
    for host, certificate in table.shown():
        chosen = hosts.setdefault(certificate, [])
        if host:
            chosen.append(host)
    certificates = [
        {
            "secret": str(certificate.secret),
            "keyType": certificate.key_type,
            "names": list(certificate.names),
            "hosts": sorted(chosen_for),
            "default": certificate == table.default,
            "notBefore": certificate.not_before.isoformat(),
            "notAfter": certificate.not_after.isoformat(),
            "daysLeft": (certificate.not_after - now).days,
            "endsSoon": certificate.ends_soon(now),
            "fingerprint": certificate.fingerprint,
        }
        for certificate, chosen_for in sorted(
            hosts.items(), key=lambda entry: (entry[0].secret, entry[0].fingerprint)
        )
    ]
    return _json({"certificates": certificates})


def _protocol(state: BackendState) -> str:
    """Return what is spoken to the endpoints of *state*, all of which are on the same terms."""
    if not state.endpoints:
        return ""
    terms = state.endpoints[0].terms
    return "HTTP/2" if terms is not None and terms.is_http2 else "HTTP/1.1"


def _policy(policy: Policy) -> dict[str, Any]:
    settings = _settings(policy) if attrs.has(type(policy)) else {}
    return {"policy": type(policy).__name__, "settings": settings}


def _settings(value: Any) -> dict[str, object]:
    return {
        field.name: _plain(getattr(value, field.name)) for field in attrs.fields(type(value)) if field.repr
    }


def _plain(value: object) -> object:
    """Return *value* if JSON has it, else its text where it has one of its own, else its parts."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, tuple | list) and type(value).__str__ is object.__str__:
        return [_plain(part) for part in value]
    if isinstance(value, frozenset | set):
        return sorted((_plain(part) for part in value), key=str)
    if attrs.has(type(value)) and type(value).__str__ is object.__str__:
        return _settings(value)
    return str(value)


def _json(value: object) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"
