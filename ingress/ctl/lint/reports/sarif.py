"""The report as SARIF 2.1.0 (OASIS), for code scanning: what GitHub, GitLab and editors read.

A finding is a result.  Paths are relative to the current folder, which is to be the one that was checked out; what stands in
no file has a logical location alone.  Fingerprints stay the same when lines move and messages are worded anew.
"""

import re
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

from ingress.ctl.errors import Mistake
from ingress.ctl.installed import installed_version
from ingress.ctl.lint.finding import Finding, Level
from ingress.ctl.lint.reports.places import uri
from ingress.ctl.lint.reports.results import Results
from ingress.ctl.lint.reports.texts import joined, json_text, object_name, sentence
from ingress.ctl.lint.rules import RULES, Rule
from ingress.ctl.terminal import printable
from ingress.model.cluster.objects import ObjectId

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {Level.NOTE: "note", Level.WARNING: "warning", Level.ERROR: "error"}
_PLACEHOLDER: Final = re.compile(r"\{(\d+)\}")
_FINGERPRINT: Final = "ingressctl/v1"


def lines(results: Results) -> Iterator[str]:
    """Yield the lines of the log, of which a rule or a result is one."""
    rules = sorted(RULES)
    places = {name: place for place, name in enumerate(rules)}
    driver = {"name": "ingressctl", **_version()}
    yield f'{{"$schema": "{_SCHEMA}", "version": "2.1.0", "runs": [{{'
    yield f' "tool": {{"driver": {json_text(driver)[:-1]}, "rules": ['
    yield from joined(f"  {json_text(_rule(RULES[name]))}" for name in rules)
    yield " ]}},"
    yield ' "columnKind": "unicodeCodePoints",'
    yield f' "invocations": [{json_text(_invocation(results))}],'
    yield ' "results": ['
    yield from joined(f"  {json_text(result)}" for result in _results(results, places))
    yield "]}]}"


def _version() -> dict[str, str]:
    try:
        return {"version": installed_version()}
    except Mistake:
        return {}


def _rule(rule: Rule) -> dict[str, Any]:
    help_text = f"{rule.means} What helps: {rule.advice}." if rule.advice else rule.means
    return {
        "id": rule.name,
        "name": rule.name,
        "shortDescription": {"text": rule.means},
        "fullDescription": {"text": rule.means},
        "help": {"text": help_text, "markdown": f"**{rule.name}** {help_text}"},
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
        "properties": {"tags": ["kubernetes", "ingress"]},
    }


def _invocation(results: Results) -> dict[str, Any]:
    return {
        "executionSuccessful": True,
        "toolExecutionNotifications": [
            {"level": "note", "message": {"text": _message(f"not checked: {text}")}}
            for text in results.report.not_checked
        ],
    }


def _results(results: Results, places: dict[str, int]) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for finding in results.report.findings:
        yield _result(finding, results.folder, places, seen)
    if results.shows_accepted:
        for one in results.accepted:
            suppression = {"kind": "external", "status": "accepted", "justification": one.reason}
            yield {**_result(one.finding, results.folder, places, seen), "suppressions": [suppression]}


def _result(finding: Finding, folder: str, places: dict[str, int], seen: Counter[str]) -> dict[str, Any]:
    identity = _identity(finding)
    seen[identity] += 1
    return {
        "ruleId": finding.rule,
        "ruleIndex": places[finding.rule],
        "level": _LEVELS[finding.level],
        "message": {"text": _message(sentence(finding))},
        "locations": [_location(finding, folder)],
        "partialFingerprints": {_FINGERPRINT: f"{identity}:{seen[identity]}"},
    }


def _message(text: str) -> str:
    """Return *text* with nothing in it that is a link or a placeholder of SARIF (sections 3.11.5 and 3.11.6)."""
    return _PLACEHOLDER.sub(r"{{\1}}", printable(text)).replace("](", "] (")


def _identity(finding: Finding) -> str:
    kind, key = finding.object_id
    text = "\0".join((finding.rule, kind, key.namespace, key.name, finding.field))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _location(finding: Finding, folder: str) -> dict[str, Any]:
    logical = {"logicalLocations": [_logical(finding.object_id, finding.field)]}
    file = uri(finding.place.file, folder)
    if file is None:
        return logical
    physical: dict[str, Any] = {"artifactLocation": {"uri": file}}
    if finding.place.line:
        physical["region"] = {"startLine": finding.place.line}
    return {"physicalLocation": physical, **logical}


def _logical(object_id: ObjectId, field: str) -> dict[str, str]:
    name = object_name(object_id)
    return {"name": name, "fullyQualifiedName": f"{name} {field}" if field else name, "kind": "resource"}
