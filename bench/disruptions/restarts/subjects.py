"""The proxies as processes: who the parent is, who serves, how each is told to be replaced, and whether all is as it was."""

import os
import shutil
import signal
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from time import monotonic

from bench.disruptions.restarts import configurations, kernel
from bench.disruptions.restarts.configurations import ADDED, GRACE_SECONDS, Site
from bench.disruptions.takeover.loads import NAME
from bench.setup.errors import BenchError
from bench.setup.processes import HOST, Processes, Running, answers, pause, wait_until_it_answers

_TWISTD = "from twisted.scripts.twistd import run; run()"
_AGAIN_SECONDS = 0.5
_LOOK_SECONDS = 0.01
_SETTLING_SECONDS = 1.2
_PATIENCE_SECONDS = 30.0
_UNHURRIED_SECONDS = 120.0
# Hands over the sockets of its arguments, up to --, as systemd does.
_ACTIVATED = """
import os, sys
end = sys.argv.index("--")
for place, number in enumerate(sys.argv[1:end]):
    os.dup2(int(number), 3 + place)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(end - 1), LISTEN_FDNAMES="http:https")
os.execv(sys.argv[end + 1], sys.argv[end + 1 :])
"""


class Subject(ABC):
    """One proxy of a site, started by *processes*, and started anew when it has ended."""

    title: str
    stop_signal = signal.SIGTERM

    patience: float = _PATIENCE_SECONDS
    """How long anything may take, in seconds."""

    def __init__(self, site: Site, processes: Processes) -> None:
        self.site = site
        self.starts = 0
        self._processes = processes
        self._started: list[Running] = []
        self._whole = 0
        """How many processes there are when all is well."""
        self._hosts = [NAME]
        self._next_start = 0.0

    @abstractmethod
    def command(self) -> list[str]:
        """Return what starts it."""

    @property
    @abstractmethod
    def root(self) -> int:
        """The process that is to run."""

    @property
    @abstractmethod
    def workers(self) -> list[int]:
        """The processes that have connections."""

    @abstractmethod
    def exchange(self) -> None:
        """Have the program started anew in its place."""

    @abstractmethod
    def add_host(self) -> None:
        """Change the configuration, and have it read."""

    def replace_workers(self) -> None:
        """Have all that serve replaced, without a change."""
        raise BenchError(f"{self.title} has nobody to replace")

    def take_over(self) -> None:
        """Have another process take over, which may have other options."""
        raise BenchError(f"{self.title} cannot be taken over")

    def is_content(self) -> bool:
        """Whether it says itself that all is well, where it says that."""
        return True

    def start(self) -> None:
        """Start it, and wait until it serves."""
        running = self.spawn()
        wait_until_it_answers(running, self.site.ports.http, NAME, self.patience)
        self.until(self.is_content)
        pause(_SETTLING_SECONDS)
        self._whole = len(kernel.sessions({running.pid}))

    @property
    def started(self) -> Running:
        """The last one that was started."""
        return self._started[-1]

    @property
    def descriptors(self) -> list[int]:
        """What it inherits."""
        return []

    def spawn(self, *options: str) -> Running:
        """Start a process of it."""
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        name = f"{type(self).__name__.lower()}-{self.starts}"
        running = self._processes.start(name, [*self.command(), *options], cpus, None, self.descriptors)
        self.starts += 1
        self._started.append(running)
        return running

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for *is_so*.  Raises BenchError when that takes too long."""
        deadline = monotonic() + self.patience
        while not is_so():
            if monotonic() > deadline:
                raise BenchError(f"{self.title} took longer than {self.patience:g} s")
            self.supervise()
            pause(_LOOK_SECONDS)

    def supervise(self) -> None:
        """Start it anew if its root has ended; if that fails, too, again in half a second."""
        # Who has ended and is not waited for still counts as running with whoever asks by kill(2).
        for one in self._started:
            one.popen.poll()
        ended = not kernel.runs(self.root) and self.started.popen.returncode is not None
        if not ended or monotonic() < self._next_start:
            return
        self._next_start = monotonic() + _AGAIN_SECONDS
        self.spawn()

    @property
    def is_whole(self) -> bool:
        """Whether as many processes run as at first, and requests are answered."""
        if (
            not kernel.runs(self.root)
            or len(kernel.sessions({one.pid for one in self._started})) != self._whole
        ):
            return False
        return self.is_content() and all(answers(self.site.ports.http, one) for one in self._hosts)

    def _named(self, path: Path) -> int:
        try:
            return int(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0


class Ours(Subject):
    """``twistd ingress``, with so many workers, or none; *activated* has its sockets from a service manager."""

    def __init__(
        self,
        site: Site,
        processes: Processes,
        workers: int = 0,
        *,
        activated: bool = False,
        first: bool = False,
        unhurried: bool = False,
    ) -> None:
        """One that is *unhurried* has time to start, and refuses nobody for want of time: the machine has other things to do."""
        super().__init__(site, processes)
        self._is_unhurried = unhurried
        if unhurried:
            self.patience = _UNHURRIED_SECONDS
        self.title = f"ours, {workers} workers" if workers else "ours, one process"
        self._count = workers
        self._is_first = first
        self._sockets = (
            [_listening(port) for port in (site.ports.http, site.ports.https)] if activated else []
        )
        configurations.write_manifests(site, NAME)

    def command(self) -> list[str]:
        site = self.site
        places = {"http": site.ports.http, "https": site.ports.https}
        made = [
            sys.executable,
            "-c",
            _TWISTD,
            "--nodaemon",
            # Inside of a namespace numbers are others.
            f"--pidfile={'' if self._is_first else site.folder / 'pid'}",
            "ingress",
            f"--manifests={site.folder / 'manifests'}",
            *(
                f"--{name}={f'systemd:name={name}' if self._sockets else f'tcp:{port}:interface={HOST}'}"
                for name, port in places.items()
            ),
            f"--admin=tcp:{site.admin}:interface={HOST}",
            f"--access-log={site.folder / 'ours.access'}",
            "--no-ssl-redirect",
            "--no-hsts",
            "--shutdown-delay=0",
            f"--shutdown-grace={GRACE_SECONDS}",
            *(["--overload-after=0"] if self._is_unhurried else []),
            *([] if self._is_first or self._sockets else [f"--takeover={site.folder / 'sock'}"]),
            *([f"--workers={self._count}"] if self._count else []),
        ]
        if self._sockets:
            return [sys.executable, "-c", _ACTIVATED, *map(str, self.descriptors), "--", *made]
        if self._is_first:
            return ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *made]
        return made

    @property
    def descriptors(self) -> list[int]:
        return [one.fileno() for one in self._sockets]

    @property
    def root(self) -> int:
        if self._is_first:
            return next(iter(kernel.children(self.started.pid)), self.started.pid)
        return self._named(self.site.folder / "pid") or self.started.pid

    @property
    def workers(self) -> list[int]:
        if not self._count:
            return [self.root]
        return [one for child in kernel.children(self.root) for one in kernel.children(child)]

    def is_content(self) -> bool:
        """Whether it is ready, with all workers."""
        return is_ready(self.site.admin) and len(self.workers) == max(1, self._count)

    def exchange(self) -> None:
        old = self.root
        os.kill(old, signal.SIGUSR2)
        self.until(lambda: not kernel.runs(old))

    def take_over(self) -> None:
        old = self.root
        self.spawn("--keep-alive-timeout=70")
        self.until(lambda: not kernel.runs(old))

    def replace_workers(self) -> None:
        old = set(self.workers)
        os.kill(self.root, signal.SIGUSR2)
        self.until(lambda: not old & set(self.workers))

    def add_host(self) -> None:
        self._hosts.append(ADDED)
        configurations.write_manifests(self.site, *self._hosts)


class Nginx(Subject):
    """nginx with two workers."""

    title = "nginx, 2 workers"
    stop_signal = signal.SIGQUIT

    def __init__(self, site: Site, processes: Processes, *, detached: bool = False) -> None:
        super().__init__(site, processes)
        self._is_detached = detached

    def command(self) -> list[str]:
        config = configurations.write_nginx(self.site, *self._hosts)
        # It starts itself anew by this name, and does not search for it.
        program = shutil.which("nginx") or "nginx"
        made = [program, "-e", "stderr", "-p", str(self.site.folder), "-c", str(config)]
        # It exchanges no program as long as whoever started it is there: that is a shell, for a second.
        return (
            ["sh", "-c", '("$@" & sleep 1); exec sleep infinity', "sh", *made] if self._is_detached else made
        )

    @property
    def root(self) -> int:
        return self._named(self.site.folder / "nginx.pid") or self.started.pid

    @property
    def workers(self) -> list[int]:
        return kernel.children(self.root)

    def exchange(self) -> None:
        old = self.root
        os.kill(old, signal.SIGUSR2)
        self.until(lambda: self.root != old and len(self.workers) == 2)
        os.kill(old, signal.SIGQUIT)
        self.until(lambda: not kernel.runs(old))

    def replace_workers(self) -> None:
        old = set(self.workers)
        os.kill(self.root, signal.SIGHUP)
        self.until(lambda: not old & set(self.workers))

    def add_host(self) -> None:
        self._hosts.append(ADDED)
        configurations.write_nginx(self.site, *self._hosts)
        os.kill(self.root, signal.SIGHUP)


class HAProxy(Subject):
    """HAProxy below a master: one process with two threads."""

    title = "HAProxy, 2 threads"
    stop_signal = signal.SIGUSR1

    def command(self) -> list[str]:
        config = configurations.write_haproxy(self.site, *self._hosts)
        return ["haproxy", "-W", "-S", str(self.site.folder / "master"), "-f", str(config)]

    @property
    def root(self) -> int:
        return self.started.pid

    @property
    def workers(self) -> list[int]:
        return kernel.children(self.root)

    def exchange(self) -> None:
        self.replace_workers()

    def replace_workers(self) -> None:
        # Its master becomes the program that lies there now, in the same process.
        old = set(self.workers)
        os.kill(self.root, signal.SIGUSR2)
        self.until(lambda: bool(self.workers) and not old & set(self.workers))

    def add_host(self) -> None:
        self._hosts.append(ADDED)
        configurations.write_haproxy(self.site, *self._hosts)
        os.kill(self.root, signal.SIGUSR2)


def is_ready(port: int) -> bool:
    """Whether the admin port *port* of ours says that all is well, and of no worker that it does not serve."""
    asking = HTTPConnection(HOST, port, timeout=2)
    try:
        asking.request("GET", "/readyz")
        return asking.getresponse().read() == b"ok\n"
    except (OSError, HTTPException):
        return False
    finally:
        asking.close()


def _listening(port: int) -> socket.socket:
    made = socket.create_server((HOST, port), backlog=4096)
    made.set_inheritable(True)
    return made


def installed(program: str) -> bool:
    """Whether there is such a program."""
    return shutil.which(program) is not None
