"""The projection of Namespaces and of ReferenceGrants."""

from functools import partial

from ingress.object_fields import FieldReader, RawObject, path_of
from ingress.translate.readers.gateway.objects.grants import GrantedFrom, GrantedTo, Namespace, ReferenceGrant
from ingress.translate.readers.gateway.projection.parts import Parts, TooManyEntriesError, spec_of

_NAME_LABEL = "kubernetes.io/metadata.name"


def project_namespace(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> Namespace | None:
    """Project a Namespace; one whose labels cannot be read is met by no selector."""
    try:
        labels = Parts(reader).named_texts(metadata, "labels", "metadata")
    except TooManyEntriesError:
        reader.report("metadata.labels", "has too many labels")
        return None
    if labels is None:
        return None
    # The API server sets this one; manifests lack it.
    return Namespace(reader.key, tuple(sorted({**dict(labels), _NAME_LABEL: reader.key.name}.items())))


def project_reference_grant(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> ReferenceGrant | None:
    """Project a ReferenceGrant; what cannot be read of it grants nothing."""
    spec = spec_of(raw, reader)
    if spec is None:
        return None
    parts = Parts(reader)
    told = len(reader.problems)
    try:
        sources = parts.each(spec, "from", "spec", partial(_source, parts), lambda at: None)
        targets = parts.each(spec, "to", "spec", partial(_target, parts), lambda at: None)
    except TooManyEntriesError:
        parts.too_many("spec", told)
        return None
    finally:
        parts.end()
    return ReferenceGrant(
        reader.key,
        tuple(one for one in sources if one is not None),
        tuple(one for one in targets if one is not None),
    )


def _group(parts: Parts, raw: RawObject, at: str) -> str | None:
    """Return ``group``, which may be empty but has to be there."""
    if raw.get("group") is None:
        parts.fields.report(path_of(at, "group"), 'is missing; write "" for the core group')
        return None
    return parts.fields.word(raw, "group", at)


def _source(parts: Parts, raw: RawObject, at: str) -> GrantedFrom | None:
    group = _group(parts, raw, at)
    kind = parts.required(raw, "kind", at)
    namespace = parts.required(raw, "namespace", at)
    if group is None or kind is None or namespace is None:
        return None
    return GrantedFrom(group, kind, namespace)


def _target(parts: Parts, raw: RawObject, at: str) -> GrantedTo | None:
    group = _group(parts, raw, at)
    kind = parts.required(raw, "kind", at)
    # An empty name would be that of nothing, where none at all means everything.
    name = "" if raw.get("name") is None else parts.required(raw, "name", at)
    if group is None or kind is None or name is None:
        return None
    return GrantedTo(group, kind, name)
