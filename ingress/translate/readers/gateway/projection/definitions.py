"""The projection of CustomResourceDefinitions: their metadata alone."""

from ingress.object_fields import FieldReader, RawObject, is_object, is_text
from ingress.translate.readers.gateway.objects.definitions import (
    CHANNEL_ANNOTATION,
    VERSION_ANNOTATION,
    Definition,
)
from ingress.translate.readers.gateway.objects.names import GROUP

_LONGEST = 64


def project_definition(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> Definition | None:
    """Project a definition; None, without a problem, for one of another group."""
    if not reader.key.name.endswith(f".{GROUP}"):
        return None
    annotations = metadata.get("annotations")
    if not is_object(annotations):
        return Definition(reader.key)
    version, channel = annotations.get(VERSION_ANNOTATION), annotations.get(CHANNEL_ANNOTATION)
    # What cannot be read is no version that is known.
    return Definition(reader.key, _word(version), _word(channel))


def _word(value: object) -> str:
    return value[:_LONGEST] if is_text(value) else ""
