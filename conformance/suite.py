"""One run of the official suite of the Gateway API."""

import configparser
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.binaries import SuitePrograms
from conformance.control_plane import ControlPlane
from conformance.controller import CONTROLLER_NAME
from conformance.network import UNUSABLE_ADDRESS, USABLE_ADDRESS
from conformance.processes import WITH_US

CLASS = "gateway-conformance"
PROFILES = ("GATEWAY-HTTP", "GATEWAY-GRPC", "GATEWAY-TLS", "GATEWAY-TCP", "GATEWAY-UDP")
# What is not asked for, and why: docs/gateway-api.md says it, too.
NOT_SUPPORTED = {
    # Experimental ones of v1.7.0, for which it has no tests.
    "GatewayAddressRoutability": "addresses are the operator's",
    "GatewayAddressRoutabilityCluster": "addresses are the operator's",
    "GatewayListenerFilters": "only routes have filters",
    "ClusterTrustBundle": "authorities are in ConfigMaps",
}
# Experimental ones that need no field but what the standard CRDs have.  Without the first, the suite wants listeners refused
# that we serve.
ALSO_STANDARD = ("TLSRouteModeMixed", "HTTPRouteDestinationPortMatching")
URL = "https://txingress.dev"
# Where a few tests are tried, nobody wants to wait minutes for what does not come.  Whole runs have the suite's own limits.
IMPATIENT = ";".join(
    f"{name}:10"
    for name in (
        "GatewayMustHaveAddress",
        "GatewayMustHaveCondition",
        "GatewayStatusMustHaveListeners",
        "GatewayListenersMustHaveConditions",
        "ListenerSetMustHaveCondition",
        "ListenerSetListenersMustHaveConditions",
        "HTTPRouteMustHaveCondition",
        "RouteMustHaveParents",
        "MaxTimeToConsistency",
        "LatestObservedGenerationSet",
        "HTTPRouteMustNotHaveParents",
        "TCPRouteMustHaveCondition",
        "TLSRouteMustHaveCondition",
        "UDPRouteMustHaveCondition",
    )
)
IMPATIENT += ";NamespacesMustBeReady:30;DefaultTestTimeout:20"
RESULT = re.compile(r"^\s*--- (PASS|FAIL|SKIP): TestConformance/(\w+) \((\d+\.\d+)s\)")

MARK = "\x16"
# A line of what testify prints of a failed assertion: a field or more of the one before.
ASSERTION = re.compile(r"^\s+(?:(Error Trace|Error|Test|Messages):)?\s+\t(.*)$")

NOW_IN = re.compile(r"=== (?:RUN|NAME|CONT)\s+TestConformance/(\w+)")
# What a test says without a time is no news of its progress.
SAID = re.compile(r"^\s+[\w-]+\.go:\d+: (?!\d{4}-)(.+)$")


@dataclass(frozen=True)
class Result:
    """What became of one test: ``PASS``, ``FAIL`` or ``SKIP``."""

    verdict: str
    test: str
    seconds: float


def gateway_class() -> dict[str, object]:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": CLASS},
        "spec": {"controllerName": CONTROLLER_NAME},
    }


def command(
    programs: SuitePrograms,
    channel: str,
    profiles: Sequence[str],
    tests: Sequence[str],
    version: str,
    report: Path | None,
    *,
    keep: bool,
    impatient: bool,
) -> list[str | Path]:
    """The program of the tests with its options: all tests but for those named; ``keep`` leaves the base resources."""
    chosen = (
        ["-test.run", f"^TestConformance$/^({'|'.join(map(re.escape, tests))})$"]
        if tests
        else ["-test.run", "^TestConformance$"]
    )
    return [
        programs.tests,
        # With -test.v alone, results would be told when all tests are over.
        "-test.v=test2json",
        "-test.timeout=90m",
        *chosen,
        f"-gateway-class={CLASS}",
        f"-channel={channel}",
        f"-also={','.join(ALSO_STANDARD)}",
        f"-not-supported={','.join(NOT_SUPPORTED)}",
        f"-conformance-profiles={','.join(profiles)}",
        f"-usable-address={USABLE_ADDRESS}",
        f"-unusable-address={UNUSABLE_ADDRESS}",
        f"-cleanup-base-resources={'false' if keep else 'true'}",
        "-organization=txingress",
        "-project=txingress",
        f"-url={URL}",
        f"-version={version}",
        f"-contact={URL}",
        *([f"-report-output={report}"] if report else []),
        *([f"-timeout-config-overrides={IMPATIENT}"] if impatient else []),
    ]


def run(words: Sequence[str | Path], plane: ControlPlane, log: Path) -> tuple[list[Result], int]:
    """Play it and tell of each test when it is over; returns the results and the exit status."""
    environment = {
        "KUBECONFIG": str(plane.kubeconfig),
        "HOME": str(log.parent),
        "PATH": os.environ.get("PATH", os.defpath),
    }
    results = []
    # Ctrl-C is for the run, which ends the tests before the controller.
    process = subprocess.Popen(
        [*WITH_US, *(str(word) for word in words)],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        cwd=log.parent,
    )
    assert process.stdout is not None
    try:
        # Whoever looks while it runs sees all of it.
        with log.open("w", buffering=1) as written:
            for marked in process.stdout:
                line = marked.replace(MARK, "")
                written.write(line)
                for result in results_in([line]):
                    results.append(result)
                    if result.verdict != "SKIP":
                        print(f"{result.verdict}  {result.test}  {result.seconds:.1f} s", flush=True)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        status = process.wait()
    return results, status


def results_in(lines: Sequence[str]) -> Iterator[Result]:
    """The results in what Go's test program prints."""
    for line in lines:
        if found := RESULT.match(line):
            yield Result(found[1], found[2], float(found[3]))


def reasons_in(lines: Iterable[str]) -> dict[str, list[str]]:
    """By test, what was wrong: the assertions that failed, in its parts as well, each as one line."""
    reasons: dict[str, list[str]] = {}
    words: list[str] = []
    field = test = ""
    for line in lines:
        found = ASSERTION.match(line)
        if not found:
            words, field = [], ""
            if now := NOW_IN.match(line):
                test = now[1]
            elif said := SAID.match(line):
                reasons.setdefault(test, []).append(said[1])
            continue
        field = found[1] or field
        if field == "Test":
            # Messages may follow, and belong to it.
            names = found[2].split("/")
            reasons.setdefault("/".join(names[1:2]), []).append(" ".join(words))
        elif field == "Messages":
            reasons[next(reversed(reasons))][-1] += f" ({found[2]})" if found[1] else f" {found[2]}"
        elif field == "Error":
            words.append(found[2])
    return {test: list(dict.fromkeys(texts)) for test, texts in reasons.items()}


def profiles_in_order(report: str) -> str:
    """The text of a report with its profiles by name; the suite writes them as its map of them comes."""
    before, head, rest = report.partition("profiles:\n")
    blocks: list[list[str]] = []
    lines = rest.splitlines(keepends=True)
    while lines and lines[0].startswith(("- ", "  ")):
        line = lines.pop(0)
        if line.startswith("- "):
            blocks.append([])
        blocks[-1].append(line)
    blocks.sort(key=lambda block: next(line[2:] for line in block if line[2:].startswith("name: ")))
    return before + head + "".join("".join(block) for block in blocks) + "".join(lines)


def own_version(tree: Path) -> str:
    """The version in setup.cfg."""
    settings = configparser.ConfigParser()
    settings.read(tree / "setup.cfg")
    return settings["metadata"]["version"]


def report_path(reports: Path, api_version: str, channel: str, version: str) -> Path:
    """Where the report of a whole run is kept, by the names of the Gateway API's own collection."""
    return reports / api_version / f"{channel}-{version}-default-report.yaml"
