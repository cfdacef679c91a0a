"""Discovery and version, as small as clients accept them."""

from __future__ import annotations

from collections.abc import Iterable

from tests.fakes.apiserver.kinds import Json, ResourceType, group_versions

#: The Kubernetes version that the server claims to be.
VERSION = ("1", "35")

_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def discover(path: str, kinds: Iterable[ResourceType]) -> Json | None:
    """Return the document at a discovery path, or None when there is none."""
    rows = tuple(kinds)
    steps = path.strip("/").split("/")
    match steps:
        case ["version"]:
            major, minor = VERSION
            return {
                "major": major,
                "minor": minor,
                "gitVersion": f"v{major}.{minor}.0",
                "gitCommit": "",
                "gitTreeState": "clean",
                "buildDate": "1970-01-01T00:00:00Z",
                "goVersion": "go1",
                "compiler": "gc",
                "platform": "linux/amd64",
            }
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = [_group(name, versions) for name, versions in sorted(group_versions(rows).items())]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group] if group in group_versions(rows):
            return {
                "kind": "APIGroup",
                "apiVersion": "v1",
                **_group(group, group_versions(rows)[group]),
            }
        case ["api", version]:
            return _resources("", version, rows)
        case ["apis", group, version]:
            return _resources(group, version, rows)
    return None


def _group(name: str, versions: Iterable[str]) -> Json:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in sorted(versions)]
    return {"name": name, "versions": entries, "preferredVersion": entries[-1]}


def _resources(group: str, version: str, rows: Iterable[ResourceType]) -> Json | None:
    resources: list[Json] = []
    for row in rows:
        if (row.group, row.version) != (group, version):
            continue
        common = {"singularName": row.kind.lower(), "namespaced": row.namespaced, "kind": row.kind}
        short = {"shortNames": list(row.short_names)} if row.short_names else {}
        resources.append({"name": row.plural, **common, "verbs": _VERBS, **short})
        if row.has_status:
            verbs = ["get", "patch", "update"]
            resources.append({"name": f"{row.plural}/status", **common, "verbs": verbs})
    if not resources:
        return None
    group_version = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": resources,
    }
