"""Errors of the tests' API server, each with the ``Status`` object that the API sends."""

from __future__ import annotations

from typing import Any

#: ``reason`` by HTTP status, as ``k8s.io/apimachinery`` names them.
REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class StatusError(Exception):
    """The API says no: HTTP status *code*, with the ``Status`` object as JSON."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        reason: str | None = None,
        details: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{code} {message}")
        self.code = code
        self.status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata or {},
            "status": "Failure",
            "message": message,
            "reason": reason or REASONS.get(code, "Unknown"),
            "code": code,
        }
        if details:
            self.status["details"] = details


def success(details: dict[str, Any]) -> dict[str, Any]:
    """Return the ``Status`` that answers a DELETE."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def not_found_path() -> StatusError:
    """Say that nothing is served at a path."""
    return StatusError(404, "the server could not find the requested resource", details={})


class UnknownGroupError(StatusError):
    """Nothing of this group is served: it is said in plain text, and not as a ``Status``."""

    text = b"404 page not found\n"

    def __init__(self) -> None:
        super().__init__(404, "404 page not found")


def not_found(plural: str, group: str, name: str) -> StatusError:
    """Say that an object does not exist."""
    qualified = f"{plural}.{group}" if group else plural
    details = {"name": name, "kind": plural} | ({"group": group} if group else {})
    return StatusError(404, f'{qualified} "{name}" not found', details=details)


def expired(asked: int, oldest: int) -> StatusError:
    """Say that a resource version has left the history."""
    return StatusError(410, f"too old resource version: {asked} ({oldest})")


def invalid_options(field: str, why: str) -> StatusError:
    """Refuse list options, in the form the API uses for them."""
    message = f'ListOptions.meta.k8s.io "" is invalid: {field}: Forbidden: {why}'
    causes = [{"reason": "FieldValueForbidden", "message": f"Forbidden: {why}", "field": field}]
    return StatusError(
        422, message, details={"group": "meta.k8s.io", "kind": "ListOptions", "causes": causes}
    )


def invalid(group: str, kind: str, name: str, field: str, why: str) -> StatusError:
    """Refuse an object for the value of a field."""
    return StatusError(
        422,
        f'{kind} "{name}" is invalid: {field}: Invalid value: {why}',
        details={
            "name": name,
            "group": group,
            "kind": kind,
            "causes": [{"reason": "FieldValueInvalid", "message": f"Invalid value: {why}", "field": field}],
        },
    )
