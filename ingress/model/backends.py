"""Where a route leads: the backend it names, and the endpoints found behind it.

Keys are tuples, for the same reasons as ``ingress.model.objects.ObjectKey``.
"""

from typing import NamedTuple

from ingress.model.frozen import frozen
from ingress.model.objects import ObjectKey
from ingress.model.problems import Problem
from ingress.model.upstream_tls import LinkSettings, UpstreamProtocol


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


@frozen(weakref_slot=False)
class BackendState:
    """The usable endpoints of a backend, sorted; when there are none, *reason* says why."""

    endpoints: tuple[Endpoint, ...] = ()
    reason: str = ""
    problems: tuple[Problem, ...] = ()
    """Why others, which objects name, are not used."""
    is_broken: bool = False
    """Whether it leads nowhere as it is written; a Service without endpoints is not."""
