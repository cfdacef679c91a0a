"""The constants of a route: the variables of templates whose values its own objects decide.

A family whose templates name one of ``OF_PATH`` makes other filters for each path and backend: it is ``by_path``.
"""

from collections.abc import Mapping
from typing import Final

from ingress.annotations.contract.route_facts import RouteFacts

OF_PATH: Final = frozenset(
    ("location_path", "proxy_host", "proxy_upstream_name", "service_name", "service_port")
)
"""Those that are others for each path or backend."""


def route_constants(facts: RouteFacts) -> Mapping[str, str]:
    """Return the constants of a route by name, for ``Template.bound``; what it lacks is empty.

    As in ingress-nginx, ``$server_name`` is the host of the rule, and ``_`` for hosts that no rule names; and
    ``$proxy_host`` is what the backend is called.
    """
    owner, backend = facts.owner, facts.backend
    namespace = "" if owner is None else owner.key.namespace
    service = "" if backend is None else backend.name
    port = "" if backend is None else str(backend.port)
    called = f"{namespace}-{service}-{port}" if backend is not None else ""
    return {
        "ingress_name": "" if owner is None else owner.key.name,
        "location_path": facts.path,
        "namespace": namespace,
        "proxy_host": called,
        "proxy_upstream_name": called,
        "server_name": facts.host.host or "_",
        "service_name": service,
        "service_port": port,
    }
