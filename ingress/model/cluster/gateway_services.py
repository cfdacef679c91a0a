"""The Service that is kept for a Gateway which asks for labels or annotations on what is made for it.

It is inert: headless, without selector, so nothing leads anywhere by it.
"""

from typing import Final, NamedTuple

from ingress.model.frozen import frozen

SERVICES_WRITER: Final = "txingress-gateway-services"
"""The field manager of what we apply, the same for all installations: whose Gateway it is takes over with nothing left behind."""


class GatewayServicePort(NamedTuple):
    """A port of such a Service."""

    name: str
    number: int
    protocol: str = "TCP"


@frozen(weakref_slot=False)
class GatewayService:
    """What of such a Service is ours: as it is to be, or as the API server has it."""

    labels: tuple[tuple[str, str], ...]
    annotations: tuple[tuple[str, str], ...]
    """Both sorted."""
    ports: tuple[GatewayServicePort, ...]
    """Sorted by number and protocol."""
    gateway_uids: tuple[str, ...]
    """The Gateways with which it goes: there is to be one."""
    is_inert: bool = True
    """Whether it is a headless Service."""
