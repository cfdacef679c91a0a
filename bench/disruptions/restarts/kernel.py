"""What the kernel knows of processes: who is in which session, and whose connections they have."""

import ctypes
import os
import socket
import struct
from pathlib import Path

# pidfd_getfd(2), which Python does not have; the number is the same on all machines since Linux 5.6.
_PIDFD_GETFD = 438
_libc = ctypes.CDLL(None, use_errno=True)


def sessions(leaders: set[int]) -> list[int]:
    """Return the processes in the sessions of *leaders* that have not ended."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] != b"Z" and int(fields[3]) in leaders:
            found.append(int(name))
    return found


def runs(pid: int) -> bool:
    """Whether *pid* has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def is_stopped(pid: int) -> bool:
    """Whether no thread of *pid* runs any more, which is some time after it is sent SIGSTOP."""
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            state = path.read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        if state not in (b"T", b"Z", b"X"):
            return False
    return True


def children(pid: int) -> list[int]:
    """Return the children of *pid* that have not ended."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += (int(one) for one in path.read_text().split())
        except OSError:
            continue
    return [one for one in found if runs(one)]


def clients(pid: int, ports: tuple[int, ...]) -> set[int]:
    """Return the ports of those who are connected to *pid* on one of its *ports*."""
    found = set()
    process = os.pidfd_open(pid)
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                continue
            number = _libc.syscall(_PIDFD_GETFD, process, int(name), 0)
            if number < 0:
                raise OSError(ctypes.get_errno(), "pidfd_getfd")
            with socket.socket(fileno=number) as sock:
                found |= _client(sock, ports)
    finally:
        os.close(process)
    return found


def _client(sock: socket.socket, ports: tuple[int, ...]) -> set[int]:
    if sock.family != socket.AF_INET:
        return set()
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) if sock.type == socket.SOCK_STREAM else b""
    listening = 10
    if not info or struct.unpack("B", info)[0] == listening:
        return set()
    try:
        return {sock.getpeername()[1]} if sock.getsockname()[1] in ports else set()
    except OSError:
        return set()  # it has ended meanwhile
