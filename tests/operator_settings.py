"""What an operator says for all Ingresses, as options would say it."""

from typing import Any

from attrs import AttrsInstance, evolve

from ingress.annotations.contract.values import Family
from ingress.annotations.operator_settings import NOTHING_SAID


def operator_settings(*said: tuple[Family[Any], object]) -> AttrsInstance:
    """Return what says these settings of families."""
    nothing: Any = NOTHING_SAID
    found: AttrsInstance = evolve(nothing, **{family.name: settings for family, settings in said})
    return found
