"""Patches as files of a directory: a diff for each manifest that is edited, and a patch for each object in the cluster.

Names are made of what tenants wrote only where that can be the name of a Kubernetes object; a number keeps them apart.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from ingress.ctl.migrate.patching.commands import json_patch, merge_patch, quoted
from ingress.ctl.migrate.patching.patches import ObjectPatch, Patches, is_apart

MANIFESTS: Final = "manifests.patch"
ROOT_MANIFESTS: Final = "manifests-from-root.patch"
COMMANDS: Final = "kubectl.sh"
NOT_EDITED: Final = "not-edited.json"
OBJECTS: Final = "objects"
is_of_object: Final = re.compile(r"[0-9]{4,}-.*\.json").fullmatch
"""Whether a file in the folder of objects is one of these."""
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,60}[a-z0-9])?")


def patch_files(patches: Patches) -> Mapping[str, str]:
    """Return the texts of all files by their names, in the directory and below it.

    ``manifests.patch`` changes all manifests that can be edited, and is applied by ``git apply`` or ``patch -p1`` where the
    command was run; what was named from the root is in a file of its own, for ``patch -p1 --directory=/``.
    ``kubectl.sh`` has the same for a cluster, and ``objects/`` what it applies, for whoever does so by other means.  An object
    that stands in several manifests and would be changed otherwise by each is in neither: which one a cluster has, nobody knows.
    """
    if not patches.objects:
        return {}
    found: dict[str, str] = {}
    for patch in patches.files():
        name = ROOT_MANIFESTS if is_apart(patch.path) else MANIFESTS
        found[name] = found.get(name, "") + patch.diff
    lines = [
        "#!/bin/bash",
        "# Changes the objects of the cluster that kubectl speaks to; read it first.",
        "# What is not there as it was read is not changed: kubectl says that a test failed, and the rest goes on.",
        "set -u",
        "failed=0",
        "",
    ]
    one_of_each = {(one.entry.object_id, one.commands): one for one in patches.objects}
    for number, one in enumerate(one_of_each.values(), 1):
        if one.entry.otherwise:
            lines.append(_left_out(one))
            continue
        lines.append(f"{' && '.join(one.commands)} || failed=1")
        found[f"{OBJECTS}/{number:04}-{_name(one)}.json"] = json.dumps(_patches(one), indent=2) + "\n"
    found[COMMANDS] = "\n".join([*lines, "", 'exit "$failed"']) + "\n"
    refused = [one for one in patches.objects if one.why_not]
    if refused:
        found[NOT_EDITED] = (
            json.dumps(
                [{**_object(one), "file": one.entry.place.file, "why": one.why_not} for one in refused],
                indent=2,
            )
            + "\n"
        )
    return found


def _object(patch: ObjectPatch) -> Mapping[str, str]:
    kind, key = patch.entry.object_id
    return {"kind": str(kind), "namespace": key.namespace, "name": key.name}


def _patches(patch: ObjectPatch) -> Mapping[str, object]:
    changes, before = patch.entry.changes, patch.entry.before
    return {**_object(patch), "mergePatch": merge_patch(changes), "jsonPatch": json_patch(changes, before)}


def _left_out(patch: ObjectPatch) -> str:
    kind, key = patch.entry.object_id
    places = " ".join(quoted(str(place)) for place in patch.entry.otherwise)
    return f"# {kind} {quoted(str(key))} is left out, for each of these has it otherwise: {places}"


def _name(patch: ObjectPatch) -> str:
    _, key = patch.entry.object_id
    return "-".join(part for part in key if _NAME.fullmatch(part)) or "object"
