"""A request body on its way: from downstream, through stages if it has some, into what is held of it, and upstream."""

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from attrs import evolve

from ingress.http.request_head import RequestHead
from ingress.http.response_head import ResponseHead
from ingress.model.upstream.retries import RetryRule
from ingress.proxy.contract.faults import IDEMPOTENT
from ingress.proxy.contract.limits import MAX_DECLINABLE, MAX_HELD
from ingress.proxy.contract.sides import AnswerSink, Downstream, Upstream
from ingress.proxy.contract.transport import KernelCopy
from ingress.proxy.exchange.filtering.body_stages import BodyStages, StageFailed
from ingress.proxy.exchange.held_body import HeldBody

_CONTINUE: Final = ResponseHead(100, b"HTTP/1.1 100 Continue\r\n")


class PassageOwner(AnswerSink, Protocol):
    """The exchange, as its passage sees it."""

    upstream: Upstream | None
    """Who takes the body; None as long as, or once, nobody does."""

    def request_broken(self, status: int, why: str) -> None:
        """The request body cannot be taken."""


class PassageFilters(Protocol):
    """The filters of the exchange, as its passage sees them."""

    def body_came(self) -> None:
        """As much of it is there as was asked for."""

    def stage_failed(self, failed: StageFailed) -> None:
        """A stage raised."""


class RequestPassage:
    """The body of one request; made only where there is one."""

    __slots__ = (
        "_downstream",
        "_exchange",
        "_head",
        "_is_upstream_full",
        "_stages",
        "_wanted",
        "filtering",
        "held",
        "is_changed",
        "is_continued",
        "is_whole",
        "limit",
        "received",
    )

    def __init__(self, exchange: PassageOwner, downstream: Downstream, head: RequestHead) -> None:
        self._exchange = exchange
        self._downstream = downstream
        self._head = head
        self.is_whole = False
        """Whether all of it came."""
        self.held: HeldBody | None = HeldBody()
        """All of it so far, to be sent or sent once more; None once that is over."""
        self.limit = 0
        """Bytes that it may have; 0 is no limit."""
        self.filtering: PassageFilters | None = None
        """Who wants to see it, or has stages; None where nobody does."""
        self.is_continued = False
        """Whether the client was told by us that its body is wanted."""
        self.is_changed = False
        """Whether what arrives at the endpoint is framed, or announced, otherwise than it came."""
        self.received = 0
        """Bytes that came of it, as they came."""
        self._wanted = 0
        """So much of it is waited for."""
        self._stages: BodyStages | None = None
        self._is_upstream_full = False

    @property
    def is_too_large(self) -> bool:
        """Whether it is known to exceed *limit*."""
        return bool(self.limit) and (self._head.content_length > self.limit or self.received > self.limit)

    def exceeds(self, limit: int) -> bool:
        """Whether it is known to have more than *limit* bytes, which from now on it may not have; 0 leaves the limit there was."""
        if not limit:
            return False
        self.limit = limit
        return self._head.content_length > limit or self.received > limit

    # From downstream

    def take(self, piece: bytes) -> None:
        """Take a piece of it."""
        self.received += len(piece)
        if self.limit and self.received > self.limit:
            self._exchange.request_broken(413, "request body too large")
        elif self._stages is None:
            self._pass_on(piece)
        else:
            self._feed(self._stages, piece, False)

    def _pass_on(self, piece: bytes) -> None:
        held, upstream = self.held, self._exchange.upstream
        if upstream is not None:
            upstream.send_body(piece)
        if held is None:
            return
        held.add(piece)
        if upstream is not None:
            if held.size > MAX_HELD and (held.size > MAX_DECLINABLE or not upstream.may_decline):
                self.held = None
        elif held.size > MAX_HELD and held.size > self._wanted:
            self._downstream.pause_request()
        if self._wanted and held.size >= self._wanted:
            self._came()

    def splice(self, copy: KernelCopy) -> bool:
        """Have the kernel send the rest of it, if upstream can and nothing is held."""
        upstream = self._exchange.upstream
        if upstream is None or self.held is not None or self._stages is not None:
            return False
        return upstream.splice_body(evolve(copy, moved=partial(self._moved, copy.moved)))

    def _moved(self, moved: Callable[[int], None], count: int) -> None:
        """So much of it went upstream by the kernel."""
        self.received += count
        moved(count)

    def end(self) -> None:
        """All of it came."""
        if self._stages is not None and not self._feed(self._stages, b"", True):
            return
        self.is_whole = True
        if self._exchange.upstream is not None:
            self._exchange.upstream.end_body()
        elif self._wanted:
            self._came()

    # Upstream

    def begin(self, upstream: Upstream, fields: bytes, retries: RetryRule) -> None:
        """Begin the request, with *fields*, at *upstream*, with what is held of it, and let the rest come.

        It is held on only if it may be needed once more, by *retries*, and is not too much.
        """
        # Before the first write, which may fill upstream and pause the request again.
        if not self.is_whole and not self._is_paced:
            self._downstream.resume_request()
        upstream.begin(
            self._exchange, fields, b"" if self.held is None else self.held.joined(), self.is_whole
        )
        held, method = self.held, self._head.method
        if upstream.may_decline:
            # However long it is: that is said before more of it was taken.
            if held is not None and held.size > MAX_DECLINABLE:
                self.held = None
        elif (
            held is None
            or held.size > MAX_HELD
            or self._head.content_length > MAX_HELD
            or not (method in IDEMPOTENT or retries.repeats_any or upstream.is_reused)
        ):
            self.held = None

    def leave_to_tunnel(self) -> None:
        """Have downstream go on behind the body, which is whole: what comes is the tunnel's, and waits for upstream alone."""
        self.held = self._stages = None
        self._resume()

    def pause_request(self) -> None:
        """Upstream takes no more for now."""
        self._is_upstream_full = True
        self._downstream.pause_request()

    def resume_request(self) -> None:
        """Upstream takes more again."""
        self._is_upstream_full = False
        self._resume()

    # For filters

    def so_far(self, size: int) -> bytes | None:
        """Return all of it that came, if that is all or at least *size* bytes.

        Else None, and ``body_came`` of its exchange is called once it is.
        """
        self._wanted = 0
        held = self.held
        if held is None:
            return b""
        if self.is_whole or held.size >= size:
            return held.joined()
        if self.is_too_large:
            self._exchange.request_broken(413, "request body too large")
            return None
        self._wanted = size
        if self._head.expect_continue and not self.is_continued:
            self.is_continued = self.is_changed = True
            self._downstream.send_interim(_CONTINUE)
        self._downstream.resume_request()
        return None

    def _came(self) -> None:
        self._wanted = 0
        if self.filtering is not None:
            self.filtering.body_came()

    def pass_through(self, stages: BodyStages) -> bool:
        """Have it pass *stages*, and what there is of it, too; return whether none failed."""
        self._stages = stages
        self.is_changed = self.is_changed or stages.may_change
        if self.held is None:
            return True
        came = self.held.joined()
        self.held.replace(b"")
        return self._feed(stages, came, self.is_whole)

    def _feed(self, stages: BodyStages, piece: bytes, ended: bool) -> bool:
        """Pass on what *stages* make of *piece*; return whether none failed."""
        try:
            changed = stages.feed(piece)
            if ended:
                changed += stages.finish()
        except StageFailed as failed:
            if self.filtering is not None:
                self.filtering.stage_failed(failed)
            return False
        if changed:
            self._pass_on(changed)
        return True

    @property
    def _is_paced(self) -> bool:
        """Whether a stage has the client wait."""
        return self._stages is not None and self._stages.is_paused

    def pause(self) -> None:
        """A stage has the client wait."""
        self._downstream.pause_request()

    def resume(self) -> None:
        """No stage has the client wait any more."""
        self._resume()

    def _resume(self) -> None:
        if self._exchange.upstream is not None and not self._is_upstream_full and not self._is_paced:
            self._downstream.resume_request()
