"""What one process serves several serve, and they end as it does: some of the other tests, with workers."""

from __future__ import annotations

from tests.end_to_end import test_end_to_end, test_listening
from tests.end_to_end.cluster import test_gateways
from tests.end_to_end.protocols import test_connection_starts, test_http2, test_streams

WORKERS = ("--workers=2",)


class StreamsByWorkersTests(test_streams.StreamsTests):
    """Streams, whose listeners come and go while the process runs."""

    given = WORKERS


class GatewaysByWorkersTests(test_gateways.GatewayProcessTests):
    """Listeners of Gateways, beside those of the command line."""

    given = WORKERS


class FamiliesByWorkersTests(test_listening.FamilyTests):
    """``tcp:`` and ``tcp6:``, on either network."""

    given = WORKERS


class PassthroughByWorkersTests(test_connection_starts.PassthroughTests):
    """TLS that ends here, and TLS that passes through."""

    given = WORKERS


class LoadByWorkersTests(test_http2.LoadTests):
    """HTTP/2 over TLS under load, while objects change."""

    given = WORKERS


class StopByWorkersTests(test_end_to_end.StopTests):
    """The end: delay, grace, what is left is cut, and a second signal."""

    given = WORKERS
