"""
Who wrote the addresses in the status of an Ingress, as ``metadata.managedFields`` shows it.

Of all that an API server keeps there, this is what controllers look at.  The rules:
who changes the value owns it, alone; writing the value that is there changes
nothing; what is removed is owned by nobody.
"""

from __future__ import annotations

from typing import Any

from tests.fakes.apiserver.kinds import Json, ResourceType

_FIELDS: Json = {"f:status": {"f:loadBalancer": {"f:ingress": {}}}}


def with_writer(kind: ResourceType, before: Json, after: Json, manager: str, now: str) -> Json:
    """Return *after*, the result of a write of the status by *manager*, with who owns what."""
    if kind.kind != "Ingress" or addresses(before) == addresses(after):
        return after
    entries = [
        entry
        for entry in after["metadata"].get("managedFields") or []
        if entry.get("subresource") != "status" or entry.get("fieldsV1") != _FIELDS
    ]
    if addresses(after) is not None:
        entries.append(
            {
                "manager": manager,
                "operation": "Update",
                "apiVersion": kind.api_version,
                "time": now,
                "fieldsType": "FieldsV1",
                "fieldsV1": _FIELDS,
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


def manager_of(query_name: str | None, user_agent: str) -> str:
    """Return who writes: by the query parameter, else by what the client calls itself."""
    return query_name or user_agent.partition("/")[0]
