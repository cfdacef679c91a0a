"""
One running watch: events of one kind, filtered, as JSON lines in an endless body.

A watch starts in one of three ways: after a resource version (replay from the
window), with the content as it is (no version, "0", or a streaming list), or
now. After that every change of the history is judged by the selectors, and an
object that leaves them shows as DELETED.

A watch ends by its timeout, by ``close``, or with its connection.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Literal, TypeAlias

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.web.http import Request

from tests.fakes.apiserver.calls import Call
from tests.fakes.apiserver.connections import connection_of
from tests.fakes.apiserver.history import Change, History
from tests.fakes.apiserver.kinds import Json, ResourceType
from tests.fakes.apiserver.listing import ListOptions, too_large, version_number
from tests.fakes.apiserver.statuses import StatusError

#: How a watch is closed: proper end of the body, FIN in its middle, or RST.
Closing: TypeAlias = Literal["finish", "cut", "reset"]

#: The annotation of the bookmark that ends the initial events of a streaming list.
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class Watch:
    """A watch that is answered with 200; see the module's docstring."""

    def __init__(
        self,
        reactor: IReactorTime,
        history: History,
        kind: ResourceType,
        namespace: str,
        options: ListOptions,
        request: Request,
        call: Call,
        *,
        bookmark_seconds: float | None,
        split_bytes: int | None,
        ended: Callable[[Watch], None],
    ) -> None:
        self.kind = kind
        self.namespace = namespace
        self.options = options
        self.call = call
        self._reactor = reactor
        self._history = history
        self._matches = options.predicate(kind, namespace)
        self._request = request
        self._bookmark_seconds = bookmark_seconds
        self._split_bytes = split_bytes
        self._ended = ended
        self._timers: list[IDelayedCall] = []
        self._pieces: deque[bytes] = deque()
        self._flushing: IDelayedCall | None = None
        self._is_open = False
        self._closing_when_flushed = False
        self._skip_until = 0

    def __repr__(self) -> str:
        state = "open" if self._is_open else "closed"
        return f"<Watch {self.kind.plural} namespace={self.namespace!r} {state}>"

    def start(self, *, gone_as_status: bool) -> None:
        """
        Answer with 200 and the first events.

        Nothing is written when this raises ``StatusError``. An expired version
        is an ERROR event, as the API's watch cache answers, or the HTTP status
        410 when *gone_as_status*.
        """
        error: StatusError | None = None
        first: list[Json] = []
        try:
            first = self._first_events()
        except StatusError as problem:
            if problem.code != 410 or gone_as_status:
                raise
            error = problem
        self._is_open = True
        self._request.notifyFinish().addBoth(lambda _: self._close())
        self._request.setResponseCode(200)
        self._request.setHeader(b"content-type", b"application/json")
        self._request.write(b"")
        if error is not None:
            self.send({"type": "ERROR", "object": error.status})
            self.close("finish")
            return
        for event in first:
            self.send(event)
        self._history.subscribe(self._changed)
        if self.options.timeout_seconds:
            self._later(self.options.timeout_seconds, self._timed_out)
        if self._bookmark_seconds is not None and self.options.allow_bookmarks:
            self._later(self._bookmark_seconds, self._periodic_bookmark)

    def send(self, event: Json) -> None:
        """Send one event, as one chunk."""
        self.send_bytes(json.dumps(event, separators=(",", ":")).encode() + b"\n")

    def send_bytes(self, chunk: bytes) -> None:
        """Send bytes as they are, which need not be an event."""
        if not self._is_open:
            return
        size = self._split_bytes
        if size is None:
            self._request.write(chunk)
            return
        self._pieces.extend(chunk[start : start + size] for start in range(0, len(chunk), size))
        if self._flushing is None:
            self._flush()

    def bookmark(self, *, ends_initial_events: bool = False) -> None:
        """Send a bookmark with the current version, if the watch allows bookmarks."""
        if self.options.allow_bookmarks:
            self.send(self._bookmark(ends_initial_events=ends_initial_events))

    def close(self, how: Closing = "finish") -> None:
        """End the watch. Bytes that are not sent yet are still sent, except before a reset."""
        if not self._is_open:
            return
        if how == "reset":
            connection_of(self._request).abortConnection()
        elif how == "cut":
            connection_of(self._request).loseConnection()
        elif self._pieces:
            self._closing_when_flushed = True
        else:
            self._close()
            self._request.finish()

    def _first_events(self) -> list[Json]:
        asked = version_number(self.options.resource_version)
        initial = self.options.send_initial_events
        if initial is not None:
            if asked > self._history.version:
                raise too_large(asked, self._history.version)
            if not initial:
                return [] if not asked else self._replay(asked)
        elif asked:
            return self._replay(asked)
        events: list[Json] = [
            {"type": "ADDED", "object": obj}
            for _, obj in self._history.content(self.kind)
            if self._matches(obj)
        ]
        if initial and self.options.allow_bookmarks:
            events.append(self._bookmark(ends_initial_events=True))
        return events

    def _replay(self, asked: int) -> list[Json]:
        self._skip_until = asked
        events = [self._event(change) for change in self._history.since(asked, self.kind)]
        return [event for event in events if event is not None]

    def _changed(self, change: Change) -> None:
        if change.kind == self.kind and change.version > self._skip_until:
            event = self._event(change)
            if event is not None:
                self.send(event)

    def _event(self, change: Change) -> Json | None:
        """Judge a change by what the selectors saw before and see now."""
        was = change.previous is not None and self._matches(change.previous)
        matches = change.type != "DELETED" and self._matches(change.current)
        if matches:
            return {"type": "MODIFIED" if was else "ADDED", "object": change.current}
        if not was or change.previous is None:
            return None
        # The object as it was last seen through the selectors, with the version of this change.
        metadata = {**change.previous["metadata"], "resourceVersion": str(change.version)}
        return {"type": "DELETED", "object": {**change.previous, "metadata": metadata}}

    def _bookmark(self, *, ends_initial_events: bool) -> Json:
        metadata: Json = {"resourceVersion": str(self._history.version)}
        if ends_initial_events:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        obj = {"kind": self.kind.kind, "apiVersion": self.kind.api_version, "metadata": metadata}
        return {"type": "BOOKMARK", "object": obj}

    def _periodic_bookmark(self) -> None:
        self.bookmark()
        assert self._bookmark_seconds is not None
        self._later(self._bookmark_seconds, self._periodic_bookmark)

    def _timed_out(self) -> None:
        # The API sends a last bookmark shortly before it ends a watch, so that a quiet kind keeps up.
        if self._bookmark_seconds is not None:
            self.bookmark()
        self.close("finish")

    def _flush(self) -> None:
        """Send one piece in each turn of the reactor, so that the pieces travel apart."""
        self._flushing = None
        if self._pieces:
            self._request.write(self._pieces.popleft())
            self._flushing = self._reactor.callLater(0, self._flush)
        elif self._closing_when_flushed:
            self.close("finish")

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        self._timers = [timer for timer in self._timers if timer.active()]
        self._timers.append(self._reactor.callLater(seconds, action))

    def _close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._pieces.clear()
        for timer in (*self._timers, self._flushing):
            if timer is not None and timer.active():
                timer.cancel()
        if self._changed in self._history.listeners:
            self._history.unsubscribe(self._changed)
        self._ended(self)
