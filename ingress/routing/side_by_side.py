"""Two tables side by side, as a port has them that Ingresses and Gateways share: whose a request is.

The more specific host decides: an exact one before wildcards, a longer wildcard before a shorter one, all hosts last.  What
decides is what each table would find; so a wildcard of the one that covers one label, and one of the
other that covers several, are compared only for hosts that both cover.  At the same host the first table has the request.
"""

from ingress.routing.table import RouteTable


def is_of_second(first: RouteTable, second: RouteTable, host: bytes) -> bool:
    """Whether a request for *host*, in normal form, is of the *second* table."""
    return how_specific(second.host_of(host)) > how_specific(first.host_of(host))


def how_specific(key: bytes | None) -> tuple[bool, int]:
    """Return what to compare by: how much *key*, by which a table found a host, says of it; None where it found none."""
    return (False, -1) if key is None else (bool(key) and not key.startswith(b"*"), len(key))
