"""The report as JUnit XML, as Jenkins, GitLab and others read it: a suite for each file, a test for each object.

A test fails by the same findings as the command; GitLab shows one failure of a test, so all are in one.
"""

from collections.abc import Iterator
from typing import Final
from xml.sax.saxutils import escape

from attrs import field

from ingress.ctl.inputs.input import Place
from ingress.ctl.lint.finding import Finding
from ingress.ctl.lint.reports.results import Results
from ingress.ctl.lint.reports.texts import message, object_name, sentence
from ingress.ctl.terminal import printable
from ingress.model.cluster.objects import ObjectId
from ingress.model.frozen import frozen

_QUOTE: Final = {'"': "&quot;"}
_NO_FILE: Final = {"": "cluster", "-": "standard input"}


@frozen
class _Test:
    object_id: ObjectId
    place: Place
    skipped: str = ""
    """Why nothing was tested, if that is so."""
    failures: list[Finding] = field(factory=list)
    others: list[Finding] = field(factory=list)


def lines(results: Results) -> Iterator[str]:
    """Yield the lines of the document."""
    suites: dict[str, list[_Test]] = {}
    for test in _tests(results):
        suites.setdefault(test.place.file, []).append(test)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<testsuites name="ingressctl lint" {_counts([test for tests in suites.values() for test in tests])}>'
    for file, tests in suites.items():
        yield f' <testsuite name="{_attribute(_NO_FILE.get(file, file))}" {_counts(tests)}>'
        for test in tests:
            yield from _case(test, file)
        yield " </testsuite>"
    yield "</testsuites>"


def _tests(results: Results) -> Iterator[_Test]:
    for one in results.report.objects:
        test = _Test(one.object_id, one.place, "" if one.is_ours else one.why_not or "it is not served here")
        _sort(results, one.findings, test)
        yield test
    others: dict[tuple[ObjectId, str], _Test] = {}
    for finding in results.report.others:
        test = others.setdefault(
            (finding.object_id, finding.place.file), _Test(finding.object_id, finding.place)
        )
        _sort(results, (finding,), test)
    yield from others.values()


def _sort(results: Results, findings: tuple[Finding, ...], test: _Test) -> None:
    for finding in findings:
        (test.failures if results.fails_by(finding.level) else test.others).append(finding)


def _counts(tests: list[_Test]) -> str:
    failures = sum(bool(test.failures) for test in tests)
    skipped = sum(bool(test.skipped and not test.failures) for test in tests)
    return f'tests="{len(tests)}" failures="{failures}" errors="0" skipped="{skipped}" time="0"'


def _case(test: _Test, file: str) -> Iterator[str]:
    line = f' line="{test.place.line}"' if test.place.line else ""
    where = f' file="{_attribute(file)}"{line}' if file not in _NO_FILE else ""
    name = _attribute(object_name(test.object_id))
    yield f'  <testcase classname="{_attribute(_NO_FILE.get(file, file))}" name="{name}"{where} time="0">'
    if test.failures:
        first = test.failures[0]
        more = f" (and {len(test.failures) - 1} more)" if len(test.failures) > 1 else ""
        yield f'   <failure type="{_attribute(first.rule)}" message="{_attribute(message(first) + more)}">'
        yield from map(_line, test.failures)
        yield "   </failure>"
    elif test.skipped:
        yield f'   <skipped message="{_attribute(test.skipped)}"/>'
    if test.others:
        yield "   <system-out>"
        yield from map(_line, test.others)
        yield "   </system-out>"
    yield "  </testcase>"


def _line(finding: Finding) -> str:
    where = f"{finding.place}: " if finding.place.file else ""
    return escape(printable(f"{where}{finding.level.word}: {sentence(finding)} [{finding.rule}]"))


def _attribute(text: str) -> str:
    """Return *text* for an attribute; what XML 1.0 has no way to say (section 2.2) is written as an escape."""
    return escape(printable(text), _QUOTE)
