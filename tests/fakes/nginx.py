"""A real nginx beside a test, which is skipped where none is installed."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from shutil import which
from threading import Event
from time import monotonic

from twisted.trial.unittest import SkipTest, SynchronousTestCase

PATIENCE = 60.0
"""Seconds in which it must listen; generous, because the machine may be busy."""

_pause = Event().wait


def need_nginx(module: Path | None = None, package: str = "") -> str:
    """Return its command; skip the test where it is not installed, or without the *module* of that *package*."""
    command = which("nginx")
    if command is None:
        raise SkipTest("nginx is not installed")
    if module is not None and not module.exists():
        raise SkipTest(f"a module of nginx is not installed: {package}")
    return command


def run_nginx(case: SynchronousTestCase, folder: Path, configuration: str, port: int) -> None:
    """Run it in *folder* with *configuration* until the test ends; return once it listens on *port* of 127.0.0.1.

    *configuration* says neither where its process id and errors go, nor that it stays in the foreground.
    """
    command = need_nginx()
    file, errors = folder / "nginx.conf", folder / "errors"
    file.write_text(f"daemon off; pid {folder}/pid; error_log {errors} crit;\n{configuration}", "utf-8")
    process = subprocess.Popen(
        [command, "-p", str(folder), "-c", str(file), "-e", str(errors)], stderr=subprocess.DEVNULL
    )
    case.addCleanup(process.wait)
    case.addCleanup(process.terminate)
    until = monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            if process.poll() is not None or monotonic() > until:
                said = errors.read_text(errors="replace") if errors.exists() else ""
                case.fail(f"nginx does not listen: {said}")
            _pause(0.01)
