"""The rights of this controller on the ConfigMaps of TCP and UDP services, which no overlay can know.  Pure.

Both are followed where ingress-nginx has them: without the right to that nothing of them is served.
"""

from collections.abc import Sequence
from typing import Final

from ingress.ctl.migrate.installation.overlays import OWN_NAME
from ingress.object_fields import RawObject

_OPTIONS: Final = ("--tcp-services-configmap=", "--udp-services-configmap=")
_NAME: Final = f"{OWN_NAME}-services"
_GROUP: Final = "rbac.authorization.k8s.io"


def services_rights(arguments: Sequence[str]) -> list[RawObject]:
    """Return a Role and its binding for each namespace with ConfigMaps that *arguments* name, as ``k8s/README.md`` has them."""
    names: dict[str, set[str]] = {}
    for argument in arguments:
        for option in _OPTIONS:
            namespace, slash, name = argument.removeprefix(option).partition("/")
            if argument.startswith(option) and slash and namespace and name:
                names.setdefault(namespace, set()).add(name)
    return [one for namespace, some in sorted(names.items()) for one in _rights(namespace, sorted(some))]


def _rights(namespace: str, names: list[str]) -> tuple[RawObject, RawObject]:
    version, metadata = f"{_GROUP}/v1", {"name": _NAME, "namespace": namespace}
    rule = {
        "apiGroups": [""], "resources": ["configmaps"], "resourceNames": names, "verbs": ["get", "list", "watch"],
    }  # fmt: skip
    role: RawObject = {"apiVersion": version, "kind": "Role", "metadata": metadata, "rules": [rule]}
    binding: RawObject = {
        "apiVersion": version,
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _GROUP, "kind": "Role", "name": _NAME},
        "subjects": [{"kind": "ServiceAccount", "name": OWN_NAME, "namespace": OWN_NAME}],
    }
    return role, binding
