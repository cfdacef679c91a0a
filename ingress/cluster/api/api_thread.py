"""Threads that each send one request after the other, for somebody in the reactor thread.

What is asked waits in a queue; whoever asks bounds it, and keeps in order what has to be.  Everything that a request can come to,
a bug here included, arrives as an ``Outcome``.  Stopping breaks off the request under way, and
from then on nothing arrives any more.
"""

import json
import re
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any

from ingress.cluster.api.api_client import ApiConnection, ApiRequest, ApiResponse
from ingress.cluster.api.api_status import BROKEN
from ingress.errors import KubernetesError
from ingress.model.frozen import frozen

MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""Several times of what the API allows an object to be."""
MAX_ANSWER_SECONDS = 10.0
"""How long an answer may take once it has begun, however steadily it comes."""

WITHHELD = "Withheld"
"""The reason of a request that was not sent, because it was not permitted any more."""

_begins_as_object = re.compile(rb'\s*\{\s*"').match
_METADATA = b'"metadata"'
"""What every object of the API has, and what others say by JSON has not."""

Outcome = Mapping[str, Any] | KubernetesError
"""The object that the API server answered (an empty one where it is not wanted), or what went
wrong (status 0: below HTTP)."""


@frozen
class _Asked:
    request: ApiRequest
    done: Callable[[Outcome], None]
    is_permitted: Callable[[], bool]


class ApiThread:
    """Sends requests in a thread called *name*, which starts with the first of them.

    With *threads* it is as many as are asked at a time, up to that.  *reactor* has
    ``callFromThread``, *connections* makes the connection of a thread.
    """

    def __init__(
        self, reactor: Any, connections: Callable[[], ApiConnection], name: str, threads: int = 1
    ) -> None:
        self._reactor = reactor
        self._connections = connections
        self._name = name
        self._queue: SimpleQueue[_Asked | None] = SimpleQueue()
        self._most_threads = threads
        self._threads: list[tuple[Thread, ApiConnection]] = []
        # Requests that were asked and not delivered yet.
        self._under_way = 0
        self._is_stopping = False

    def ask(
        self,
        request: ApiRequest,
        done: Callable[[Outcome], None],
        is_permitted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Send *request* in its turn, and give *done* its outcome in the reactor thread.

        *is_permitted* is called in the thread at the last moment before it is sent: the process may
        have stood still since it was asked.
        """
        if self._is_stopping:
            return
        self._under_way += 1
        if len(self._threads) < min(self._under_way, self._most_threads):
            connection = self._connections()
            thread = Thread(target=self._work, args=(connection,), name=self._name, daemon=True)
            self._threads.append((thread, connection))
            thread.start()
        self._queue.put(_Asked(request, done, is_permitted))

    def stop(self) -> None:
        """Send and deliver nothing from now on, and end the threads; returns at once."""
        self._is_stopping = True
        for _, connection in self._threads:
            self._queue.put(None)
            connection.interrupt()

    def join(self, seconds: float) -> bool:
        """Wait for the end of the threads; return whether they ended in time.  Any thread."""
        deadline = monotonic() + seconds
        for thread, _ in self._threads:
            thread.join(max(0.0, deadline - monotonic()))
        return not any(thread.is_alive() for thread, _ in self._threads)

    def _work(self, connection: ApiConnection) -> None:
        """Thread: send one request after the other."""
        while (asked := self._queue.get()) is not None and not self._is_stopping:
            self._reactor.callFromThread(self._deliver, asked.done, _outcome(connection, asked))
        connection.close()

    def _deliver(self, done: Callable[[Outcome], None], outcome: Outcome) -> None:
        self._under_way -= 1
        if not self._is_stopping:
            done(outcome)


def _outcome(connection: ApiConnection, asked: _Asked) -> Outcome:
    """Thread: send one request."""
    try:
        if not asked.is_permitted():
            return KubernetesError(0, WITHHELD, "not permitted any more")
        response = connection.send(asked.request)
        try:
            body = _body(response)
            if asked.request.wants_answer:
                answer = json.loads(body)
            elif not (response.is_json and _begins_as_object(body) and _METADATA in body):
                # Whoever says so has not passed the request on: a page to log in at, or an error that a gateway tells with a success.
                return KubernetesError(0, BROKEN, "the answer is no object")
            else:
                answer = {}
        finally:
            response.close()
    except KubernetesError as error:
        if error.status == 401:
            connection.renew_credentials()
        return error
    except Exception as error:
        # Not JSON, or a bug.
        return KubernetesError(0, BROKEN, f"the answer cannot be read ({type(error).__name__})")
    if not isinstance(answer, dict):
        return KubernetesError(0, BROKEN, "the answer is no object")
    return answer


def _body(response: ApiResponse) -> bytes:
    """Thread: read an answer to its end, within bounds of size and time."""
    body = bytearray()
    with response.within(MAX_ANSWER_SECONDS):
        while chunk := response.read_chunk():
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                raise KubernetesError(0, BROKEN, "the answer has no end")
    return bytes(body)
