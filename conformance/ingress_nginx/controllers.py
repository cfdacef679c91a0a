"""The two controllers, each in a network namespace of its own, as two pods are."""

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance import network
from conformance.control_plane import ControlPlane
from conformance.ingress_nginx import template
from conformance.ingress_nginx.programs import LUA, ReferencePrograms
from conformance.processes import Processes

NAMESPACE = "ingress-nginx"
CONFIG = "controller"
REFERENCE, OURS = "reference", "ours"
POD = "ingress-nginx-controller"
# What an operator of ours has to say for what ingress-nginx does without a word.
OUR_OPTIONS = (
    "--http=tcp:80",
    "--http=tcp6:80",
    "--https=tcp:443",
    "--https=tcp6:443",
    "--no-gateway-api",
    "--shutdown-delay=0",
    "--allow-external-name",
)
REFERENCE_OPTIONS = (
    "--disable-leader-election",
    "--update-status=false",
    "--enable-metrics=false",
    # Its default is one in three seconds, so that nginx is not reloaded more often.
    "--sync-rate-limit=5",
    "--profiling=false",
    "--disable-sync-events",
    # The default since 1.12.
    "--enable-annotation-validation",
)


@dataclass(frozen=True)
class Controller:
    """One that runs: ``address`` is where it is asked, and where it asks from; ``process`` is in its mount namespace.

    ``address6`` is the same by IPv6, and ``log`` what it logs.
    """

    name: str
    address: str
    process: int
    address6: str
    log: Path

    @property
    def addresses(self) -> tuple[str, str]:
        return self.address, self.address6


def start_reference(
    plane: ControlPlane,
    processes: Processes,
    programs: ReferencePrograms,
    resolver: str,
    number: int = 0,
    options: Sequence[str] = (),
) -> Controller:
    """Start one of ingress-nginx, the first or a further one, by its *number*, with further *options*."""
    name = f"{REFERENCE}-{number}" if number else REFERENCE
    folder = processes.logs / name
    etc = folder / "etc"
    lay_files(etc, programs, resolver)
    command = [
        str(programs.controller),
        f"--kubeconfig={plane.kubeconfig}",
        f"--configmap={NAMESPACE}/{CONFIG}",
        *REFERENCE_OPTIONS,
        *options,
    ]
    environment = {
        "PATH": os.environ["PATH"],
        "POD_NAME": POD,
        "POD_NAMESPACE": NAMESPACE,
        "NGINX_BINARY": str(programs.nginx),
    }
    return start(processes, name, number, folder, command, environment, "/tmp/nginx", "/var/log/nginx")


def lay_files(etc: Path, programs: ReferencePrograms, resolver: str) -> None:
    """What their image has below /etc, the template changed and the modules of Lua that Debian lacks beside theirs."""
    nginx = etc / "nginx"
    nginx.mkdir(parents=True)
    (etc / "resolv.conf").write_text(resolver)
    for folder in ("ssl", "auth", "geoip", "telemetry"):
        (etc / "ingress-controller" / folder).mkdir(parents=True)
    copy(programs.files, nginx)
    copy(LUA, nginx / "lua")
    (nginx / "modules").symlink_to("/usr/lib/nginx/modules")
    file = nginx / "template" / "nginx.tmpl"
    file.write_text(template.adapted(file.read_text()))


def copy(source: Path, target: Path) -> None:
    for file in source.rglob("*"):
        if file.is_file():
            there = target / file.relative_to(source)
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(file.read_bytes())


def start_ours(
    plane: ControlPlane,
    processes: Processes,
    tree: Path,
    resolver: str,
    number: int = 1,
    options: Sequence[str] = (),
) -> Controller:
    """Start one of ours, the first or a further one, by its *number*, with further *options*."""
    name = OURS if number == 1 else f"{OURS}-{number}"
    folder = processes.logs / name
    etc = folder / "etc"
    etc.mkdir(parents=True)
    (etc / "resolv.conf").write_text(resolver)
    command = [
        str(Path(sys.executable).with_name("twistd")),
        "--nodaemon",
        f"--pidfile={folder / 'twistd.pid'}",
        "ingress",
        f"--kubeconfig={plane.kubeconfig}",
        f"--configmap={NAMESPACE}/{CONFIG}",
        *OUR_OPTIONS,
        *options,
    ]
    environment = {**os.environ, "POD_NAME": "txingress", "POD_NAMESPACE": NAMESPACE}
    return start(processes, name, number, folder, command, environment)


def start(
    processes: Processes,
    name: str,
    number: int,
    folder: Path,
    command: Sequence[str],
    environment: dict[str, str],
    *folders: str,
) -> Controller:
    network.add_pod(name, number)
    # Endpoints of that network are elsewhere.
    network.ip_commands(f"route add default via {network.POD_NETWORKS[1] + 1}", namespace=name)
    room = folder / "room"
    room.mkdir()
    mounted = [
        sys.executable,
        "-m",
        "conformance.ingress_nginx.mounted",
        str(room),
        str(folder / "etc"),
        *folders,
    ]
    inside = [
        "nsenter",
        f"--net=/run/netns/{name}",
        "--",
        "unshare",
        # What it starts ends with it, nginx included, however it ends.
        *("--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
        "--",
        *mounted,
        "--",
        *command,
    ]
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    # unshare waits for its child whatever it is told, but for this.
    started = processes.start(name, inside, environment, Path(__file__).parents[2], end=signal.SIGKILL)
    address, address6 = network.pod_addresses(number)
    return Controller(name, address, started.pid, address6, processes.logs / f"{name}.log")
