"""``python -m bench.disruptions.restarts.pod PORT``: an endpoint that answers, sends slowly, reads to the end, and echoes a WebSocket."""

import asyncio
import sys

from bench.disruptions.faults.backends import Backend, Peer, Request

PIECES = 20
PIECE = 16 * 1024
GAP_SECONDS = 0.1
"""A download or an upload is so many pieces, with so long between them."""
MESSAGE = b"still there?"
_OPENING = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
# Of the key that RFC 6455, section 1.3, has as its example.
KEY, _ACCEPTED = b"dGhlIHNhbXBsZSBub25jZQ==", b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
# A binary message, whole: masked by zeros, as a client's has to be, and bare, as a server's has to be.
ASKED = b"\x82" + bytes([0x80 | len(MESSAGE)]) + bytes(4) + MESSAGE
ECHOED = b"\x82" + bytes([len(MESSAGE)]) + MESSAGE


async def _behave(request: Request, peer: Peer) -> None:
    backend.seen.clear()
    if request.target == b"/download":
        await peer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (PIECES * PIECE))
        for _ in range(PIECES):
            await peer.write(bytes(PIECE))
            await asyncio.sleep(GAP_SECONDS)
    elif request.target == b"/chat":
        await peer.write(_OPENING + b"Sec-WebSocket-Accept: %b\r\n\r\n" % _ACCEPTED)
        while await peer.reader.readexactly(len(ASKED)) == ASKED:
            await peer.write(ECHOED)
        peer.close()
    else:
        await peer.answer(b"ok")


backend = Backend(_behave)


async def _serve() -> None:
    await backend.start(int(sys.argv[1]))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
