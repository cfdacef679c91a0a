"""Which external names may be dialed when ExternalName Services are allowed.

The name is a tenant's, and the controller dials it from inside the cluster.  So a name
that stands for the controller's own host, or an address of the node or of a cloud's
metadata service, is refused here; what a name resolves to is for the proxy to check
when it has resolved it.
"""

import ipaddress
import re

from ingress.model.network.addresses import address_fault
from ingress.routing.hosts import check_rule_host

# What a resolver may still read as an address: 127.1, 0x7f.1, 2130706433.
_ENDS_IN_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)", re.DOTALL)


def external_name_fault(name: str) -> str | None:
    """Say why *name* must not be dialed, or None when it may be."""
    host = name.lower().removesuffix(".")
    if not host:
        return "is empty"
    try:
        ipaddress.ip_address(host)
    except ValueError:
        if host == "localhost" or host.endswith(".localhost"):
            return "is the controller's own host"
        if _ENDS_IN_NUMBER.fullmatch(host):
            return "is a number, which resolvers may take for an address"
        if host.startswith("*"):
            return "is a wildcard"
        return check_rule_host(host)
    return address_fault(host)
