"""The table of pages as a document of OpenAPI 3.1."""

from collections.abc import Iterable
from typing import Any, Final

from ingress.admin.contract.answers import JSON
from ingress.admin.contract.page_row import PageRow
from ingress.admin.contract.parameters import Parameter, Sort
from ingress.admin.contract.schemas import ERROR

VERSION: Final = "1.0.0"
"""Of what is described: within ``/api/v1/`` fields and parameters may join, and none goes."""

_ABOUT: Final = (
    "What one controller serves, and how it is. Everything is read alone. Entries of lists are sorted, and come page by "
    "page where `limit` says so; times are RFC 3339, in UTC."
)
_REFUSALS: Final = {
    "401": "A token is missing, or is none of those of `--admin-token-file`.",
    "403": "A page of another origin asks.",
    "405": "Only `GET` and `HEAD` are answered.",
    "421": "The port was asked by a name that `--admin-host` does not say.",
    "429": "Too many wrong tokens came from this address.",
    "503": "Too many large pages are made at once; `Retry-After` says when to come back.",
}


def document(rows: Iterable[PageRow]) -> dict[str, Any]:
    """Return the description of all *rows* but aliases."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "txingress", "version": VERSION, "description": _ABOUT},
        "paths": {row.path: {"get": _operation(row)} for row in rows if not row.alias_of},
        "components": {
            "schemas": {"Error": ERROR},
            "responses": {
                f"Refused{status}": {"description": why, "content": {"text/plain": {}}}
                for status, why in _REFUSALS.items()
            },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A line of `--admin-token-file`; loopback addresses need none.",
                },
                "password": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "The same as a password, with any name: what browsers ask for.",
                },
            },
        },
    }


def _operation(row: PageRow) -> dict[str, Any]:
    media = {row.content_type.partition(";")[0]: {}} if row.schema is None else {JSON: {"schema": row.schema}}
    responses: dict[str, Any] = {"200": {"description": row.meaning, "content": media}}
    if row.parameters is not None:
        error = {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
        responses["400"] = {
            "description": "The query names a parameter that there is not, or says what one cannot be.",
            "content": error,
        }
    if row.is_of_snapshot:
        responses["304"] = {"description": "It is as `If-None-Match` says."}
    open_to_all = ("401", "429") if row.is_open else ()
    responses |= {
        status: {"$ref": f"#/components/responses/Refused{status}"}
        for status in _REFUSALS
        if status not in open_to_all
    }
    return {
        "operationId": _name(row.path),
        "summary": row.meaning,
        "parameters": list(map(_parameter, row.parameters or ())),
        "responses": responses,
        "security": [{}] if row.is_open else [{}, {"token": []}, {"password": []}],
    }


def _name(path: str) -> str:
    return path.removeprefix("/api/v1/").strip("/").removesuffix(".json") or "index"


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": parameter.sort.value}
    if parameter.sort is Sort.NUMBER:
        schema |= {"minimum": parameter.least, "maximum": parameter.most}
    elif parameter.choices:
        schema["enum"] = list(parameter.choices)
    else:
        schema["maxLength"] = parameter.most
    if parameter.may_repeat:
        schema = {"type": "array", "items": schema}
    return {
        "name": parameter.name,
        "in": "query",
        "required": bool(parameter.missing),
        "description": parameter.meaning,
        "schema": schema,
    }
