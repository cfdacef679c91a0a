"""That the API server refuses a reflector what it asks: how soon that is asked again, and when it is a problem.

One refusal says little: an API server that has just started denies all until it knows the rules.
One that lasts a minute is a problem, for the operator.
"""

from collections.abc import Callable
from typing import Final

from ingress.cluster.api.backoff import Backoff
from ingress.errors import KubernetesError
from ingress.model.cluster.objects import Batch, Kind, ObjectKey, Projection
from ingress.model.cluster.problems import Problem, Reason

PROBLEM_SECONDS: Final = 60.0
"""How long a watch has to be refused before that is a problem."""

# A right that was given is to be used within half a minute.
_LONGEST_SECONDS: Final = 30.0


class Refusal:
    """Follows the refusals of the watch of *kind* in *namespace*; *clock* and *random* as for ``Backoff``.

    *name* is that of the object that is watched alone; empty where all are.  It belongs to one thread.
    """

    def __init__(
        self,
        kind: Kind,
        namespace: str,
        clock: Callable[[], float],
        random: Callable[[], float],
        *,
        first_seconds: float,
        name: str = "",
    ) -> None:
        # There may be several such watches in a namespace, each with a problem of its own.
        self._key = ObjectKey(namespace, f"{kind}/{name}" if name else kind)
        self._clock = clock
        self._backoff = Backoff(
            clock, random, first_seconds=first_seconds, ceiling_seconds=_LONGEST_SECONDS / 2
        )
        self._count = 0
        self.since: float | None = None
        """When the first of the refusals came that nothing has come between; None when there is none."""
        self._told: tuple[int, str] | None = None

    @property
    def is_lasting(self) -> bool:
        """Whether listing or watching was forbidden more than once, and nothing was permitted since."""
        return self._count > 1

    def forbidden(self, at_least_seconds: float = 0.0) -> float:
        """Note that it is forbidden; return the seconds to wait."""
        self._count += 1
        return self._backoff.failed(at_least_seconds)

    def permitted(self) -> None:
        """Note a complete list, or a watch that went on."""
        self._count = 0

    def refused(self, error: KubernetesError) -> Batch:
        """Note an answer that is an error; return the problem to hand over, once that lasts."""
        now = self._clock()
        if self.since is None:
            self.since = now
        sort = (error.status, error.reason)
        if now - self.since < PROBLEM_SECONDS or self._told == sort:
            return {}
        self._told = sort
        message = f"the API server refuses it, so that what is known grows old: {error}"
        problem = Problem(Kind.WATCH, self._key.namespace, self._key.name, Reason.WATCH_REFUSED, message)
        return {(Kind.WATCH, self._key): Projection(None, (problem,))}

    def answered(self) -> Batch:
        """Note an answer that is none; return what to hand over."""
        told, self._told, self.since = self._told, None, None
        return {} if told is None else {(Kind.WATCH, self._key): None}
