"""Which Secrets are referred to, and which of their keys each reference needs.

This is asked before any Secret is read: what nobody refers to is not kept.  A new sort of
reference is a line in ``secret_needs``.
"""

from ingress.model.objects import Ingress, ObjectKey
from ingress.model.secrets import TLS_KEYS, SecretNeeds, is_secret_name
from ingress.translate.options import TranslateOptions


def secret_needs(ingress: Ingress) -> SecretNeeds:
    """The Secrets that *ingress* refers to, should it be ours; those of its own namespace only.

    A name that no Secret can have is left out; translation reports it.
    """
    if not ingress.tls:
        return {}
    return {
        ObjectKey(ingress.key.namespace, entry.secret_name): TLS_KEYS
        for entry in ingress.tls
        if is_secret_name(entry.secret_name)
    }


def needs_of_options(options: TranslateOptions) -> SecretNeeds:
    """The Secrets that the operator refers to."""
    key = options.default_ssl_certificate
    return {} if key is None else {key: TLS_KEYS}
