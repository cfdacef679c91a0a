"""What the log says about the contact of one part with the API server: little, and in time.

An API server that is away concerns all parts, which say so together (``ingress.cluster.api.outage``).
What only this part meets, such as a right that is missing, is said here: losing contact and
regaining it are one line each.  While it lasts, a failure is said again when its cause is another
one, and otherwise once a minute.
"""

from collections.abc import Callable
from math import inf

from twisted.logger import Logger

from ingress.cluster.api.api_status import is_of_the_server
from ingress.cluster.api.outage import Outage
from ingress.errors import KubernetesError
from ingress.wording import number_of

log = Logger()

_REPEAT_SECONDS = 60.0


class Contact:
    """Remembers whether *name* (a kind, and its namespace if only that is read) has contact.

    *consequence* goes on after "the API server" where the log tells of trouble.  *outage* is shared
    with all others; with *holds* it lasts as long as this part has no contact.
    """

    def __init__(
        self,
        name: str,
        clock: Callable[[], float],
        consequence: str = "cannot be read, what is known stays in force",
        *,
        outage: Outage | None = None,
        holds: bool = False,
    ) -> None:
        self._name = name
        self._clock = clock
        self._consequence = consequence
        self._outage = outage or Outage(clock)
        self._holds = holds
        self._lost_since: float | None = None
        self._said: dict[str, float] = {}
        self._is_silent = False
        self.trouble = ""
        """The cause of what goes wrong at the moment; empty when nothing does.  Everybody may see it, so it has no aside of an error."""

    def failed(self, error: KubernetesError, about: str = "") -> None:
        """Note an error, met when *about* was asked for where that is a single object."""
        cause = str(error) if error.status else error.message
        if about:
            cause = f"{about}: {cause}"
        if is_of_the_server(error):
            self.trouble = cause
            # Without its aside, which whoever ran that program has told: this line is a change, too, and shown to others than the log is.
            self._outage.lost(self._name, cause, holds=self._holds)
        else:
            self._outage.regained(self._name)
            if about:
                self._refused(cause, f"status {error.status}")
            else:
                self.lost(cause)

    def lost(self, cause: str, alike: str = "", *, once: bool = False) -> None:
        """Note that the API server refuses what this part asks.

        Causes of which the same *alike* is said count as one.  With *once*, this one is not said
        again until contact is regained.
        """
        if self._lost_since is None:
            self._lost_since = self._clock()
        self._refused(cause, alike or cause, once=once)

    def _refused(self, cause: str, alike: str, *, once: bool = False) -> None:
        """Say *cause*, unless one that is *alike* was said of late; of a single object that is no loss of contact."""
        self.trouble = cause
        if self._is_worth_saying(alike, once=once):
            log.warn(
                "{name}: the API server {consequence}: {cause}",
                name=self._name,
                consequence=self._consequence,
                cause=cause,
            )

    def spared(self, cause: str) -> None:
        """Note that what this part asks is refused, and that it is not needed; said once."""
        if self._is_worth_saying("spared", once=True):
            log.info(
                "{name}: may not be read, which is not needed where only some namespaces are: {cause}",
                name=self._name,
                cause=cause,
            )

    def regained(self) -> bool:
        """Note an answer that says success; return whether contact was lost before."""
        self.trouble = ""
        was_away = self._outage.regained(self._name)
        if self._lost_since is None:
            return was_away
        seconds = round(self._clock() - self._lost_since, 1)
        self._lost_since = None
        self._said.clear()
        log.info("{name}: the API server answers again after {seconds} s", name=self._name, seconds=seconds)
        return True

    def troubled(self, cause: str) -> None:
        """Note an answer that said success and then came to nothing."""
        self.trouble = cause
        if self._outage.is_news(cause):
            log.warn("{name}: reading starts again: {cause}", name=self._name, cause=cause)

    def listed_again(self, count: int, cause: str) -> None:
        """Note a complete list that was not the first, unless an outage explains it; one kind speaks for all."""
        if not self._outage.is_recent and self._outage.is_news(f"listed again: {cause}"):
            log.info(
                "{name}: listed again, {objects}: {cause}",
                name=self._name,
                objects=number_of(count, "object"),
                cause=cause,
            )

    def silent(self) -> None:
        """Note that nothing came for so long that the watch is renewed; said once, until something comes."""
        if not self._is_silent:
            self._is_silent = True
            log.info(
                "{name}: nothing came for longer than a watch is quiet, so it is renewed; "
                "this is said once until something comes",
                name=self._name,
            )

    def heard(self) -> None:
        """Note that something came."""
        self._is_silent = False

    def _is_worth_saying(self, cause: str, *, once: bool) -> bool:
        now = self._clock()
        self._said = {said: at for said, at in self._said.items() if now - at < _REPEAT_SECONDS}
        if cause in self._said:
            return False
        self._said[cause] = inf if once else now
        return True
