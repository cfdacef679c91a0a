"""What the keys about traces of an ingress-nginx ConfigMap mean together.

There, what says where the collector is has a default for all the rest, and another one than ours; who moves gets the same
traces as before: all of them, of requests whose Ingress asks for it, or of all, and traces of clients are gone on with.
"""

from collections.abc import Mapping
from typing import Final

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen
from ingress.options.config_map_keys import boolean

HOST: Final = "otlp-collector-host"
PORT: Final = "otlp-collector-port"
ENABLED: Final = "enable-opentelemetry"
SAMPLER: Final = "otel-sampler"
RATIO: Final = "otel-sampler-ratio"
TRACING_KEYS: Final = frozenset((HOST, PORT, ENABLED, SAMPLER, RATIO))
"""Those that mean something together alone."""
_LONGEST: Final = 1024
_USUAL_PORT: Final = "4317"
_SAMPLERS: Final = {"alwayson": "1", "alwaysoff": "0"}
_BY_RATIO: Final = "traceidratiobased"


@frozen
class TracingTexts:
    """Texts of options by their names, the keys that say them, and what is to be told of keys."""

    texts: Mapping[str, tuple[str, str]]
    """Name of the option: its text, and the key that it is from."""
    usual: Mapping[str, str]
    """What holds besides, where nobody says otherwise."""
    told: tuple[tuple[str, Reason, str], ...] = ()


def tracing_texts(content: Mapping[str, str]) -> TracingTexts:
    """Return what these keys of *content* come to."""
    said = {key: text for key in TRACING_KEYS if 0 < len(text := content.get(key, "").strip()) <= _LONGEST}
    told: list[tuple[str, Reason, str]] = []
    is_on = False
    if ENABLED in said:
        try:
            is_on = boolean(said[ENABLED])
        except ValueError as error:
            told.append(
                (ENABLED, Reason.INVALID_OPTION, f"{quoted(said[ENABLED])} {error}; it has no effect")
            )
    if HOST not in said:
        if is_on and "tracing-endpoint" not in content:
            told.append(
                (
                    ENABLED,
                    Reason.OPTION_NOTE,
                    f"changes nothing without {HOST} or tracing-endpoint: nobody gets spans",
                )
            )
        elif ENABLED in said and "tracing-endpoint" in content:
            return TracingTexts({"tracing-by-default": (str(is_on).lower(), ENABLED)}, {}, tuple(told))
        return TracingTexts({}, {}, tuple(told))
    host = f"[{said[HOST]}]" if ":" in said[HOST] and not said[HOST].startswith("[") else said[HOST]
    texts = {
        "tracing-endpoint": (f"grpc://{host}:{said.get(PORT, _USUAL_PORT)}", HOST),
        "tracing-by-default": (str(is_on).lower(), ENABLED if ENABLED in said else HOST),
    }
    sampler = said.get(SAMPLER, "AlwaysOn").lower()
    ratio = said.get(RATIO, "0.01") if sampler == _BY_RATIO else _SAMPLERS.get(sampler)
    if ratio is None:
        told.append(
            (
                SAMPLER,
                Reason.INVALID_OPTION,
                f"{quoted(said[SAMPLER])} is not AlwaysOn, AlwaysOff or TraceIdRatioBased; it has no effect",
            )
        )
    else:
        texts["tracing-ratio"] = (ratio, RATIO if sampler == _BY_RATIO and RATIO in said else SAMPLER)
    return TracingTexts(texts, {"tracing-trust-parent": "true"}, tuple(told))
