"""The command line: ``python -m conformance run`` and ``up``; ``make conformance`` is the first."""

import os
import shutil
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from types import FrameType

from conformance import binaries, compiler, control_plane, network, playing
from conformance.cluster import RefusedError
from conformance.control_plane import ControlPlane
from conformance.options import read_arguments
from conformance.processes import EndedError, Processes

TREE = Path(__file__).parent.parent
WORK = TREE / ".conformance"
RUNS_KEPT = 5


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0 only if every test that was to be run has passed."""
    options = read_arguments(arguments)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        cache = Path(os.environ.get("CONFORMANCE_CACHE") or WORK / "cache").resolve()
        # Before the namespace, which reaches no module proxy.
        servers = binaries.api_server_programs(cache, os.environ)
        programs = binaries.suite_programs(cache, options.suite)
        above = running_pid(WORK / "up" / "pid")
        if options.command == "run" and above and not os.environ.get(network.INSIDE):
            network.join(above, arguments)
        network.enter(arguments)
        with ExitStack() as stack:
            if options.command == "run" and above:
                plane = plane_in(WORK / "up")
            else:
                folder = empty_folder(WORK / ("up" if options.command == "up" else f"run-{os.getpid()}"))
                network.set_up()
                plane = start_cluster(
                    stack.enter_context(Processes(folder)), servers, programs, options.channel
                )
            if options.command == "up":
                return wait(plane)
            remove_old_folders()
            folder = empty_folder(WORK / f"play-{os.getpid()}") if above else plane.folder
            processes = stack.enter_context(Processes(folder))
            return playing.play(plane, processes, programs, options, TREE, keep=bool(above))
    except (compiler.NotBuiltError, network.NetworkError, EndedError, RefusedError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def interrupt(signal_number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def start_cluster(
    processes: Processes, servers: binaries.ApiServerPrograms, programs: binaries.SuitePrograms, channel: str
) -> ControlPlane:
    """etcd, the API server, CRDs, our manifests, and who plays the pods."""
    plane = control_plane.start(servers, processes, processes.logs)
    control_plane.furnish(plane, processes, programs.crds / channel, TREE / "k8s" / "base")
    (processes.logs / "pid").write_text(str(os.getpid()))
    where = {
        "server": f"{network.API_SERVER_ADDRESS}:{control_plane.PORT}",
        "certificate": plane.certificate,
        "key": plane.key,
    }
    what = {
        "token-file": plane.folder / "tokens.csv",
        "echo": programs.echo,
        "folder": plane.folder / "volumes",
    }
    arguments = [f"--{name}={value}" for name, value in {**where, **what}.items()]
    processes.start("pods", [sys.executable, "-m", "conformance.pods", *arguments], folder=TREE)
    return plane


def wait(plane: ControlPlane) -> int:
    """Until Ctrl-C."""
    enter = f"nsenter -t {os.getpid()} --net --mount"
    print(
        f"the API server runs; look: {enter} kubectl --kubeconfig {plane.kubeconfig} get pods -A", flush=True
    )
    try:
        Event().wait()
    finally:
        (plane.folder / "pid").unlink()
    return 0


def running_pid(file: Path) -> int | None:
    """Whose file it is, if that process is there."""
    try:
        process = int(file.read_text())
        return process if b"conformance" in Path(f"/proc/{process}/cmdline").read_bytes() else None
    except (FileNotFoundError, ValueError):
        return None


def plane_in(folder: Path) -> ControlPlane:
    token = (folder / "tokens.csv").read_text().split(",")[0]
    return ControlPlane(folder, folder / "server.crt", folder / "server.key", token)


def remove_old_folders() -> None:
    """Of runs that are over, the newest ones stay."""
    over = [
        folder for folder in WORK.glob("*-*") if not Path(f"/proc/{folder.name.rpartition('-')[2]}").exists()
    ]
    for folder in sorted(over, key=lambda folder: folder.stat().st_mtime)[:-RUNS_KEPT]:
        shutil.rmtree(folder)


def empty_folder(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
