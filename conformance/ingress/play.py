"""Play the scenarios against a controller that runs, and tell of each."""

import datetime
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Event

import yaml

from conformance.cluster import Cluster
from conformance.ingress import exchanges, objects
from conformance.ingress.scenarios import FEATURES, Exchange, Feature, Request
from conformance.suite import Result

SECONDS = 60.0
# For so long an Ingress of another class is looked at.
QUIET_SECONDS = 5.0
REQUESTS = 100


def play(cluster: Cluster, chosen: Sequence[str]) -> list[Result]:
    """The results of all scenarios, or of those of the features named."""
    results = []
    for feature in FEATURES:
        if not chosen or feature.name in chosen:
            for result in play_feature(cluster, feature):
                print(f"{result.verdict}  {result.test}  {result.seconds:.1f} s", flush=True)
                results.append(result)
    return results


def play_feature(cluster: Cluster, feature: Feature) -> Iterator[Result]:
    """Make its objects, ask, and delete its namespace."""
    pem, key_pem = objects.certificate_for(feature)
    for thing in objects.objects_of(feature, pem, key_pem):
        cluster.apply(thing)
    try:
        if not feature.shows_address:
            yield result_of(feature.name, lambda: no_address(cluster, feature))
            return
        address = wait_for_address(cluster, feature)
        if not address:
            for scenario in feature.scenarios:
                yield Result("FAIL", f"{feature.name} {scenario}: no address in the status", SECONDS)
        elif feature.pods > 1:
            yield result_of(feature.name, lambda: eventually(lambda: spread(address, feature)))
        else:
            yield from ask_all(feature, address, pem)
    finally:
        cluster.delete(f"/api/v1/namespaces/{objects.namespace_of(feature)}")


def ask_all(feature: Feature, address: str, pem: bytes) -> Iterator[Result]:
    def ask(exchange: Exchange) -> list[str]:
        answer = exchanges.ask(address, exchange.request, pem)
        return exchanges.faults(exchange, answer, address, feature.sized)

    for scenario in feature.scenarios:
        parts = [exchange for exchange in feature.exchanges if exchange.scenario == scenario]
        name = scenario if scenario == feature.name else f"{feature.name} {scenario}"
        yield result_of(name, partial(eventually_all, [partial(ask, part) for part in parts]))


def result_of(name: str, asked: Callable[[], list[str]]) -> Result:
    begin = time.monotonic()
    found = asked()
    seconds = time.monotonic() - begin
    return Result("FAIL", f"{name}: {'; '.join(found)}", seconds) if found else Result("PASS", name, seconds)


def eventually(asked: Callable[[], list[str]]) -> list[str]:
    """The faults of the last try, when time is over."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            found = asked()
        except OSError as error:
            found = [str(error)]
        if not found or time.monotonic() > end:
            return found
        Event().wait(0.2)


def eventually_all(asked: Sequence[Callable[[], list[str]]]) -> list[str]:
    return [fault for one in asked for fault in eventually(one)]


def shown_address(cluster: Cluster, feature: Feature) -> str:
    """What the status shows first, or nothing."""
    space = objects.namespace_of(feature)
    ingress = cluster.request(
        "GET", f"/apis/networking.k8s.io/v1/namespaces/{space}/ingresses/{objects.INGRESS}"
    )
    shown = ingress.get("status", {}).get("loadBalancer", {}).get("ingress") or [{}]
    return str(shown[0].get("ip") or shown[0].get("hostname") or "")


def wait_for_address(cluster: Cluster, feature: Feature) -> str:
    eventually(lambda: [] if shown_address(cluster, feature) else ["no address"])
    return shown_address(cluster, feature)


def no_address(cluster: Cluster, feature: Feature) -> list[str]:
    Event().wait(QUIET_SECONDS)
    shown = shown_address(cluster, feature)
    return [f"its status shows {shown}"] if shown else []


def spread(address: str, feature: Feature) -> list[str]:
    """One after another: every pod has to answer some."""
    answers = [exchanges.ask(address, Request("load-balancing"), b"") for _ in range(REQUESTS)]
    statuses = {answer.status for answer in answers}
    pods = {answer.echo.get("pod") for answer in answers}
    faults = [] if statuses == {200} else [f"statuses {sorted(statuses)}"]
    return faults + ([] if len(pods) == feature.pods else [f"{len(pods)} pods and not {feature.pods}"])


def write_report(cluster: Cluster, results: Sequence[Result], version: str, path: Path) -> None:
    """In the way of the Gateway API's reports."""
    server = cluster.request("GET", "/version")["gitVersion"]
    failed = [result.test for result in results if result.verdict == "FAIL"]
    report = {
        "kind": "IngressConformanceReport",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "implementation": {"project": "txingress", "version": version},
        "kubernetesVersion": server,
        "statistics": {"passed": len(results) - len(failed), "failed": len(failed)},
        "scenarios": [result.test for result in results if result.verdict == "PASS"],
        "failedScenarios": failed,
    }
    path.write_text(yaml.safe_dump(report, sort_keys=False, allow_unicode=True, width=120))
