"""The token of a credential plugin, which is run again before that ends.

Each request asks for the token, and has all others wait meanwhile.  So the plugin, which may hang, runs in a thread of its own as long as
the token is good; once that has ended, whoever asks waits for the plugin.
"""

from collections.abc import Callable
from threading import Thread
from typing import Any, Final

from twisted.logger import Logger

from ingress.cluster.api.credential_plugin import PluginCredentials, PluginError

log = Logger()

RENEWED_BEFORE_SECONDS: Final = 60.0
"""How long before the end of a token the next one is asked for."""
PAUSE_SECONDS: Final = 10.0
"""How long a plugin is left alone after it ran for another token, whatever came of it: each request asks."""

Start = Callable[[Callable[[], None]], Callable[[], object]]
"""Has something done beside its caller; returns what waits for the end of that."""


def _in_thread(work: Callable[[], None]) -> Callable[[], object]:
    thread = Thread(target=work, name="ingress credential plugin", daemon=True)
    thread.start()
    return thread.join


class TokenRenewal:
    """Has the token of *credentials* and, once that is about to end, that of another *run*.

    *wall* returns seconds of the epoch, *clock* monotonic ones.
    """

    def __init__(
        self,
        credentials: PluginCredentials,
        run: Callable[[], PluginCredentials],
        wall: Callable[[], float],
        clock: Callable[[], float],
        start: Start = _in_thread,
    ) -> None:
        self._credentials = credentials
        self._run = run
        self._wall = wall
        self._clock = clock
        self._start = start
        self._ran_at = clock()
        self._failure: PluginError | None = None
        self._is_running = False
        self._wait: Callable[[], object] = lambda: None

    def keep(self, configuration: Any) -> None:
        """Have *configuration* use the present token with each request.

        Requests may be made ready by one thread at a time.  Once the token has ended they fail with ``PluginError`` as long as the plugin does.
        """
        self._refresh(configuration)
        configuration.refresh_api_key_hook = self._refresh

    def _refresh(self, configuration: Any) -> None:
        if self._ends_within(RENEWED_BEFORE_SECONDS):
            if not self._is_running and self._clock() - self._ran_at >= PAUSE_SECONDS:
                self._begin()
            if self._ends_within(0.0):
                self._wait()
                if self._failure is not None:
                    raise PluginError(self._failure.message, self._failure.aside)
        configuration.api_key["BearerToken"] = f"Bearer {self._credentials.token}"

    def _begin(self) -> None:
        """Have the plugin run; where no thread is to be had, that is told, and tried again behind a pause."""
        self._is_running = True
        try:
            self._wait = self._start(self._renew)
        except RuntimeError as error:
            log.warn("credentials cannot be loaded anew: {reason}", reason=str(error))
            self._ran_at = self._clock()
            self._is_running = False

    def _ends_within(self, seconds: float) -> bool:
        ends_at = self._credentials.ends_at
        return ends_at is not None and self._wall() >= ends_at - seconds

    def _renew(self) -> None:
        failure: PluginError | None = None
        try:
            self._credentials = self._run()
        except PluginError as error:
            failure = error
            log.warn("credentials cannot be loaded anew: {reason}", reason=str(error))
        except Exception:
            log.failure("credentials cannot be loaded anew: a bug; it is tried again")
        self._failure = failure
        self._ran_at = self._clock()
        self._is_running = False
