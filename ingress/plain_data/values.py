"""Filter specs, variants and settings as plain data.

Lists are iterators, each item made when it is asked for: a filter may have tens of thousands of networks, and pages
are made in slices (``ingress.plain_data.steps``).  ``whole`` makes all of them at once.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Any

import attrs

from ingress.filters import FilterSpec
from ingress.model.upstream.backends import BackendState
from ingress.model.upstream.upstream_tls import LinkSettings
from ingress.plain_data.secret_fields import NOT_SHOWN, hides_its_value, is_hidden_pair
from ingress.plain_data.steps import NOT_YET, in_order
from ingress.routing.variants import Variant, WeightedBackend


def whole(value: object) -> Any:
    """Return *value*, plain data with iterators in it, with lists in their place."""
    if isinstance(value, dict):
        return {name: whole(part) for name, part in value.items()}
    if isinstance(value, Iterator | list):
        return [whole(part) for part in value if part is not NOT_YET]
    return value


def filter_as_data(spec: FilterSpec) -> dict[str, object]:
    """Return ``{"filter": NAME, "phase": NAME, "does": SENTENCE, "settings": {...}}``."""
    settings = settings_as_data(spec) if attrs.has(type(spec)) else {}
    return {"filter": spec.name, "phase": spec.phase.name, "does": spec.describe(), "settings": settings}


def weighted_as_data(entry: WeightedBackend) -> dict[str, object]:
    """Return ``{"backend": NAME, "weight": NUMBER, "filters": [...]}``."""
    return {
        "backend": str(entry.backend),
        "weight": entry.weight,
        "filters": map(filter_as_data, entry.filters),
    }


def variant_as_data(variant: Variant) -> dict[str, object]:
    """Return ``{"conditions": [SENTENCE], "weighted": [...], "filters": [...]}``."""
    return {
        "conditions": map(str, variant.conditions),
        "weighted": map(weighted_as_data, variant.weighted),
        "filters": map(filter_as_data, variant.filters),
    }


def spoken(state: BackendState) -> str:
    """Return what is spoken to the endpoints of *state*, all of which are on the same settings; empty without any."""
    endpoints = state.endpoints
    if not endpoints:
        return ""
    return words_of_link(endpoints[0].link_settings)


def words_of_link(link_settings: LinkSettings | None) -> str:
    """Return what is spoken on connections of these settings."""
    if link_settings is None:
        return "HTTP/1.1"
    if link_settings.is_fastcgi:
        return "FastCGI"
    return "HTTP/2" if link_settings.is_http2 else "HTTP/1.1"


def settings_as_data(value: Any) -> dict[str, object]:
    """Return the fields of *value*, of a class that attrs made, but for those that its ``repr`` leaves out.

    What a request or an answer is given as proof of somebody, such as ``Authorization``, is named and not shown.
    """
    found: dict[str, object] = {
        field.name: as_data(getattr(value, field.name)) for field in attrs.fields(type(value)) if field.repr
    }
    if "value" in found and hides_its_value(value):
        found["value"] = NOT_SHOWN
    return found


def as_data(value: object) -> object:
    """Return *value* if JSON has it, else its text where it has one of its own, else its parts."""
    if value is None or isinstance(value, bool | int | float | str):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, tuple | list) and type(value).__str__ is object.__str__:
        return map(_entry_as_data, value)
    if isinstance(value, frozenset | set):
        return in_order(map(as_data, value), str)
    if attrs.has(type(value)) and type(value).__str__ is object.__str__:
        return settings_as_data(value)
    return str(value)


def _entry_as_data(value: object) -> object:
    if isinstance(value, tuple) and is_hidden_pair(value):
        return iter((as_data(value[0]), NOT_SHOWN))
    return as_data(value)
