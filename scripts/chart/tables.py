"""The tables of the code that the chart goes by: options, arguments of ingress-nginx, keys of its ConfigMap, annotations of Services."""

from typing import Any, Final

from ingress.ctl.migrate.installation.annotations import BESIDES, GROUP_NAME, GROUPS, ITS_OWN, SHARED
from ingress.options.config_map_keys import GUARDS, KEYS, NEVER_WERE
from ingress.options.ingress_nginx_arguments import ARGUMENTS, Becomes
from ingress.options.option import Option
from ingress.options.table import OPTIONS
from ingress.options.values import read_boolean
from scripts.chart.keys import keys

_BECOMES: Final = {
    Becomes.SAME: "same",
    Becomes.OTHER: "other",
    Becomes.OWN: "own",
    Becomes.NEEDLESS: "needless",
    Becomes.NOT_HONORED: "ignored",
}


def tables() -> dict[str, Any]:
    """Return all of them as plain values."""
    return {
        "keys": {one.path: "map" if one.has_keys else "free" for one in keys()},
        "options": {name: _option(one) for name, one in sorted(OPTIONS.items())},
        "arguments": {
            name: {
                "becomes": _BECOMES[row.becomes],
                "option": row.option,
                "type": row.type.value,
                "silent": list(row.silent),
                "told": row.told,
            }
            for name, row in sorted(ARGUMENTS.items())
        },
        "configKeys": {
            "known": sorted(
                {
                    *(one.name for one in OPTIONS.values() if one.running or one.at_start),
                    *(name for name, row in KEYS.items() if row.option or not row.told),
                }
            ),
            "told": {
                name: {
                    "told": row.told,
                    "silent": list(row.silent),
                    "becomes": "refused" if name in GUARDS else "needless" if row.is_note else "ignored",
                }
                for name, row in sorted(KEYS.items())
                if row.told and not row.option
            },
            "neverWere": dict(sorted(NEVER_WERE.items())),
        },
        "annotations": {
            "lastWords": f"^(?i){ITS_OWN.pattern}$",
            "sharedWords": sorted(SHARED),
            "names": sorted(BESIDES),
            "groups": sorted(GROUPS),
            "groupName": GROUP_NAME.pattern,
        },
    }


def _option(one: Option) -> str:
    if one.read is None:
        return "flag"
    if one.read is read_boolean:
        return "boolean"
    return "list" if one.repeatable else "text"
