"""A real PHP-FPM beside a test, which is skipped where none is installed."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from threading import Event
from time import monotonic

from twisted.trial.unittest import SkipTest, SynchronousTestCase

PATIENCE = 60.0
"""Seconds in which it must listen; generous, because the machine may be busy."""

SETTINGS = """
[global]
error_log = {folder}/fpm.log
daemonize = no
[www]
listen = 127.0.0.1:{port}
{user}
pm = static
pm.max_children = {children}
clear_env = yes
php_admin_flag[log_errors] = on
php_admin_flag[display_errors] = off
php_admin_value[upload_tmp_dir] = {folder}
php_admin_value[upload_max_filesize] = 64M
php_admin_value[post_max_size] = 64M
"""

_pause = Event().wait


def need_php_fpm() -> str:
    """Return its command; skip the test where it is not installed."""
    for folder in map(Path, os.environ.get("PATH", "").split(os.pathsep)):
        for found in sorted(folder.glob("php-fpm*")):
            if os.access(found, os.X_OK):
                return str(found)
    raise SkipTest("php-fpm is not installed (make fastcgi installs it)")


def run_php_fpm(case: SynchronousTestCase, folder: Path, port: int, children: int = 4) -> None:
    """Run it in *folder* until the test ends; return once it listens on *port* of 127.0.0.1."""
    command = need_php_fpm()
    as_root = os.geteuid() == 0
    user = "user = nobody\ngroup = nogroup" if as_root else ""
    file = folder / "fpm.conf"
    file.write_text(SETTINGS.format(folder=folder, port=port, user=user, children=children), "utf-8")
    process = subprocess.Popen(
        [command, "-n", "-F", "-y", str(file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
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
                log = folder / "fpm.log"
                case.fail(f"php-fpm does not listen: {log.read_text() if log.exists() else ''}")
            _pause(0.01)
