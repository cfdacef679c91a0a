"""The container of one pod: a process in the pod's network namespace, and what it prints, line by line with its time."""

import datetime
import os
import socket
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event, Thread

from conformance import network
from conformance.processes import WITH_US

LINES_KEPT = 100_000
CONNECT_SECONDS = 0.2
START_SECONDS = 0.3
PORT = 3000
UDP_VARIABLE = "UDP_ECHO_SERVER"
TCP_PORT_VARIABLE = "TCP_PORT"
"""Another port than the usual one, of a program that is meant to be missed there."""


class Container:
    """``number`` decides the pod's addresses and stays with it."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number
        self.addresses = network.pod_addresses(number)
        self._lines: deque[tuple[datetime.datetime, str]] = deque(maxlen=LINES_KEPT)
        self._process: subprocess.Popen[str] | None = None
        self._port = 0

    def start(
        self, program: Sequence[str | Path], environment: Mapping[str, str], *, is_udp: bool = False
    ) -> None:
        """Without a program the pod has its addresses, and nobody listens there."""
        network.add_pod(self.name, self.number)
        if not program:
            return
        is_udp = is_udp or UDP_VARIABLE in environment
        self._port = 0 if is_udp else int(environment.get(TCP_PORT_VARIABLE, PORT))
        inside = ["nsenter", f"--net=/run/netns/{self.name}", "--", *WITH_US, *map(str, program)]
        self._process = subprocess.Popen(
            inside,
            env={"PATH": os.environ.get("PATH", os.defpath), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        Thread(target=self._read, args=(self._process,), daemon=True).start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._lines.append((datetime.datetime.now(datetime.UTC), line))

    def log(self, since: datetime.datetime | None) -> str:
        """What was printed from a time on."""
        return "".join(line for time, line in list(self._lines) if since is None or time >= since)

    def is_listening(self) -> bool:
        """Whether it takes connections; what runs no program, or one for UDP, is as ready as it will be."""
        if not self._port:
            return True
        try:
            socket.create_connection((self.addresses[0], self._port), CONNECT_SECONDS).close()
        except OSError:
            return False
        return True

    def await_listening(self) -> None:
        """For the moment that a program needs to start, and no longer."""
        end = time.monotonic() + START_SECONDS
        while not self.is_listening() and time.monotonic() < end:
            Event().wait(0.01)

    def exit_status(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        network.remove_pod(self.name)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """The files of a volume."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        folder.joinpath(name).write_bytes(content)
