"""The topology: the Gateways that are ours, with the listeners that they and their ListenerSets come to, and what attaches to these.

    GatewayClasses ─ which Gateways are ours ─▶ addresses.py ─ where each is reached ─▶ listener_checks.py ─ what makes sense ─▶
    conflicts.py ─ who has which port and hostname ─▶ GatewayState, ListenerSetState ─▶ Topology.attach, for each route

It is made by ``topology_of`` (``topology_making.py``), once for all readers.

Source: ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Container, Iterable, Mapping, Sequence

from attrs import field

from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.object_fields import entry_path
from ingress.translate.readers.gateway.objects.gateways import Gateway, GatewayClass
from ingress.translate.readers.gateway.objects.names import GATEWAY, GROUP, LISTENER_SET
from ingress.translate.readers.gateway.objects.routes import ParentReference
from ingress.translate.readers.gateway.topology.attachments import Attachment, ListenerHosts, ListenerState
from ingress.translate.readers.gateway.topology.hostnames import (
    NO_HOSTNAMES,
    Hostnames,
    HostOwners,
    TableHostnames,
)
from ingress.translate.readers.gateway.topology.namespace_selection import NamespaceSelection
from ingress.translate.readers.gateway.topology.permissions import Permissions


@frozen(weakref_slot=False)
class GatewayState:
    """What became of a Gateway that is ours."""

    owner: Owner
    listeners: tuple[ListenerState, ...]
    """Its own ones, in order."""
    addresses: tuple[str, ...]
    """Those of its own; none where it shares those of the process, or has none at all."""
    problems: tuple[Problem, ...]
    is_accepted: bool
    """Whether anything of it is served: at least one of its listeners is accepted, and nothing speaks against all of it."""
    is_shared: bool
    """Whether it is reached at the addresses of the process, as others are."""
    source: Gateway = field(eq=False, repr=False)
    """What it was made of."""


@frozen(weakref_slot=False)
class ListenerSetState:
    """What became of a ListenerSet whose Gateway is ours."""

    owner: Owner
    gateway: Owner
    listeners: tuple[ListenerState, ...]
    addresses: tuple[str, ...]
    """Those of its Gateway."""
    problems: tuple[Problem, ...]
    is_accepted: bool
    """Whether its Gateway takes it, and at least one of its listeners is accepted."""


class Topology:
    """Gateways and their listeners, as they are at one moment; it does not change."""

    __slots__ = (
        "_by_gateway",
        "_everything",
        "_hostnames",
        "_permissions",
        "_selection",
        "classes",
        "gateways",
        "listener_sets",
    )

    def __init__(
        self,
        classes: Mapping[ObjectKey, GatewayClass],
        gateways: Mapping[ObjectKey, GatewayState],
        listener_sets: Mapping[ObjectKey, ListenerSetState],
        hostnames: Mapping[str, TableHostnames],
        everything: Container[str],
        permissions: Permissions,
        selection: NamespaceSelection,
    ) -> None:
        """*hostnames* has those of each table, *everything* those of all tables together."""
        self.classes = classes
        """The GatewayClasses that are ours."""
        self.gateways = gateways
        """The Gateways that are ours."""
        self.listener_sets = listener_sets
        """The ListenerSets of these."""
        self._hostnames = hostnames
        self._everything = everything
        self._permissions = permissions
        self._selection = selection
        self._by_gateway: dict[ObjectKey, list[ListenerSetState]] | None = None

    def sets_of(self, gateway: ObjectKey) -> Sequence[ListenerSetState]:
        """Return the ListenerSets of *gateway*."""
        if self._by_gateway is None:
            self._by_gateway = {}
            for one in self.listener_sets.values():
                self._by_gateway.setdefault(one.gateway.key, []).append(one)
        return self._by_gateway.get(gateway, ())

    def permits(
        self, group: str, kind: str, namespace: str, to_group: str, to_kind: str, to: ObjectKey
    ) -> bool:
        """Whether an object of *group*, *kind* and *namespace* may refer to *to*: of the same namespace, or by a ReferenceGrant."""
        return self._permissions.permits(group, kind, namespace, to_group, to_kind, to)

    def attach(
        self, kind: Kind, namespace: str, hostnames: Iterable[str], parents: Sequence[ParentReference]
    ) -> tuple[Attachment, ...]:
        """Return what becomes of each of *parents* of a route of *kind* in *namespace*, in order.

        *hostnames* are those of the route; none stand for all hosts.
        """
        hosts = Hostnames(hostnames)
        owners = HostOwners(self._hostnames, self._everything)
        return tuple(
            self._attach(kind, namespace, hosts, owners, parent, entry_path("spec", "parentRefs", at))
            for at, parent in enumerate(parents)
        )

    def hostnames_of(self, table: str) -> TableHostnames:
        """Return the hostnames that the listeners of *table* have."""
        return self._hostnames.get(table, NO_HOSTNAMES)

    def _attach(
        self,
        kind: Kind,
        namespace: str,
        hosts: Hostnames,
        owners: HostOwners,
        parent: ParentReference,
        field: str,
    ) -> Attachment:
        state = self._parent(parent, namespace)
        if state is None:
            return Attachment(parent, field, None)
        gateway = state.owner if isinstance(state, GatewayState) else state.gateway
        named = [
            one
            for one in state.listeners
            if (not parent.section or one.name == parent.section)
            and (not parent.port or one.port == parent.port)
        ]
        if not named:
            section = f" {parent.section}" if parent.section else ""
            port = f" on port {parent.port}" if parent.port else ""
            message = f"{state.owner} has no listener{section}{port}"
            return Attachment(parent, field, gateway, (), Reason.NO_MATCHING_PARENT, message)
        open_to = [
            one
            for one in named
            if kind in one.kinds
            and self._selection.allows(one.namespaces, one.owner.key.namespace, namespace)
        ]
        if not open_to:
            message = f"no listener of {state.owner} takes a {kind} of the namespace {namespace}"
            return Attachment(parent, field, gateway, (), Reason.NOT_ALLOWED_BY_LISTENERS, message)
        found = tuple(
            ListenerHosts(one, self._of_itself(one, both, owners))
            for one in open_to
            if (both := hosts.of(one.hostname))
        )
        if not found:
            message = f"no listener of {state.owner} is there for a hostname of the route"
            return Attachment(parent, field, gateway, (), Reason.NO_MATCHING_LISTENER_HOSTNAME, message)
        return Attachment(parent, field, gateway, found)

    def _parent(self, parent: ParentReference, namespace: str) -> GatewayState | ListenerSetState | None:
        group, kind, _, name = parent.parent
        if group != GROUP:
            return None
        key = ObjectKey(parent.parent.namespace or namespace, name)
        if kind == GATEWAY:
            return self.gateways.get(key)
        return self.listener_sets.get(key) if kind == LISTENER_SET else None

    def _of_itself(
        self, listener: ListenerState, hosts: tuple[str, ...], owners: HostOwners
    ) -> tuple[str, ...]:
        """Return those of *hosts* that no more specific listener of the same table has."""
        table, own = listener.table, listener.hostname
        if len(self.hostnames_of(table).known) < 2:
            return hosts
        return tuple(one for one in hosts if one == own or owners.find(table, one) == own)
