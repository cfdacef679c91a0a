"""From EndpointSlices to endpoints.

Source: ``discovery.k8s.io/v1``, EndpointSlice, and what kube-proxy makes of it:

- the port of a slice is the one with the *name* and the protocol of the Service port; its
  number is the slice's own, and may differ from slice to slice;
- where a slice has none of that name, as some that people write, or that are made of their Endpoints, it is the number of ``targetPort``, and for a
  port without a name the only one of the slice: kube-proxy has no endpoint there, and ingress-nginx this one;
- an endpoint may be in several slices while slices are rewritten, and counts once;
- ready endpoints are used; when there are none, those which terminate but still
  serve, so that a rollout of a single pod drops nothing;
- a Service of two address families has every pod in slices of both.  The family of the
  cluster IP is used, being the one that this cluster's Services are reached by; the
  other one only when the first has nothing.  A Service without cluster IP states no
  preference, and all of its slices are used;
- of the ready endpoints, those that hints make ours are used (``ingress.model.cluster.locality``), unless none of them may be; the others
  stand by for when these fail, of which kube-proxy knows nothing;
- an endpoint that nobody may be sent to (``ingress.translate.endpoints.endpoint_rules``) is left out, and told.

A Service has thousands of endpoints, or tens of thousands where somebody writes slices for the sake of it, and each pod that comes or
goes has all of them found again.  So they are found in steps.
"""

import ipaddress
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import Final

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.locality import Hints, Locality, nearest
from ingress.model.cluster.many_ports import FEW_PORTS, ports_like
from ingress.model.cluster.objects import EndpointSlice, Service, ServicePort
from ingress.model.cluster.problems import ORDER, Problem, Reason
from ingress.model.observability.endpoint_states import EndpointStage
from ingress.model.stepwise import Stepwise, in_order
from ingress.model.text.packed_texts import MOST_PACKED
from ingress.model.upstream.backends import BackendState, Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.translate.endpoints.endpoint_rules import OPTION, EndpointRules, Pair, is_harmless

_ADDRESS_TYPES = ("IPv4", "IPv6")
_HIGHEST_PORT = 65535
# An IPv4 address as ``ipaddress`` would spell it, which takes ten times as long to say so.
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_PLAIN_IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")

_READY: Callable[[EndpointSlice], tuple[str, ...]] = attrgetter("ready")
_DRAINING: Callable[[EndpointSlice], tuple[str, ...]] = attrgetter("draining")
_ADDRESS: Callable[[Endpoint], str] = itemgetter(0)
_PLACE: Final[Callable[[Endpoint], Pair]] = itemgetter(0, 1)
NOTHING_BEFORE: Final = BackendState()
"""The state of a backend that had none."""
# Not by its name, which takes twice as long.
_new: Final = tuple.__new__

_WORK_A_STEP: Final = 500
"""Plain addresses of IPv4 that are looked at in one step, which takes some tenths of a millisecond."""
_LIKE_A_SLICE: Final = 2
_LIKE_ANOTHER: Final = 20
"""So many of them take as long as a slice, and as any other address."""
_HINTS_LIKE_ONE: Final = 5
"""So many hints are noted in the time of one."""
_LOOKED_UP: Final = 4
"""So many of them take as long as an address that is looked up by itself."""
_TOGETHER: Final = 100
_SORTED_TOGETHER: Final = 2500
"""Addresses that are sorted in as much time, as texts."""

_Numbered = Sequence[tuple[EndpointSlice, int]]
"""Slices of one family, each with its number of the port."""
_Addresses = dict[int, dict[str, None]]
"""Addresses by the number of their port, each once; an empty one is none."""


class _Pace:
    """Says when a step was long enough."""

    def __init__(self) -> None:
        self._work = 0

    def is_over(self, work: int) -> bool:
        """Whether the step ends behind so much *work*, in plain addresses of IPv4."""
        self._work += work
        if self._work < _WORK_A_STEP:
            return False
        self._work = 0
        return True


def finding_endpoints(
    service: Service,
    port: ServicePort,
    slices: Iterable[EndpointSlice],
    rules: EndpointRules,
    api_servers: Collection[Pair],
    locality: Locality | None = None,
    settings: LinkSettings | None = None,
    before: BackendState = NOTHING_BEFORE,
) -> Stepwise[BackendState]:
    """Find the usable endpoints of *port* of *service*, or why there are none, in *slices* as they are at the first step.

    By *rules*, some are refused; *api_servers* is where the API server is.  Hints count for *locality*, and not without one.
    Connections to them are to have *settings*.  Nearly all of very many are as they were *before*, and are those then.
    """
    usable = [one for one in slices if one.address_type in _ADDRESS_TYPES]
    if not usable:
        return BackendState(reason=f"no EndpointSlice of Service {service.key} has IP addresses")
    pace = _Pace()
    with_port: list[tuple[EndpointSlice, int]] = []
    for one in usable:
        with_port += _with_port((one,), port)
        if pace.is_over(_LIKE_A_SLICE):
            yield
    if not with_port:
        name = f"named {quoted(port.name)}" if port.name else "without a name"
        return BackendState(
            reason=f"no EndpointSlice of Service {service.key} has a {port.protocol} port {name}"
        )
    groups = _families(service, with_port)
    problems: list[Problem] = []
    for usable_of in (_READY, _DRAINING):
        for group in groups:
            near: Collection[int] | None = None
            if locality is not None and usable_of is _READY:
                near = yield from _near(group, locality, pace)
            found: _Addresses = {}
            ours: _Addresses = {}
            for one, number in group:
                if pace.is_over(_LIKE_A_SLICE):
                    yield
                hints = iter(one.hints)
                for addresses, work in _usable(one, number, usable_of(one), rules, api_servers, problems):
                    found.setdefault(number, {}).update(dict.fromkeys(addresses))
                    if near is not None:
                        hinted = zip(addresses, hints, strict=False)
                        ours.setdefault(number, {}).update(
                            {text: None for text, its in hinted if id(its) in near}
                        )
                    if pace.is_over(work):
                        yield
            are_many = sum(map(len, found.values())) >= MOST_PACKED
            were = before if are_many else NOTHING_BEFORE
            endpoints = yield from _in_order(ours, {}, settings, pace, were.endpoints)
            elsewhere: tuple[Endpoint, ...] = ()
            if endpoints:
                elsewhere = yield from _in_order(found, ours, settings, pace, were.elsewhere)
            else:
                endpoints = yield from _in_order(found, {}, settings, pace, were.endpoints)
            if endpoints:
                told = yield from in_order(problems, ORDER)
                return BackendState(endpoints, problems=tuple(told), elsewhere=elsewhere)
    if problems:
        message = f"no endpoint of Service {service.key} may be connected to"
        return BackendState(reason=message, problems=tuple((yield from in_order(problems, ORDER))))
    known: set[str] = set()
    for one, _ in with_port:
        count = len(known)
        known.update(one.ready, one.draining, one.unready)
        if pace.is_over(_LIKE_A_SLICE + len(known) - count):
            yield
    if not known:
        return BackendState(reason=f"Service {service.key} has no endpoints")
    whose = f"of Service {service.key} is"
    if len(known) == 1:
        return BackendState(reason=f"the only endpoint {whose} not ready")
    return BackendState(reason=f"none of the {len(known)} endpoints {whose} ready")


def _in_order(
    addresses: _Addresses,
    besides: _Addresses,
    settings: LinkSettings | None,
    pace: _Pace,
    before: tuple[Endpoint, ...],
) -> Stepwise[tuple[Endpoint, ...]]:
    """Find the endpoints at *addresses* that are not at *besides*, sorted: as texts, which takes a tenth of the time that endpoints take."""
    endpoints: list[Endpoint] = []
    for number in (yield from in_order(addresses)):
        others = besides.get(number, {})
        texts = yield from in_order(addresses[number], at_once=_SORTED_TOGETHER)
        if pace.is_over(_LIKE_A_SLICE):
            yield
        for begin in range(0, len(texts), _WORK_A_STEP):
            some = texts[begin : begin + _WORK_A_STEP]
            made = [_new(Endpoint, (text, number, settings)) for text in some if text and text not in others]
            endpoints += _shared(made, before)
            if pace.is_over(len(some)):
                yield
    if len(addresses) > 1:
        endpoints = yield from in_order(endpoints, _ADDRESS)
    return tuple(endpoints)


def _shared(some: list[Endpoint], before: tuple[Endpoint, ...]) -> Sequence[Endpoint]:
    """Return *some* with those *before* in the place of equal ones: what is one object is compared and freed in no time."""
    if not some or not before:
        return some
    place = bisect_left(before, _PLACE(some[0]), key=_PLACE)
    known = before[place : place + len(some)]
    if known == tuple(some):
        return known
    there = {one: one for one in known}
    return [there.get(one, one) for one in some]


def passed_over(
    port: ServicePort,
    slices: Iterable[EndpointSlice],
    used: Collection[Endpoint],
    locality: Locality | None = None,
) -> Generator[tuple[Endpoint, EndpointStage] | None, None, None]:
    """Yield the endpoints of *port* that get no requests: they are not ready, or hints make others ours, among them those *used*.

    None is the end of a step.  What is ready and may not be connected to is none of these, and told as a problem.
    """
    pace = _Pace()
    with_port = _with_port((one for one in slices if one.address_type in _ADDRESS_TYPES), port)
    families: set[str | None] = set()
    # Whatever connections to those in use are.
    ours: set[tuple[str | None, int]] = set()
    for endpoint in used:
        families.add(_family(endpoint.address))
        ours.add((endpoint.address, endpoint.port))
        if pace.is_over(_LOOKED_UP):
            yield None
    group = [pair for pair in with_port if pair[0].address_type in families]
    near = None if locality is None else (yield from _near(group, locality, pace))
    if near is not None:
        for one, number in group:
            for text, hints in zip(one.ready, one.hints, strict=False):
                if id(hints) in near:
                    ours.add((_address(one.address_type, text), number))
                if pace.is_over(_LOOKED_UP):
                    yield None
    for one, number in with_port:
        is_hinted = near is not None and one.address_type in families
        for texts, stage in (
            (one.draining, EndpointStage.TERMINATING),
            (one.unready, EndpointStage.NOT_READY),
            (one.ready if is_hinted else (), EndpointStage.ELSEWHERE),
        ):
            for text in texts:
                if pace.is_over(_LOOKED_UP):
                    yield None
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


def _near(slices: _Numbered, locality: Locality, pace: _Pace) -> Stepwise[Collection[int] | None]:
    """Find the ``id`` of each of the hints that are for *locality*; None where hints do not count.

    The same hints are one object in most places, and objects are compared in a tenth of the time that hints are.
    """
    distinct: dict[int, Hints] = {}
    for one, _ in slices:
        if not one.hints and one.ready:
            return None
        if pace.is_over(_LIKE_A_SLICE):
            yield
        for begin in range(0, len(one.hints), _WORK_A_STEP):
            some = one.hints[begin : begin + _WORK_A_STEP]
            distinct.update(zip(map(id, some), some, strict=True))
            if pace.is_over(len(some) // _HINTS_LIKE_ONE):
                yield
    found = yield from nearest(tuple(distinct.values()), locality)
    return None if found is None else frozenset(map(id, found))


def _usable(
    one: EndpointSlice,
    number: int,
    texts: tuple[str, ...],
    rules: EndpointRules,
    api_servers: Collection[Pair],
    problems: list[Problem],
) -> Iterator[tuple[Sequence[str], int]]:
    """Yield the addresses of *texts*, which *one* has, to connect to by port *number*, some at a time, with the work that it was.

    They are in their order, and empty where they are refused; why some are is added to *problems* behind the last.
    """
    is_plain = (
        one.address_type == "IPv4"
        and number not in rules.ports
        and all(number != other for _, other in api_servers)
    )
    refused: dict[str, str] = {}
    hint = ""
    for begin in range(0, len(texts), _TOGETHER):
        some = texts[begin : begin + _TOGETHER]
        if is_plain and all(map(is_harmless, some)):
            yield some, len(some)
            continue
        for text in some:
            address = _address(one.address_type, text)
            if address is None:
                refused[quoted(text)] = f"is no {one.address_type} address"
            elif (fault := rules.address_fault(address)) is not None:
                refused[address] = fault
                hint = f"; {OPTION} is for exceptions"
            elif (fault := rules.port_fault(address, number, api_servers)) is not None:
                refused[str(Endpoint(address, number))] = fault
                hint = f"; {OPTION} is for exceptions"
            else:
                yield (address,), _LIKE_ANOTHER
                continue
            yield ("",), _LIKE_ANOTHER
    if refused:
        (first, why), *_ = refused.items()
        more = f", nor to {len(refused) - 1} more of its endpoints" if len(refused) > 1 else ""
        message = f"no request for Service {one.service} goes to {first}, which {why}{more}{hint}"
        key = one.key
        problems.append(
            Problem("EndpointSlice", key.namespace, key.name, Reason.ENDPOINT_FORBIDDEN, message, "endpoints")
        )


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
    return _unnamed_number(one, port)


def _unnamed_number(one: EndpointSlice, port: ServicePort) -> int | None:
    """Return the number of *port* where *one* has none of its name; None where it has very many, which nobody wrote by hand."""
    if len(one.ports) > FEW_PORTS:
        return None
    spoken = [candidate.number for candidate in one.ports if candidate.protocol == port.protocol]
    if one.ports and not spoken:
        return None
    if not port.name and len(spoken) == 1:
        number = spoken[0]
        return number if number is not None and 0 < number <= _HIGHEST_PORT else None
    return port.target_number


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
