"""The report of a migration as JSON: all of it, without bounds."""

import json
from collections.abc import Mapping
from typing import Any

from ingress.ctl.lint.finding import Finding
from ingress.ctl.migrate.migration import ArgumentsReport, Asked, Count, Entry, Matter, Migration
from ingress.ctl.migrate.patching.commands import commands, json_patch
from ingress.model.cluster.objects import ObjectId


def as_json(migration: Migration, asked: Asked) -> str:
    """Return the report as text; characters beyond ASCII are escaped, so it can go through whatever it must."""
    return json.dumps(_report(migration, asked), indent=2) + "\n"


def _report(migration: Migration, asked: Asked) -> Mapping[str, Any]:
    config_map = migration.config_map
    return {
        "version": asked.version,
        "given": list(asked.given),
        "options": list(asked.options),
        "count": _count(migration.count),
        "mistaken": migration.mistaken,
        "notOurs": [{"why": one.why, "advice": one.advice, "count": one.count} for one in migration.not_ours],
        "ownerLabel": migration.label,
        "groups": [
            {"namespace": row.namespace, "owner": row.owner, **_count(row.count)} for row in migration.rows
        ],
        "matters": [_matter(matter) for matter in migration.matters],
        "objects": [_entry(entry) for entry in migration.entries],
        "annotations": [
            {
                "name": one.name,
                "count": one.count,
                "standings": {standing.value: how_many for standing, how_many in one.standings.items()},
            }
            for one in migration.annotations
        ],
        "arguments": [_arguments(one) for one in migration.arguments],
        "configMap": config_map
        and {
            **_name(config_map.object_id),
            "keys": [{"name": key.name, "standing": key.standing, "why": key.why} for key in config_map.keys],
        },
        "others": [_finding(finding) for finding in migration.others],
        "notChecked": list(migration.not_checked),
        "lacksFirewall": migration.lacks_firewall,
    }


def _arguments(report: ArgumentsReport) -> Mapping[str, Any]:
    workload = report.workload
    return {
        "kind": workload.kind,
        "namespace": workload.key.namespace,
        "name": workload.key.name,
        "file": workload.place.file,
        "line": workload.place.line,
        "arguments": [
            {
                "name": one.taken.name,
                "given": one.taken.given,
                "becomes": one.taken.becomes,
                "write": one.write,
                "why": one.taken.why,
                "isLost": one.taken.is_lost,
            }
            for one in report.arguments
        ],
        "args": list(report.own),
        "around": [
            {"object": one.owner, "field": one.field, "becomes": one.fate.value, "why": one.why}
            for one in report.around
        ],
        "files": dict(report.files),
    }


def _count(count: Count) -> Mapping[str, int]:
    return {
        "all": count.whole,
        "works": count.works,
        "differs": count.differs,
        "needsChange": count.needs_change,
        "answers503": count.closed,
    }


def _name(object_id: ObjectId) -> Mapping[str, str]:
    kind, key = object_id
    return {"kind": str(kind), "namespace": key.namespace, "name": key.name}


def _matter(matter: Matter) -> Mapping[str, Any]:
    return {
        "message": matter.message,
        "advice": matter.advice,
        "rule": matter.rule,
        "outcome": matter.outcome.key,
        "isMistake": matter.is_mistake,
        "objects": [_name(object_id) for object_id in matter.objects],
    }


def _entry(entry: Entry) -> Mapping[str, Any]:
    return {
        **_name(entry.object_id),
        "file": entry.place.file,
        "line": entry.place.line,
        "owner": entry.owner,
        "outcome": entry.outcome.key,
        "matters": [
            {"matter": number, "field": field}
            for number, field in zip(entry.matters, entry.fields, strict=True)
        ],
        "patch": json_patch(entry.changes, entry.before),
        "commands": [] if entry.otherwise else list(commands(entry.object_id, entry.changes, entry.before)),
    }


def _finding(finding: Finding) -> Mapping[str, Any]:
    return {
        **_name(finding.object_id),
        "level": finding.level.word,
        "rule": finding.rule,
        "message": finding.message,
        "field": finding.field,
        "place": str(finding.place),
    }
