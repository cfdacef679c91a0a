"""Who may do what: bearer tokens, and RBAC rules in the shape Kubernetes gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import Factory, define, frozen

from tests.fakes.apiserver.calls import Call
from tests.fakes.apiserver.kinds import Json
from tests.fakes.apiserver.statuses import StatusError

#: Paths that everybody who is known may read (the ``system:discovery`` role).
_DISCOVERY = ("/api", "/apis", "/version", "/healthz", "/livez", "/readyz", "/openapi")


@frozen
class Grant:
    """One RBAC rule, in one namespace or (when *namespace* is None) in all and outside of any."""

    rule: Mapping[str, Any]
    namespace: str | None = None

    def allows(self, call: Call) -> bool:
        """Whether this rule alone permits *call*."""
        if self.namespace is not None and self.namespace != call.namespace:
            return False
        resource = f"{call.plural}/{call.subresource}" if call.subresource else call.plural
        names = self.rule.get("resourceNames") or ()
        return (
            _has(self.rule.get("apiGroups"), call.group)
            and (
                _has(self.rule.get("resources"), resource)
                or (bool(call.subresource) and f"*/{call.subresource}" in self.rule.get("resources", ()))
            )
            and _has(self.rule.get("verbs"), call.verb)
            # A create has no name yet, so a rule with names never permits one.
            and (not names or call.rule_name in names)
        )


@define
class Access:
    """
    The tokens that are known, each with its grants; None grants everything.

    With no tokens at all, nobody has to show one and everything is permitted.
    A token that grants everything may impersonate any of ``users``; a user that
    is not among them has no rights.
    """

    tokens: dict[str, tuple[Grant, ...] | None] = Factory(dict)
    users: dict[str, tuple[Grant, ...]] = Factory(dict)

    def check(self, call: Call, token: str | None) -> None:
        """Raise 401 for an unknown token and 403 for what its grants do not permit."""
        if not self.tokens:
            return
        if token is None or token not in self.tokens:
            raise StatusError(401, "Unauthorized")
        grants = self.tokens[token]
        user = call.headers.get("impersonate-user")
        if user is not None:
            if grants is not None:
                raise StatusError(403, f'users "{user}" is forbidden: cannot impersonate', details={})
            grants = self.users.get(user, ())
        if grants is None or any(grant.allows(call) for grant in grants):
            return
        if not call.plural:
            if call.verb == "get" and call.path.startswith(_DISCOVERY):
                return
            raise StatusError(
                403, f'forbidden: User "test" cannot {call.verb} path "{call.path}"', details={}
            )
        resource = f"{call.plural}/{call.subresource}" if call.subresource else call.plural
        qualified = f"{call.plural}.{call.group}" if call.group else call.plural
        subject = f'{qualified} "{call.name}" is forbidden' if call.name else f"{qualified} is forbidden"
        where = f'in the namespace "{call.namespace}"' if call.namespace else "at the cluster scope"
        raise StatusError(
            403,
            f'{subject}: User "test" cannot {call.verb} resource "{resource}" '
            f'in API group "{call.group}" {where}',
            details={"name": call.name, "group": call.group, "kind": call.plural},
        )


def grants_from_manifests(manifests: Iterable[Json], namespace: str, account: str) -> tuple[Grant, ...]:
    """
    Return what the RBAC objects among *manifests* grant to a service account.

    Bindings are followed to their Roles and ClusterRoles; a binding that names
    a role which is not there is an error of the manifests and raises KeyError.
    """
    manifests = [one for one in manifests if one]
    roles = {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one.get("rules") or []
        for one in manifests
        if one.get("kind") in ("Role", "ClusterRole")
    }
    grants: list[Grant] = []
    for one in manifests:
        if one.get("kind") not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        where = one["metadata"].get("namespace", "") if one["kind"] == "RoleBinding" else None
        if not any(_is_account(subject, namespace, account, where) for subject in one.get("subjects") or []):
            continue
        reference = one["roleRef"]
        role_namespace = (where or "") if reference["kind"] == "Role" else ""
        for rule in roles[reference["kind"], role_namespace, reference["name"]]:
            grants.append(Grant(rule, where))
    return tuple(grants)


def _is_account(subject: Json, namespace: str, account: str, where: str | None) -> bool:
    return (
        subject.get("kind") == "ServiceAccount"
        and subject.get("name") == account
        and subject.get("namespace", where) == namespace
    )


def _has(allowed: Iterable[str] | None, wanted: str) -> bool:
    allowed = tuple(allowed or ())
    return wanted in allowed or "*" in allowed
