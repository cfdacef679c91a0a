"""What reads annotations, made of the options of translation; and which Secrets and ConfigMaps these options themselves refer to.

Those that objects refer to are for the readers of objects to say.
"""

from attrs import evolve

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.firewall.family import FIREWALL
from ingress.annotations.operator_filters import operator_filters
from ingress.annotations.operator_settings import usual_settings
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.secrets import TLS_KEYS, Needs
from ingress.translate.options import TranslateOptions


def annotation_reader(options: TranslateOptions) -> AnnotationReader:
    """Return what reads annotations as the operator wants them read."""
    families = (operator_filters(options.allowed_filters),)
    usual = usual_settings(options.operators)
    if options.firewall.processes:
        usual = usual.but([(FIREWALL, evolve(usual.of(FIREWALL), plan=options.firewall))])
    return AnnotationReader(
        options.annotations_prefix,
        passes_tls=options.ssl_passthrough,
        families=families,
        usual=usual,
        policy=options.annotation_policy,
    )


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
