"""What a family may know of a host when it makes filters of what was asked: what became of TLS, and who answers else."""

from typing import Final

from ingress.annotations.contract.snippet_blocks import EMPTY, Snippet
from ingress.model.frozen import frozen
from ingress.model.upstream.backends import BackendReference


@frozen(cache_hash=True)
class CertifiedHosts:
    """Hosts that are to be visited over HTTPS, for a route that takes more hosts than those.

    *suffixes* are those of wildcards: ``.example.com`` stands for one label more, never for
    two; *excepted* are hosts that a suffix does not stand for.
    """

    names: frozenset[bytes] = frozenset()
    suffixes: frozenset[bytes] = frozenset()
    excepted: frozenset[bytes] = frozenset()

    def __contains__(self, host: bytes) -> bool:
        if host in self.names:
            return True
        dot = host.find(b".")
        return dot > 0 and host[dot:] in self.suffixes and host not in self.excepted


EVERY_HOST: Final = CertifiedHosts()
"""Stands for all hosts of a route; compared by identity."""


@frozen
class HostFacts:
    """Facts of the host whose routes get filters; all routes of one owner there get the same."""

    host: str = ""
    """As in a rule, in lower case: ``a.example.com``, ``*.example.com``, or empty for all hosts."""
    certified: CertifiedHosts | None = None
    """Which hosts of its routes have a certificate of their own, ``EVERY_HOST`` for all; None for none of them."""
    https_port: int = 443
    """Where browsers reach our HTTPS."""
    default_backend: BackendReference | None = None
    """The operator's own, who answers where nothing else does; None where there is none."""
    server_snippet: Snippet = EMPTY
    """What ``server-snippet`` of an Ingress has for these routes."""
    keeps_slash: bool = False
    """Whether the redirect to HTTPS repeats the slash at the end of a path where nobody asks for that."""
