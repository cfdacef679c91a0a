"""How the body of a request comes from a channel to its exchange: in pieces, in turns, or by the kernel."""

from typing import Protocol

from ingress.http.body import BodyError
from ingress.http.request_head import RequestHead
from ingress.model.serving.limits import Limits
from ingress.proxy.contract.deadlines import Deadlines
from ingress.proxy.contract.sides import RequestSink
from ingress.proxy.contract.transport import KernelCopy, Transport
from ingress.proxy.downstream.request_body import RequestBody
from ingress.proxy.downstream.sending import Sending


class Taker(Protocol):
    """What a ``BodyIntake`` asks of the channel that has it."""

    deadline: float
    deadlines: Deadlines
    limits: Limits
    transport: Transport
    sending: Sending
    is_full: bool
    is_request_paused: bool
    """Whether upstream takes no more of the request."""
    is_reading: bool
    exchange: RequestSink | None

    def body_ended(self, rest: bytes) -> None:
        """The body is whole, and *rest* came behind it."""

    def body_broken(self, status: int, why: str) -> None:
        """The body cannot be read, or does not come in time."""

    def body_moved(self, count: int) -> None:
        """So much of the body went upstream by the kernel."""

    def body_spliced(self) -> None:
        """All that was left of the body went upstream by the kernel."""

    def wait_for_turn(self) -> None:
        """More has come than one turn takes."""

    def update_reading(self) -> None:
        """Read while somebody can take it, and set until when downstream has to act."""


class BodyIntake:
    """Of one request whose channel gives itself to each call: a part that knew whose it is would be a cycle."""

    __slots__ = ("body", "is_by_kernel")

    def __init__(self, head: RequestHead, now: float, limits: Limits) -> None:
        self.body = RequestBody(head, now, limits)
        self.is_by_kernel = False
        """Whether the kernel moves what is left of it."""

    def __repr__(self) -> str:
        return f"<BodyIntake{' by the kernel' if self.is_by_kernel else ''}>"

    def take(self, channel: Taker, received: bytes) -> None:
        """Hand what *received* holds of the body to the exchange of *channel*."""
        exchange = channel.exchange
        if exchange is None:
            return
        body = self.body
        try:
            piece = body.feed(received)
        except BodyError as error:
            channel.body_broken(400, str(error))
            return
        if body.finished:
            channel.body_ended(body.rest)
        else:
            self._await_more(channel)
        if piece and exchange.passage is not None:
            exchange.passage.take(piece)
        if body.finished:
            # The piece may have been the end of the exchange.
            if exchange.passage is not None:
                exchange.passage.end()
            channel.update_reading()
        elif body.has_more:
            if channel.exchange is exchange:
                channel.wait_for_turn()
        elif (
            not channel.is_request_paused
            and channel.exchange is exchange
            # Nothing was read where so much of it had come before its turn.
            and (self._goes_by_kernel(channel, exchange) or not channel.is_reading)
        ):
            channel.update_reading()

    def _goes_by_kernel(self, channel: Taker, exchange: RequestSink) -> bool:
        """Have the kernel move what is left of it, if that is possible; return whether it does."""
        left, passage = self.body.left_to_splice, exchange.passage
        if not left or passage is None:
            return False
        if passage.splice(KernelCopy(channel.transport, left, channel.body_moved, channel.body_spliced)):
            self.is_by_kernel = True
            self.body.restart_window(channel.deadlines.now)
        return self.is_by_kernel

    def _await_more(self, channel: Taker) -> None:
        """Give the sender its time for the next piece, or have the deadlines end it now."""
        now = channel.deadlines.now
        if channel.sending.is_copying or self.is_by_kernel:
            # The deadlines look at both directions by turns, and find here when the last piece came.
            self.body.moved(0, now)
        elif not channel.is_full:
            channel.deadline = now if self.body.is_too_slow(now) else now + channel.limits.body_seconds

    def is_in_time(self, channel: Taker) -> bool:
        """Whether the sender does its part while it waits for upstream, or the kernel moves the body or the answer.

        Upstream has a deadline of its own.
        """
        now = channel.deadlines.now
        if channel.is_request_paused or channel.transport.is_held_up:
            self.body.restart_window(now)
            return True
        return (self.is_by_kernel or channel.sending.is_copying) and not self.body.is_overdue(now)
