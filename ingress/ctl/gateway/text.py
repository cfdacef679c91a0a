"""A rendering as text: YAML with what is unsaid as comments, or JSON."""

import json
from collections.abc import Iterable, Iterator
from textwrap import wrap

import yaml

from ingress.ctl.gateway.saying import Effect, Json, Rendering, Unsaid
from ingress.ctl.terminal import printable
from ingress.model.objects import ObjectId

_COLUMNS = 118


class _Dumper(yaml.SafeDumper):
    """Writes lists as people do, below their name and with their entries indented."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: object) -> bool:
        return True


def yaml_of(rendering: Rendering) -> str:
    """Return documents that ``kubectl apply`` takes; comments say what each object does not."""
    left = list(rendering.unsaid)
    texts = [_comments(rendering.notes)]
    told: set[ObjectId] = set()
    for one in rendering.objects:
        metadata = one["metadata"]
        owner = rendering.owners.get((one["kind"], metadata["namespace"], metadata["name"]))
        about: list[Unsaid] = []
        if owner is not None and owner not in told:
            told.add(owner)
            about = [unsaid for unsaid in left if unsaid.object_id == owner]
        texts.append(f"---\n{_comments(map(line_of, about))}{_document(one)}")
    rest = [unsaid for unsaid in left if unsaid.object_id not in told]
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
    text: str = yaml.dump(one, Dumper=_Dumper, sort_keys=False, width=_COLUMNS, allow_unicode=False)
    return text


def _comments(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for text in lines for line in _wrapped(printable(text)))


def _wrapped(text: str) -> Iterator[str]:
    for number, line in enumerate(wrap(text, _COLUMNS - 4, break_on_hyphens=False)):
        yield f"#   {line}" if number else f"# {line}"
