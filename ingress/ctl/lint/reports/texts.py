"""Texts for machines: what tenants wrote, as something that every reader takes."""

import re
from collections.abc import Iterator
from json import JSONEncoder
from typing import Final

from ingress.ctl.lint.finding import Finding
from ingress.ctl.lint.rules import NOT_JUDGED
from ingress.model.cluster.objects import ObjectId
from ingress.model.cluster.problems import Reason

_ANNOTATION: Final = re.compile(r"metadata\.annotations\[(?:[^/]*/)?(.*)\]\Z", re.DOTALL)
_MALFORMED: Final = Reason.MALFORMED_OBJECT.value
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
# Whatever is not ASCII is escaped, so no mark in it can change how a page or a terminal shows the rest.
_ENCODE: Final = JSONEncoder(ensure_ascii=True, separators=(", ", ": ")).encode


def json_text(value: object) -> str:
    """Return *value* as JSON on one line, in ASCII; half characters, which UTF-8 has not, become U+FFFD.

    Nothing in it is what those who run builds would obey (``##[…]``), should it be printed into their log.
    """
    text = _ENCODE(value)
    if "\\ud" in text:
        text = _ENCODE(_whole(value))
    return text.replace("##", "#\\u0023")


def _whole(value: object) -> object:
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_SURROGATES.sub("\ufffd", name): _whole(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_whole(member) for member in value]
    return value


def joined(texts: Iterator[str]) -> Iterator[str]:
    """Yield *texts* as the lines of a list in JSON, a comma behind each but the last."""
    last = next(texts, None)
    if last is None:
        return
    for text in texts:
        yield f"{last},"
        last = text
    yield last


def object_name(object_id: ObjectId, but: str | None = None) -> str:
    """Return namespace and name of an object as people say them, with its kind if that is another one than *but*."""
    kind, key = object_id
    return str(key) if kind == but else f"{kind} {key}"


def annotation_of(field: str) -> str:
    """Return the name, without prefix, of the annotation that *field* is; empty if it is none."""
    found = _ANNOTATION.match(field)
    return found[1] if found else ""


def message(finding: Finding) -> str:
    """Return the message of *finding*, with the annotation in it that it is about, but for the one that names a class.

    Where a field is not of its shape, the message goes on after the field: it "must be a whole number, but is text".
    """
    if finding.rule == _MALFORMED and finding.field and finding.field not in finding.message:
        return f"{finding.field} {finding.message}"
    name = "" if finding.rule in NOT_JUDGED else annotation_of(finding.field)
    return f"{name}: {finding.message}" if name and name not in finding.message else finding.message


def sentence(finding: Finding) -> str:
    """Return what *finding* says: of which field, what, and what to do about it."""
    field = finding.field
    said = f"{field}: {finding.message}" if field and not annotation_of(field) else message(finding)
    return f"{said} → {finding.advice}" if finding.advice else said
