"""When a request may be tried on another endpoint, as far as a route decides that.

What may *never* be tried again is no setting; see ``ingress.proxy.contract.faults``.
"""

from typing import Final

from ingress.model.frozen import frozen

MAX_TRIES: Final = 3
"""As ingress-nginx (``proxy-next-upstream-tries``)."""


@frozen
class RetryRule:
    """After what the next endpoint is tried, how often, and for how long.

    The defaults are those of ingress-nginx: ``error timeout``, three tries, no limit of time.
    """

    on_error: bool = True
    """No connection could be made, or it broke off before the first byte of an answer."""
    on_timeout: bool = True
    """Making the connection took too long, or upstream was silent for too long."""
    on_invalid: bool = False
    """What came is not the head of an answer."""
    statuses: frozenset[int] = frozenset()
    """Answers of these statuses are dropped for that of another endpoint, while there is one."""
    non_idempotent: bool = False
    """Whether requests that may change something each time they are sent are sent again, too."""
    on_late: bool = False
    """An attempt took longer than its route lets one take."""
    any_method_by_status: bool = False
    """Whether an answer of one of *statuses* says that nothing was done with the request, whatever its method."""
    returns: bool = False
    """Whether endpoints that failed the request are tried again, where no other is left."""
    backoff_seconds: float = 0.0
    """How long to wait before one of these is; each time twice as long, up to a bound."""
    always_waits: bool = False
    """Whether that time has to pass before any other try, too."""
    max_tries: int = MAX_TRIES
    """The first one included; 0 means no limit."""
    max_seconds: float = 0.0
    """From the head of the request to the last try that is begun; 0 means no limit."""

    @property
    def repeats_any(self) -> bool:
        """Whether requests may be sent again that are not idempotent."""
        return self.non_idempotent or (self.any_method_by_status and bool(self.statuses))


DEFAULT_RETRIES: Final = RetryRule()
