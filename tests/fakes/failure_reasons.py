"""Every failure has to say why: whoever plays exchanges has this listen to those that failed."""

from ingress.model.exchanges.causes import Cause
from ingress.model.exchanges.records import Record


def must_be_explained(record: Record) -> None:
    """Fail the test where *record* has no reason, and is not what the endpoint itself answered."""
    assert record.cause is not None
    own = record.cause is Cause.UPSTREAM and record.attempts and record.attempts[-1].outcome.isdigit()
    if not record.reason and not own:
        raise AssertionError(f"{record.status} without a reason: {record}")
    if not record.id and record.method not in (b"TLS", b"TCP", b"UDP"):
        raise AssertionError(f"{record.status} without an id: {record}")
