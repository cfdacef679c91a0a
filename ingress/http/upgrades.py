"""Which upgrades of HTTP/1.1 may be asked of an endpoint, and what it may agree to (RFC 9110 section 7.8).

Those that are known to be used behind proxies.  All others are left out of the request, as a server may ignore them: HTTP of any version,
``h2c`` above all (RFC 9113 section 3.1 has done away with it), and TLS in the middle of a connection (RFC 2817) are such that requests inside of
the tunnel would reach the endpoint past every rule that is applied here, and of what nobody knows that cannot be said.
"""

import re
from typing import Final

from ingress.http.grammar import TOKEN

WEBSOCKET: Final = b"websocket"
"""RFC 6455 section 4.1; names of protocols are compared without regard to case."""

_RELAYED: Final = frozenset(
    (
        WEBSOCKET,
        # Of old kubectls and dashboards: exec, attach and port-forward of the Kubernetes API.
        b"spdy",
        # Of Docker: exec and attach.
        b"tcp",
        # Of Tailscale: its control servers (Headscale is one), and its relays.
        b"tailscale-control-protocol",
        b"derp",
    )
)
"""By the name, without the version behind the slash."""
_PROTOCOL: Final = TOKEN + rb"(?:/" + TOKEN + rb")?"
_is_list: Final = re.compile(_PROTOCOL + rb"(?:[ \t]*,[ \t]*" + _PROTOCOL + rb")*").fullmatch


def relayed_upgrade(value: bytes) -> bytes:
    """Return the value of ``Upgrade`` that an endpoint is sent, for that of a client; empty where nothing is asked of it.

    A list goes on as a whole or not at all: one that names what does not pass asks for it.
    """
    if not _is_list(value):
        return b""
    return value if all(name.partition(b"/")[0] in _RELAYED for name in _names_in(value)) else b""


def may_switch(asked: bytes, agreed: bytes) -> bool:
    """Whether an endpoint that was *asked* may say ``Upgrade: agreed`` in a 101: it names what was asked for, and nothing else."""
    return bool(asked and agreed) and _names_in(agreed) <= _names_in(asked)


def is_web_socket(asked: bytes) -> bool:
    """Whether a WebSocket, and nothing else, is *asked* for."""
    return asked.lower() == WEBSOCKET


def _names_in(value: bytes) -> set[bytes]:
    return {name.strip(b" \t") for name in value.lower().split(b",")}
