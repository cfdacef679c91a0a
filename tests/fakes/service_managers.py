"""What plays systemd towards a process: the socket that it tells how it is, and whether it is alive."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

_CREDENTIALS = struct.Struct("3i")


class FakeServiceManager:
    """A socket for ``sd_notify``, at a path or, with ``@``, under an abstract name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind(f"\0{name[1:]}" if name.startswith("@") else name)
        self._socket.setblocking(False)
        self.messages: list[tuple[int, dict[str, str]]] = []
        """Each message so far: the process that sent it, and its fields."""

    def read(self) -> list[dict[str, str]]:
        """Take what waits; return the fields of all messages so far."""
        while True:
            try:
                data, ancillary, _, _ = self._socket.recvmsg(4096, socket.CMSG_SPACE(_CREDENTIALS.size))
            except BlockingIOError:
                return [fields for _, fields in self.messages]
            pid, _, _ = _CREDENTIALS.unpack(ancillary[0][2][: _CREDENTIALS.size])
            lines = data.decode().split("\n")
            self.messages.append((pid, dict(line.split("=", 1) for line in lines)))

    def said(self, field: str) -> list[str]:
        """Return each value of *field* that was told, oldest first."""
        return [fields[field] for fields in self.read() if field in fields]

    def close(self) -> None:
        """Be gone."""
        self._socket.close()
        if not self.name.startswith("@"):
            Path(self.name).unlink(missing_ok=True)


def abstract_name(what: str) -> str:
    """Return a name that no other process of these tests has."""
    return f"@txingress-{what}-{os.getpid()}-{os.urandom(4).hex()}"
