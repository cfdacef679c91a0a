"""TLS that is not terminated here: ``ssl-passthrough``.

No other annotation has a say about a connection that passes through: nothing of it can be
read here.  The operator has to turn it on, since it looks at every TLS connection before OpenSSL does.
"""

from typing import Final

from attrs import frozen

from ingress.policy.values import Annotation, Family, parse_boolean

ANNOTATION: Final = "ssl-passthrough"
OPTION: Final = "--enable-ssl-passthrough"


@frozen
class PassthroughSettings:
    """What the annotations of one Ingress say about who terminates TLS."""

    passes_tls: bool = False


PASSTHROUGH: Final = Family(
    name="passthrough", annotations={ANNOTATION: Annotation("passes_tls", parse_boolean)}
)
