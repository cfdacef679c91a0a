"""The epoll set carries what Twisted's transports carry: the same tests, on its sockets."""

from tests.proxy.sockets import test_grpc as test_sockets_grpc
from tests.proxy.sockets import test_streaming as test_sockets_streaming
from tests.proxy.sockets import test_tunnel as test_sockets_tunnel
from tests.proxy.sockets.downstream import test_client_certificates as test_sockets_client_certificates
from tests.proxy.sockets.downstream import test_downstreams as test_sockets_downstreams
from tests.proxy.sockets.downstream import test_negotiating as test_sockets_negotiating
from tests.proxy.sockets.downstream import test_proxy_header as test_sockets_proxy_header
from tests.proxy.sockets.downstream import test_tls as test_sockets_tls
from tests.proxy.sockets.downstream import test_transport_security as test_sockets_transport_security
from tests.proxy.sockets.sockets_case import SocketsCase
from tests.proxy.sockets.streams import test_passthrough as test_sockets_passthrough
from tests.proxy.sockets.streams import test_streams as test_sockets_streams
from tests.proxy.sockets.upstream import test_http2_upstreams as test_sockets_http2_upstreams
from tests.proxy.sockets.upstream import test_retries as test_sockets_retries
from tests.proxy.sockets.upstream import test_sub_requests as test_sockets_sub_requests
from tests.proxy.sockets.upstream import test_upstream_tls as test_sockets_upstream_tls
from tests.proxy.sockets.upstream import test_upstreams as test_sockets_upstreams


def _on_epoll() -> None:
    """Make a class on the epoll set of each class of these modules."""
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
        test_sockets_streams,
        test_sockets_sub_requests,
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
                globals()[f"{name}OnEpoll"] = type(
                    f"{name}OnEpoll", (case,), {"use_epoll": True, "__module__": __name__}
                )


_on_epoll()
