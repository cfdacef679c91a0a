"""One run against an API server that is there: a controller, the official suite, and the scenarios of Ingress."""

from collections.abc import Sequence
from pathlib import Path

from conformance import controller, suite
from conformance.binaries import SuitePrograms
from conformance.control_plane import ControlPlane
from conformance.ingress import play as ingress
from conformance.ingress.scenarios import FEATURES
from conformance.options import Options
from conformance.processes import Processes
from conformance.suite import Result

CLASS_PATH = f"/apis/gateway.networking.k8s.io/v1/gatewayclasses/{suite.CLASS}"
ACCEPT_SECONDS = 60.0


def play(
    plane: ControlPlane,
    processes: Processes,
    programs: SuitePrograms,
    options: Options,
    tree: Path,
    keep: bool,
) -> int:
    """Start a controller and run what was chosen; 0 if all of that has passed.  ``keep`` leaves the base resources."""
    reports = tree / "docs" / "conformance"
    version = suite.own_version(tree)
    controller.start(plane, processes, tree)
    features = [name for name in options.tests if name in {feature.name for feature in FEATURES}]
    tests = [name for name in options.tests if name not in features]
    results: list[Result] = []
    status = 0
    if tests or not features:
        accept_class(plane, processes)
        path = (
            suite.report_path(reports, programs.version, options.channel, version)
            if options.is_whole
            else None
        )
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
        profiles = options.profiles or suite.PROFILES
        impatient = options.impatient or bool(tests)
        command = suite.command(
            programs, options.channel, profiles, tests, version, path, keep=keep, impatient=impatient
        )
        results, status = suite.run(command, plane, processes.logs / "suite.log")
        if path and path.exists():
            path.write_text(suite.profiles_in_order(path.read_text()))
    if features or not (options.tests or options.profiles):
        found = ingress.play(plane.cluster(), features)
        if options.is_whole:
            ingress.write_report(plane.cluster(), found, version, reports / f"ingress-{version}-report.yaml")
        results += found
    processes.check()
    return tell(results, status, processes.logs)


def accept_class(plane: ControlPlane, processes: Processes) -> None:
    """The suite looks at once for what the controller says of its class."""
    cluster = plane.cluster()
    cluster.apply(suite.gateway_class())

    def accepted() -> bool:
        conditions = cluster.request("GET", CLASS_PATH).get("status", {}).get("conditions", [])
        return any(
            condition["type"] == "Accepted" and condition["status"] == "True" for condition in conditions
        )

    processes.wait_until("accepting the GatewayClass", accepted, ACCEPT_SECONDS)


def tell(results: Sequence[Result], status: int, logs: Path) -> int:
    """Print the counts, and why tests have failed; 0 if none has."""
    counts = {
        verdict: sum(result.verdict == verdict for result in results) for verdict in ("PASS", "FAIL", "SKIP")
    }
    reasons = suite.reasons_in((logs / "suite.log").read_text().splitlines()) if status else {}
    for result in results:
        if result.verdict == "FAIL":
            print(f"failed: {result.test}", *reasons.get(result.test, ()), sep="\n    ")
    print(
        f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped; the logs are in {logs}"
    )
    return 0 if status == 0 and counts["PASS"] and not counts["FAIL"] else 1
