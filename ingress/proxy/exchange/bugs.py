"""What the log says of exchanges that met a bug of ours."""

from twisted.logger import Logger

from ingress.proxy.contract.faults import State
from ingress.proxy.exchange.log_suffix import shown_id

log = Logger()


def log_bug(host: bytes, state: State, request: bytes) -> None:
    """Log the exception that is handled; it cost the request to *host* of this id, and nobody else's."""
    log.failure(
        "A request to {host} failed by a bug, and is the only one that did: {state} (request {request})",
        host=host.decode("latin-1"),
        state=state.value,
        request=shown_id(request),
    )
