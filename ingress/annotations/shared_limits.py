"""What of limits and of nonces all workers share, as states that filters ask for by ``Scope.PROCESS``."""

from collections.abc import Callable, Hashable, Mapping

from ingress.annotations.passwords.digest_check import NONCE_SECONDS, NONCES, DigestCheck
from ingress.annotations.passwords.shared_nonces import SharedNonces
from ingress.annotations.rate_limits.family import BUCKETS, COUNTS, ConnectionLimit, RequestLimit
from ingress.annotations.rate_limits.shared_buckets import SharedBuckets
from ingress.filters import Clock
from ingress.process.shared.limit_memory import LimitMemory
from ingress.process.shared.shared_counts import WorkerCounts


def shared_limits(
    memory: LimitMemory, number: int, clock: Clock, secret: bytes, crowded: Callable[[str], object]
) -> Mapping[tuple[str, Hashable], object]:
    """Return the states of worker *number*, by the name of the filter and the key.

    *secret* is that of all workers; *crowded* is told the name of a filter whenever what it counts has no place in the memory.
    """
    buckets = SharedBuckets(memory.rates, clock, secret, lambda: crowded(RequestLimit.name))
    counts = WorkerCounts(memory.counts, number, lambda: crowded(ConnectionLimit.name))
    lasting = NONCE_SECONDS * 1000
    nonces = SharedNonces(memory.nonces, clock, secret, lasting, lambda: crowded(DigestCheck.name))
    return {
        (RequestLimit.name, BUCKETS): buckets,
        (ConnectionLimit.name, COUNTS): counts,
        (DigestCheck.name, NONCES): nonces,
    }
