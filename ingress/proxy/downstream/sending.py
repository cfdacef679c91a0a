"""How the peer of a channel takes what it is sent, and what the end of its connection waits for.

While something waits to be sent, it is looked at with every tick of the deadlines (``progress``).  A connection that ends
waits until all of it is taken, and then a while for the kernel to deliver it, or for the peer to close, too.
"""

from typing import Protocol

from ingress.model.serving.limits import Limits
from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.proxy.contract.limits import LINGER_GAP_SECONDS, LINGER_SECONDS
from ingress.proxy.contract.progress import Progress
from ingress.proxy.contract.transport import Transport


class Sender(Protocol):
    """What ``Sending`` asks of the channel that has it."""

    deadline: float
    deadlines: Deadlines
    limits: Limits
    transport: Transport
    is_full: bool


class Sending:
    """Of one channel, which gives itself to each call: a part that knew whose it is would be a cycle."""

    __slots__ = ("_has_to_arrive", "_until", "is_copying", "progress")

    def __init__(self) -> None:
        self.is_copying = False
        """Whether the kernel moves what is left of an answer."""
        self.progress: Progress | None = None
        """How what is sent is taken, while that is looked at."""
        self._until = 0.0
        """When a connection that ends has had its time."""
        self._has_to_arrive = False
        """Whether the peer was not given time yet for what was sent at last."""

    def __repr__(self) -> str:
        return f"<Sending{', looked at' if self.progress is not None else ''}>"

    def watch(self, channel: Sender) -> None:
        """Have the deadlines look, from the next tick on, at how what is sent is taken."""
        self.progress = Progress()
        channel.deadline = channel.deadlines.now

    def restart(self) -> None:
        """Look at it anew: other bytes wait now."""
        self.progress = Progress()

    def is_awaited(self, channel: Sender) -> bool:
        """Look at how what is sent is taken, and see to the next look; False if nothing waits here.  Cuts who is stuck."""
        return self._is_taken_of(channel, channel.transport.unsent or int(channel.is_full))

    def _is_taken_of(self, channel: Sender, waiting: int) -> bool:
        """Look at how the *waiting* bytes are taken, and see to the next look; False if there are none."""
        if not waiting:
            return False
        now = channel.deadline = channel.deadlines.now
        progress = self.progress = self.progress or Progress()
        if progress.is_stuck(waiting, now, channel.limits.send_seconds):
            channel.deadline = NEVER
            channel.transport.abortConnection()
        return True

    # The end

    def end(self, channel: Sender) -> None:
        """Give the peer its time from now on: the connection closes once everything is sent.

        Most are closed before the next tick.  Whether anything waits is looked at then, of those that are not.
        """
        channel.deadline = channel.deadlines.now
        self._until = channel.deadline + LINGER_SECONDS
        self._has_to_arrive = True
        self.progress = None

    def linger(self, channel: Sender) -> None:
        """Give the peer its time for what it still sends, which nobody wants."""
        self.progress = Progress()
        self._until = channel.deadlines.now + LINGER_SECONDS
        channel.deadline = channel.deadlines.now + LINGER_GAP_SECONDS

    def heard(self, channel: Sender) -> None:
        """Some more of that has come."""
        channel.deadline = min(self._until, channel.deadlines.now + LINGER_GAP_SECONDS)

    def expire(self, channel: Sender) -> None:
        """The time of a connection that ends is over; cut it, unless something is still taken."""
        # What only the kernel still has, an abort would drop.
        if self._is_taken_of(channel, channel.transport.untaken):
            self._until = channel.deadlines.now + LINGER_SECONDS
            self._has_to_arrive = True
        elif self._has_to_arrive:
            # Not every system tells what its kernel still has.
            self._has_to_arrive = False
            channel.deadline = self._until
        else:
            channel.deadline = NEVER
            channel.transport.abortConnection()
