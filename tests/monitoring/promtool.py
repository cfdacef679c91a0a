"""Has ``promtool`` check the rules, and play the cases at them: ``python -m tests.monitoring.promtool``.

Installs Debian's Prometheus if it is missing, without starting it.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import yaml

from bench.peers.install import ensure_programs
from bench.setup.errors import BenchError
from tests.monitoring.cases import CASES, Case, Series
from tests.monitoring.files import MONITORING, THEIR_NAMES, alert_rules, groups_text, queries, recording_rules
from tests.monitoring.test_expressions import for_prometheus
from tests.monitoring.their_names import OF_THEIR_NAMES, Recorded

_RULES: Final = "rules.yaml"
_THEIRS: Final = "their-names.yaml"
_TESTS: Final = "tests.yaml"
_TESTS_OF_THEIRS: Final = "tests-of-their-names.yaml"
_CONFIGURATION: Final = "prometheus.yaml"
_PANELS: Final = "panels.yaml"


def rule_tests(cases: Iterable[Case]) -> dict[str, Any]:
    """Return *cases* as ``promtool test rules`` reads them: each alert fires, with its labels, and does not."""
    return {
        "rule_files": [_RULES],
        "evaluation_interval": "1m",
        "tests": [test for case in cases for test in _tests_of(case)],
    }


def _tests_of(case: Case) -> Iterator[dict[str, Any]]:
    matchers = "".join(f', {name}="{value}"' for name, value in case.labels.items())
    firing = f'count(ALERTS{{alertname="{case.alert}", alertstate="firing"{matchers}}}) > bool 0'
    yield _test(case, case.fires, firing, [{"labels": "{}", "value": 1}])
    yield _test(case, case.quiet, f'ALERTS{{alertname="{case.alert}", alertstate="firing"}}', [])


def _test(case: Case, series: Series, expression: str, expected: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": f"{case.alert}: {'fires' if expected else 'quiet: ' + case.why}",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {"expr": expression, "eval_time": f"{case.minutes}m", "exp_samples": expected},
        ],
    }


def recording_tests(cases: Iterable[Recorded]) -> dict[str, Any]:
    """Return *cases* as ``promtool test rules`` reads them: what is asked for by the names that are recorded, and what comes of it."""
    return {
        "rule_files": [_THEIRS],
        "evaluation_interval": "15s",
        "tests": [
            {
                "name": case.name,
                "interval": "15s",
                "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
                "promql_expr_test": [
                    {
                        "expr": expression,
                        "eval_time": f"{case.minutes}m",
                        "exp_samples": [
                            {"labels": labels, "value": value} for labels, value in samples.items()
                        ],
                    }
                    for expression, samples in case.asked.items()
                ],
            }
            for case in cases
        ],
    }


def panel_rules() -> dict[str, Any]:
    """Return what the dashboard asks for as rules, which promtool can check."""
    rules = [
        {"record": f"panel:number_{number}", "expr": re.sub(r"\$\w+", "x", for_prometheus(query.expression))}
        for number, query in enumerate(queries())
    ]
    return {"groups": [{"name": "panels", "rules": rules}]}


def documented_configuration() -> dict[str, Any]:
    """Return what the README says of a Prometheus without the operator, but for its search for pods, which Debian's build has not."""
    (text,) = re.findall(
        r"^```yaml\n(.*?)^```", (MONITORING / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    (job,) = yaml.safe_load(text)
    del job["kubernetes_sd_configs"]
    return {"rule_files": [_RULES], "scrape_configs": [job]}


def main() -> int:
    """Run promtool; return its status."""
    try:
        ensure_programs(("prometheus", "promtool"))
    except BenchError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    promtool = shutil.which("promtool") or "promtool"
    with TemporaryDirectory() as folder:
        place = Path(folder)
        (place / _RULES).write_text(groups_text(), "utf-8")
        (place / _CONFIGURATION).write_text(yaml.safe_dump(documented_configuration()), "utf-8")
        (place / _THEIRS).write_text(groups_text(THEIR_NAMES), "utf-8")
        theirs = recording_tests(OF_THEIR_NAMES)
        (place / _TESTS_OF_THEIRS).write_text(yaml.safe_dump(theirs, sort_keys=False), "utf-8")
        (place / _PANELS).write_text(yaml.safe_dump(panel_rules()), "utf-8")
        (place / _TESTS).write_text(yaml.safe_dump(rule_tests(CASES), sort_keys=False), "utf-8")
        for command in (
            ("check", "config", _CONFIGURATION),
            ("check", "rules", _PANELS),
            ("check", "rules", _THEIRS),
            ("test", "rules", _TESTS),
            ("test", "rules", _TESTS_OF_THEIRS),
        ):
            status = subprocess.run([promtool, *command], cwd=place).returncode
            if status:
                return status
    sys.stdout.write(f"{len(alert_rules())} alerts, {2 * len(CASES)} cases of firing and not firing\n")
    sys.stdout.write(f"{len(recording_rules(THEIR_NAMES))} series under names of ingress-nginx\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
