"""What is wrong with a listener by itself: its protocol, its hostname, its TLS, the kinds and namespaces that it names, its port.

What is wrong with it beside others is for ``conflicts.py``.

Source: ``Listener`` and ``ListenerEntry`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.objects import Kind, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.routing.hosts import check_rule_host
from ingress.translate.readers.gateway.objects.gateways import GatewayListener
from ingress.translate.readers.gateway.objects.names import (
    GROUP,
    GRPC_ROUTE,
    HTTP_ROUTE,
    TCP_ROUTE,
    TLS_ROUTE,
    UDP_ROUTE,
)
from ingress.translate.readers.gateway.topology.namespace_selection import fault_of
from ingress.wording import some_of

UDP: Final = "UDP"
MOST_LISTENERS: Final = 64
"""How many listeners one object may have (``MaxItems`` of the API); manifests may have more."""
MOST_KINDS: Final = 8
"""How many kinds of routes a listener may name (``MaxItems`` of the API); it takes no routes of further ones."""
_MOST_OPTIONS: Final = 4
"""How many TLS options are named."""

_KINDS: Final[Mapping[str, tuple[Kind, ...]]] = {
    "HTTP": (HTTP_ROUTE, GRPC_ROUTE),
    "HTTPS": (HTTP_ROUTE, GRPC_ROUTE),
    "TLS": (TLS_ROUTE,),
    "TCP": (TCP_ROUTE,),
    UDP: (UDP_ROUTE,),
}
PROTOCOLS: Final = tuple(_KINDS)
_OVER_TLS: Final = frozenset({"HTTPS", "TLS"})
_WITH_HOSTS: Final = frozenset({"HTTP", "HTTPS", "TLS"})


@frozen(weakref_slot=False)
class CheckedListener:
    """A listener, and what is wrong with it by itself."""

    listener: GatewayListener
    hostname: str
    """In lower case; empty where the protocol knows none."""
    kinds: tuple[Kind, ...]
    problems: tuple[Problem, ...]
    is_accepted: bool
    """Whether there is nothing that keeps it from being served."""


def is_secure(protocol: str) -> bool:
    """Whether connections of *protocol* begin with TLS."""
    return protocol in _OVER_TLS


class CheckedListeners(NamedTuple):
    """The listeners of one object that are looked at, and what is told of others."""

    listeners: tuple[CheckedListener, ...]
    problems: tuple[Problem, ...] = ()


def check_listeners(owner: Owner, listeners: Sequence[GatewayListener]) -> CheckedListeners:
    """Return the *listeners* of *owner*, each checked by itself; only names are compared."""
    names: set[str] = set()
    checked = []
    for listener in listeners[:MOST_LISTENERS]:
        faults = list(_faults(listener))
        if listener.name in names:
            message = "is the name of another listener of the object"
            faults.append((Reason.UNSUPPORTED_VALUE, ".name", f"{quoted(listener.name)} {message}"))
        names.add(listener.name)
        kinds, unknown = _kinds(listener)
        problems = [
            owner.problem(reason, text, listener.field + at_field) for reason, at_field, text in faults
        ]
        if unknown:
            message = (
                f"takes no routes of {', '.join(unknown)}, since its protocol is {quoted(listener.protocol)}"
            )
            field = f"{listener.field}.allowedRoutes.kinds"
            problems.append(owner.problem(Reason.INVALID_ROUTE_KINDS, message, field))
        options = () if listener.tls is None else listener.tls.options
        if options:
            # Each controller has its own ones, and this one none: what others make of theirs keeps nobody from being served.
            shown = some_of([quoted(name) for name, _ in options[:_MOST_OPTIONS]], len(options))
            message = f"nothing is known of {shown}; the listener is served as without"
            field = f"{listener.field}.tls.options"
            problems.append(owner.problem(Reason.UNKNOWN_TLS_OPTION, message, field))
        hostname = listener.hostname.lower() if listener.protocol in _WITH_HOSTS else ""
        checked.append(CheckedListener(listener, hostname, kinds, tuple(problems), not faults))
    rest = listeners[MOST_LISTENERS:]
    if not rest:
        return CheckedListeners(tuple(checked))
    message = (
        f"an object has {MOST_LISTENERS} listeners at most; of this one {len(rest)} more are not looked at"
    )
    problem = owner.problem(Reason.UNSUPPORTED_VALUE, message, rest[0].field)
    return CheckedListeners(tuple(checked), (problem,))


def _faults(listener: GatewayListener) -> Iterator[tuple[Reason, str, str]]:
    """Yield why *listener* cannot be served: a reason, a part of its field, and a clause or a sentence."""
    protocol = listener.protocol
    if protocol not in _KINDS:
        message = f"{quoted(protocol)} is no protocol that is served; {', '.join(PROTOCOLS)} are"
        yield Reason.UNSUPPORTED_PROTOCOL, ".protocol", message
        return
    if protocol in _WITH_HOSTS:
        fault = check_rule_host(listener.hostname)
        if fault is not None:
            yield Reason.UNSUPPORTED_VALUE, ".hostname", f"{quoted(listener.hostname)} {fault}"
    elif listener.hostname:
        yield Reason.UNSUPPORTED_VALUE, ".hostname", f"means nothing to the protocol {protocol}"
    yield from _tls_faults(listener)
    found = fault_of(listener.namespaces)
    if found is not None:
        yield Reason.UNSUPPORTED_VALUE, f".allowedRoutes.namespaces.{found[0]}", found[1]


def _tls_faults(listener: GatewayListener) -> Iterator[tuple[Reason, str, str]]:
    protocol, tls = listener.protocol, listener.tls
    if protocol not in _OVER_TLS:
        if tls is not None:
            yield Reason.UNSUPPORTED_VALUE, ".tls", f"means nothing to the protocol {protocol}"
        return
    if tls is None:
        # Without certificates HTTPS is accepted, and resolves nothing; without mode, nobody knows what TLS is to do.
        if protocol == "TLS":
            yield Reason.UNSUPPORTED_VALUE, ".tls", "is missing; the protocol TLS needs a mode"
        return
    if tls.mode not in ("Terminate", "Passthrough"):
        message = f"is {quoted(tls.mode)}; it may be Terminate or Passthrough"
        yield Reason.UNSUPPORTED_VALUE, ".tls.mode", message
    elif tls.mode == "Passthrough" and protocol == "HTTPS":
        yield Reason.UNSUPPORTED_VALUE, ".tls.mode", "may be Terminate alone where the protocol is HTTPS"


def _kinds(listener: GatewayListener) -> tuple[tuple[Kind, ...], tuple[str, ...]]:
    """Return the kinds of routes that *listener* takes, and what it names besides."""
    possible = _KINDS.get(listener.protocol, ())
    if not listener.kinds:
        return possible, ()
    named: dict[Kind, None] = {}
    unknown: dict[str, None] = {}
    for one in listener.kinds[:MOST_KINDS]:
        kind = next((kind for kind in possible if one.group == GROUP and one.kind == kind), None)
        if kind is not None:
            named[kind] = None
        else:
            unknown[f"{one.kind}.{one.group}" if one.group else one.kind] = None
    return tuple(named), tuple(unknown)
