"""The fields of heads that nobody but the proxy sets or takes away, whoever asks for it: names in lower case.

Whoever could say them would end a message where it does not end, or change what a connection is (RFC 9110 sections 7.6 and 10.1,
RFC 9112 section 6).
"""

from typing import Final

RESERVED_FIELDS: Final = frozenset(
    (
        "connection",
        "content-length",
        "http2-settings",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
"""Those that frame a message, or belong to one connection."""
RESERVED_FIELDS_OF_REQUESTS: Final = RESERVED_FIELDS | {"expect", "host"}
"""Of requests, also what the proxy answers by itself, and what it has found the route by."""
