"""Which Secrets and ConfigMaps the operator refers to.  Those of objects are for their readers to say."""

from ingress.model.objects import Kind, ObjectKey
from ingress.model.secrets import TLS_KEYS, Needs
from ingress.translate.annotation_reading import annotation_reader
from ingress.translate.options import TranslateOptions


def needs_of_options(options: TranslateOptions, kind: Kind = Kind.SECRET) -> Needs:
    """Return the objects of *kind* that the operator refers to."""
    needs: dict[ObjectKey, frozenset[str]] = {}
    key = options.default_ssl_certificate
    if key is not None and kind is Kind.SECRET:
        needs[key] = TLS_KEYS
    for reference in annotation_reader(options).references_of_operator:
        if reference.kind is kind:
            needs[reference.key] = needs.get(reference.key, frozenset()) | reference.keys
    return needs
