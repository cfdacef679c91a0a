"""The command line: ``python -m conformance run`` and ``up``; ``make conformance`` is the first."""

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from types import FrameType

from conformance import binaries, compiler, control_plane, controller, network, suite
from conformance.cluster import RefusedError
from conformance.control_plane import ControlPlane
from conformance.ingress import play as ingress
from conformance.ingress.scenarios import FEATURES
from conformance.processes import EndedError, Processes

TREE = Path(__file__).parent.parent
WORK = TREE / ".conformance"
REPORTS = TREE / "docs" / "conformance"
RUNS_KEPT = 5
CLASS_PATH = f"/apis/gateway.networking.k8s.io/v1/gatewayclasses/{suite.CLASS}"


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
            return play(stack, plane, programs, options, keep=bool(above))
    except (compiler.NotBuiltError, network.NetworkError, EndedError, RefusedError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def read_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument(
        "command",
        choices=("run", "up"),
        help="run the tests, or leave an API server and pods running for them",
    )
    parser.add_argument(
        "--suite",
        choices=sorted(binaries.SUITE_MODULES),
        default="release",
        help="of the release that we claim, or of the next one",
    )
    parser.add_argument(
        "--channel", choices=("standard", "experimental"), default="standard", help="which CRDs there are"
    )
    parser.add_argument(
        "--tests",
        default="",
        metavar="NAME,...",
        help="these tests or features of Ingress alone, and no report",
    )
    parser.add_argument(
        "--profiles",
        default="",
        metavar="NAME,...",
        help=f"instead of {','.join(suite.PROFILES)}, and no report",
    )
    parser.add_argument(
        "--impatient",
        action="store_true",
        help="wait for nothing longer than half a minute, and write no report",
    )
    return parser.parse_args(arguments)


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


def play(
    stack: ExitStack,
    plane: ControlPlane,
    programs: binaries.SuitePrograms,
    options: argparse.Namespace,
    keep: bool,
) -> int:
    """Start a controller and run what was chosen."""
    processes = stack.enter_context(
        Processes(empty_folder(WORK / f"play-{os.getpid()}") if keep else plane.folder)
    )
    controller.start(plane, processes, TREE)
    tests, profiles = words(options.tests), words(options.profiles)
    features = [name for name in tests if name in {feature.name for feature in FEATURES}]
    gateway_tests = [name for name in tests if name not in features]
    results: list[suite.Result] = []
    status = 0
    if gateway_tests or not features:
        results, status = play_suite(
            plane, processes, programs, options.channel, gateway_tests, profiles, keep
        )
    if features or not (tests or profiles):
        results += play_ingress(plane, features, is_whole=not (features or options.impatient))
    counts = {
        verdict: sum(result.verdict == verdict for result in results) for verdict in ("PASS", "FAIL", "SKIP")
    }
    print(
        f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped; the logs are in {processes.logs}"
    )
    reasons = suite.reasons_in((processes.logs / "suite.log").read_text().splitlines()) if status else {}
    for result in results:
        if result.verdict == "FAIL":
            print(f"failed: {result.test}", *reasons.get(result.test, ()), sep="\n    ")
    processes.check()
    return 0 if status == 0 and counts["PASS"] and not counts["FAIL"] else 1


def play_suite(
    plane: ControlPlane,
    processes: Processes,
    programs: binaries.SuitePrograms,
    options: argparse.Namespace,
    tests: Sequence[str],
    profiles: Sequence[str],
    keep: bool,
) -> tuple[list[suite.Result], int]:
    """Let the controller accept the class, and run the suite; a whole run writes its report."""
    cluster = plane.cluster()
    cluster.apply(suite.gateway_class())

    def accepted() -> bool:
        conditions = cluster.request("GET", CLASS_PATH).get("status", {}).get("conditions", [])
        return any(
            condition["type"] == "Accepted" and condition["status"] == "True" for condition in conditions
        )

    processes.wait_until("accepting the GatewayClass", accepted, 60)
    version = suite.own_version(TREE)
    partial = tests or profiles or options.impatient
    path = None if partial else suite.report_path(REPORTS, programs.version, options.channel, version)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
    impatient = options.impatient or bool(tests)
    command = suite.command(
        programs,
        options.channel,
        profiles or suite.PROFILES,
        tests,
        version,
        path,
        keep=keep,
        impatient=impatient,
    )
    return suite.run(command, plane, processes.logs / "suite.log")


def play_ingress(plane: ControlPlane, features: Sequence[str], is_whole: bool) -> list[suite.Result]:
    """The Ingress scenarios, and their report."""
    cluster = plane.cluster()
    results = ingress.play(cluster, features)
    if is_whole:
        version = suite.own_version(TREE)
        REPORTS.mkdir(parents=True, exist_ok=True)
        ingress.write_report(cluster, results, version, REPORTS / f"ingress-{version}-report.yaml")
    return results


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


def words(text: str) -> list[str]:
    return [word for word in text.replace(",", " ").split() if word]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
