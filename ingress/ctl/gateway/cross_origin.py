"""What other origins may do, as the filter CORS.

Source: ``HTTPCORSFilter``.
"""

import re
from typing import Final

from ingress.annotations.answers.cors import CorsFields
from ingress.ctl.gateway.fields import is_field_name
from ingress.ctl.gateway.rendering_values import Effect, Json, Remark
from ingress.translate.readers.gateway.routes.match_reading import METHODS

MOST_ENTRIES: Final = 64
_is_origin = re.compile(
    r"https?://(?:(?:\*\.)?(?:[a-zA-Z0-9-]+\.)*[a-zA-Z0-9-]+)(?::[0-9]{1,5})?", re.ASCII
).fullmatch


def said_cors(spec: CorsFields, remark: Remark) -> Json | None:
    """Return the filter; None where no origin can be said."""
    told = {name.decode("ascii"): value.decode("ascii", "replace") for name, value in spec.fields}
    origins = ["*"] if spec.origins.is_everybody else _origins(spec, remark)
    if not origins:
        return None
    cors: Json = {"allowOrigins": origins[:MOST_ENTRIES]}
    for one in origins[MOST_ENTRIES:]:
        remark(spec.name, f"the origin {one}: there are no more than {MOST_ENTRIES}", Effect.LEFT_OUT)
    if spec.credentials and not spec.origins.is_everybody:
        # Of all origins browsers take no credentials; a gateway may repeat each, which would let all of them in.
        cors["allowCredentials"] = True
    methods = _listed(told.get("Access-Control-Allow-Methods", ""))
    cors["allowMethods"] = [one for one in methods if one in METHODS]
    for one in methods:
        if one not in METHODS:
            remark(spec.name, f"the method {one} is none that the Gateway API has", Effect.LEFT_OUT)
    for key, field in (
        ("allowHeaders", "Access-Control-Allow-Headers"),
        ("exposeHeaders", "Access-Control-Expose-Headers"),
    ):
        cors[key] = [one for one in _listed(told.get(field, "")) if is_field_name(one)][:MOST_ENTRIES]
    seconds = int(told.get("Access-Control-Max-Age", "0"))
    if 0 < seconds < 1 << 31:
        cors["maxAge"] = seconds
    return {key: value for key, value in cors.items() if value}


def _origins(spec: CorsFields, remark: Remark) -> list[str]:
    texts = [origin.decode("ascii", "replace") for origin in spec.origins.exact]
    wide = [f"{scheme.decode('ascii')}*{behind.decode('ascii')}" for scheme, behind in spec.origins.wide]
    good = {one for one in (*texts, *wide) if _is_origin(one)}
    for one in {*texts, *wide} - good:
        remark(spec.name, f"the origin {one} cannot be said", Effect.LEFT_OUT)
    for one in good.intersection(wide):
        remark(
            spec.name,
            f"the origin {one} is one label more today, and any number of them then",
            Effect.DIFFERS,
        )
    return sorted(good)


def _listed(text: str) -> list[str]:
    return list(dict.fromkeys(one for one in re.split(r"[,\s]+", text) if one))
