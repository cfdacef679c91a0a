"""How large a request body may be: ``proxy-body-size``."""

import re
from typing import Final

from ingress.annotations.contract.values import Annotation, Family, Risk, ValueRefused
from ingress.model.frozen import frozen

DEFAULT_MAX_BYTES: Final = 1024 * 1024
"""1 MiB, as in ingress-nginx (``client_max_body_size``)."""

_match_size = re.compile(r"([0-9]{1,12})([kKmMgG]?)", re.ASCII).fullmatch
_UNITS: Final = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def parse_size(text: str) -> int:
    """Read a size as nginx does: bytes, or with ``k``, ``m`` or ``g``."""
    match = _match_size(text.strip())
    if match is None:
        raise ValueRefused('is not a size; write a number with "k", "m" or "g", such as "8m"')
    return int(match[1]) * _UNITS[match[2].lower()]


@frozen
class BodySettings:
    """What the annotations of one Ingress say about request bodies."""

    max_bytes: int = DEFAULT_MAX_BYTES
    """0 means no limit."""


BODIES: Final = Family(
    name="bodies",
    settings=BodySettings(),
    acts="the size of request bodies",
    annotations={
        "proxy-body-size": Annotation(
            "max_bytes",
            parse_size,
            operators=True,
            values="bytes, or with `k`, `m` or `g`; `0` for no bound; 1m",
            meaning="how large the body of a request may be; a larger one is answered 413",
            risk=Risk.MEDIUM,
        )
    },
)
