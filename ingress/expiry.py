"""Certificates that end soon: told in the log once a day, from two weeks ahead.

The admin view and the metric say of each certificate when it ends; this says it without being asked.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from twisted.internet.defer import CancelledError, Deferred, maybeDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.identity.certificates import Certificate
from ingress.model.cluster.objects import Kind
from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.model.stepwise import Stepwise, in_order
from ingress.process.in_slices import first_at_once
from ingress.wording import number_of

LOOK_SECONDS = 3600.0
TICK_SECONDS = 60.0
"""Between looks at the time: the delays of the reactor know nothing of a calendar that is set, or of a machine that slept."""
JUMP_SECONDS = 30.0
"""A calendar that is off by more than this from where it was at the last look was set."""
TOLD_AT_ONCE = 5
"""Lines in one step."""
LOOKED_AT_ONCE = 200
"""Hosts that are looked at in one step."""
_TOLD_AGAIN_SECONDS = 86_400.0 - LOOK_SECONDS / 2
"""A day, give or take what a look comes early."""
MOST_LINES = 100
"""How many certificates are named at a time."""


Shown = Iterable[tuple[str, Certificate]]
"""Each host with each of its certificates; an empty host for the default.  One that is in a file has no namespace, and is called after it."""


class ExpiryWatch:
    """Looks at the certificates that are shown every hour, and soon after the calendar was set; at very many of them in steps.

    *now* returns the time with its zone, by which certificates are judged.  *clock* says when to look, and how
    long ago something was told, whoever sets the other one meanwhile.
    """

    log = Logger()

    def __init__(
        self,
        certificates: Callable[[], Shown],
        now: Callable[[], datetime],
        clock: IReactorTime,
    ) -> None:
        self._certificates = certificates
        self._now = now
        self._clock = clock
        self._told: dict[str, float] = {}
        """By fingerprint, when, in seconds of the clock."""
        self._looked: tuple[datetime, float] | None = None
        """When it was looked last, by both."""
        self._looking: Deferred[None] | None = None
        self._loop = LoopingCall(self._tick)
        self._loop.clock = clock

    def start(self) -> None:
        """Look now, and every hour from now on."""
        if not self._loop.running:
            self._looked = None
            self._loop.start(TICK_SECONDS)

    def stop(self) -> None:
        """Look no more."""
        if self._loop.running:
            self._loop.stop()
        if self._looking is not None:
            self._looking.cancel()

    def _tick(self) -> None:
        if self._looked is not None:
            now, seconds = self._looked
            passed = self._clock.seconds() - seconds
            jumped = (self._now() - now).total_seconds() - passed
            if passed < LOOK_SECONDS - TICK_SECONDS / 2 and abs(jumped) <= JUMP_SECONDS:
                return
        self.look()

    def look(self) -> None:
        """Tell of the certificates that end soon and were not told of within a day."""
        if self._looking is None:
            self._looked = self._now(), self._clock.seconds()
            self._looking = maybeDeferred(first_at_once, self._clock, self._look(*self._looked))
            self._looking.addErrback(self._failed).addBoth(self._has_looked)

    def _has_looked(self, result: None) -> None:
        self._looking = None

    def _failed(self, failure: Failure) -> None:
        if not failure.check(CancelledError):
            self.log.failure("Looking at certificates failed, which is a bug", failure=failure)

    def _look(self, now: datetime, seconds: float) -> Stepwise[None]:
        ending: dict[Certificate, str] = {}
        told: dict[str, float] = {}
        news: list[Certificate] = []
        for number, (host, certificate) in enumerate(self._certificates(), 1):
            if certificate.ends_soon(now) and certificate not in ending:
                ending[certificate] = host
                last = self._told.get(certificate.fingerprint)
                if last is not None:
                    told[certificate.fingerprint] = last
                if last is None or seconds - last >= _TOLD_AGAIN_SECONDS:
                    news.append(certificate)
            if not number % LOOKED_AT_ONCE:
                yield
        news = yield from in_order(news, lambda one: (one.not_after, one.secret))
        yield from self._tell(news, ending, now)
        self._told = told | {one.fingerprint: seconds for one in news}

    def _tell(self, news: list[Certificate], ending: dict[Certificate, str], now: datetime) -> Stepwise[None]:
        for number, certificate in enumerate(news[:MOST_LINES], 1):
            self.log.warn(
                "The certificate of {whose} {secret}, shown for {host}, {ends} at {when}",
                whose="Secret" if certificate.secret.namespace else "file",
                secret=str(certificate.secret),
                host=ending[certificate] or "names without a certificate of their own",
                ends="ends" if certificate.not_after > now else "ended",
                when=f"{certificate.not_after:%Y-%m-%dT%H:%M:%SZ}",
                change=Mark(
                    ChangeSort.CERTIFICATE,
                    "ends soon" if certificate.not_after > now else "ended",
                    Kind.SECRET if certificate.secret.namespace else Kind.PROCESS,
                    str(certificate.secret),
                    (ending[certificate],) if ending[certificate] else (),
                    is_trouble=True,
                ),
            )
            if not number % TOLD_AT_ONCE:
                yield
        if len(news) > MOST_LINES:
            self.log.warn(
                "{more} soon; /api/v1/certificates shows all",
                more=number_of(len(news) - MOST_LINES, "more certificate ends", "more certificates end"),
            )


def expiries(certificates: Shown) -> Iterator[tuple[str, str, str, str, float]]:
    """Yield what the metric shows of *certificates*: namespace and name of the Secret, host, type of the key, and the end."""
    for host, certificate in certificates:
        secret = certificate.secret
        yield secret.namespace, secret.name, host, certificate.key_type, certificate.not_after.timestamp()
