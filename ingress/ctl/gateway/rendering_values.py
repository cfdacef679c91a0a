"""What a rendering is made of: objects of the Gateway API, and what they do not say.

Source: ``gateway.networking.k8s.io/v1`` (Gateway API v1.6).
"""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Final

from attrs import field

from ingress.model.cluster.objects import ObjectId, ObjectKey
from ingress.model.frozen import frozen
from ingress.translate.readers.gateway.objects.names import GROUP

Json = dict[str, Any]

API_VERSION: Final = f"{GROUP}/v1"
"""That of everything that is rendered."""
DEFAULT_GATEWAY: Final = ObjectKey("default", "ingress")


class Effect(Enum):
    """What becomes of something that an object asks for, and that cannot be said."""

    DIFFERS = "differs"
    """It is said in a way that is not quite the same."""
    LEFT_OUT = "left out"
    """It is not said, and requests are served without it."""
    CLOSED = "closed"
    """Requests would get to where they must not without it, or elsewhere, so their rule has no backend and answers 500."""


Remark = Callable[[str, str, Effect], None]
"""Is told what an object asks for, why it is not said as it is, and what becomes of it."""


@frozen(order=True)
class Unsaid:
    """One thing that *object_id* asks for and that is not said as it is; *what* names it, *why* is a sentence."""

    object_id: ObjectId
    what: str
    why: str
    effect: Effect = field(order=False)


@frozen
class GatewayOptions:
    """What the objects are to be called, and how far they may go.

    With *experimental*, fields of the experimental channel are used; with *unguarded*, rules keep their backends
    although a guard that stands before them today cannot be said.
    """

    gateway: ObjectKey = DEFAULT_GATEWAY
    gateway_class: str = "example"
    experimental: bool = False
    unguarded: bool = False


@frozen
class Rendering:
    """*objects* in the order in which they are to be applied; *notes* are about all of them."""

    objects: tuple[Json, ...]
    unsaid: tuple[Unsaid, ...]
    notes: tuple[str, ...]
    owners: Mapping[tuple[str, str, str], ObjectId] = field(factory=dict)
    """Whose an object is, by its kind, namespace and name."""


class Remarks:
    """Collects what is unsaid."""

    def __init__(self) -> None:
        self._known: set[Unsaid] = set()

    def add(self, object_id: ObjectId, what: str, why: str, effect: Effect) -> None:
        """Note one thing."""
        self._known.add(Unsaid(object_id, what, why, effect))

    def all(self) -> tuple[Unsaid, ...]:
        """Return all of them, sorted by object."""
        return tuple(sorted(self._known))


def meta(name: str, namespace: str) -> Json:
    """Return ``metadata``."""
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


def without_empty(pairs: Iterable[tuple[str, Any]]) -> Json:
    """Return an object of those *pairs* that say something."""
    return {name: value for name, value in pairs if value not in (None, "", [], {})}
