"""Building kustomizations with the program that is made for it, in bounds of time and size, and without a network."""

import json
import os
import re
import selectors
import shutil
import signal
import subprocess
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Final

from ingress.model.frozen import frozen

SECONDS: Final = 30.0
MOST_BYTES: Final = 64 * 2**20
_MOST_COMPLAINT: Final = 64 * 1024
_MOST_TOLD: Final = 600
_AT_ONCE: Final = 4
_PROGRAMS: Final = (("kubectl", "kustomize"), ("kustomize", "build"))
# The beginning of a line of klog has the time and the process in it.
_LOG_LINE: Final = re.compile(r"[EWIF]\d{4} [\d:.]+ +\d+ [^ \]]+\] ")
_COMMAND_FAILED: Final = re.compile(r'"command failed" err=("(?:[^"\\]|\\.)*")')
# A kustomization is looked at before; should it say more than was understood, nothing comes of that either.
_NO_NETWORK: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "no_proxy": "",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "",
}


@frozen
class Built:
    """What came of a folder: *content*, or why there is none."""

    content: bytes = b""
    fault: str = ""


def builder() -> tuple[str, ...] | None:
    """Return the command that builds kustomizations here, without the folder; None where there is none."""
    for program, verb in _PROGRAMS:
        path = shutil.which(program)
        if path is not None:
            return path, verb
    return None


def build_all(
    command: tuple[str, ...],
    folders: Iterable[str],
    *,
    is_network_allowed: bool = False,
    seconds: float = SECONDS,
    most_bytes: int = MOST_BYTES,
) -> Generator[Built, None, None]:
    """Build *folders*, a few at once; yield what came of each, in their order.

    What runs is ended once nobody wants to know any more, be it that our own process is to end.
    """
    environment = dict(os.environ) if is_network_allowed else {**os.environ, **_NO_NETWORK}
    running = _Running()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            yield from pool.map(
                lambda folder: _build(
                    (*command, os.path.abspath(folder)), environment, seconds, most_bytes, running
                ),
                folders,
            )
        finally:
            # What was not begun has been called off; the pool waits for what runs.
            running.end()


class _Running:
    """The programs that run, which end once nobody wants to know what comes of them: a signal to us is none to them.

    Threads: any.
    """

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._is_over = False

    @contextmanager
    def one(self, process: "subprocess.Popen[bytes]") -> Iterator[None]:
        """Have *process* end with the others meanwhile."""
        self._processes.add(process)
        # In this order, as end() looks at both in the other one.
        if self._is_over:
            _end(process)
        try:
            yield
        finally:
            self._processes.discard(process)

    def end(self) -> None:
        """End all that run, and whatever is started from now on."""
        self._is_over = True
        for process in tuple(self._processes):
            if process.returncode is None:
                _end(process)


def _build(
    command: tuple[str, ...],
    environment: Mapping[str, str],
    seconds: float,
    most_bytes: int,
    running: _Running,
) -> Built:
    """Run *command*, whose last word is the folder."""
    name = " ".join((os.path.basename(command[0]), *command[1:-1]))
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        return Built(fault=f"{name} cannot be run: {error.strerror or error}")
    with process, running.one(process):
        deadline = monotonic() + seconds
        content, complaint, is_whole = _outputs(process, deadline, most_bytes)
        if is_whole:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - monotonic()))
        if process.returncode is None:
            _end(process)
            is_large = len(content) > most_bytes
            why = (
                f"comes to more than {most_bytes // 2**20} MiB"
                if is_large
                else f"took longer than {seconds:g} s"
            )
            return Built(fault=f"{name} {why}")
    if process.returncode:
        return Built(fault=f"{name} failed: {_told(complaint) or f'status {process.returncode}'}")
    return Built(content)


def _outputs(
    process: "subprocess.Popen[bytes]", deadline: float, most_bytes: int
) -> tuple[bytes, bytes, bool]:
    """Return what the process says on both outputs, and whether that is all of it."""
    said: dict[object, bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ)
        while selector.get_map() and len(said[process.stdout]) <= most_bytes:
            ready = selector.select(max(0.0, deadline - monotonic()))
            if not ready:
                break
            for key, _ in ready:
                part = os.read(key.fd, 1 << 16)
                if not part:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout or len(said[key.fileobj]) < _MOST_COMPLAINT:
                    said[key.fileobj] += part
        is_whole = not selector.get_map()
    return bytes(said[process.stdout]), bytes(said[process.stderr]), is_whole


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the process, and what it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # So some systems say of those that have ended just now, and nobody has waited for.
        process.kill()


def _told(complaint: bytes) -> str:
    """Return the words of the program itself, without what is different each time."""
    text = _LOG_LINE.sub("", complaint.decode("utf-8", "replace")).strip()
    found = _COMMAND_FAILED.search(text)
    if found is not None:
        try:
            text = str(json.loads(found[1]))
        except ValueError:
            text = found[1][1:-1]
    text = " ".join(text.removeprefix("error: ").removeprefix("Error: ").split())
    return text if len(text) <= _MOST_TOLD else f"{text[:_MOST_TOLD]}…"
