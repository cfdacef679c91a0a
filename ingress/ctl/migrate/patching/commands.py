"""Changes as commands for ``kubectl``, which anybody may copy: whatever tenants wrote is quoted for a shell.

A command is one line of printable characters.  What begins with a dash stands behind an ``=`` or a ``/``, so that
nothing is taken for an option.
"""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from ingress.ctl.lint.finding import Change
from ingress.ctl.migrate.migration import Before
from ingress.model.cluster.objects import ObjectId

_ANNOTATIONS = ("metadata", "annotations")
_IN_PLANE_0 = re.compile("[\x7f-\uffff]")


def json_patch(changes: Sequence[Change], before: Sequence[Before] = ()) -> list[dict[str, Any]]:
    """Return *changes* as a JSON Patch (RFC 6902); what a list loses goes from its end, so that places stay right.

    It begins by testing that the object has what stood there *before*: applied twice, or to what has changed since, it fails as a
    whole, where it would otherwise take away whatever has moved to a place.
    """
    stays = [change for change in changes if change.value is not None]
    goes = sorted((change for change in changes if change.value is None), key=_places, reverse=True)
    return [
        *({"op": "test", "path": _pointer(one.steps), "value": one.value} for one in before),
        *(
            {"op": "add", "path": _pointer(one.steps), "value": one.value}
            for one in stays
            if not _is_member(one)
        ),
        *(
            {"op": "replace", "path": _pointer(one.steps), "value": one.value}
            for one in stays
            if _is_member(one)
        ),
        *({"op": "remove", "path": _pointer(one.steps)} for one in goes),
    ]


def merge_patch(changes: Sequence[Change]) -> dict[str, Any]:
    """Return those of *changes* that are about annotations as a JSON Merge Patch (RFC 7386), which needs none to be there."""
    annotations = {str(one.steps[2]): one.value for one in changes if one.steps[:2] == _ANNOTATIONS}
    return {"metadata": {"annotations": annotations}} if annotations else {}


def commands(object_id: ObjectId, changes: Sequence[Change], before: Sequence[Before] = ()) -> Iterator[str]:
    """Yield what makes *changes* to the object in the cluster that ``kubectl`` talks to, if that has what stood there *before*.

    A patch is made as a whole or not at all.  What only adds annotations is a command of its own, which comes last: there is
    nowhere to add them by a patch where an object has none, and ``kubectl annotate`` writes over none that somebody else has added.
    """
    kind, key = object_id
    meant = [quoted(f"{kind.lower()}/{key.name}"), quoted(f"--namespace={key.namespace}")]
    annotations = [change for change in changes if change.steps[:2] == _ANNOTATIONS]
    there = {one.steps for one in before}
    if any(change.value is None or change.steps in there for change in annotations):
        annotations = []
    others = [change for change in changes if change not in annotations]
    if others:
        patch = _json_as_yaml(json_patch(others, before))
        yield " ".join(["kubectl", "patch", *meant, "--type=json", quoted(f"--patch={patch}")])
    if annotations:
        said = [quoted(f"{change.steps[2]}={change.value}") for change in annotations]
        yield " ".join(["kubectl", "annotate", *meant, *said])


def quoted(text: str) -> str:
    """Return *text* as one word of a shell; with escapes, as bash, zsh and ksh have them, where it cannot be shown."""
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_character, text)) + "'"


def _character(character: str) -> str:
    if character in "'\\":
        return "\\" + character
    if character.isprintable():
        return character
    # Octal ends after three digits, whatever follows.
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "replace"))


def _json_as_yaml(value: object) -> str:
    """Return *value* as JSON that is YAML, too, as which ``kubectl`` reads a list: that has no escapes of surrogates."""
    return _IN_PLANE_0.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def _pointer(steps: Sequence[str | int]) -> str:
    """Return *steps* as a JSON Pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def _is_member(change: Change) -> bool:
    return isinstance(change.steps[-1], int)


def _places(change: Change) -> tuple[tuple[int, str, int], ...]:
    return tuple((0, step, 0) if isinstance(step, str) else (1, "", step) for step in change.steps)
