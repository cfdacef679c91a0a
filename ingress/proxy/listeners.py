"""Listeners: the addresses we accept on, plain or with TLS."""

from typing import Any, cast

from twisted.internet.endpoints import serverFromString
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import (
    IListeningPort,
    IOpenSSLServerConnectionCreator,
    IReactorTime,
)
from twisted.internet.protocol import ServerFactory
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol

from ingress.errors import StartError
from ingress.proxy.site import ProxySite
from ingress.proxy.transports import DirectListening


def tls_factory(
    site: ProxySite, contexts: IOpenSSLServerConnectionCreator, clock: IReactorTime
) -> TLSMemoryBIOFactory:
    """Wrap the site's channels in TLS, without the layer that gathers small writes: ours are whole."""
    factory = TLSMemoryBIOFactory(contexts, False, site.factory(secure=True), clock)
    factory.protocol = TLSMemoryBIOProtocol
    factory.noisy = False
    return factory


async def listen(reactor: object, description: str, factory: ServerFactory) -> IListeningPort:
    """Listen on *description*; raises ``StartError`` naming it when that is impossible."""
    try:
        endpoint = serverFromString(cast(Any, DirectListening(reactor)), description)
        return cast(IListeningPort, await endpoint.listen(factory))
    except CannotListenError as error:
        raise StartError(f"cannot listen on {description}: {error.socketError}") from error
    except (ValueError, OSError) as error:
        raise StartError(f"cannot listen on {description}: {error}") from error
