"""How much snippets may make of the fields of one message: as much as the head of an answer may be without a word of the operator's.

A template may repeat what a visitor sent, and a hundred of them a hundred times: without a bound, one request would be
megabytes of fields, for which everybody else waits.
"""

from collections.abc import Mapping
from typing import Final

from ingress.model.requests.templates import Template, TemplateAnswer, TemplateFacts

MAX_BYTES: Final = 64 * 1024
"""Of values that differ from request to request, taken together; what always is the same is bounded by the length of its text."""


class FieldRoom:
    """What is left for the fields of one message."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_BYTES

    def value(
        self,
        template: Template | None,
        facts: TemplateFacts,
        answer: TemplateAnswer | None,
        values: Mapping[str, bytes],
    ) -> bytes:
        """Return what *template* comes to as the value of a field; empty for none, and for what there is no room for."""
        if template is None:
            return b""
        if template.text is not None:
            return template.field_value(facts, answer, values)
        if self._left < 0:
            return b""
        value = template.field_value(facts, answer, values)
        self._left -= len(value)
        return value if self._left >= 0 else b""
