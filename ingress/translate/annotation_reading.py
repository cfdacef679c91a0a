"""What reads annotations, made of the options of translation."""

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.operator_filters import operator_filters
from ingress.annotations.operator_settings import usual_settings
from ingress.translate.options import TranslateOptions


def annotation_reader(options: TranslateOptions) -> AnnotationReader:
    """Return what reads annotations as the operator wants them read."""
    families = (operator_filters(options.allowed_filters),)
    return AnnotationReader(
        options.annotations_prefix,
        passes_tls=options.ssl_passthrough,
        families=families,
        usual=usual_settings(options.operators),
        policy=options.annotation_policy,
    )
