"""Specs of filters that a test wrote down."""

from attrs import field, frozen

from ingress.filters import Filter, Phase, Services


@frozen
class SpecOf:
    """A spec whose filter is given; specs of the same filter are equal."""

    filter: Filter = field(hash=False, eq=id)
    name: str = "test"
    phase: Phase = Phase.ACCESS

    def describe(self) -> str:
        """Say that it is one of a test."""
        return f"does what a test wants ({self.name})"

    def make(self, services: Services) -> Filter:
        """Return the filter."""
        return self.filter
