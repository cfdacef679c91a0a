"""Records of exchanges, for tests of those who listen."""

from ingress.model.cluster.objects import ObjectKey
from ingress.model.exchanges.causes import Cause
from ingress.model.exchanges.records import AttemptRecord, Record
from ingress.model.observability.traces import TraceContext
from ingress.model.upstream.backends import BackendReference, Endpoint

ENDPOINT = Endpoint("10.0.0.1", 80)


def record_of(
    owner: ObjectKey | None = None,
    status: int = 200,
    seconds: float = 0.1,
    bytes_sent: int = 1,
    *,
    endpoint: Endpoint | None = None,
    method: bytes = b"GET",
    host: bytes = b"a.test",
    target: bytes = b"/",
    protocol: bytes = b"HTTP/1.1",
    service: str = "web",
    cause: Cause | None = None,
    bytes_received: int = 0,
    request: bytes = b"",
    trace: TraceContext | None = None,
) -> Record:
    """Return the record of an exchange that was asked of *endpoint*, if there is one, and ended so.

    With an *owner*, its backend is *service*, in the same namespace.
    """
    attempt = None if endpoint is None else AttemptRecord(endpoint, str(status), 0.0, seconds, 0.0, seconds)
    return Record(
        id=request,
        route=None,
        owner=owner,
        filter="",
        attempts=() if attempt is None else (attempt,),
        status=status,
        bytes_sent=bytes_sent,
        seconds=seconds,
        reason="",
        client=b"192.0.2.1",
        method=method,
        host=host,
        target=target,
        protocol=protocol,
        cause=cause,
        backend=None if owner is None else BackendReference(owner.namespace, service, 80),
        bytes_received=bytes_received,
        trace=trace,
    )
