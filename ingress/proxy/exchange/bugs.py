"""What the log says of exchanges that met a bug of ours."""

from twisted.logger import Logger

from ingress.proxy.contract.faults import State

log = Logger()


def log_bug(host: bytes, state: State) -> None:
    """Log the exception that is handled; it cost the request to *host*, and nobody else's."""
    log.failure(
        "A request to {host} failed by a bug, and is the only one that did: {state}",
        host=host.decode("latin-1"),
        state=state.value,
    )
