"""A terminal as a screen: drawn line by line, of which only those are sent that are different, as the way there may be slow."""

import os
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

_BEGIN: Final = "\x1b[?1049h\x1b[?25l\x1b[?7l"
"""The other screen, without cursor, without lines that go on in the next row."""
_END: Final = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_CLEAR: Final = "\x1b[2J"
_LOCAL: Final = 3
"""The place of the local modes in what ``tcgetattr`` returns."""


def changed(before: Sequence[str] | None, now: Sequence[str]) -> str:
    """Return what makes a screen with the lines *before*, or with anything, show the lines *now*."""
    if before is None or len(before) != len(now):
        return _CLEAR + "".join(f"\x1b[{row};1H{text}" for row, text in enumerate(now, 1))
    return "".join(
        f"\x1b[{row};1H{text}\x1b[K"
        for row, (old, text) in enumerate(zip(before, now, strict=True), 1)
        if old != text
    )


class Screen:
    """The terminal whose keys come from the descriptor *keys*, and whose octets go to *output*."""

    def __init__(self, keys: int, output: int, encoding: str = "utf-8") -> None:
        self._keys = keys
        self._output = output
        self._encoding = encoding
        self._before: list[str] | None = None
        self._size = (0, 0)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have the terminal give each key at once, and show it as it was at the end."""
        modes: list[Any] = termios.tcgetattr(self._keys)
        try:
            tty.setcbreak(self._keys)
            # Ctrl-C and its like come as keys: whoever stops here leaves a terminal that is as it was.
            now = termios.tcgetattr(self._keys)
            now[_LOCAL] &= ~termios.ISIG
            termios.tcsetattr(self._keys, termios.TCSANOW, now)
            self._write(_BEGIN)
            yield
        finally:
            self._write(_END)
            termios.tcsetattr(self._keys, termios.TCSADRAIN, modes)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows that there are now."""
        try:
            width, height = os.get_terminal_size(self._output)
        except OSError:
            width, height = 0, 0
        return width or 80, height or 24

    def read(self) -> bytes:
        """Return what was typed; empty at the end of the terminal."""
        return os.read(self._keys, 1024)

    def draw(self, lines: Sequence[str]) -> None:
        """Show *lines*."""
        if self._size != self.size:
            self._size, self._before = self.size, None
        self._write(changed(self._before, lines))
        self._before = list(lines)

    def _write(self, text: str) -> None:
        octets = text.encode(self._encoding, "backslashreplace")
        while octets:
            octets = octets[os.write(self._output, octets) :]
