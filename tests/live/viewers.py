"""Who looks at the stream, for tests."""

import json
from typing import Any


class FakeViewer:
    """Keeps what it gets."""

    def __init__(self) -> None:
        self.octets = b""
        self.last = b""
        self.is_full = False

    def send(self, octets: bytes) -> None:
        """Keep *octets*."""
        self.octets += octets

    def end(self, octets: bytes) -> None:
        """Keep *octets* as the last ones."""
        self.last = octets

    def take(self) -> list[tuple[str, Any]]:
        """Return the events since the last call, each with its name, empty for comments."""
        blocks = self.octets.decode().split("\n\n")
        self.octets = blocks.pop().encode()
        found = []
        for block in blocks:
            lines = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
            found.append((lines.get("event", ""), json.loads(lines.get("data", "null"))))
        return found

    def names(self) -> list[str]:
        """Return the names of the events since the last call."""
        return [name for name, _ in self.take()]
