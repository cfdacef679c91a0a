"""What spans are called, where the operator or an Ingress says so: ``opentelemetry-operation-name``.

A text with variables of nginx's, out of a fixed list.  Systems that keep traces have an index of the names of spans, so nothing
is in them that visitors choose, but for a usual method: a path or a host is that of the rule.
"""

import re
from functools import lru_cache
from typing import Final

from ingress.model.frozen import frozen

MAX_NAME: Final = 256
"""Characters, as it is written and as it is rendered."""
VARIABLES: Final = (
    "request_method",
    "host",
    "location_path",
    "uri",
    "request_uri",
    "namespace",
    "ingress_name",
    "service_name",
    "service_port",
    "scheme",
)
_split = re.compile(r"\$(\w+|\{\w+\})").split


@frozen
class SpanName:
    """A name as it was written, and its parts: text and names of variables in turn."""

    text: str
    parts: tuple[str, ...]


@lru_cache(maxsize=256)
def read_span_name(text: str) -> SpanName | None:
    """Read a name, None for an empty one; raises ``ValueError`` with a reason."""
    if not text:
        return None
    if len(text) > MAX_NAME or not text.isprintable():
        raise ValueError(f"is not a name of at most {MAX_NAME} characters")
    parts = tuple(part.strip("{}") if at % 2 else part for at, part in enumerate(_split(text)))
    for name in parts[1::2]:
        if name not in VARIABLES:
            known = ", ".join(f"${one}" for one in VARIABLES)
            raise ValueError(f"has ${name}; a name of spans may have {known}")
    return SpanName(text, parts)
