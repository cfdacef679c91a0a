"""Fields of requests and answers as a header modifier.

Source: ``HTTPHeaderFilter``.
"""

import re
from typing import Final

from ingress.ctl.gateway.rendering_values import Effect, Json, Remark

MOST_FIELDS: Final = 16
_MOST_CHARACTERS: Final = 4096
is_field_name = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]{1,256}").fullmatch
_is_value = re.compile(r"[!-~]+(?:[\t ]?[!-~]+)*").fullmatch


def modifier_of(fields: dict[str, tuple[str, str]], added: list[tuple[str, str]], remark: Remark) -> Json:
    modifier: Json = {}
    sets = [(name, value) for name, value in fields.values() if value]
    for key, some in (("set", sets), ("add", added)):
        good = [
            (name, value)
            for name, value in some
            if is_field_name(name) and _is_value(value) and len(value) <= _MOST_CHARACTERS
        ]
        for name, _ in set(some) - set(good):
            remark(f"field {name}", "its value has signs that the Gateway API does not take", Effect.LEFT_OUT)
        if good:
            modifier[key] = [{"name": name, "value": value} for name, value in good[:MOST_FIELDS]]
        for name, _ in good[MOST_FIELDS:]:
            remark(f"field {name}", f"a filter has no more than {MOST_FIELDS} fields", Effect.LEFT_OUT)
    gone = [name for name, value in fields.values() if not value]
    if gone:
        modifier["remove"] = gone[:MOST_FIELDS]
    for name in gone[MOST_FIELDS:]:
        remark(f"field {name}", f"a filter takes no more than {MOST_FIELDS} fields away", Effect.LEFT_OUT)
    return modifier


def field_of(name: bytes, value: bytes) -> tuple[str, str]:
    return name.decode("ascii", "replace"), value.decode("latin-1").strip(" \t")
