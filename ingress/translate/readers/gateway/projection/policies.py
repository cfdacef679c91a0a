"""The projection of BackendTLSPolicies."""

from functools import partial

from ingress.object_fields import FieldReader, RawObject
from ingress.translate.readers.creation_time import created_of
from ingress.translate.readers.gateway.objects.names import UNREADABLE
from ingress.translate.readers.gateway.objects.policies import AlternativeName, BackendTLSPolicy, PolicyTarget
from ingress.translate.readers.gateway.projection.parts import Parts, TooManyEntriesError, spec_of

_NO_NAME = AlternativeName("", "")


def project_backend_tls_policy(
    raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
) -> BackendTLSPolicy | None:
    """Project a BackendTLSPolicy; one whose validation cannot be read stays, and asks for what no certificate has."""
    spec = spec_of(raw, reader)
    if spec is None:
        return None
    created, parts = created_of(metadata, reader), Parts(reader)
    told = len(reader.problems)
    targets: tuple[PolicyTarget, ...] = ()
    try:
        targets = parts.each(
            spec, "targetRefs", "spec", partial(_target, parts), lambda at: PolicyTarget(UNREADABLE)
        )
        return _policy(spec, parts, created, targets)
    except TooManyEntriesError:
        parts.too_many("spec", told)
        return BackendTLSPolicy(reader.key, created, targets)
    finally:
        parts.end()


def _policy(
    spec: RawObject, parts: Parts, created: str, targets: tuple[PolicyTarget, ...]
) -> BackendTLSPolicy:
    fields = parts.fields
    validation, at = fields.mapping(spec, "validation", "spec") or {}, "spec.validation"
    names: tuple[AlternativeName, ...] = parts.each(
        validation, "subjectAltNames", at, partial(_name, parts), lambda at: _NO_NAME
    )
    if not isinstance(validation.get("subjectAltNames", []), list | None):
        names = (_NO_NAME,)
    return BackendTLSPolicy(
        key=fields.key,
        created=created,
        targets=targets,
        authorities=parts.references(validation, "caCertificateRefs", at, is_local=True),
        well_known=fields.word(validation, "wellKnownCACertificates", at) or "",
        hostname=parts.required(validation, "hostname", at) or "",
        names=names,
        options=parts.named_texts(spec, "options", "spec") or (),
    )


def _target(parts: Parts, raw: RawObject, at: str) -> PolicyTarget:
    target = parts.reference(raw, at, is_local=True)
    section = parts.fields.word(raw, "sectionName", at)
    # Without its section it would be about all ports.
    return PolicyTarget(UNREADABLE) if section is None else PolicyTarget(target, section)


def _name(parts: Parts, raw: RawObject, at: str) -> AlternativeName:
    kind = parts.required(raw, "type", at)
    if kind is None:
        return _NO_NAME
    name = {"Hostname": "hostname", "URI": "uri"}.get(kind)
    value = "" if name is None else parts.required(raw, name, at)
    return _NO_NAME if value is None else AlternativeName(kind, value)
