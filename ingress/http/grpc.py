"""Which requests are calls of gRPC, by what they say themselves (gRPC over HTTP2, "Requests")."""

from typing import Final

from ingress.http.field_values import first_value
from ingress.http.request_head import RequestHead

_GRPC: Final = b"application/grpc"


def is_grpc(head: RequestHead) -> bool:
    """Whether *head* begins a call of gRPC, so that whoever answers it has to answer with a ``grpc-status``.

    The media type may name a message format (``application/grpc+proto``) and have
    parameters; ``application/grpc-web`` is another protocol, whose status is in the body.
    """
    if not head.forward:
        return False
    media_type = first_value(head.forward, b"content-type").partition(b";")[0].rstrip(b" \t").lower()
    return media_type == _GRPC or media_type.startswith(_GRPC + b"+")
