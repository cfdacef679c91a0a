"""Whether a request for the admin port asks for a host that this port can be.  Pure.

A web page that somebody in the cluster, or with a port forwarded, looks at may let its own name point to our address
(DNS rebinding), and then read what we answer as if it were its own.  It cannot choose what the browser sends for
``Host``: that is its name.  So names are known or refused; addresses need no name, and cannot be rebound.
"""

import re
from collections.abc import Collection, Sequence
from ipaddress import ip_address

_FORM = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([^\s:/@\[\]]{1,255}))(?::[0-9]{0,5})?")


def is_known_host(fields: Sequence[bytes], names: Collection[str]) -> bool:
    """Say whether the values of ``Host`` are an IP address, ``localhost``, or one of *names*, in lower case.

    No field at all is fine: no browser leaves it out (RFC 9112 section 3.2).
    """
    return not fields or (len(fields) == 1 and _is_known(fields[0].decode("latin-1").strip(), names))


def _is_known(text: str, names: Collection[str]) -> bool:
    found = _FORM.fullmatch(text)
    if found is None:
        # As HTTP wants it of who has no host to name.
        return not text
    bracketed, host = found.groups()
    try:
        return ip_address(bracketed or host).version == (4 if bracketed is None else 6)
    except ValueError:
        return bracketed is None and host.lower().removesuffix(".") in {"localhost", *names}
