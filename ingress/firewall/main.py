"""The program of a firewall process: ``python -m ingress.firewall.main DESCRIPTOR SECONDS MEMORY_BYTES``.

Nobody starts it by hand.  With ``--check`` it says whether the library and the core rules are there, and how much of each.
"""

import ctypes
import os
import resource
import signal
import socket
import sys
from typing import Final

from ingress.firewall.libmodsecurity import Missing, ModSecurity
from ingress.firewall.serving import RulesRefused, serve

CHECK: Final = "--check"
_IGNORED: Final = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGPIPE,
    # A file that may not be written is an error, and not the end.
    signal.SIGXFSZ,
)
"""Terminals send some of them to all processes in front; this one ends when whoever serves does."""
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
_DESCRIPTORS: Final = 64


def confine(memory_bytes: int) -> None:
    """Have this process take no more memory, gain no right, write no file, leave no core, start no other, and end with its parent."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_NPROC):
        resource.setrlimit(limit, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_DESCRIPTORS, _DESCRIPTORS))
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def open_no_more() -> None:
    """Have this process open no file and no socket from now on, but for its output as the audit log: it has all that it needs."""
    most = max(map(int, os.listdir("/proc/self/fd"))) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _tell(error: Exception) -> None:
    sys.stderr.write(f"{error}\n")
    sys.stderr.flush()


def run(arguments: list[str]) -> int:
    """Do what *arguments* ask for; return the status of the process."""
    if arguments == [CHECK]:
        try:
            ModSecurity()
        except (Missing, RulesRefused) as error:
            _tell(error)
            return 1
        return 0
    descriptor, seconds, memory_bytes = int(arguments[0]), float(arguments[1]), int(arguments[2])
    # Whoever serves may have thousands open before it; here it is among the lowest, so that a bound of numbers is one of how many.
    own = os.dup(descriptor)
    os.close(descriptor)
    confine(memory_bytes)
    with socket.socket(fileno=own) as sock:
        try:
            library = ModSecurity()
        except (Missing, RulesRefused) as error:
            _tell(error)
            return 1
        open_no_more()
        serve(sock, library, seconds)
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
