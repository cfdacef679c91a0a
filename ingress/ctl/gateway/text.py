"""A rendering as text: YAML with what is unsaid as comments, or JSON."""

import json
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any

import yaml

from ingress.ctl.gateway.rendering_values import Effect, Json, Rendering, Unsaid
from ingress.ctl.terminal import printable
from ingress.model.cluster.objects import ObjectId

_COLUMNS = 118


_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def yaml_of(rendering: Rendering) -> str:
    """Return documents that ``kubectl apply`` takes; comments say what each object does not."""
    left: dict[ObjectId, list[Unsaid]] = {}
    for unsaid in rendering.unsaid:
        left.setdefault(unsaid.object_id, []).append(unsaid)
    texts = [_comments(rendering.notes)]
    for one in rendering.objects:
        metadata = one["metadata"]
        owner = rendering.owners.get((one["kind"], metadata["namespace"], metadata["name"]))
        about = [] if owner is None else left.pop(owner, [])
        texts.append(f"---\n{_comments(map(line_of, about))}{_document(one)}")
    rest = [unsaid for some in left.values() for unsaid in some]
    return "".join((*texts, _comments(map(line_of, rest))))


def json_of(rendering: Rendering) -> str:
    """Return the same as one JSON document."""
    told = {
        "apiVersion": "v1",
        "kind": "List",
        "items": list(rendering.objects),
        "unsaid": [
            {
                "kind": str(one.object_id[0]),
                "namespace": one.object_id[1].namespace,
                "name": one.object_id[1].name,
                "what": one.what,
                "why": one.why,
                "effect": one.effect.value,
            }
            for one in rendering.unsaid
        ],
        "notes": list(rendering.notes),
    }
    return json.dumps(told, indent=2, ensure_ascii=True)


def line_of(one: Unsaid) -> str:
    """Return one line about what is unsaid."""
    kind, key = one.object_id
    return printable(f"{kind} {key}: {one.effect.value}: {one.what}: {one.why}")


def summary_of(rendering: Rendering) -> str:
    """Say in one line how much there is, and how much is unsaid."""
    count = len(rendering.objects)
    said = f"{count} object{'' if count == 1 else 's'}"
    by_effect = [
        f"{number} {effect.value}"
        for effect in (Effect.CLOSED, Effect.LEFT_OUT, Effect.DIFFERS)
        if (number := sum(one.effect is effect for one in rendering.unsaid))
    ]
    return f"{said}; not said as it is: {', '.join(by_effect) or 'nothing'}"


def _document(one: Json) -> str:
    # No part of a copy is shared, so nothing is written as an alias of what stands elsewhere.
    own = json.loads(json.dumps(one))
    text: str = yaml.dump(own, Dumper=_Dumper, sort_keys=False, width=_COLUMNS, allow_unicode=False)
    return text


def _comments(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for text in lines for line in _wrapped(printable(text)))


def _wrapped(text: str) -> Iterator[str]:
    for number, line in enumerate(wrap(text, _COLUMNS - 4, break_on_hyphens=False)):
        yield f"#   {line}" if number else f"# {line}"
