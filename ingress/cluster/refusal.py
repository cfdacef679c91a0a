"""That the API server forbids a reflector what it asks, and how soon that is asked again.

One refusal says little: an API server that has just started denies all until it knows the rules.
"""

from collections.abc import Callable

from ingress.cluster.backoff import Backoff

# A right that was given is to be used within half a minute.
_LONGEST_SECONDS = 30.0


class Refusal:
    """Counts refusals; *clock* and *random* as for ``Backoff``.

    ``is_lasting`` may be looked at in any thread, everything else belongs to one.
    """

    def __init__(
        self, clock: Callable[[], float], random: Callable[[], float], *, first_seconds: float
    ) -> None:
        self._backoff = Backoff(
            clock, random, first_seconds=first_seconds, ceiling_seconds=_LONGEST_SECONDS / 2
        )
        self._count = 0

    @property
    def is_lasting(self) -> bool:
        """Whether there was more than one, and nothing was permitted since."""
        return self._count > 1

    def again(self, at_least_seconds: float = 0.0) -> float:
        """Note a refusal; return the seconds to wait."""
        self._count += 1
        return self._backoff.failed(at_least_seconds)

    def over(self) -> None:
        """Note a complete list, or a watch that went on."""
        self._count = 0
