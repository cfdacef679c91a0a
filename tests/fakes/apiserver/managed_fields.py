"""
Who wrote the addresses in the status of an Ingress, or the conditions of another object, as ``metadata.managedFields`` shows it.

Of all that an API server keeps there, this is what controllers look at.  The rules:
who changes the value owns it, alone; writing the value that is there changes
nothing; what is removed is owned by nobody.
"""

from __future__ import annotations

from typing import Any

from tests.fakes.apiserver.kinds import Json, ResourceType

_ADDRESSES: Json = {"f:status": {"f:loadBalancer": {"f:ingress": {}}}}
_CONDITIONS: Json = {"f:status": {"f:conditions": {}}}


def with_writer(kind: ResourceType, before: Json, after: Json, manager: str, now: str) -> Json:
    """Return *after*, the result of a write of the status by *manager*, with who owns what."""
    fields, written = (_ADDRESSES, addresses) if kind.kind == "Ingress" else (_CONDITIONS, conditions)
    if written(before) == written(after):
        return after
    entries = [
        entry
        for entry in after["metadata"].get("managedFields") or []
        if entry.get("subresource") != "status" or entry.get("fieldsV1") != fields
    ]
    if written(after) is not None:
        entries.append(
            {
                "manager": manager,
                "operation": "Update",
                "apiVersion": kind.api_version,
                "time": now,
                "fieldsType": "FieldsV1",
                "fieldsV1": fields,
                "subresource": "status",
            }
        )
    metadata = {key: value for key, value in after["metadata"].items() if key != "managedFields"}
    if entries:
        metadata["managedFields"] = entries
    return {**after, "metadata": metadata}


def addresses(obj: Json) -> Any:
    """Return the addresses of a status, None for none."""
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or None


def conditions(obj: Json) -> Any:
    """Return the conditions of a status, None for none."""
    return (obj.get("status") or {}).get("conditions") or None


def manager_of(query_name: str | None, user_agent: str) -> str:
    """Return who writes: by the query parameter, else by what the client calls itself."""
    return query_name or user_agent.partition("/")[0]
