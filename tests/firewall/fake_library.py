"""A library that judges by targets, and a program that is a firewall process with it: what real ones do, and what they should not.

``python -m tests.firewall.fake_library`` takes the arguments of a real firewall process.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event

from ingress.firewall.main import confine
from ingress.firewall.messages import Said
from ingress.firewall.serving import RulesRefused, serve
from ingress.model.exchanges.firewall import CORE_RULES, InspectedAnswer, InspectedRequest


class FakeTransaction:
    """A request."""

    def __init__(self, library: FakeLibrary, name: bytes) -> None:
        self._library = library
        self._name = name

    def request(self, request: InspectedRequest) -> Said:
        """Judge by the target, or do worse."""
        target = request.target
        self._library.asked.append(request)
        if target == b"/deny" or b"evil" in request.body:
            return Said(403, b"", (b"denied " + self._name,), 1)
        if target == b"/detect":
            return Said(0, b"", (b"detected\nand \x1b[31m",), 1)
        if target == b"/redirect":
            return Said(302, b"https://other.test/")
        self._library.misbehave(target)
        return Said()

    def answer(self, answer: InspectedAnswer) -> Said:
        """Refuse what has a field for that, or a word in its body."""
        self._library.misbehave(answer.lines.strip())
        leaks = b"X-Leak" in answer.lines or b"secret" in (answer.body or b"")
        return Said(502 if leaks else 0)

    def close(self) -> Said:
        """Count."""
        self._library.closed += 1
        return Said()


class FakeRules:
    """Rules."""

    def __init__(self, library: FakeLibrary) -> None:
        self._library = library

    def begin(self, name: bytes) -> FakeTransaction:
        """Begin a transaction."""
        return FakeTransaction(self._library, name)

    def close(self) -> None:
        """Count."""
        self._library.rules -= 1


class FakeLibrary:
    """A library that refuses rules which say so."""

    def __init__(self, sock: socket.socket | None = None) -> None:
        self.asked: list[InspectedRequest] = []
        self.closed = 0
        self.rules = 0
        self.memory = 0
        self._sock = sock

    def load(self, parts: Sequence[str | None]) -> FakeRules:
        """Take rules."""
        if "refused" in [part for part in parts if part is not CORE_RULES]:
            raise RulesRefused("line 1 is no rule")
        self.memory += sum(int(part) for part in parts if part and part.isdecimal())
        self.rules += 1
        return FakeRules(self)

    def taken(self) -> int:
        """Say what rules take, which say so themselves."""
        return self.memory

    def misbehave(self, target: bytes) -> None:
        """Do what a process does that was broken into, or has a bug."""
        if target == b"/crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif target == b"/hang":
            Event().wait()
        elif target == b"/leave":
            os._exit(3)
        elif target == b"/memory":
            bytearray(1 << 31)
        elif target.startswith(b"/write/"):
            Path(os.fsdecode(target.removeprefix(b"/write"))).write_bytes(b"x")
        elif target.startswith(b"/slow"):
            Event().wait(0.2)
        elif target == b"/say":
            os.write(1, b'{"transaction": "audited"}\n' + b"x" * 200_000 + b"\nlast\n")
        elif self._sock is not None:
            self._send(target)

    def _send(self, target: bytes) -> None:
        assert self._sock is not None
        if target == b"/garbage":
            self._sock.sendall(os.urandom(100_000))
        elif target == b"/endless":
            self._sock.sendall(b"\xff\xff\xff\x7f\x12\x00\x00\x00\x00\x00\x00")
        elif target == b"/unasked":
            self._sock.sendall(b"\x04\x00\x00\x00\x12\x00\x00\x63\x00\x00\x00\x00\x00\x00\x00")


def main(arguments: list[str]) -> None:
    """Be a firewall process."""
    confine(int(arguments[2]))
    sock = socket.socket(fileno=int(arguments[0]))
    serve(sock, FakeLibrary(sock), float(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
