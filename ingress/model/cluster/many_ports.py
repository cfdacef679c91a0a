"""Ports of a Service, or of an EndpointSlice, found without looking through all of them: the API lets either have thousands."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, Protocol, TypeVar

FEW_PORTS: Final = 16
"""As many are sooner looked through than sorted."""


class Port(Protocol):
    """A port, as far as it is looked for."""

    @property
    def words(self) -> frozenset[int | str | None]:
        """What a reference to the port may say."""


P = TypeVar("P", bound=Port)


class ManyPorts(tuple[P, ...]):
    """Ports that are sorted by their words when one is first looked for, if they were not before."""

    @cached_property
    def by_word(self) -> Mapping[int | str | None, Sequence[P]]:
        """The ports of each word, in their order."""
        found: dict[int | str | None, list[P]] = {}
        for port in self:
            for word in port.words:
                found.setdefault(word, []).append(port)
        return found


def kept_ports(ports: tuple[P, ...]) -> tuple[P, ...]:
    """Return *ports* as an object is to keep them."""
    return ports if len(ports) <= FEW_PORTS or isinstance(ports, ManyPorts) else ManyPorts(ports)


def sorted_ports(ports: Iterable[P]) -> ManyPorts[P]:
    """Return *ports* as they are kept, sorted now, for who has the time: of ten thousand it takes ten milliseconds."""
    found = ManyPorts(ports)
    found.by_word  # noqa: B018 - it is remembered
    return found


def ports_like(ports: tuple[P, ...], wanted: int | str) -> Sequence[P]:
    """Return those of *ports*, in their order, of which *wanted* is a word; all of them where they are few."""
    return ports.by_word.get(wanted, ()) if isinstance(ports, ManyPorts) else ports
