"""Port services: ports of this controller, of TCP or of UDP, that lead to Services as the operator lists them in a ConfigMap."""

from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.cluster.problems import Problem
from ingress.model.frozen import frozen


@frozen
class PortService:
    """A port, and the Service that gets its connections or datagrams."""

    port: int
    service: ObjectKey
    service_port: int | str
    field: str
    """The entry that says so."""
    reads_header: bool = False
    """Whether connections begin with a PROXY header."""
    sends_header: bool = False
    """Whether endpoints get one."""


@frozen
class PortServices:
    """All of one protocol, with what is wrong with others."""

    key: ObjectKey
    """The ConfigMap that lists them."""
    services: tuple[PortService, ...] = ()
    """By port, each once."""
    problems: tuple[Problem, ...] = ()
    is_udp: bool = False
    """Whether the ports are those of UDP."""

    @property
    def owner(self) -> Owner:
        """What stands for the ConfigMap; what the operator lists counts as the oldest."""
        return Owner(Kind.CONFIG_MAP, self.key)
