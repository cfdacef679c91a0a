"""Where a route leads: the backend it names, and the endpoints found behind it.

Keys are tuples, for the same reasons as ``ingress.model.cluster.objects.ObjectKey``.
"""

from typing import NamedTuple, TypeGuard, cast

from attrs import field

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Problem
from ingress.model.frozen import frozen
from ingress.model.text.packed_texts import MOST_PACKED, packed, unpacked
from ingress.model.upstream.upstream_tls import LinkSettings, UpstreamProtocol


class BackendReference(NamedTuple):
    """What an Ingress names as its backend; the key under which endpoints are found.

    *port* is a Service port: its number, its name, or empty for "the first one"
    (only default backends may leave it out).  *kind* is ``Service``,
    or ``KIND.APIGROUP`` of a resource backend, for which *port* is empty.  *protocol* is how
    its endpoints are to be spoken to, so the same Service may be several backends; *by_cluster_ip* says whether
    the Service is asked as a whole, None that the operator decides.
    """

    namespace: str
    name: str
    port: int | str = ""
    kind: str = "Service"
    protocol: UpstreamProtocol = None
    by_cluster_ip: bool | None = None

    def __str__(self) -> str:
        what = "" if self.kind == "Service" else f"{self.kind} "
        port = f":{self.port}" if self.port else ""
        said = "" if self.protocol is None else str(self.protocol)
        how = f" ({said})" if said else ""
        via = "" if not self.by_cluster_ip else " (by cluster IP)"
        return f"{what}{self.namespace}/{self.name}{port}{how}{via}"


class Endpoint(NamedTuple):
    """One address and port to send requests to; *address* is an IP or, if need be, a name.

    *link_settings* are what a connection must be beyond TCP.  What is kept of an endpoint (idle
    connections, sessions, its turn) is kept under all three, so nothing that was made on some
    settings serves others.  None, for most, costs nothing to hash.
    """

    address: str
    port: int
    link_settings: LinkSettings | None = None

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


@frozen
class ManualEndpoint:
    """``--endpoint``: where a Service of the manifests runs when no EndpointSlice says so.

    *service* None means any Service, *port* empty any of its ports (else the
    Service port's number or name).
    """

    service: ObjectKey | None
    port: int | str
    endpoint: Endpoint


_Kept = tuple[Endpoint, ...] | str | tuple[str, LinkSettings]
"""Endpoints; or where they are few and have port and settings in common, that port and their addresses as one text, with settings, if any, behind it."""


def _kept(endpoints: _Kept) -> _Kept:
    if not endpoints or len(endpoints) >= MOST_PACKED or not _are_endpoints(endpoints):
        return endpoints
    _, port, settings = endpoints[0]
    for _, its_port, its_settings in endpoints:
        if its_port != port or (its_settings is not settings and its_settings != settings):
            return endpoints
    text = packed((str(port), *[endpoint.address for endpoint in endpoints]))
    if not isinstance(text, str):
        return endpoints
    return text if settings is None else (text, settings)


def _are_endpoints(kept: _Kept) -> TypeGuard[tuple[Endpoint, ...]]:
    return isinstance(kept, tuple) and isinstance(kept[0], Endpoint)


def _unkept(kept: _Kept) -> tuple[Endpoint, ...]:
    if not kept:
        return ()
    if _are_endpoints(kept):
        return kept
    text, settings = (kept, None) if isinstance(kept, str) else cast("tuple[str, LinkSettings]", kept)
    number, *addresses = unpacked(text)
    port = int(number)
    return tuple([Endpoint(address, port, settings) for address in addresses])


@frozen(weakref_slot=False)
class BackendState:
    """The usable endpoints of a backend, sorted; when there are none, *reason* says why.

    Of tens of thousands of backends few are asked at a time, and of nearly all the endpoints have one port.  So this and their
    addresses are kept as one text, in a fifth of the memory, and *endpoints* are made anew whenever somebody asks for them.
    """

    _endpoints: _Kept = field(default=(), converter=_kept)
    reason: str = ""
    problems: tuple[Problem, ...] = ()
    """Why others, which objects name, are not used."""
    is_broken: bool = False
    """Whether it leads nowhere as it is written; a Service without endpoints is not."""
    _elsewhere: _Kept = field(default=(), converter=_kept)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """All that may be used; where hints count, those near by."""
        return _unkept(self._endpoints)

    @property
    def elsewhere(self) -> tuple[Endpoint, ...]:
        """Those that hints make other zones' or nodes', sorted: they may be used as long as those near by fail."""
        return _unkept(self._elsewhere)
