"""Canaries: ``canary``, which no Ingress is served by yet.

A canary stands behind another Ingress of the same host and path, and gets the share of its
requests that ``canary-weight``, ``canary-by-header`` or ``canary-by-cookie`` say.  To serve it as any other Ingress would give it
all requests, wherever it is the older of the two.  So it claims nothing: no host, no path, no TLS,
no default backend, no setting of a host.  ingress-nginx makes no location of a canary either.

The others of the family say something only beside ``canary: "true"``.
"""

from typing import Final

from attrs import frozen

from ingress.annotations.values import Annotation, Family, parse_boolean

ANNOTATION: Final = "canary"
SHARES: Final = frozenset(
    {
        "canary-by-cookie",
        "canary-by-header",
        "canary-by-header-pattern",
        "canary-by-header-value",
        "canary-weight",
        "canary-weight-total",
    }
)
"""What says which requests a canary gets."""

CLAIMS_NOTHING: Final = (
    "canary is not honored by this controller; the Ingress claims nothing: all requests for its hosts and paths"
    " go where they would go without it, and its tls and its other annotations have no effect"
)
NO_CANARY: Final = 'has no effect without canary: "true"; the Ingress is served as any other'


@frozen
class CanarySettings:
    """What the annotations of one Ingress say about canaries."""

    is_canary: bool = False


CANARIES: Final = Family(
    name="canaries",
    settings=CanarySettings(),
    acts="has the Ingress claim nothing",
    annotations={ANNOTATION: Annotation("is_canary", parse_boolean)},
)
