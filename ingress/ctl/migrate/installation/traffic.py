"""What an ingress-nginx listens at in its container.  Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from ingress.ctl.inputs.taken_arguments import Taken
from ingress.model.frozen import frozen

_PORTS: Final = {"http": ("http-port", 80), "https": ("https-port", 443)}
"""The ports of HTTP and HTTPS by their names in ``k8s/``, each with the argument that says its number, and the number without it."""
_TCP_SERVICES: Final = "tcp-services-configmap"


@frozen
class Traffic:
    """The numbers of its *ports* of HTTP and HTTPS by their names in ``k8s/``, and whether there may be any for services of TCP."""

    ports: Mapping[str, int]
    has_tcp_services: bool = False

    def name_of(self, number: int) -> str:
        """Return the name of the port with this *number*; empty for another one."""
        return next((name for name, one in self.ports.items() if one == number), "")


def traffic_of(taken: Iterable[Taken]) -> Traffic:
    """Return what it listens at by its arguments: what its container calls ports says nothing of that."""
    given = {one.name: one.given.partition("=")[2] for one in taken}
    found: dict[str, int] = {}
    for name, (argument, usual) in _PORTS.items():
        text = given.get(argument, "")
        found[name] = int(text) if text.isdecimal() else usual
    return Traffic(found, bool(given.get(_TCP_SERVICES)))
