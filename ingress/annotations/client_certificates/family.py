"""Client certificates: what the ``auth-tls-...`` annotations ask for.

They hold for a host as a whole, like the handshake that they are about; which Ingress has
the say where several name the host is for translation to decide.  What cannot be read never
makes a host more open than it was meant: the safe default is used, or nobody gets in.
"""

import re
from typing import Final

from ingress.annotations.client_certificates.common_names import NOBODY, CommonNames, parse_common_names
from ingress.annotations.contract.values import (
    Annotation,
    Family,
    Place,
    Risk,
    ValueRefused,
    parse_boolean,
    parse_object_key_or_nothing,
)
from ingress.filters import Phase
from ingress.model.cluster.objects import ObjectKey
from ingress.model.frozen import frozen
from ingress.model.requests.client_authentication import DEFAULT_DEPTH, MOST_DEPTH, VerifyClient

SECRET_ANNOTATION: Final = "auth-tls-secret"
NO_SECRET: Final = ObjectKey("", "")
"""Stands for a Secret that was asked for with a text that names none."""

_MAX_URL_CHARACTERS: Final = 2048
_MODES: Final = {
    mode.value: mode for mode in (VerifyClient.REQUIRED, VerifyClient.OPTIONAL, VerifyClient.OPTIONAL_NO_CA)
}
# RFC 3986: a host, perhaps a port, and what may stand behind it; no user, and no fragment.
_URL = re.compile(
    r"https?://(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?"
    r"(?:/(?:[A-Za-z0-9._~!&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?(?:\?(?:[A-Za-z0-9._~!&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?"
).fullmatch


def parse_mode(text: str) -> VerifyClient | None:
    """Read how much a host insists; None for ``off``."""
    if text == "off":
        return None
    mode = _MODES.get(text)
    if mode is None:
        raise ValueRefused("is not one of on, off, optional and optional_no_ca")
    return mode


def parse_depth(text: str) -> int:
    """Read how many certificates may stand between two."""
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= MOST_DEPTH:
        raise ValueRefused(f"is not a number from 1 to {MOST_DEPTH}")
    return int(text)


def parse_error_page(text: str) -> bytes:
    """Read the URL of a page that is elsewhere.

    A path would lead back to the very host that lets nobody in without certificate.
    """
    if len(text) > _MAX_URL_CHARACTERS or not _URL(text):
        raise ValueRefused("is not an absolute URL such as https://www.example.com/certificates")
    return text.encode("ascii")


@frozen
class ClientCertificateSettings:
    """What the annotations of one Ingress ask of the clients of its hosts."""

    secret: ObjectKey | None = None
    """Where the CA certificates are; its namespace is empty where none was written.  None asks for nothing."""
    mode: VerifyClient | None = VerifyClient.REQUIRED
    """None: certificates are not asked for."""
    depth: int = DEFAULT_DEPTH
    passes_certificate: bool = False
    common_names: CommonNames | None = None
    """The names that get in; None for all."""
    error_page: bytes = b""
    """Where clients are sent whose certificate is not accepted; empty for an answer in place."""

    @property
    def asks(self) -> bool:
        """Whether certificates are asked for at all."""
        return self.secret is not None and self.mode is not None


def secret_asked(ingress: ObjectKey, settings: ClientCertificateSettings) -> ObjectKey | None:
    """Return the Secret that an Ingress asks for, None for none that it can have."""
    secret = settings.secret
    if secret is None or secret == NO_SECRET or secret.namespace not in ("", ingress.namespace):
        return None
    return ObjectKey(ingress.namespace, secret.name)


CLIENT_CERTIFICATES: Final = Family(
    name="client_certificates",
    settings=ClientCertificateSettings(),
    acts="asks clients for certificates",
    phases=(Phase.HANDSHAKE, Phase.ACCESS, Phase.EDITS),
    place=Place.HOST,
    annotations={
        SECRET_ANNOTATION: Annotation(
            "secret",
            parse_object_key_or_nothing,
            NO_SECRET,
            "its hosts answer 403",
            values="`NAME` of the own namespace",
            meaning="asks clients for certificates of the authorities in the Secret",
            differs="only Secrets of the own namespace; holds for the whole host",
            risk=Risk.MEDIUM,
        ),
        "auth-tls-verify-client": Annotation(
            "mode",
            parse_mode,
            values="`on`, `off`, `optional`, `optional_no_ca`; on",
            meaning="whether a certificate is required, and whose",
            risk=Risk.MEDIUM,
        ),
        "auth-tls-verify-depth": Annotation(
            "depth",
            parse_depth,
            values=f"1 to {MOST_DEPTH}; {DEFAULT_DEPTH}",
            meaning="how many authorities may stand between",
        ),
        "auth-tls-pass-certificate-to-upstream": Annotation(
            "passes_certificate",
            parse_boolean,
            values="`true` or `false`; false",
            meaning="tells endpoints the certificate, in `ssl-client-cert`",
        ),
        "auth-tls-match-cn": Annotation(
            "common_names",
            parse_common_names,
            NOBODY,
            "nobody is let in",
            values="`CN=` and a regular expression",
            meaning="whose certificates are let in, by common name",
            differs="read by RE2, in linear time",
            risk=Risk.HIGH,
        ),
        "auth-tls-error-page": Annotation(
            "error_page",
            parse_error_page,
            values="a URL of http or https",
            meaning="where those are sent who may not come in",
            risk=Risk.HIGH,
        ),
    },
)
