"""Requests for the admin port, of which no content is read.

``twisted.web`` would keep what anybody sends, in a file beside where it is much, and read it as a form: some megabytes of that hold the
reactor for seconds, and whoever may connect can send them, token or not.  No page here is asked for by content.
"""

from typing import Any, Final

from twisted.web.server import Request

MOST_CONTENT: Final = 65_536
"""Bytes of content that are thrown away before the answer; who sends more is cut."""
_TOO_LARGE: Final = (
    b"HTTP/1.1 413 Content Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 35\r\nConnection: close\r\n\r\n"
    b"pages are asked for without content"
)


class AdminRequest(Request):
    """A request whose content, if it has any, is thrown away."""

    _came = 0
    _is_refused = False

    def gotLength(self, length: int | None) -> None:
        """Expect so many bytes of content; None where that is not known."""
        super().gotLength(0)
        if length is not None and length > MOST_CONTENT:
            self._refuse()

    def handleContentChunk(self, data: bytes) -> None:
        """Throw *data* away."""
        self._came += len(data)
        if self._came > MOST_CONTENT:
            self._refuse()

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        """Answer, unless it is refused already."""
        if not self._is_refused:
            super().requestReceived(command, path, version)

    def _refuse(self) -> None:
        if self._is_refused:
            return
        self._is_refused = True
        channel: Any = self.channel
        channel.transport.write(_TOO_LARGE)
        channel.loseConnection()
