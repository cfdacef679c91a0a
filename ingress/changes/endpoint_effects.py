"""Which endpoints the Services have that routes lead to, and did not have before.  Pure, in steps."""

from collections.abc import Iterator
from typing import Final

from ingress.model.frozen import frozen
from ingress.model.shared_map import SharedMap
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.translate.snapshot import Snapshot
from ingress.wording import first_of

MOST_NAMED: Final = 3
_MOST_COMPARED: Final = 500
"""Of a backend with more endpoints than that only their number is compared: that takes no time."""


@frozen
class EndpointsChanged:
    """The endpoints of one backend are others."""

    backend: BackendReference
    came: tuple[str, ...]
    went: tuple[str, ...]
    left: int
    """How many there are now."""
    more: int = 0
    """By how many there are more than before, where they are not compared one by one."""

    @property
    def is_out(self) -> bool:
        """Whether none is left."""
        return not self.left

    def __str__(self) -> str:
        named = [f"-{one}" for one in self.went] + [f"+{one}" for one in self.came]
        what = (
            first_of(named, MOST_NAMED)
            or f"{self.more:+,} {'endpoint' if abs(self.more) == 1 else 'endpoints'}"
        )
        return f"{what}; {'no endpoint is left' if self.is_out else f'{self.left:,} now'}"


def endpoint_effects(before: Snapshot, after: Snapshot, found: list[EndpointsChanged]) -> Iterator[None]:
    """Put into *found* what is different of backends that both have."""
    old, new = before.backends, after.backends
    if old is new or not isinstance(old, SharedMap) or not isinstance(new, SharedMap):
        return
    for portion in new.portions_since(old):
        for backend, state in portion:
            known = old.get(backend)
            if known is not None and state is not None and known.endpoints != state.endpoints:
                found.append(_compared(backend, known, state))
                yield
        yield


def _compared(backend: BackendReference, before: BackendState, after: BackendState) -> EndpointsChanged:
    old, new = before.endpoints, after.endpoints
    left = len(new)
    if left + len(old) > _MOST_COMPARED:
        return EndpointsChanged(backend, (), (), left, left - len(old))
    was, now = dict.fromkeys(map(str, old)), dict.fromkeys(map(str, new))
    came = tuple(one for one in now if one not in was)
    return EndpointsChanged(backend, came, tuple(one for one in was if one not in now), left)
