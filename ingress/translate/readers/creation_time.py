"""When an object was made, which decides who comes first."""

import re
from functools import lru_cache

from ingress.object_fields import FieldReader, RawObject

_UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z", re.ASCII)


def created_of(metadata: RawObject, reader: FieldReader) -> str:
    """Return ``metadata.creationTimestamp``, which sorts by age; empty when absent or no such time."""
    created = reader.text(metadata, "creationTimestamp", "metadata")
    if created and _UTC_TIME.fullmatch(created) is None:
        reader.report("metadata.creationTimestamp", "is not a time in the form 2006-01-02T15:04:05Z")
        return ""
    return _shared(created or "")


@lru_cache(maxsize=1024)
def _shared(text: str) -> str:
    """Return an equal text that was seen lately: many objects are made in the same second."""
    return text
