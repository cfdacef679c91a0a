"""What is logged of requests: ``enable-access-log`` and ``enable-rewrite-log``."""

from typing import Final

from ingress.annotations.contract.values import Annotation, Family, parse_boolean
from ingress.model.frozen import frozen


@frozen
class AccessLogSettings:
    """What the annotations of one Ingress say about the log."""

    is_logged: bool = True
    """Whether its requests have lines in the access log."""
    logs_rewrites: bool = False


ACCESS_LOGS: Final = Family(
    name="access_logs",
    settings=AccessLogSettings(),
    acts="what is logged of requests",
    annotations={
        "enable-access-log": Annotation(
            "is_logged",
            parse_boolean,
            operators=True,
            instead="requests are logged",
            values="a boolean; true",
            meaning="`false` keeps requests of these routes out of the access log; the metrics count them",
        ),
        "enable-rewrite-log": Annotation(
            "logs_rewrites",
            parse_boolean,
            instead="rewrites are not logged",
            unhonored="rewrites are not logged; the access log has the target as it came",
            values="a boolean; false",
            meaning="`false` has rewrites not logged, as they are not anyway",
            differs="`true` is not honored",
        ),
    },
)
