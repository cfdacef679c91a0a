"""Which parts of which Secrets somebody needs, and which ConfigMaps.

A Secret holds what its owner wants to keep from others, so only what a reference needs is
read out of it and kept.  Who refers to Secrets is for the readers of objects to say (``ingress.translate.readers``).
"""

import re
from collections.abc import Mapping

from ingress.model.cluster.objects import ObjectKey

Needs = Mapping[ObjectKey, frozenset[str]]
"""Objects of one kind, each with the keys of its ``data`` that are needed."""

ALL_KEYS = frozenset({"*"})
"""Stands for all keys, beside whatever others; no key has this name."""

TLS_KEYS = frozenset({"tls.crt", "tls.key"})
"""What a certificate is made of."""

UPSTREAM_TLS_KEYS = TLS_KEYS | {"ca.crt"}
"""What TLS to endpoints may need: whom we trust, and what we show ourselves."""

CLIENT_AUTHENTICATION_KEYS = frozenset({"ca.crt", "ca.crl"})
"""What client certificates are judged by: whom we trust, and what these revoked."""

_MAX_NAME_CHARACTERS = 253
# RFC 1123 subdomain, as Kubernetes checks the name of a Secret: no slash and no "..".
_SECRET_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def is_secret_name(name: str) -> bool:
    """Whether a Secret, or a ConfigMap, can have this *name*; any other must not get into the path of a request."""
    return len(name) <= _MAX_NAME_CHARACTERS and _SECRET_NAME.fullmatch(name) is not None
