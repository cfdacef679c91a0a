"""Which Secrets the operator refers to.  Those of objects are for their readers to say."""

from ingress.model.secrets import TLS_KEYS, SecretNeeds
from ingress.translate.options import TranslateOptions


def needs_of_options(options: TranslateOptions) -> SecretNeeds:
    """The Secrets that the operator refers to."""
    key = options.default_ssl_certificate
    return {} if key is None else {key: TLS_KEYS}
