"""Plain ``twisted.web`` resources on the data path, for what is not proxying.

Health pages, redirects, answers to challenges: such a resource gets a real
``twisted.web`` request, built when it is asked for, so that it costs nothing to
requests that are proxied.  What it writes is collected and sent as one reply; it
gets no request body, and is not meant for answers that do not fit in memory.
"""

from io import BytesIO
from typing import Final
from urllib.parse import parse_qs

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.web.http_headers import Headers
from twisted.web.resource import IResource, getChildForRequest
from twisted.web.server import NOT_DONE_YET, Request, Site

from ingress.model.reply import Reply
from ingress.proxy.exchange.exchange import Exchange

MAX_COLLECTED: Final = 1024 * 1024
"""Bytes of an answer."""


class MountedResource:
    """Renders exchanges with *root* and its children, below *prefix*."""

    def __init__(self, prefix: bytes, root: IResource, clock: IReactorTime) -> None:
        self.prefix = prefix
        self._root = root
        self._site = Site(root, reactor=clock)

    def takes(self, path: bytes) -> bool:
        """Whether a request for *path*, in normal form, is for this resource."""
        prefix = self.prefix.rstrip(b"/")
        return path == prefix or path.startswith(prefix + b"/")

    def render(self, exchange: Exchange) -> int:
        """Answer *exchange* as ``twisted.web`` would."""
        request = _CollectedRequest(exchange, self._site)
        below = exchange.path[len(self.prefix.rstrip(b"/")) :].lstrip(b"/")
        request.prepath = [part for part in self.prefix.split(b"/") if part]
        request.postpath = below.split(b"/") if below else []
        resource = getChildForRequest(self._root, request)
        body = resource.render(request)
        if body is not NOT_DONE_YET:
            request.write(body)
            request.finish()
        return NOT_DONE_YET


class _NoChannel:
    """What a request asks of its channel when there is none."""

    transport = None

    def __init__(self, peer: IAddress, site: Site) -> None:
        self._peer = peer
        self.site = site

    def getPeer(self) -> IAddress:
        return self._peer

    def getHost(self) -> IAddress:
        return IPv4Address("TCP", "0.0.0.0", 0)

    def isSecure(self) -> bool:
        return False


class _CollectedRequest(Request):
    """A request whose answer is collected, and sent through its exchange when it is finished."""

    def __init__(self, exchange: Exchange, site: Site) -> None:
        host = exchange.facts().client.decode("ascii", "replace")
        peer = (IPv6Address if ":" in host else IPv4Address)("TCP", host, 0)
        super().__init__(_NoChannel(peer, site), queued=False)
        head = exchange.head
        self.site = site
        self._exchange = exchange
        self._size = 0
        self._pieces: list[bytes] = []
        self.method = head.method
        self.uri = head.target
        self.path = exchange.path
        self.clientproto = b"HTTP/1.1"
        self.args = parse_qs(head.target.partition(b"?")[2], keep_blank_values=True)
        self.content = BytesIO()
        self.requestHeaders = Headers({b"host": [head.authority]})
        for line in head.forward.split(b"\r\n")[:-1]:
            name, _, value = line.partition(b":")
            self.requestHeaders.addRawHeader(name, value.strip())

    def write(self, data: bytes) -> None:
        """Collect a piece of the answer."""
        self._size += len(data)
        if self._size <= MAX_COLLECTED:
            self._pieces.append(data)

    def finish(self) -> None:
        """Send what was collected."""
        self.finished = True
        if self._size > MAX_COLLECTED:
            self._exchange.fail(500, "a mounted resource answered more than is collected")
            return
        fields = tuple(
            (name, value)
            for name, values in self.responseHeaders.getAllRawHeaders()
            if name.lower() not in (b"content-length", b"connection", b"transfer-encoding")
            for value in values
        )
        cookies = tuple((b"Set-Cookie", cookie) for cookie in self.cookies)
        reply = Reply(self.code, fields + cookies, b"".join(self._pieces))
        if reply.status < 400:
            self._exchange.reply(reply)
        else:
            self._exchange.fail(reply.status, "answered by a mounted resource", reply=reply)
