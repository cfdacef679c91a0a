"""The plane carries what Twisted's transports carry: the same tests, on its sockets."""

from tests.proxy import (
    test_sockets_client_certificates,
    test_sockets_downstreams,
    test_sockets_grpc,
    test_sockets_http2_upstreams,
    test_sockets_negotiating,
    test_sockets_passthrough,
    test_sockets_proxy_header,
    test_sockets_retries,
    test_sockets_streaming,
    test_sockets_tls,
    test_sockets_transport_security,
    test_sockets_tunnel,
    test_sockets_upstream_tls,
    test_sockets_upstreams,
)
from tests.proxy.sockets_case import SocketsCase


def _on_plane() -> None:
    """Make a class on the plane of each class of these modules."""
    modules = (
        test_sockets_client_certificates,
        test_sockets_downstreams,
        test_sockets_grpc,
        test_sockets_http2_upstreams,
        test_sockets_negotiating,
        test_sockets_passthrough,
        test_sockets_proxy_header,
        test_sockets_retries,
        test_sockets_streaming,
        test_sockets_tls,
        test_sockets_transport_security,
        test_sockets_tunnel,
        test_sockets_upstream_tls,
        test_sockets_upstreams,
    )
    for module in modules:
        for name, case in vars(module).items():
            if (
                isinstance(case, type)
                and issubclass(case, SocketsCase)
                and case.__module__ == module.__name__
            ):
                globals()[f"{name}OnPlane"] = type(
                    f"{name}OnPlane", (case,), {"use_plane": True, "__module__": __name__}
                )


_on_plane()
