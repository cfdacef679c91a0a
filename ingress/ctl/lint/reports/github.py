"""The report as workflow commands of GitHub Actions, which become annotations of files.

A line is ``::error file=…,line=…,title=…::message``; what is escaped, and how, is documented with "Workflow commands for
GitHub Actions", and done by ``command.ts`` of its toolkit.  GitHub shows ten annotations of each level and step.
"""

from collections.abc import Iterator
from typing import Final

from ingress.ctl.lint.finding import Finding, Level
from ingress.ctl.lint.reports.places import relative_path
from ingress.ctl.lint.reports.results import Results
from ingress.ctl.lint.reports.texts import object_name, sentence
from ingress.ctl.terminal import printable

_COMMANDS: Final = {Level.NOTE: "notice", Level.WARNING: "warning", Level.ERROR: "error"}


def lines(results: Results) -> Iterator[str]:
    """Yield a command for each finding, the worst first: GitHub may show no more than the first."""
    for finding in sorted(results.report.findings, key=lambda one: -one.level):
        yield _command(finding, results.folder)


def _command(finding: Finding, folder: str) -> str:
    properties = {"title": f"{finding.rule}: {object_name(finding.object_id)}"}
    path = relative_path(finding.place.file, folder)
    if path is not None:
        properties = {
            "file": path,
            **({"line": str(finding.place.line)} if finding.place.line else {}),
            **properties,
        }
    said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.level]} {said}::{_message(sentence(finding))}"


def _message(text: str) -> str:
    return printable(text).replace("%", "%25")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
