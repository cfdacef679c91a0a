"""What is wrong with a part of an object, found before it is known which problem it becomes."""

from typing import NamedTuple

from ingress.model.cluster.problems import Reason


class Fault(NamedTuple):
    """What is wrong with what stands at *field*; whose problem it is, if it is told at all, is for others to say."""

    reason: Reason
    message: str
    field: str
