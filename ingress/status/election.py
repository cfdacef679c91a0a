"""The rules of the election: what a candidate concludes from what it saw.  Pure.

All replicas are candidates for one Lease.  Whoever wrote its name into it last leads, and has
to write again before its time is up.

Three rules make sure that no two lead at once, whatever the network, the API server and the
clocks of other machines do:

1. *Nobody's clock but our own.*  A Lease has run out when we have seen it unchanged for as
   long as it is meant to last.  The times that stand in it are for people.
2. *A leader is the first to give up.*  Its time counts from before it asked for the write
   that made it leader, and is shorter than what all others wait for, counted from after.
3. *Every write names the version that was read.*  Of two candidates that want the same
   Lease, the API server refuses the second.

All seconds are those of one steady clock, which nobody sets.
"""

from collections.abc import Mapping
from math import inf
from typing import Any

from attrs import evolve, field

from ingress.model.frozen import frozen
from ingress.model.reporting.reporting import LONGEST_LEASE_SECONDS
from ingress.status.lease import MAX_INT32, Lease, read_lease

RETRY_SPREAD = 1.2
"""Turns come up to this many times as late as asked, so that replicas do not step in time."""


@frozen
class Terms:
    """The times of an election.  Raises ``ValueError`` for those that cannot work."""

    duration_seconds: int = 15
    """How long the others wait for a leader that says nothing; written into the Lease."""
    deadline_seconds: float = 10.0
    """How long a leader leads by one write of the Lease."""
    retry_seconds: float = 2.5
    """From one turn of a candidate to the next."""

    def __attrs_post_init__(self) -> None:
        if not self.duration_seconds > self.deadline_seconds > RETRY_SPREAD * self.retry_seconds > 0:
            raise ValueError(f"{self} are no terms: a leader could not keep its lease")

    @classmethod
    def lasting(cls, seconds: int) -> "Terms":
        """Return the terms of a Lease that lasts so many seconds; the rest is in proportion."""
        return cls(seconds, seconds * 2 / 3, seconds / 6)

    @property
    def request_timeouts(self) -> tuple[float, float]:
        """Time limits for connecting and reading: one request has half of the deadline, so two fit in."""
        return self.deadline_seconds / 4, self.deadline_seconds / 4

    @property
    def write_timeouts(self) -> tuple[float, float]:
        """The same for what a leader writes: it ends before anybody else can lead."""
        left = self.duration_seconds - self.deadline_seconds
        return left * 0.4, left * 0.6


@frozen
class Candidacy:
    """What one candidate knows; every method returns what it knows then."""

    identity: str
    terms: Terms
    lease: Lease | None = None
    """As it was seen last; None before it was first seen."""
    raw: Mapping[str, Any] | None = field(default=None, repr=False)
    """The object that a write would replace; None when there is none, or none that is known."""
    changed_at: float = -inf
    """When *lease* was first seen as it is, or first seen to be gone, at the latest."""
    is_gone: bool = False
    """Whether there was none when it was last read."""
    leads_until: float = -inf

    def is_leading(self, now: float) -> bool:
        """Whether we lead.  To be asked before each thing that only a leader may do."""
        return now < self.leads_until

    @property
    def was_ours(self) -> bool:
        """Whether the Lease had our name when it was last seen."""
        return self.lease is not None and self.lease.holder == self.identity

    @property
    def is_ours(self) -> bool:
        """Whether it has, as far as we know, so that it is for us to write next."""
        return self.raw is not None and self.was_ours

    def saw(self, raw: Mapping[str, Any], now: float) -> "Candidacy":
        """Take what was read at *now*, after it was asked for."""
        lease = read_lease(raw)
        changed_at = self.changed_at if lease == self.lease else now
        leads_until = self.leads_until if lease.holder == self.identity else -inf
        return evolve(
            self, lease=lease, raw=raw, changed_at=changed_at, is_gone=False, leads_until=leads_until
        )

    def saw_nothing(self, now: float) -> "Candidacy":
        """Take that there is no Lease.

        One that was deleted runs out like any other that changes: its holder may not know yet, and may have renewed it since we
        could read it last.
        """
        return evolve(self, raw=None, changed_at=self.changed_at if self.is_gone else now, is_gone=True)

    def was_refused(self) -> "Candidacy":
        """Take that somebody else wrote the Lease, or that what we know of it is wrong: it has to be read before it can be written."""
        return evolve(self, raw=None, is_gone=False)

    def saw_neither(self) -> "Candidacy":
        """Take that it could not be read: what was not there may have come and gone meanwhile."""
        return evolve(self, is_gone=False)

    def wrote(self, raw: Mapping[str, Any], asked_at: float, now: float) -> "Candidacy":
        """Take what the API server made of a write of ours that was asked for at *asked_at*: a Lease in our name."""
        until = asked_at + self.terms.deadline_seconds
        return evolve(self, lease=read_lease(raw), raw=raw, changed_at=now, is_gone=False, leads_until=until)

    def gave_up(self) -> "Candidacy":
        """Lead no more, whatever the Lease says."""
        return evolve(self, leads_until=-inf)

    def claim(self, now: float, written: str) -> Lease | None:
        """Return the Lease to write now, with the time *written*; None when it is another's."""
        seen, ours = self.lease, self.terms.duration_seconds
        if seen is None:
            return Lease(self.identity, ours, written, written, 0)
        if seen.holder == self.identity:
            # The API server takes no time that is empty, as ours is once somebody has removed it.
            return evolve(seen, duration_seconds=ours, acquired=seen.acquired or written, renewed=written)
        lasts = min(seen.duration_seconds or ours, LONGEST_LEASE_SECONDS)
        if seen.holder and now < self.changed_at + lasts:
            return None
        return Lease(self.identity, ours, written, written, min(seen.transitions + 1, MAX_INT32))

    def release(self, written: str) -> Lease | None:
        """Return the Lease to write for another to lead at once; None when it is not ours to release."""
        if not self.is_ours or self.lease is None:
            return None
        return evolve(self.lease, holder="", duration_seconds=1, acquired=written, renewed=written)
