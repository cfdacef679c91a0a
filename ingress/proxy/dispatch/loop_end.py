"""The end of a loop: a request of which too many came back at once is answered 508 (Loop Detected, RFC 5842 section 7.2).

That is the answer of the endpoint to the one before, and so on back to the client, and all of them are over.
"""

from twisted.web.server import NOT_DONE_YET

from ingress.model.exchanges.causes import Cause
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.dispatch.side_by_side import SideBySideResource
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.exchange.loops import REASON


class LoopEnd:
    """Stands for a resource."""

    def __init__(self, resource: IngressProxyResource | SideBySideResource) -> None:
        self._resource = resource

    def render(self, exchange: Exchange) -> int:
        """Answer *exchange*; whose route leads back here is told in the log and in metrics."""
        exchange.cause = Cause.LOOP
        exchange.fail(508, REASON, self._resource.route_of(exchange))
        return NOT_DONE_YET
