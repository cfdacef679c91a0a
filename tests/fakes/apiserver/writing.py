"""
The API's rules for writes: metadata, conflicts, the status subresource, generation.

Objects are not validated beyond their metadata, but for what controllers write
(``validation``). Finalizers and owners have no effect, and of managed fields there
is what ``managed_fields`` says. Every refusal is a ``StatusError``.
"""

from __future__ import annotations

import copy
import random
import string
from collections.abc import Callable
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from tests.fakes.apiserver.applying import applied, taken_over
from tests.fakes.apiserver.history import History
from tests.fakes.apiserver.kinds import Json, KindTable, ResourceType, with_defaults
from tests.fakes.apiserver.managed_fields import with_writer
from tests.fakes.apiserver.statuses import StatusError, invalid, not_found, success
from tests.fakes.apiserver.validation import check_written

#: What a write touches: all but the status, the status alone, or (a test's own write) both.
Scope: TypeAlias = Literal["main", "status", "whole"]

#: What the server says about an object; a writer cannot change it.
_SERVER_METADATA = ("uid", "creationTimestamp", "generation", "resourceVersion", "managedFields")


class Writer:
    """Creates, replaces, patches and deletes objects of a history."""

    def __init__(
        self, history: History, kinds: KindTable, now: Callable[[], datetime], source: random.Random
    ) -> None:
        self._history = history
        self._kinds = kinds
        self._now = now
        self._random = source

    def read(self, kind: ResourceType, namespace: str, name: str) -> Json:
        """Return the stored object; raise 404."""
        found = self._history.get(kind, (namespace, name))
        if found is None:
            raise not_found(kind.plural, kind.group, name)
        return found

    def create(self, kind: ResourceType, namespace: str, obj: Json, scope: Scope = "main") -> Json:
        """
        Store a new object; raise 400, 409.

        With the scope "whole", status, uid and creationTimestamp stay as given:
        which of two objects is older decides conflicts between routes.
        """
        obj = self._checked(kind, namespace, obj)
        metadata = obj["metadata"]
        if metadata.get("resourceVersion"):
            raise StatusError(400, "resourceVersion should not be set on objects to be created")
        if not metadata.get("name") and metadata.get("generateName"):
            suffix = "".join(self._random.choices(string.ascii_lowercase + string.digits, k=5))
            metadata["name"] = f"{metadata['generateName']}{suffix}"
        name = _name(kind, obj)
        if self._history.get(kind, (namespace, name)) is not None:
            raise StatusError(
                409,
                f'{kind.qualified} "{name}" already exists',
                reason="AlreadyExists",
                details={"name": name, "group": kind.group, "kind": kind.plural},
            )
        if scope != "whole":
            check_written(kind, obj, is_new=True, is_status=False)
            metadata.pop("creationTimestamp", None)
            metadata.pop("uid", None)
            obj.pop("status", None)
        metadata.setdefault("creationTimestamp", self._time())
        metadata.setdefault("uid", str(UUID(int=self._random.getrandbits(128), version=4)))
        if kind.has_generation:
            metadata["generation"] = 1
        if kind.has_status:
            obj.setdefault("status", {})
        return self._history.put(kind, (namespace, name), obj)

    def replace(
        self,
        kind: ResourceType,
        namespace: str,
        name: str,
        obj: Json,
        scope: Scope = "main",
        manager: str = "",
    ) -> Json:
        """Replace an object, or its status alone; raise 400, 404, 409, 422."""
        obj = self._checked(kind, namespace, obj)
        if _name(kind, obj) != name:
            raise StatusError(
                400,
                f"the name of the object ({_name(kind, obj)}) does not match the name on the URL ({name})",
            )
        stored = self.read(kind, namespace, name)
        if kind.version_required and not obj["metadata"].get("resourceVersion"):
            raise _invalid(kind, name, "metadata.resourceVersion", "must be specified for an update")
        return self._update(kind, namespace, name, stored, obj, scope, manager)

    def patch(
        self,
        kind: ResourceType,
        namespace: str,
        name: str,
        patch: Json,
        scope: Scope = "main",
        manager: str = "",
    ) -> Json:
        """Apply a JSON merge patch (RFC 7396); raise 400, 404, 409, 422."""
        stored = self.read(kind, namespace, name)
        merged = merge_patch(stored, patch)
        if not isinstance(merged, dict) or merged.get("kind") != kind.kind:
            raise StatusError(400, "a patch cannot change the kind of an object")
        obj = self._checked(kind, namespace, merged)
        if _name(kind, obj) != name:
            raise _invalid(kind, name, "metadata.name", "field is immutable")
        return self._update(kind, namespace, name, stored, obj, scope, manager)

    def apply(
        self, kind: ResourceType, namespace: str, name: str, body: Json, manager: str, *, force: bool
    ) -> Json:
        """Apply what *manager* wants of an object, which is made where it is not; raise 400, 409, 422."""
        obj = self._checked(kind, namespace, body)
        if _name(kind, obj) != name:
            raise _invalid(kind, name, "metadata.name", "does not match the name on the URL")
        stored = self._history.get(kind, (namespace, name))
        uid = obj["metadata"].get("uid")
        if uid and stored is not None and stored["metadata"]["uid"] != uid:
            raise _invalid(kind, name, "metadata.uid", "field is immutable")
        if uid and stored is None:
            raise _conflict(kind, name, f"Precondition failed: UID in precondition: {uid}")
        made = applied(kind, stored, obj, manager, self._time(), force=force)
        if stored is None:
            return self.create(kind, namespace, made)
        check_written(kind, made, is_new=False, is_status=False)
        return stored if made == stored else self._history.put(kind, (namespace, name), made)

    def delete(
        self, kind: ResourceType, namespace: str, name: str, preconditions: Json | None = None
    ) -> Json:
        """Delete an object and return the ``Status``; raise 404, 409. A Namespace takes its content along."""
        stored = self.read(kind, namespace, name)
        for field, wanted in (preconditions or {}).items():
            if wanted and stored["metadata"].get(field) != wanted:
                raise _conflict(kind, name, f"Precondition failed: {field} in precondition: {wanted}")
        if kind.plural == "namespaces":
            for other in self._kinds:
                for key, _ in self._history.content(other):
                    if other.namespaced and key[0] == name:
                        self._history.remove(other, key)
        self._history.remove(kind, (namespace, name))
        details = {"name": name, "kind": kind.plural, "uid": stored["metadata"]["uid"]}
        return success(details | ({"group": kind.group} if kind.group else {}))

    def _update(
        self,
        kind: ResourceType,
        namespace: str,
        name: str,
        stored: Json,
        obj: Json,
        scope: Scope,
        manager: str,
    ) -> Json:
        metadata, before = obj["metadata"], stored["metadata"]
        if metadata.get("resourceVersion") and metadata["resourceVersion"] != before["resourceVersion"]:
            raise _conflict(
                kind,
                name,
                "the object has been modified; please apply your changes to the latest version and try again",
            )
        if metadata.get("uid") and metadata["uid"] != before["uid"]:
            raise _conflict(kind, name, f"Precondition failed: UID in precondition: {metadata['uid']}")
        if scope == "status":
            obj = {key: value for key, value in stored.items() if key != "status"} | (
                {"status": obj["status"]} if "status" in obj else {}
            )
            obj = with_writer(kind, stored, obj, manager, self._time())
        else:
            for field in _SERVER_METADATA:
                if scope == "whole" and field == "managedFields" and field in metadata:
                    continue
                metadata.pop(field, None)
                if field in before:
                    metadata[field] = before[field]
            if scope == "main":
                obj = taken_over(stored, obj)
                metadata = obj["metadata"]
            if kind.has_status and scope == "main":
                obj.pop("status", None)
                if "status" in stored:
                    obj["status"] = stored["status"]
            if kind.has_generation and _desired(obj) != _desired(stored):
                metadata["generation"] = before.get("generation", 0) + 1
        if scope != "whole":
            check_written(kind, obj, is_new=False, is_status=scope == "status")
        if obj == stored:
            # The API writes nothing when nothing changes: same version, no event.
            return stored
        return self._history.put(kind, (namespace, name), obj)

    def _time(self) -> str:
        return self._now().strftime("%Y-%m-%dT%H:%M:%SZ")

    def _checked(self, kind: ResourceType, namespace: str, obj: Json) -> Json:
        """Return a private copy whose kind, metadata and namespace are as the path says."""
        if not isinstance(obj, dict):
            raise StatusError(400, "the body is no object")
        obj = copy.deepcopy(obj)
        if obj.setdefault("kind", kind.kind) != kind.kind or obj.setdefault(
            "apiVersion", kind.api_version
        ) != (kind.api_version):
            raise StatusError(
                400,
                f"{obj.get('apiVersion')}, Kind={obj.get('kind')} in the body does not match "
                f"{kind.api_version}, Kind={kind.kind} of the path",
            )
        metadata = obj.get("metadata")
        if not isinstance(metadata, dict):
            raise StatusError(400, "metadata is missing")
        if kind.namespaced and metadata.setdefault("namespace", namespace) != namespace:
            raise StatusError(
                400, "the namespace of the provided object does not match the namespace sent on the request"
            )
        if not kind.namespaced:
            metadata.pop("namespace", None)
        return with_defaults(kind, obj)


def merge_patch(target: object, patch: object) -> object:
    """Apply a JSON merge patch as RFC 7396 section 2 defines it; *target* is not changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def _desired(obj: Json) -> Json:
    """Return what counts for the generation: everything but metadata and status."""
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}


def _name(kind: ResourceType, obj: Json) -> str:
    name = obj["metadata"].get("name")
    if not isinstance(name, str) or not name or "/" in name:
        raise _invalid(kind, str(name or ""), "metadata.name", "name or generateName is required")
    return name


def _invalid(kind: ResourceType, name: str, field: str, why: str) -> StatusError:
    return invalid(kind.group, kind.kind, name, field, why)


def _conflict(kind: ResourceType, name: str, why: str) -> StatusError:
    return StatusError(
        409,
        f'Operation cannot be fulfilled on {kind.qualified} "{name}": {why}',
        details={"name": name, "group": kind.group, "kind": kind.plural},
    )
