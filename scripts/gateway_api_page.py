"""Print ``docs/gateway-api.md`` with its tables of what is supported, made of the reports of the official tests.

``python -m scripts.gateway_api_page docs/gateway-api.md`` puts them between two comments of the page; a test says when that is
due.  The reports are in ``docs/conformance``, written by ``make conformance`` and ``make conformance-next``.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from conformance.suite import NOT_SUPPORTED

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "gateway-api.md"
REPORTS = DOCS / "conformance"
BEGIN, END = "<!-- features -->\n", "<!-- /features -->"
_BETWEEN = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)


@dataclass(frozen=True)
class Profile:
    """What a report says of one profile: counts by outcome, the tests that failed, and features by name."""

    core: Mapping[str, int]
    extended: Mapping[str, int]
    failed: tuple[str, ...]
    supported: frozenset[str]
    unsupported: frozenset[str]


@dataclass(frozen=True)
class Report:
    """One run of the suite of one version (``v1.6.1``), with the CRDs of one channel; ``path`` is from the page."""

    version: str
    channel: str
    path: str
    profiles: Mapping[str, Profile]


def gateway_api_page(text: str, reports: Sequence[Report]) -> str:
    """Return *text*, the page, with the tables of *reports*."""
    return _BETWEEN.sub(lambda _: BEGIN + "".join(_tables(reports)) + END, text)


def read_reports(folder: Path) -> list[Report]:
    """All reports of the Gateway API below a folder, by version, the standard channel first."""
    found = [_read(path, folder) for path in folder.glob("v*/*.yaml")]
    return sorted(found, key=lambda report: (report.version, report.channel != "standard"))


def _read(path: Path, folder: Path) -> Report:
    content = yaml.safe_load(path.read_text("utf-8"))
    profiles = {profile["name"]: _profile(profile) for profile in content["profiles"]}
    where = path.relative_to(folder.parent).as_posix()
    return Report(
        content["gatewayAPIVersion"], content["gatewayAPIChannel"], where, dict(sorted(profiles.items()))
    )


def _profile(content: Mapping[str, Mapping[str, object]]) -> Profile:
    core, extended = content["core"], content.get("extended", {})
    return Profile(
        core=_counts(core),
        extended=_counts(extended),
        failed=(*_names(core, "failedTests"), *_names(extended, "failedTests")),
        supported=frozenset(_names(extended, "supportedFeatures")),
        unsupported=frozenset(_names(extended, "unsupportedFeatures")),
    )


def _counts(part: Mapping[str, object]) -> dict[str, int]:
    statistics = part.get("statistics", {})
    assert isinstance(statistics, dict)
    return {str(outcome): int(number) for outcome, number in statistics.items()}


def _names(part: Mapping[str, object], field: str) -> list[str]:
    names = part.get(field, [])
    assert isinstance(names, list)
    return [str(name) for name in names]


def _tables(reports: Sequence[Report]) -> Iterator[str]:
    if not reports:
        yield "\nThere is no report yet.\n\n"
        return
    yield "\n| Suite | CRDs | Profile | Core tests passed | Tests of extended features passed |\n|---|---|---|---|---|\n"
    for report in reports:
        for name, profile in report.profiles.items():
            passed = f"{_of_all(profile.core)} | {_of_all(profile.extended)}"
            yield f"| [{report.version}]({report.path}) | {report.channel} | {name} | {passed} |\n"
    for report in reports:
        if failed := sorted({test for profile in report.profiles.values() for test in profile.failed}):
            yield f"\nWhat failed with the suite of {report.version} and the {report.channel} CRDs: {', '.join(failed)}.\n"
    versions = list(dict.fromkeys(report.version for report in reports))
    yield "\nFeatures with a yes were asked for; a test of theirs that failed is named above.\n"
    yield f"\n| Extended feature | {' | '.join(versions)} |\n|---|{'---|' * len(versions)}\n"
    profiles = [profile for report in reports for profile in report.profiles.values()]
    known = frozenset().union(*(profile.supported | profile.unsupported for profile in profiles))
    for feature in sorted(known):
        cells = [
            _cell(feature, [report for report in reports if report.version == version])
            for version in versions
        ]
        yield f"| {feature} | {' | '.join(cells)} |\n"
    left_out = "; ".join(f"{feature} ({why})" for feature, why in NOT_SUPPORTED.items())
    yield f"\nNot asked for are meshes, and: {left_out}.\n\n"


def _of_all(counts: Mapping[str, int]) -> str:
    return f"{counts.get('Passed', 0)} of {sum(counts.values())}" if counts else "none"


def _cell(feature: str, reports: Sequence[Report]) -> str:
    """Whether some reports of one version have a feature; one that no standard CRD has is named so."""
    supporting = {
        report.channel
        for report in reports
        if any(feature in profile.supported for profile in report.profiles.values())
    }
    tried = {report.channel for report in reports}
    if "standard" in supporting or (supporting and "standard" not in tried):
        return "yes"
    if supporting:
        return "with the experimental CRDs"
    known = any(feature in profile.unsupported for report in reports for profile in report.profiles.values())
    return "no" if known else ""


if __name__ == "__main__":
    sys.stdout.write(gateway_api_page(Path(sys.argv[1]).read_text("utf-8"), read_reports(REPORTS)))
