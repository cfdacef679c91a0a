"""From EndpointSlices to endpoints.

Source: ``discovery.k8s.io/v1``, EndpointSlice, and what kube-proxy makes of it:

- the port of a slice is the one with the *name* and the protocol of the Service port; its
  number is the slice's own, and may differ from slice to slice;
- an endpoint may be in several slices while slices are rewritten, and counts once;
- ready endpoints are used; when there are none, those which terminate but still
  serve, so that a rollout of a single pod drops nothing;
- a Service of two address families has every pod in slices of both.  The family of the
  cluster IP is used, being the one that this cluster's Services are reached by; the
  other one only when the first has nothing.  A Service without cluster IP states no
  preference, and all of its slices are used;
- of the ready endpoints, those that hints make ours are used (``ingress.model.locality``), unless none of them may be; the others
  stand by for when these fail, of which kube-proxy knows nothing;
- an endpoint that nobody may be sent to (``ingress.translate.endpoint_rules``) is left out, and told.
"""

import ipaddress
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final

from ingress.annotations.values import quoted
from ingress.model.backends import BackendState, Endpoint
from ingress.model.endpoint_states import EndpointStage
from ingress.model.locality import NO_HINTS, Locality, nearest
from ingress.model.many_ports import ports_like
from ingress.model.objects import EndpointSlice, Service, ServicePort
from ingress.model.problems import Problem, Reason
from ingress.translate.endpoint_rules import OPTION, EndpointRules, Pair, is_harmless

_ADDRESS_TYPES = ("IPv4", "IPv6")
_HIGHEST_PORT = 65535
# An IPv4 address as ``ipaddress`` would spell it, which takes ten times as long to say so.
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_PLAIN_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")

_READY: Callable[[EndpointSlice], tuple[str, ...]] = attrgetter("ready")
_DRAINING: Callable[[EndpointSlice], tuple[str, ...]] = attrgetter("draining")
# Not by its name, which takes twice as long.
_new: Final = tuple.__new__

_Numbered = Sequence[tuple[EndpointSlice, int]]
"""Slices of one family, each with its number of the port."""
_Addresses = dict[int, set[str]]
"""Addresses by the number of their port."""


def slice_endpoints(
    service: Service,
    port: ServicePort,
    slices: Iterable[EndpointSlice],
    rules: EndpointRules,
    api_servers: Collection[Pair],
    locality: Locality | None = None,
) -> BackendState:
    """Return the usable endpoints of *port* of *service*, or why there are none.

    By *rules*, some are refused; *api_servers* is where the API server is.  Hints count for *locality*, and not without one.
    """
    usable = [one for one in slices if one.address_type in _ADDRESS_TYPES]
    if not usable:
        return BackendState(reason=f"no EndpointSlice of Service {service.key} has IP addresses")
    with_port = _with_port(usable, port)
    if not with_port:
        name = f"named {quoted(port.name)}" if port.name else "without a name"
        return BackendState(
            reason=f"no EndpointSlice of Service {service.key} has a {port.protocol} port {name}"
        )
    groups = _families(service, with_port)
    problems: list[Problem] = []
    for usable_of in (_READY, _DRAINING):
        for group in groups:
            near = _near(group, locality) if locality is not None and usable_of is _READY else None
            found: _Addresses = {}
            ours: _Addresses = {}
            for one, number in group:
                addresses = _usable(one, number, usable_of(one), rules, api_servers, problems)
                found.setdefault(number, set()).update(addresses)
                if near is not None:
                    hinted = zip(addresses, one.hints, strict=False)
                    ours.setdefault(number, set()).update(
                        [text for text, hints in hinted if id(hints) in near]
                    )
            endpoints = _in_order(ours)
            if endpoints:
                others = {number: texts - ours[number] for number, texts in found.items()}
                return BackendState(endpoints, problems=tuple(sorted(problems)), elsewhere=_in_order(others))
            endpoints = _in_order(found)
            if endpoints:
                return BackendState(endpoints, problems=tuple(sorted(problems)))
    if problems:
        message = f"no endpoint of Service {service.key} may be connected to"
        return BackendState(reason=message, problems=tuple(sorted(problems)))
    count = len({text for one, _ in with_port for text in (*one.ready, *one.draining, *one.unready)})
    if not count:
        return BackendState(reason=f"Service {service.key} has no endpoints")
    return BackendState(reason=f"none of the {count} endpoints of Service {service.key} is ready")


def _in_order(addresses: _Addresses) -> tuple[Endpoint, ...]:
    """Return the endpoints at *addresses*, which are sorted as texts: in a tenth of the time that endpoints take."""
    for texts in addresses.values():
        texts.discard("")
    if len(addresses) == 1:
        ((number, texts),) = addresses.items()
        return tuple([_new(Endpoint, (text, number, None)) for text in sorted(texts)])
    pairs = sorted([(text, number) for number, texts in addresses.items() for text in texts])
    return tuple([_new(Endpoint, (text, number, None)) for text, number in pairs])


def passed_over(
    port: ServicePort,
    slices: Iterable[EndpointSlice],
    used: Collection[Endpoint],
    locality: Locality | None = None,
) -> Iterator[tuple[Endpoint, EndpointStage]]:
    """Yield the endpoints of *port* that get no requests: they are not ready, or hints make others ours, among them those *used*.

    What is ready and may not be connected to is none of these, and told as a problem.
    """
    with_port = _with_port((one for one in slices if one.address_type in _ADDRESS_TYPES), port)
    families = {_family(one.address) for one in used}
    group = [pair for pair in with_port if pair[0].address_type in families]
    near = None if locality is None else _near(group, locality)
    # Whatever connections to those in use are.
    ours: set[tuple[str | None, int]] = {(one.address, one.port) for one in used}
    if near is not None:
        for one, number in group:
            hinted = zip(one.ready, one.hints, strict=False)
            ours.update(
                (_address(one.address_type, text), number) for text, hints in hinted if id(hints) in near
            )
    for one, number in with_port:
        is_hinted = near is not None and one.address_type in families
        for texts, stage in (
            (one.draining, EndpointStage.TERMINATING),
            (one.unready, EndpointStage.NOT_READY),
            (one.ready if is_hinted else (), EndpointStage.ELSEWHERE),
        ):
            for text in texts:
                address = _address(one.address_type, text)
                if address is None:
                    continue
                if stage is not EndpointStage.ELSEWHERE or (address, number) not in ours:
                    yield Endpoint(address, number), stage


def _families(service: Service, slices: _Numbered) -> Sequence[_Numbered]:
    """Return *slices* by family, that of *service* first; together where none is preferred."""
    # One slice has one family.
    preferred = _family(service.cluster_ip) if len(slices) > 1 else None
    if preferred is None:
        return [slices]
    return [
        [pair for pair in slices if pair[0].address_type == preferred],
        [pair for pair in slices if pair[0].address_type != preferred],
    ]


def _near(slices: _Numbered, locality: Locality) -> Collection[int] | None:
    """Return the ``id`` of each of the hints that are for *locality*; None where hints do not count.

    The same hints are one object in most places, and objects are compared in a tenth of the time that hints are.
    """
    if not any(one.hints for one, _ in slices):
        return None
    distinct = {id(hints): hints for one, _ in slices for hints in one.hints or (NO_HINTS,) * bool(one.ready)}
    is_near = nearest(distinct.values(), locality)
    return None if is_near is None else {key for key, hints in distinct.items() if is_near(hints)}


def _usable(
    one: EndpointSlice,
    number: int,
    texts: tuple[str, ...],
    rules: EndpointRules,
    api_servers: Collection[Pair],
    problems: list[Problem],
) -> Sequence[str]:
    """Return the addresses of *texts*, which *one* has, to connect to by port *number*; add to *problems* why some are refused.

    They are in their order, and empty where they are refused.
    """
    is_plain = one.address_type == "IPv4" and number not in rules.ports
    if is_plain and all(number != other for _, other in api_servers) and all(map(is_harmless, texts)):
        return texts
    addresses: list[str] = []
    refused: dict[str, str] = {}
    hint = ""
    for text in texts:
        address = _address(one.address_type, text)
        addresses.append("")
        if address is None:
            refused[quoted(text)] = f"is no {one.address_type} address"
            continue
        fault = rules.address_fault(address)
        if fault is not None:
            refused[address] = fault
            hint = f"; {OPTION} is for exceptions"
            continue
        fault = rules.port_fault(address, number, api_servers)
        if fault is None:
            addresses[-1] = address
        else:
            refused[str(Endpoint(address, number))] = fault
            hint = f"; {OPTION} is for exceptions"
    if refused:
        (first, why), *_ = refused.items()
        more = f", nor to {len(refused) - 1} more of its endpoints" if len(refused) > 1 else ""
        message = f"no request for Service {one.service} goes to {first}, which {why}{more}{hint}"
        key = one.key
        problems.append(
            Problem("EndpointSlice", key.namespace, key.name, Reason.ENDPOINT_FORBIDDEN, message, "endpoints")
        )
    return addresses


def is_address(text: str) -> bool:
    """Say whether *text* is an IP address; the cluster IP of a headless Service is none."""
    return _family(text) is not None


def _with_port(slices: Iterable[EndpointSlice], port: ServicePort) -> _Numbered:
    return [(one, number) for one in slices if (number := _number(one, port)) is not None]


def _number(one: EndpointSlice, port: ServicePort) -> int | None:
    for candidate in ports_like(one.ports, port.name):
        if candidate.name == port.name and candidate.protocol == port.protocol:
            number = candidate.number
            # No number would mean "any port", which says nothing about where to connect.
            if number is not None and 0 < number <= _HIGHEST_PORT:
                return number
    return None


def _family(address: str) -> str | None:
    if _PLAIN_IPV4.fullmatch(address):
        return "IPv4"
    try:
        return f"IPv{ipaddress.ip_address(address).version}"
    except ValueError:
        return None


def _address(address_type: str, text: str) -> str | None:
    """Return the address to connect to, spelled in one way; None when it is not of the slice's type."""
    if _PLAIN_IPV4.fullmatch(text):
        return text if address_type == "IPv4" else None
    if "%" in text:
        # A zone means something on one machine alone.
        return None
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return str(address) if f"IPv{address.version}" == address_type else None
