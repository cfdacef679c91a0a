"""How many Python calls a GET costs on its way in and out: ``make bench-calls`` prints them, each one by name.

The controller runs in this process as ``twistd ingress`` makes it, with its own sockets and an access log, and is met over
loopback.  While a request goes in, the endpoint holds its answer back; once the reactor's thread calls nothing any
more, the answer goes out.  ``sys.setprofile`` sees each call in between.  Calls, unlike times, are the same in each run, so
two versions can be compared by one number.

Counted are calls of functions in package ``ingress``.  Not among them are those that the reactor itself makes, two for
each of its turns whatever there is to do in it, and those of functions of others (Twisted, attrs, the standard
library), which are counted apart.  Built-in functions are not seen.  Timers tick in some rounds; what most rounds agree on is
what counts.

The end of a stream of HTTP/2 is shown by itself: all that is called once its last frame is written (downstream), or
was taken (upstream).
"""

import json
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Flag
from threading import Thread
from time import monotonic
from types import FrameType
from typing import Any, Protocol, TypeVar

from attrs import frozen
from twisted.application.service import IServiceMaker
from twisted.plugin import getPlugins

from bench.loads.unique_requests import (
    ACK,
    DATA,
    END_STREAM,
    FRAME_HEAD,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    SETTINGS,
    frame,
)
from bench.requests.call_trees import (
    OURS,
    Calls,
    Event,
    calls_of,
    end_of_received,
    end_of_sent,
    entries,
    fewest_agreed,
    made,
    made_by_others,
)
from bench.setup.errors import BenchError
from bench.setup.own_process import forked_processes
from bench.setup.processes import HOST, free_ports

T = TypeVar("T")

ROUNDS = 25
"""So often each conversation is had, if nobody says otherwise."""
WARM_ROUNDS = 3
"""Before anything is counted: connections are made, and what is remembered is found for the first time."""
_END_HEADERS = 0x4
_QUIET_SECONDS = 0.02
_PATIENCE_SECONDS = 10.0
_MOST_TIMES = 4
"""So many times the rounds that somebody asks for are had at most, where timers tick in many of them."""
_BODY = b"<h1>One of the pages that a shop has</h1>\n"
_INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
  namespace: bench
  annotations: {annotations}
spec:
  ingressClassName: nginx
  rules:
  - host: {name}.bench.test
    http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: {name}, port: {{number: 80}}}}}}}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: {name}, namespace: bench}}
spec: {{ports: [{{port: 80}}]}}
"""
PORT = "PORT_OF_HTTP"
"""Stands in manifests for the port that clients come to."""
_OVER_HTTP2 = "{nginx.ingress.kubernetes.io/backend-protocol: GRPC}"
MANIFESTS = "---".join(
    (_INGRESS.format(name="one", annotations="{}"), _INGRESS.format(name="two", annotations=_OVER_HTTP2))
)


class Recorder:
    """Takes down what a thread calls; to be its profile function."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._polls = False

    def __call__(self, running: FrameType, event: str, argument: object) -> None:
        if event == "call":
            code = running.f_code
            # What attrs generates has no module; its file name begins with "<attrs generated".
            self._events.append((running.f_globals.get("__name__") or code.co_filename, code.co_qualname))
        elif event == "return":
            self._events.append(None)
        else:
            # On a busy machine a thread may stand still amid its work, but not there.
            self._polls = event == "c_call" and getattr(argument, "__name__", "") == "poll"

    def settle(self) -> None:
        """Wait until the thread calls nothing any more, and waits for what comes next."""
        until = monotonic() + _PATIENCE_SECONDS
        seen = -1
        while seen != len(self._events) or not self._polls:
            if monotonic() > until:
                raise TimeoutError("the reactor finds no rest")
            seen = len(self._events)
            Flag().wait(_QUIET_SECONDS)

    def take(self) -> list[Calls]:
        """Return what was called of ours since the last time."""
        events, self._events = self._events, []
        return entries(calls_of(events))


class Peer(Protocol):
    """One end: a client that asks, or an endpoint that answers."""

    def say(self) -> None:
        """Send a whole request, or a whole answer."""

    def hear(self) -> None:
        """Wait for the whole of what the proxy says."""


def _receive(connection: socket.socket, heard: bytearray, is_whole: Callable[[], bool]) -> None:
    while not is_whole():
        octets = connection.recv(65536)
        if not octets:
            raise ConnectionError("the proxy closed the connection")
        heard += octets


class Http1Peer:
    """Either end over HTTP/1.1, which says *message*; what it hears ends with *last*."""

    def __init__(self, connection: socket.socket, message: bytes, last: bytes) -> None:
        self._connection = connection
        self._message = message
        self._last = last

    def say(self) -> None:
        self._connection.sendall(self._message)

    def hear(self) -> None:
        heard = bytearray()
        _receive(self._connection, heard, lambda: heard.endswith(self._last))


class Http1Visitor:
    """A client that connects anew for each *message*, which asks for the end of the connection."""

    def __init__(self, port: int, message: bytes) -> None:
        self._port = port
        self._message = message
        self._connection = socket.socket()

    def say(self) -> None:
        self._connection = socket.create_connection((HOST, self._port), _PATIENCE_SECONDS)
        self._connection.sendall(self._message)

    def hear(self) -> None:
        with self._connection:
            while self._connection.recv(65536):
                pass


def _field(name: bytes, value: bytes) -> bytes:
    """A field that nobody remembers (RFC 7541 section 6.2.2), without Huffman's code."""
    return b"\0%c%b%c%b" % (len(name), name, len(value), value)


class Http2Peer:
    """Either end over HTTP/2 in the clear: a client with a *host* to ask, or an endpoint."""

    def __init__(self, connection: socket.socket, host: bytes = b"") -> None:
        self._connection = connection
        self._host = host
        self._heard = bytearray()
        self._stream = -1
        connection.sendall((PREFACE if host else b"") + frame(SETTINGS, 0, 0))
        if not host:
            _receive(connection, self._heard, lambda: len(self._heard) >= len(PREFACE))
            del self._heard[: len(PREFACE)]

    def say(self) -> None:
        if self._host:
            self._stream += 2
            fields = b"\x82\x84\x86" + _field(b":authority", self._host)  # GET, /, http
            octets = frame(HEADERS, _END_HEADERS | END_STREAM, self._stream, fields)
        else:
            fields = b"\x88" + _field(b"content-length", b"%d" % len(_BODY))  # 200
            octets = frame(HEADERS, _END_HEADERS, self._stream, fields)
            octets += frame(DATA, END_STREAM, self._stream, _BODY)
        self._connection.sendall(octets)

    def hear(self) -> None:
        for kind, flags, stream, payload in self._frames():
            if kind in (SETTINGS, PING) and not flags & ACK:
                self._connection.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
            elif kind == GOAWAY:
                raise ConnectionError(f"the proxy says goodbye: {payload!r}")
            elif kind in (HEADERS, DATA) and flags & END_STREAM:
                self._stream = stream
                return

    def _frames(self) -> Iterator[tuple[int, int, int, bytes]]:
        heard = self._heard
        while True:
            _receive(self._connection, heard, lambda: len(heard) >= FRAME_HEAD)
            end = FRAME_HEAD + int.from_bytes(heard[:3])
            _receive(self._connection, heard, lambda end=end: len(heard) >= end)  # type: ignore[misc]
            kind, flags, stream = heard[3], heard[4], int.from_bytes(heard[5:9])
            payload = bytes(heard[FRAME_HEAD:end])
            del heard[:end]
            yield kind, flags, stream, payload


@frozen
class Conversation:
    """Which protocols are spoken: by the client, and by the endpoint."""

    title: str
    over_http2: bool
    to_http2: bool = False
    request: bytes = b""
    """What a client of HTTP/1.1 says, where that is not a plain GET."""
    is_anew: bool = False
    """Whether each request of HTTP/1.1 has a connection of its own, whose beginning and end count."""


OVER_HTTP1 = (
    Conversation("HTTP/1.1", over_http2=False),
    Conversation("HTTP/1.1 to an endpoint of HTTP/2", over_http2=False, to_http2=True),
    Conversation("HTTP/1.1, a connection for each", over_http2=False, is_anew=True),
)
OVER_HTTP2 = (
    Conversation("HTTP/2", over_http2=True),
    Conversation("HTTP/2 to an endpoint of HTTP/2", over_http2=True, to_http2=True),
)


@frozen
class Measured:
    """What one GET of *conversation* calls, from its first byte until the endpoint has it, and then until its end."""

    conversation: Conversation
    into: list[Calls]
    out: list[Calls]
    agreeing: str
    """How many rounds of how many called exactly this."""

    @property
    def ends(self) -> dict[str, Calls]:
        """The calls that end a stream, by the side it is of."""
        ends = {}
        if self.conversation.over_http2:
            ends["downstream"] = end_of_sent(self.out)
        if self.conversation.to_http2:
            ends["upstream"] = end_of_received(self.out)
        return ends

    def figures(self) -> dict[str, int]:
        """The numbers alone."""
        return {
            "in": made(self.into),
            "out": made(self.out),
            "others_in": made_by_others(self.into),
            "others_out": made_by_others(self.out),
            **{f"end_of_stream_{side}": len(calls) for side, calls in self.ends.items()},
        }

    def report(self) -> str:
        """All of it, call by call."""
        figures = self.figures()
        lines = [
            f"{self.conversation.title}: {figures['in']} calls in, {figures['out']} out"
            f" (and {figures['others_in']} and {figures['others_out']} of others;"
            f" {self.agreeing} rounds agree)",
        ]
        for title, trees in (("in", self.into), ("out", self.out)):
            lines += ["", f"  {title}:", *(f"    {call}" for tree in trees for call in tree)]
        for side, calls in self.ends.items():
            lines += ["", f"  the end of a stream, {side}: {len(calls)} calls", *map("    {}".format, calls)]
        return "\n".join([*lines, ""])


def _agreeing(rounds: list[list[Calls]]) -> int:
    """Return how many of *rounds* agree on the fewest calls, none where one alone has fewer: others may have as few."""
    calls, agreeing = fewest_agreed(rounds)
    return 0 if min(map(made, rounds)) < made(calls) else agreeing


class Driver:
    """Speaks with a proxy at *port* from both its ends; the endpoints listen: of HTTP/1.1, of HTTP/2."""

    def __init__(self, port: int, endpoints: tuple[socket.socket, socket.socket], recorder: Recorder) -> None:
        self._port = port
        self._endpoints = endpoints
        self._recorder = recorder

    def measure(self, conversation: Conversation, rounds: int) -> Measured:
        """Have *conversation* until more than half of so many *rounds* agree, or a few times as often."""
        recorder = self._recorder
        client = self._client(conversation)
        endpoint: Peer | None = None
        into: list[list[Calls]] = []
        out: list[list[Calls]] = []
        for number in range(-WARM_ROUNDS, rounds * _MOST_TIMES):
            recorder.settle()
            recorder.take()
            client.say()
            if endpoint is None:
                endpoint = self._accept(conversation)
            endpoint.hear()
            recorder.settle()
            had_in = recorder.take()
            endpoint.say()
            client.hear()
            recorder.settle()
            if number >= 0:
                into.append(had_in)
                out.append(recorder.take())
                if min(_agreeing(into), _agreeing(out)) > rounds // 2:
                    break
        most_in, agreeing_in = fewest_agreed(into)
        most_out, agreeing_out = fewest_agreed(out)
        agreeing = f"{min(agreeing_in, agreeing_out)} of {len(into)}"
        return Measured(conversation, most_in, most_out, agreeing)

    def _client(self, conversation: Conversation) -> Peer:
        if conversation.is_anew:
            ending = b"GET / HTTP/1.1\r\nHost: one.bench.test\r\nConnection: close\r\n\r\n"
            return Http1Visitor(self._port, conversation.request or ending)
        connection = socket.create_connection((HOST, self._port), _PATIENCE_SECONDS)
        host = b"two.bench.test" if conversation.to_http2 else b"one.bench.test"
        if conversation.over_http2:
            return Http2Peer(connection, host)
        plain = b"GET / HTTP/1.1\r\nHost: %b\r\nAccept: */*\r\n\r\n" % host
        return Http1Peer(connection, conversation.request or plain, _BODY)

    def _accept(self, conversation: Conversation) -> Peer:
        connection, _ = self._endpoints[conversation.to_http2].accept()
        connection.settimeout(_PATIENCE_SECONDS)
        if conversation.to_http2:
            return Http2Peer(connection)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(_BODY)
        return Http1Peer(connection, head + _BODY, b"\r\n\r\n")


def _listen() -> socket.socket:
    server = socket.create_server((HOST, 0))
    server.settimeout(_PATIENCE_SECONDS)
    return server


def _wait_for(port: int) -> None:
    until = monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            socket.create_connection((HOST, port), 1.0).close()
            return
        except ConnectionError:
            if monotonic() > until:
                raise
            Flag().wait(_QUIET_SECONDS)


def run_here(
    more: Sequence[str],
    drive: Callable[[Any, int, tuple[socket.socket, socket.socket]], T],
    objects: str = MANIFESTS,
) -> T:
    """Run a controller for *objects* with *more* options in this thread until *drive* is done in another; a process can do so once.

    Where *objects* have ``PORT``, its number stands.  *drive* gets the reactor, the port of plain HTTP, and the endpoints that listen: of HTTP/1.1, of HTTP/2.
    """
    from twisted.internet import reactor as installed  # noqa: TID251 - as a program, it is the one to choose

    reactor: Any = installed
    [maker] = [each for each in getPlugins(IServiceMaker) if each.tapname == OURS]
    driven: list[T] = []
    failures: list[BaseException] = []
    with TemporaryDirectory() as folder, _listen() as one, _listen() as two:
        manifests = Path(folder, "manifests.yaml")
        port, https, admin = free_ports(3)
        manifests.write_text(objects.replace(PORT, str(port)))
        options: Any = maker.options()
        options.parseOptions(
            [
                f"--manifests={manifests}",
                f"--endpoint=bench/one={HOST}:{one.getsockname()[1]}",
                f"--endpoint=bench/two={HOST}:{two.getsockname()[1]}",
                f"--http=tcp:{port}:interface={HOST}",
                f"--https=tcp:{https}:interface={HOST}",
                f"--admin=tcp:{admin}:interface={HOST}",
                f"--access-log={Path(folder, 'access.log')}",
                *more,
            ]
        )

        def drive_and_stop() -> None:
            try:
                _wait_for(port)
                driven.append(drive(reactor, port, (one, two)))
            except BaseException as failure:
                failures.append(failure)
            finally:
                reactor.callFromThread(reactor.stop)

        service: Any = maker.makeService(options)
        service.startService()
        reactor.callWhenRunning(Thread(target=drive_and_stop, daemon=True).start)
        reactor.run()
    if failures:
        raise failures[0]
    if not driven:
        raise BenchError("the controller ended by itself: its log says why")
    return driven[0]


def measure_here(
    conversations: Sequence[Conversation], rounds: int, more: Sequence[str], objects: str = MANIFESTS
) -> list[Measured]:
    """Count the calls of all of *conversations* with routes of *objects*, in this process."""
    recorder = Recorder()

    def drive(reactor: Any, port: int, endpoints: tuple[socket.socket, socket.socket]) -> list[Measured]:
        reactor.callFromThread(sys.setprofile, recorder)
        try:
            driver = Driver(port, endpoints, recorder)
            return [driver.measure(each, rounds) for each in conversations]
        finally:
            reactor.callFromThread(sys.setprofile, None)

    return run_here(more, drive, objects)


def measure_all(rounds: int = ROUNDS, more: Sequence[str] = ()) -> list[Measured]:
    """Measure all conversations, each kind of client in a process of its own, and with nothing on that it does not use."""
    with forked_processes(2) as pool:
        first = pool.submit(measure_here, OVER_HTTP1, rounds, more)
        second = pool.submit(measure_here, OVER_HTTP2, rounds, ("--http2-prior-knowledge", *more))
        return first.result() + second.result()


def main(arguments: Sequence[str]) -> None:
    """Print all calls, or with ``--json`` the numbers alone; other arguments are options of ``twistd ingress``."""
    measured = measure_all(more=[each for each in arguments if each != "--json"])
    if "--json" in arguments:
        print(json.dumps({each.conversation.title: each.figures() for each in measured}, indent=1))
    else:
        print("\n".join(each.report() for each in measured))


if __name__ == "__main__":
    main(sys.argv[1:])
