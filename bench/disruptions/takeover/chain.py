"""Controllers that follow each other on the same ports, and what each of them costs."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

from attrs import frozen

from bench.disruptions.takeover.loads import HOST, NAME, Ports

_TWISTD = "from twisted.scripts.twistd import run; run()"
_SECONDS = 60.0

_MANIFESTS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: shop, namespace: shop}}
spec:
  ingressClassName: nginx
  tls: [{{hosts: [{name}], secretName: pair}}]
  rules:
  - host: {name}
    http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: app, port: {{number: 80}}}}}}}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: app, namespace: shop}}
spec: {{ports: [{{port: 80}}]}}
---
apiVersion: v1
kind: Secret
metadata: {{name: pair, namespace: shop}}
type: kubernetes.io/tls
data: {{tls.crt: {certificate}, tls.key: {key}}}
"""


@frozen
class Cost:
    """What one controller has when it serves alone."""

    pid: int
    resident_kib: int
    descriptors: int
    seconds: float
    """From asking for the takeover until the one before it had ended."""


class Chain:
    """The controllers, in *folder*; *options* are those of all."""

    def __init__(
        self, folder: Path, ports: Ports, admin: int, endpoint: str, options: tuple[str, ...]
    ) -> None:
        self._folder = folder
        self._pid_file = folder / "pid"
        self._started: list[subprocess.Popen[bytes]] = []
        self._command = [
            sys.executable,
            "-c",
            _TWISTD,
            "--nodaemon",
            f"--pidfile={self._pid_file}",
            f"--logfile={folder / 'log'}",
            "ingress",
            f"--http=tcp:{ports.http}:interface={HOST}",
            f"--https=tcp:{ports.https}:interface={HOST}",
            f"--admin=tcp:{admin}:interface={HOST}",
            f"--manifests={folder / 'objects.yaml'}",
            f"--endpoint=shop/app={endpoint}",
            "--no-ssl-redirect",
            "--no-hsts",
            f"--access-log={folder / 'access.log'}",
            f"--takeover={folder / 'sock'}",
            *options,
        ]
        self.pid = 0

    @staticmethod
    def write_objects(folder: Path, certificate: str, key: str) -> None:
        """Write the manifests; *certificate* and *key* are in base 64."""
        text = _MANIFESTS.format(name=NAME, certificate=certificate, key=key)
        (folder / "objects.yaml").write_text(text, encoding="utf-8")

    def start(self) -> None:
        """Start the first one, and wait until it can be taken over."""
        self._spawn()
        self._until(lambda: (self._folder / "sock").exists() and self._named() > 0)
        self.pid = self._named()

    def follow(self, *, in_place: bool) -> Cost:
        """Have another one take over, in place or by the path."""
        began, before = time.monotonic(), self.pid
        if in_place:
            os.kill(before, signal.SIGUSR2)
        else:
            self._spawn()
        self._until(lambda: self._named() not in (0, before))
        self.pid = self._named()
        self._until(lambda: not _runs(before))
        return self.cost(time.monotonic() - began)

    def cost(self, seconds: float = 0.0) -> Cost:
        """Return what the current one has."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
        return Cost(self.pid, resident, len(os.listdir(f"/proc/{self.pid}/fd")), seconds)

    def processes(self) -> list[int]:
        """Return all processes that have this folder on their command line."""
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit() and _runs(int(name)):
                try:
                    line = Path(f"/proc/{name}/cmdline").read_bytes()
                except OSError:
                    continue
                if f"--takeover={self._folder / 'sock'}".encode() in line.split(b"\0"):
                    found.append(int(name))
        return found

    def end(self) -> list[int]:
        """Have the last one stop; return what is left of all."""
        os.kill(self.pid, signal.SIGTERM)
        os.kill(self.pid, signal.SIGQUIT)
        self._until(lambda: not _runs(self.pid))
        return self.processes()

    def stop(self) -> None:
        """End all of them."""
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        for one in self._started:
            one.wait()

    def _spawn(self) -> None:
        # What is written to a terminal is for people; the log has all else.
        self._started.append(subprocess.Popen(self._command, cwd=self._folder))

    def _named(self) -> int:
        try:
            return int(self._pid_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0

    def _until(self, condition: Callable[[], bool]) -> None:
        deadline, waiting = time.monotonic() + _SECONDS, Event()
        while not condition():
            for one in self._started:
                one.poll()
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {_SECONDS:g} s; the log is {self._folder / 'log'}")
            waiting.wait(0.01)


def _runs(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return status.rpartition(b")")[2].split()[0] != b"Z"
