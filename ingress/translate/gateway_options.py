"""What the operator decides about the Gateway API."""

from typing import Final

from ingress.model.frozen import frozen

CONTROLLER_NAME: Final = "txingress.dev/gateway"
"""What a GatewayClass names as its controller to be ours, unless the operator says otherwise."""


@frozen
class GatewayOptions:
    """What the operator decided.

    Without *addresses* all Gateways share those of the process: a listener is open on all of them, and where the command line
    listens on the same port, Ingresses and routes are served side by side.  With some, each Gateway has one of its own.
    """

    is_served: bool = True
    """Whether anything of the Gateway API is read."""
    controller_name: str = CONTROLLER_NAME
    addresses: tuple[str, ...] = ()
    """IP addresses of this machine."""
    ports: tuple[int, ...] = ()
    """Ports on which listeners may be; none at all means any that the controller does not use itself."""

    # What follows from other settings (``ingress.settings``).
    own_ports: tuple[int, ...] = ()
    """Ports of the pages for operators."""
    published: tuple[str, ...] = ()
    """IP addresses by which the operator says that this process is reached."""
