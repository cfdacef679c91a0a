"""What is to be known of a snapshot besides what pages show: found in steps, and only anew of what has changed.  Pure."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from ingress.identity.certificates import Certificate
from ingress.translate.snapshot import Snapshot

AT_ONCE: Final = 500


class SnapshotFacts:
    """Facts about the last snapshot that was looked at."""

    def __init__(self) -> None:
        self.endpoints = 0
        """How many endpoints there are: addresses with ports, each once."""
        self.next_certificate: tuple[str, Certificate] | None = None
        """The certificate that ends first, with a host that it is shown for, empty for the default."""
        self._seen: Snapshot | None = None

    def look(self, snapshot: Snapshot) -> Iterator[None]:
        """Look at *snapshot* in steps."""
        seen, self._seen = self._seen, snapshot
        if seen is None or seen.backends is not snapshot.backends:
            yield from self._count(snapshot)
        if (
            seen is None
            or seen.certificates is not snapshot.certificates
            or seen.others is not snapshot.others
        ):
            yield from self._find_next(snapshot)

    def _count(self, snapshot: Snapshot) -> Iterator[None]:
        found: set[tuple[str, int]] = set()
        states = iter(snapshot.backends.values())
        while some := list(islice(states, AT_ONCE)):
            found.update((one.address, one.port) for state in some for one in state.endpoints)
            yield
        self.endpoints = len(found)

    def _find_next(self, snapshot: Snapshot) -> Iterator[None]:
        first: tuple[str, Certificate] | None = None
        shown = snapshot.shown()
        while some := list(islice(shown, AT_ONCE)):
            for one in some:
                if first is None or one[1].not_after < first[1].not_after:
                    first = one
            yield
        self.next_certificate = first
