"""What an ingress-nginx listens at in its container.  Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from ingress.ctl.inputs.ingress_nginx.taken_arguments import REFUSED, Taken
from ingress.model.frozen import frozen

_PORTS: Final = {"http": ("http-port", 80), "https": ("https-port", 443)}
"""The ports of HTTP and HTTPS by their names in ``k8s/``, each with the argument that says its number, and the number without it."""
_SERVICES: Final = {"TCP": "tcp-services-configmap", "UDP": "udp-services-configmap"}
"""The protocols that there are services of, as a Service calls them, each with the argument that names their ConfigMap."""


@frozen
class Traffic:
    """The numbers of its *ports* of HTTP and HTTPS by their names in ``k8s/``, and the protocols that it may have services of, as a Service calls them."""

    ports: Mapping[str, int]
    services: frozenset[str] = frozenset()

    def name_of(self, number: int) -> str:
        """Return the name of the port of TCP with this *number*; empty for another one."""
        return next((name for name, one in self.ports.items() if one == number), "")


def traffic_of(taken: Iterable[Taken]) -> Traffic:
    """Return what it listens at by its arguments: what its container calls ports says nothing of that."""
    # What is no number may be any text.
    given = {one.name: one.given.partition("=")[2] for one in taken if one.becomes != REFUSED}
    found: dict[str, int] = {}
    for name, (argument, usual) in _PORTS.items():
        text = given.get(argument, "")
        found[name] = int(text) if text.isdecimal() else usual
    services = (protocol for protocol, argument in _SERVICES.items() if given.get(argument))
    return Traffic(found, frozenset(services))
