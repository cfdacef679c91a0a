"""Making the topology: a pure function of GatewayClasses, Gateways, ListenerSets, Namespaces and ReferenceGrants.

It is done once for all readers, until one of these objects changes.  Then what comes to the same is the same object
as before, so that nobody has to look any further at thousands of others.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise, finished, in_order
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.gateways import (
    Gateway,
    GatewayClass,
    ListenerSet,
    gateway_classes_of,
    gateways_of,
    listener_sets_of,
)
from ingress.translate.readers.gateway.objects.grants import grants_of, namespaces_of
from ingress.translate.readers.gateway.objects.names import (
    GATEWAY,
    GATEWAY_CLASS,
    LISTENER_SET,
    NAMESPACE,
    REFERENCE_GRANT,
)
from ingress.translate.readers.gateway.topology.addresses import Assigned, assign
from ingress.translate.readers.gateway.topology.attachments import BackendCertificate, ListenerState
from ingress.translate.readers.gateway.topology.conflicts import Port, PortBook, port_of
from ingress.translate.readers.gateway.topology.gateway_tls import shown_to_backends
from ingress.translate.readers.gateway.topology.hostnames import TableHostnames, overlapping
from ingress.translate.readers.gateway.topology.listener_checks import (
    CheckedListener,
    CheckedListeners,
    check_listeners,
)
from ingress.translate.readers.gateway.topology.listener_references import Certificates, certificates_of
from ingress.translate.readers.gateway.topology.namespace_selection import NamespaceSelection
from ingress.translate.readers.gateway.topology.permissions import NO_PERMISSIONS, Permissions
from ingress.translate.readers.gateway.topology.ports import SHARED_ADDRESS, Ports, table_name
from ingress.translate.readers.gateway.topology.topology import GatewayState, ListenerSetState, Topology

TOPOLOGY_KINDS: Final = (GATEWAY_CLASS, GATEWAY, LISTENER_SET, NAMESPACE, REFERENCE_GRANT)
"""What the topology is made of."""


_Order = tuple[str, bool, str, ObjectKey]
"""Who comes first: by when all of it was there, Gateways before ListenerSets, then by age and name."""


MOST_PORTS: Final = 500
"""How many pairs of address and port may be open for Gateways: each is a socket, at the addresses of the process one at each of
these, and ports are chosen by tenants."""
AT_ONCE: Final = 200
"""Objects of which little is looked at, in one step; of those with listeners it is one."""


_Member = tuple[_Order, Gateway, ListenerSet | None]
"""A Gateway, or one of its ListenerSets."""


def topology_of(state: ClusterState, options: TranslateOptions) -> Topology:
    """Return the topology of *state*; as long as nothing that it is made of changes, the same one."""

    def work_out(before: _Work | None) -> _Work:
        return finished(_worked_out(state, options, before))

    return state.derived.get(_name(options), TOPOLOGY_KINDS, work_out).topology


def last_topology(state: ClusterState, options: TranslateOptions) -> Topology:
    """Return the topology that was worked out last, by which objects were translated, though some may have changed since."""
    known = state.derived.last(_name(options))
    return known.topology if isinstance(known, _Work) else topology_of(state, options)


def prepare_topology(state: ClusterState, options: TranslateOptions) -> Iterator[None]:
    """Work it out step by step where it is not known, and hold it; ``state.derived`` releases it."""
    return state.derived.prepare(
        _name(options), TOPOLOGY_KINDS, lambda before: _worked_out(state, options, before)
    )


def _name(options: TranslateOptions) -> Hashable:
    return "topology", options.gateway, options.listeners


def _worked_out(state: ClusterState, options: TranslateOptions, before: "_Work | None") -> "Stepwise[_Work]":
    work = _Work(state, options, before)
    yield from work.steps(state, options)
    return work


class _Known(NamedTuple):
    """What was made of one Gateway or ListenerSet, and of what."""

    source: Gateway | ListenerSet
    checked: CheckedListeners
    by: tuple[object, ...]
    """What else decided *state*."""
    state: GatewayState | ListenerSetState


class _Listeners(NamedTuple):
    """What became of the listeners of one object."""

    problems: tuple[Problem, ...]
    accepted: tuple[bool, ...]
    tables: tuple[str, ...]
    certificates: Certificates


class _Work:
    """The topology of one state; *before* is that of an earlier one, or None."""

    def __init__(self, state: ClusterState, options: TranslateOptions, before: "_Work | None") -> None:
        self._ports = Ports(options)
        self._before: Mapping[Owner, _Known] = {} if before is None else before._known
        self._known: dict[Owner, _Known] = {}
        self._permissions: Permissions = NO_PERMISSIONS if before is None else before._permissions
        self._selection = NamespaceSelection(namespaces_of(state))
        self._classes: dict[ObjectKey, GatewayClass] = {}
        self._gateways: dict[ObjectKey, GatewayState] = {}
        self._sets: dict[ObjectKey, ListenerSetState] = {}
        self._hostnames: dict[str, TableHostnames] = {}
        self._last_hostnames: Mapping[str, TableHostnames] = {} if before is None else before._hostnames
        self._everything: set[str] = set()
        self._open_ports: set[tuple[str, Port]] = set()
        self.topology = self._made()

    def _made(self) -> Topology:
        return Topology(
            self._classes,
            self._gateways,
            self._sets,
            self._hostnames,
            self._everything,
            self._permissions,
            self._selection,
        )

    def steps(self, state: ClusterState, options: TranslateOptions) -> Iterator[None]:
        """Work it out; the objects are those of now, and may change between steps."""
        grants = tuple(grants_of(state).values())
        if options.gateway.is_served:
            name = options.gateway.controller_name
            self._classes |= {
                key: one for key, one in gateway_classes_of(state).items() if one.controller == name
            }
            gateways = [one for one in gateways_of(state).values() if one.class_key in self._classes]
            listener_sets = list(listener_sets_of(state).values())
            self._permissions = yield from Permissions.following(self._permissions, grants)
            yield from self._work_out(gateways, listener_sets, options)
        self._before, self._last_hostnames = {}, {}
        self.topology = self._made()

    def _work_out(
        self, gateways: Sequence[Gateway], listener_sets: Sequence[ListenerSet], options: TranslateOptions
    ) -> Iterator[None]:
        sets: dict[ObjectKey, list[ListenerSet]] = {gateway.key: [] for gateway in gateways}
        for number, one in enumerate(listener_sets, 1):
            key = one.gateway_key
            found = None if key is None else sets.get(key)
            if found is not None:
                found.append(one)
            if not number % AT_ONCE:
                yield
        gateways = yield from in_order(gateways, lambda one: (one.created, one.key))
        assigned = yield from assign(
            gateways, options.gateway.addresses, options.gateway.published, self._last_addresses
        )
        shared: list[_Member] = []
        for gateway in gateways:
            members: list[_Member] = [(_order(gateway), gateway, None)]
            members += [(_order(gateway, one), gateway, one) for one in sets[gateway.key]]
            if assigned[gateway.key].is_shared:
                shared += members
                if not len(shared) % AT_ONCE:
                    yield
            else:
                yield from self._enter(members, assigned)
        yield from self._enter(shared, assigned)

    def _last_addresses(self, owner: Owner) -> tuple[str, ...]:
        """Return the addresses that a Gateway had in the topology before."""
        known = self._before.get(owner)
        return () if known is None else known.state.addresses

    def _enter(self, members: Sequence[_Member], assigned: Mapping[ObjectKey, Assigned]) -> Iterator[None]:
        """Work out Gateways and ListenerSets that are reached at the same addresses, one a step."""
        members = yield from in_order(members, itemgetter(0))
        book = PortBook()
        address = ""
        for _, gateway, one in members:
            addresses = assigned[gateway.key]
            address = SHARED_ADDRESS if addresses.is_shared else next(iter(addresses.addresses), "")
            if one is None:
                self._take_gateway(gateway, addresses, address, book)
            else:
                self._take_set(gateway, one, addresses, address, book)
            yield
        if address:
            for port, hostnames in book.hostnames.items():
                yield from self._enter_hostnames(
                    table_name(address, port.number, is_udp=port.is_udp), hostnames
                )
                yield
        yield from book.forget()

    def _enter_hostnames(self, table: str, hostnames: set[str]) -> Iterator[None]:
        """Note the *hostnames* of a table."""
        self._everything |= hostnames
        last = self._last_hostnames.get(table)
        if last is None or last.known != hostnames:
            yield
            last = TableHostnames(frozenset(hostnames), (yield from overlapping(hostnames)))
        self._hostnames[table] = last

    def _take_gateway(self, gateway: Gateway, assigned: Assigned, address: str, book: PortBook) -> None:
        owner = gateway.owner
        checked = self._check(owner, gateway)
        against: tuple[Problem, ...] = ()
        if self._classes[gateway.class_key].parameters is not None:
            message = f"the GatewayClass {gateway.class_name} is not accepted"
            against += (owner.problem(Reason.INVALID_PARAMETERS, message, "spec.gatewayClassName"),)
        if gateway.infrastructure is not None:
            message = f"nothing is known of {gateway.infrastructure}"
            field = "spec.infrastructure.parametersRef"
            against += (owner.problem(Reason.INVALID_PARAMETERS, message, field),)
        is_open = assigned.is_accepted and not against
        found = self._listeners(owner, checked, assigned, address, book if is_open else None)
        problems = (*assigned.problems, *against, *found.problems)
        is_accepted = is_open and any(found.accepted)
        certificate = shown_to_backends(gateway, self._permissions)
        by = (certificate, problems, is_accepted, assigned.addresses, assigned.is_shared, *found[1:])
        known = self._before.get(owner)
        if known is None or known.source is not gateway or known.by != by:
            made = GatewayState(
                owner,
                _states(owner, owner, checked.listeners, found, certificate),
                assigned.addresses,
                problems,
                is_accepted,
                assigned.is_shared,
                gateway,
            )
            known = _Known(gateway, checked, by, made)
        assert isinstance(known.state, GatewayState)
        self._known[owner] = known
        self._gateways[gateway.key] = known.state

    def _take_set(
        self, gateway: Gateway, value: ListenerSet, assigned: Assigned, address: str, book: PortBook
    ) -> None:
        owner = value.owner
        checked = self._check(owner, value)
        against: tuple[Problem, ...] = ()
        if not self._selection.allows(gateway.listener_sets, gateway.key.namespace, owner.key.namespace):
            message = f"{gateway.owner} takes no ListenerSets of the namespace {owner.key.namespace}"
            against = (owner.problem(Reason.NOT_ALLOWED, message, "spec.parentRef"),)
        elif not self._gateways[gateway.key].is_accepted:
            message = f"{gateway.owner} is not accepted itself"
            against = (owner.problem(Reason.PARENT_NOT_ACCEPTED, message, "spec.parentRef"),)
        found = self._listeners(owner, checked, assigned, address, None if against else book)
        problems = (*against, *found.problems)
        is_accepted = not against and any(found.accepted)
        certificate = shown_to_backends(gateway, self._permissions)
        by = (gateway.owner, problems, is_accepted, assigned.addresses, certificate, *found[1:])
        known = self._before.get(owner)
        if known is None or known.source is not value or known.by != by:
            listeners = _states(owner, gateway.owner, checked.listeners, found, certificate)
            made = ListenerSetState(
                owner, gateway.owner, listeners, assigned.addresses, problems, is_accepted
            )
            known = _Known(value, checked, by, made)
        assert isinstance(known.state, ListenerSetState)
        self._known[owner] = known
        self._sets[value.key] = known.state

    def _has_place(self, address: str, port: Port) -> bool:
        """Whether *port* may be open at *address*, among so many; from now on it is one of them."""
        if (address, port) not in self._open_ports:
            if len(self._open_ports) >= MOST_PORTS:
                return False
            self._open_ports.add((address, port))
        return True

    def _check(self, owner: Owner, value: Gateway | ListenerSet) -> CheckedListeners:
        before = self._before.get(owner)
        if before is not None and before.source is value:
            return before.checked
        return check_listeners(owner, value.listeners)

    def _listeners(
        self,
        owner: Owner,
        listeners: CheckedListeners,
        assigned: Assigned,
        address: str,
        book: PortBook | None,
    ) -> _Listeners:
        """Find out what becomes of listeners; without *book* nothing of their object is served."""
        checked = listeners.listeners
        problems = [*listeners.problems, *(problem for one in checked for problem in one.problems)]
        accepted = [one.is_accepted for one in checked]
        for at, one in enumerate(checked):
            if accepted[at]:
                fault = self._ports.fault(one.listener.port, one.listener.protocol, assigned.addresses)
                if fault is not None:
                    field = f"{one.listener.field}.port"
                    problems.append(owner.problem(Reason.PORT_UNAVAILABLE, fault, field))
                    accepted[at] = False
                elif address and book is not None and not self._has_place(address, port_of(one)):
                    message = (
                        f"{MOST_PORTS} ports are open for Gateways already; --gateway-ports says which may be"
                    )
                    field = f"{one.listener.field}.port"
                    problems.append(owner.problem(Reason.PORT_UNAVAILABLE, message, field))
                    accepted[at] = False
        if book is not None:
            refused = book.enter(owner, {at: one for at, one in enumerate(checked) if accepted[at]})
            for at, problem in refused.items():
                problems.append(problem)
                accepted[at] = False
        certificates, found = certificates_of(owner, checked, self._permissions)
        problems += found
        is_served = bool(address) and book is not None
        return _Listeners(
            tuple(problems),
            tuple(accepted),
            tuple(
                table_name(address, port.number, is_udp=port.is_udp) if is_served and accepted[at] else ""
                for at, port in enumerate(map(port_of, checked))
            ),
            certificates,
        )


def _states(
    owner: Owner,
    gateway: Owner,
    checked: Sequence[CheckedListener],
    found: _Listeners,
    backend_certificate: BackendCertificate | None,
) -> tuple[ListenerState, ...]:
    return tuple(
        ListenerState(
            owner,
            gateway,
            one.listener.name,
            one.listener.port,
            one.listener.protocol,
            one.hostname,
            one.kinds,
            table,
            one.listener.field,
            one.listener.tls,
            one.listener.namespaces,
            is_accepted,
            certificates,
            backend_certificate,
        )
        for one, table, is_accepted, certificates in zip(
            checked, found.tables, found.accepted, found.certificates, strict=True
        )
    )


def _order(gateway: Gateway, one: ListenerSet | None = None) -> _Order:
    if one is None:
        return gateway.created, False, gateway.created, gateway.key
    # Older than its Gateway, it comes after it all the same, and before what is younger than both.
    return max(gateway.created, one.created), True, one.created, one.key
