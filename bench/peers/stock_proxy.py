"""``twisted.web.proxy.ReverseProxyResource`` as it comes, for comparison.

``python -m bench.peers.stock_proxy HTTP_PORT HTTPS_PORT KEY CERTIFICATE BACKEND_PORT``
"""

import sys

from twisted.internet import reactor  # noqa: TID251 - a program of its own
from twisted.internet.endpoints import serverFromString
from twisted.python import log
from twisted.web.proxy import ReverseProxyResource
from twisted.web.server import Site

LOOPBACK = "127.0.0.1"


def main(http_port: str, https_port: str, key: str, certificate: str, backend_port: str) -> None:
    """Serve until a signal comes."""
    log.startLogging(sys.stdout)
    site = Site(ReverseProxyResource(LOOPBACK, int(backend_port), b""))
    for description in (
        f"tcp:{http_port}:interface={LOOPBACK}",
        f"ssl:{https_port}:interface={LOOPBACK}:privateKey={key}:certKey={certificate}",
    ):
        serverFromString(reactor, description).listen(site).addErrback(log.err)
    reactor.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
