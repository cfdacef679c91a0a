"""Bytes to lines, for a stream of JSON documents with one on each line.  Pure.

Lines end with the byte 0x0A and with nothing else: text may hold other characters that
count as line ends elsewhere.  What follows the last line end is never given out, because a
stream that broke off may have ended anywhere.
"""

# The API server refuses requests of more than 3 MiB; an object on the wire stays well below this.
MAX_LINE_BYTES = 16 * 1024 * 1024


class LineTooLongError(ValueError):
    """A line has more bytes than allowed; nothing more can be read from its stream."""


class LineSplitter:
    """Gathers the chunks of one stream and gives out its complete lines.

    The work is linear in the bytes fed, however many chunks a line comes in and however
    many lines come in one chunk.
    """

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_line_bytes = max_line_bytes
        self._begun: list[bytes] = []
        self._begun_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take *chunk*; return the lines that it completes, in order and without their line ends.

        Raises ``LineTooLongError``; the splitter is of no use afterwards.
        """
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._begun:
            lines[0] = b"".join([*self._begun, lines[0]])
            self._begun = []
            self._begun_bytes = 0
        if rest:
            self._begun.append(rest)
            self._begun_bytes += len(rest)
        longest = max(self._begun_bytes, max(map(len, lines), default=0))
        if longest > self._max_line_bytes:
            raise LineTooLongError(f"a line of more than {self._max_line_bytes} bytes")
        return lines
