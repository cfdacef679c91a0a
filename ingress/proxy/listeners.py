"""Listeners: the addresses we accept on, plain or with TLS."""

import re
from typing import Any, cast

from twisted.internet.endpoints import serverFromString
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import (
    IListeningPort,
    IOpenSSLServerConnectionCreator,
    IProtocolFactory,
    IReactorTime,
)
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol

from ingress.errors import StartError
from ingress.proxy.site import ProxySite

_tcp_port = re.compile(r"tcp6?:(?:.*:)?(?:port=)?(\d+)(?=:|$)").match


def tls_factory(
    site: ProxySite, contexts: IOpenSSLServerConnectionCreator, clock: IReactorTime
) -> TLSMemoryBIOFactory:
    """Wrap the site's channels in TLS, without the layer that gathers small writes: ours are whole."""
    factory = TLSMemoryBIOFactory(contexts, False, site.factory(secure=True), clock)
    factory.protocol = TLSMemoryBIOProtocol
    factory.noisy = False
    return factory


async def listen(reactor: object, description: str, factory: IProtocolFactory) -> IListeningPort:
    """Listen on *description*; raises ``StartError`` naming it when that is impossible."""
    try:
        endpoint = serverFromString(cast(Any, reactor), description)
        return cast(IListeningPort, await endpoint.listen(factory))
    except CannotListenError as error:
        raise StartError(f"cannot listen on {description}: {error.socketError}") from error
    except LookupError as error:
        raise StartError(f"cannot listen on {description}: no such socket was handed over") from error
    except (ValueError, TypeError, AttributeError, OSError) as error:
        # Twisted's readers of descriptions raise whatever bad arguments bring about.
        raise StartError(f"cannot listen on {description}: {error}") from error


def port_of(description: str) -> int | None:
    """Return the TCP port that *description* names (``tcp:443``, ``tcp:port=443``), or None."""
    match = _tcp_port(description)
    return int(match[1]) if match else None
