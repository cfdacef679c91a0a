"""Conversations in memory with endpoints that speak FastCGI, as ``playing`` has them with others."""

from __future__ import annotations

from ingress.annotations.upstream.fastcgi import FastCgiParams
from ingress.model.requests.templates import read_template
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings
from tests.fakes.fastcgi.records import Asked, asked
from tests.proxy.playing import ProxyCase

FASTCGI = LinkSettings(is_fastcgi=True)
ONE = Endpoint("10.0.0.1", 9000, FASTCGI)
TWO = Endpoint("10.0.0.2", 9000, FASTCGI)

POST = b"POST /add HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 2\r\n\r\nhi"
BEGUN = b"POST /add HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 4\r\n\r\nhi"


def spec(keeps_connections: bool = False) -> FastCgiParams:
    """Return what has params told."""
    own = (
        (
            b"SCRIPT_FILENAME",
            read_template("/app$fastcgi_script_name", own=frozenset(("fastcgi_script_name",))),
        ),
    )
    return FastCgiParams("index.php", own, "shop.test", keeps_connections)


class FastCgiCase(ProxyCase):
    """A stage whose endpoints speak FastCGI, and are kept."""

    on_epoll = True
    keeps_connections = True

    def setUp(self) -> None:
        super().setUp()
        self.serve()

    def serve(self, *endpoints: Endpoint, **more: object) -> None:
        """Publish the route with *endpoints*, by default one."""
        filters = (spec(self.keeps_connections),)
        self.stage.publish(endpoints or (ONE,), filters=filters, **more)  # type: ignore[arg-type]

    def request(self, number: int = -1, at: int = -1) -> Asked:
        """Return a request that a connection got, by default the last one of the last."""
        return asked(self.upstream(number).received)[at]
