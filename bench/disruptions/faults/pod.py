"""``python -m bench.disruptions.faults.pod``: a backend in a process of its own, so that it can be killed.

It answers each request with its name, and ends at SIGTERM as a pod should: it listens no more,
says ``Connection: close`` for a moment, and ends.
"""

import argparse
import asyncio
import signal

from bench.setup.processes import HOST

GRACE_SECONDS = 0.5


class _Answering(asyncio.Protocol):
    def __init__(self, pod: "_Pod") -> None:
        self._pod = pod
        self._received = b""
        self._awaits_body = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        # An empty line ends a head, and a body in chunks, which is answered when it is whole: who answers a head alone
        # may be quicker than what is wrong with the body.
        *parts, self._received = (self._received + data).split(b"\r\n\r\n")
        for part in parts:
            self._awaits_body = not self._awaits_body and b"transfer-encoding: chunked" in part.lower()
            if self._awaits_body:
                continue
            self._transport.write(self._pod.answer)
            if self._pod.is_ending:
                self._transport.close()


class _Pod:
    def __init__(self, name: str) -> None:
        self.is_ending = False
        self._name = name.encode()

    @property
    def answer(self) -> bytes:
        """What each request is answered with; of bodies only those in chunks are expected."""
        last = b"Connection: close\r\n" if self.is_ending else b""
        return b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (last, len(self._name), self._name)


async def _run(port: int, name: str) -> None:
    pod, loop, asked = _Pod(name), asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, asked.set)
    server = await loop.create_server(lambda: _Answering(pod), HOST, port, backlog=4096)
    await asked.wait()
    server.close()
    pod.is_ending = True
    await asyncio.sleep(GRACE_SECONDS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.disruptions.faults.pod", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--name", required=True, help="what it answers")
    known = parser.parse_args()
    asyncio.run(_run(known.port, known.name))
