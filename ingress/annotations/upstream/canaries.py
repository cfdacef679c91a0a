"""Canaries: ``canary`` and its family.

A canary stands behind another Ingress, its *primary*, which has the same host and path, and gets those of its requests that
a field, a cookie or a weight says (``ingress.translate.hosts.canaries``), shared among its endpoints as it says.  What it says besides
about the host or the path is for the primary to say, and has no effect, as in ingress-nginx.
"""

import re
from collections.abc import Iterator
from typing import Final

from ingress.annotations.contract.values import Annotation, Family, Remark, Risk, ValueRefused, parse_boolean
from ingress.annotations.upstream.balancing import BALANCING
from ingress.model.frozen import frozen
from ingress.model.text.expressions import Expression, ExpressionRefused, read_expression

ANNOTATION: Final = "canary"
DEFAULT_TOTAL: Final = 100
_MAX_TOTAL: Final = 1_000_000
_MAX_CHARACTERS: Final = 1024

_is_token = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}").fullmatch
_is_value = re.compile(r"[\x20-\x7e]{1,1024}").fullmatch


NO_PATTERN: Final = Expression(r"[^\x00-\x{10ffff}]")
"""What stands for a pattern that is none: nothing is like it, and what the field says decides against the canary, as in ingress-nginx."""

PRIMARY_SAYS: Final = "the Ingress behind which it stands decides about these, and here they have no effect:"


def is_canary(text: str) -> bool:
    """Whether the value of ``canary`` makes a canary."""
    try:
        return parse_boolean(text)
    except ValueRefused:
        return False


@frozen
class CanarySettings:
    """What the annotations of one Ingress say about canaries."""

    is_canary: bool = False
    header: bytes = b""
    """The name of the field that decides, in lower case; empty for none."""
    header_value: bytes = b""
    """What it has to say; empty: ``always`` or ``never``."""
    header_pattern: Expression | None = None
    """What it has to be like, where no value is said."""
    cookie: bytes = b""
    """The name of the cookie that decides by ``always`` and ``never``."""
    weight: int = 0
    total: int = DEFAULT_TOTAL

    @property
    def share(self) -> tuple[int, int]:
        """Its share of what neither field nor cookie decides: so many of so many."""
        total = max(self.total, 1)
        return min(self.weight, total), total


def _parse_token(what: str, text: str) -> bytes:
    text = text.strip()
    if text and _is_token(text) is None:
        raise ValueRefused(f"is no name of a {what}")
    return text.encode("ascii")


def parse_header(text: str) -> bytes:
    """Read the name of a field (a token of RFC 9110)."""
    return _parse_token("field", text).lower()


def parse_cookie(text: str) -> bytes:
    """Read the name of a cookie."""
    return _parse_token("cookie", text)


def parse_header_value(text: str) -> bytes:
    """Read what a field has to say."""
    text = text.strip()
    if text and _is_value(text) is None:
        raise ValueRefused(f"is no value of a field: printable ASCII, up to {_MAX_CHARACTERS} characters")
    return text.encode("ascii")


def parse_header_pattern(text: str) -> Expression | None:
    """Read an expression that a part of a field's value is to match."""
    text = text.strip()
    if not text:
        return None
    try:
        # By itself first, so that no bracket of it can end the one that it is put into.
        read_expression(text)
        return read_expression(f"(?s:.*)(?:{text})(?s:.*)")
    except ExpressionRefused as refusal:
        raise ValueRefused(str(refusal)) from None


def _parse_number(text: str) -> int:
    text = text.strip()
    if not (
        text.isascii() and text.isdecimal() and len(text) <= len(str(_MAX_TOTAL)) and int(text) <= _MAX_TOTAL
    ):
        raise ValueRefused(f"is no number from 0 to {_MAX_TOTAL}")
    return int(text)


def parse_total(text: str) -> int:
    """Read what weights are of; below 100 it is 100, as in ingress-nginx."""
    return max(_parse_number(text), DEFAULT_TOTAL)


def _remarks(settings: CanarySettings, names: frozenset[str]) -> Iterator[Remark]:
    if not settings.is_canary:
        for name in sorted(names - {ANNOTATION}):
            yield Remark(name, 'has no effect without canary: "true"; the Ingress is served as any other')
        return
    for name in sorted(names & {"canary-by-header-value", "canary-by-header-pattern"}):
        if not settings.header:
            yield Remark(name, "has no effect without canary-by-header")
    if settings.header_value and settings.header_pattern is not None:
        yield Remark("canary-by-header-pattern", "has no effect beside canary-by-header-value")
    if not (settings.header or settings.cookie or settings.weight):
        yield Remark(ANNOTATION, "neither a field, a cookie nor a weight gives it any request")


CANARIES: Final = Family(
    name="canaries",
    settings=CanarySettings(),
    acts="gives an Ingress a part of another one's requests",
    remarks=_remarks,
    annotations={
        ANNOTATION: Annotation(
            "is_canary",
            parse_boolean,
            values="`true` or `false`; false",
            meaning="has the Ingress stand behind another one of the same host and path",
            differs="that one is of the same namespace, unless hosts are shared; there may be several canaries",
        ),
        "canary-by-header": Annotation(
            "header",
            parse_header,
            values="the name of a field",
            meaning="`always` in that field is for the canary, `never` is not; comes before the cookie",
            risk=Risk.MEDIUM,
        ),
        "canary-by-header-value": Annotation(
            "header_value",
            parse_header_value,
            values="text",
            meaning="what the field has to say in place of `always`",
            risk=Risk.MEDIUM,
        ),
        "canary-by-header-pattern": Annotation(
            "header_pattern",
            parse_header_pattern,
            refused=NO_PATTERN,
            instead="requests with the field are not for the canary",
            values="a regular expression",
            meaning="what the field has to match in place of `always`",
            differs="read by RE2, in linear time",
            risk=Risk.MEDIUM,
        ),
        "canary-by-cookie": Annotation(
            "cookie",
            parse_cookie,
            values="the name of a cookie",
            meaning="`always` in that cookie is for the canary, `never` is not; comes before the weight",
            risk=Risk.MEDIUM,
        ),
        "canary-weight": Annotation(
            "weight",
            _parse_number,
            values="a number; 0",
            meaning="how many of 100 requests the canary gets, by chance",
        ),
        "canary-weight-total": Annotation(
            "total", parse_total, values="a number; 100", meaning="of how many requests the weight is"
        ),
    },
)

SAID_BY_CANARIES: Final = frozenset(
    {*CANARIES.annotations, *BALANCING.annotations, "affinity-canary-behavior"}
)
"""What is for a canary to say; whether clients stay with it is for its primary, too."""
