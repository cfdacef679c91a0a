"""A backend's endpoints in rotation: who gets attempts now, and who is left out for a while.

A ``Rotation`` joins what is decided elsewhere: the balancer that picks, the health that
ejects, and the endpoints that the snapshot gives.  The balancer only ever has the endpoints
that may be used, so that a request pays nothing for health while all is well: its ``pick``
*is* the balancer's.

Where hints leave endpoints to other zones, those near by are the backend's; the others *elsewhere* stand in once all near by are
ejected, and for a request that all near by have failed, which costs nothing before.

An ejection ends by the deadlines, by a connection that was made all the same, or with the
last other endpoint; that of one that was silent also as soon as anything comes from it.  When every endpoint in rotation failed a request, the ejected ones
are tried too: one of them may be back.
"""

from collections.abc import Callable, Container
from random import Random

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ingress.metrics.metrics import Metrics
from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.model.upstream.balancing import DEFAULT_BALANCING, Balancing
from ingress.proxy.contract.deadlines import NEVER, Deadlines
from ingress.routing.balancing.balancer import Balancer
from ingress.routing.balancing.health import FAILURES, FIRST_SECONDS, Health, Liveness
from ingress.routing.balancing.making import make_balancer
from ingress.routing.balancing.slow_start import SlowStart

log = Logger()

Pick = Callable[..., Endpoint | None]


class Rotation:
    """The endpoints of one backend, for routes that share requests among them in one way."""

    __slots__ = (
        "_clock",
        "_deadlines",
        "_elsewhere",
        "_first_seconds",
        "_health",
        "_is_shown",
        "_known",
        "_metrics",
        "_near",
        "_other_turn",
        "_out",
        "backend",
        "balancer",
        "counts",
        "deadline",
        "endpoints",
        "pick",
    )

    def __init__(
        self,
        backend: BackendReference,
        balancer: Balancer,
        clock: IReactorTime,
        deadlines: Deadlines,
        metrics: Metrics,
        first_seconds: float = FIRST_SECONDS,
        elsewhere: tuple[Endpoint, ...] = (),
    ) -> None:
        self.backend = backend
        self.balancer = balancer
        """It only ever has the endpoints in rotation."""
        self._clock = clock
        self._deadlines = deadlines
        self._metrics = metrics
        self._first_seconds = first_seconds
        """How long the first ejection of an endpoint takes."""
        self._near = balancer.endpoints
        self._elsewhere = elsewhere
        self._other_turn = 0
        """Index of the one elsewhere that is next for a request which all near by have failed."""
        self._health: Health | None = None
        self._is_shown = False
        self._known = self._out = 0
        """How many of them, and of those that are ejected, the metrics count."""
        self.deadline = NEVER
        """When the next ejection is over, for the deadlines."""
        self.endpoints = balancer.endpoints
        """Those in rotation."""
        self.counts = balancer.counts
        """Whether ``began`` and ``ended`` are to be called."""
        self.pick: Pick = balancer.pick
        """Choose an endpoint in rotation that is not in the container given; None when there is none."""

    @property
    def all(self) -> tuple[Endpoint, ...]:
        """Those of the snapshot, in rotation or not."""
        return self._near + self._elsewhere

    @property
    def health(self) -> Health | None:
        """What is known of those that failed; None while none did."""
        return self._health

    def __repr__(self) -> str:
        return f"<Rotation of {self.backend}: {len(self.endpoints)} of {len(self._near)}>"

    @property
    def is_prepared(self) -> bool:
        """Whether a pick is quick; where it is not, ``prepare_some`` is to be called before, until it returns true."""
        return self.balancer.is_prepared

    def prepare_some(self) -> bool:
        """Do some of what a pick would have to do first, within a millisecond; return whether that is all."""
        return self.balancer.prepare_some()

    def assign(self, endpoints: tuple[Endpoint, ...], elsewhere: tuple[Endpoint, ...] = ()) -> None:
        """Take the endpoints of a new snapshot, none when the backend left; of those that stay all is kept."""
        self._near = endpoints
        self._elsewhere = elsewhere
        self._rotate()

    def show(self, is_shown: bool = True) -> None:
        """Have metrics count its endpoints; that of a backend is to be shown as long as others may get it."""
        self._is_shown = is_shown
        self._count()

    def another(self, tried: Container[Endpoint], key: bytes) -> Endpoint | None:
        """Choose an endpoint that was not *tried*: one in rotation, or else one elsewhere, or else an ejected one."""
        endpoint = self.pick(tried, key)
        if endpoint is None and self._elsewhere:
            endpoint = self._another_elsewhere(tried)
        if endpoint is None and self._health is not None:
            return next((each for each in self._health.ejected if each not in tried), None)
        return endpoint

    def _another_elsewhere(self, tried: Container[Endpoint]) -> Endpoint | None:
        """Choose one elsewhere that was not *tried*, in turn: who is in rotation is near by, and fails this request."""
        some, health = self._elsewhere, self._health
        for _ in some:
            self._other_turn = (self._other_turn + 1) % len(some)
            endpoint = some[self._other_turn]
            if endpoint not in tried and (health is None or health.back_at(endpoint) is None):
                return endpoint
        return None

    def may_renew(self, endpoint: Endpoint) -> bool:
        """Whether *endpoint* may be asked again on a new connection: the backend has it still, and it is not ejected."""
        if endpoint in self.endpoints:
            return True
        is_ejected = self._health is not None and self._health.back_at(endpoint) is not None
        return endpoint in self._elsewhere and not is_ejected

    def began(self, endpoint: Endpoint) -> None:
        """Tell the balancer that an attempt begins; one on trial gets no other meanwhile."""
        if self._health is not None and self._health.trial_began(endpoint, self._clock.seconds()):
            self._rotate()
        self.balancer.began(endpoint)

    def ended(self, endpoint: Endpoint, seconds: float, failed: bool) -> None:
        """Tell the balancer that an attempt is over."""
        self.balancer.ended(endpoint, seconds, failed)

    def unreachable(self, endpoint: Endpoint) -> None:
        """*endpoint* could not be connected to; eject it if that happens too often."""
        health = self._health
        if health is None:
            health = self._health = Health(self._first_seconds)
        seconds = health.failed(endpoint, self.all, self._clock.seconds())
        if seconds:
            log.warn(
                "{endpoint} of {backend} gets no requests for {seconds:g} s: {failures} connections to it failed",
                endpoint=str(endpoint),
                backend=str(self.backend),
                seconds=seconds,
                failures=FAILURES,
                change=self._mark(endpoint),
            )
            self._metrics.endpoints.ejections += 1
            self._rotate()

    def silent(self, endpoint: Endpoint, liveness: Liveness) -> None:
        """A request to *endpoint* waited in vain for as long as it may; eject it if nothing else came from it either."""
        health = self._health
        if health is None:
            health = self._health = Health(self._first_seconds)
        seconds = health.silent(endpoint, self.all, self._clock.seconds(), liveness)
        if seconds:
            log.warn(
                "{endpoint} of {backend} gets no requests for {seconds:g} s: {misses} in a row waited in vain, "
                "and nothing came from it meanwhile",
                endpoint=str(endpoint),
                backend=str(self.backend),
                seconds=seconds,
                misses=liveness.missed,
                change=self._mark(endpoint),
            )
            self._metrics.endpoints.ejections += 1
            self._rotate()

    def reached(self, endpoint: Endpoint) -> None:
        """*endpoint* was connected to; if it is ejected, it comes back."""
        if self._health is not None and self._health.reached(endpoint, self._clock.seconds()):
            self._tell_return((endpoint,))
            self._rotate()

    def expire(self) -> None:
        """Called by the deadlines: an ejection is over, or it is looked for who was heard again."""
        # The deadlines may be a little early, rather than a second late.
        now = max(self._deadlines.now, self.deadline)
        self.deadline = NEVER
        if self._health is not None:
            self._tell_return(self._health.returning(now))
            self._rotate()

    def abort(self) -> None:
        """Called by the deadlines when ``expire`` failed, which is a bug: trust all endpoints again."""
        self._health = Health(self._first_seconds)
        self._rotate()

    def _tell_return(self, endpoints: tuple[Endpoint, ...]) -> None:
        for endpoint in endpoints:
            log.info(
                "{endpoint} of {backend} gets requests again",
                endpoint=str(endpoint),
                backend=str(self.backend),
                change=self._mark(endpoint, is_over=True),
            )

    def _mark(self, endpoint: Endpoint, *, is_over: bool = False) -> Mark:
        backend = self.backend
        return Mark(
            ChangeSort.EJECTION,
            "returned" if is_over else "ejected",
            backend.kind,
            f"{backend.namespace}/{backend.name}",
            is_trouble=not is_over,
            state=f"{endpoint} of {backend}",
            is_over=is_over,
        )

    def _rotate(self) -> None:
        """Give the balancer the endpoints that may be used now."""
        health = self._health
        if health is None:
            self.balancer.endpoints = self.endpoints = self._near
            self._count()
            return
        self.balancer.endpoints = self.endpoints = health.in_rotation(self._near, self._elsewhere)
        self._count()
        self.deadline = health.next_return
        self.counts = self.balancer.counts or health.has_trials
        if self.deadline != NEVER:
            self._deadlines.watch(self)
        else:
            self._deadlines.forget(self)

    def _others_stand_in(self) -> bool:
        """Whether none near by is in rotation, and those elsewhere are."""
        health = self._health
        if health is None or not self._elsewhere:
            return False
        return all(health.back_at(endpoint) is not None for endpoint in self._near)

    def _count(self) -> None:
        """Tell metrics what is different."""
        known = out = 0
        if self._is_shown:
            known = len(self._near)
            out = known if self._others_stand_in() else known - len(self.endpoints)
        metrics, balancer = self._metrics.endpoints, self.balancer
        metrics.known += known - self._known
        metrics.out += out - self._out
        self._known, self._out = known, out
        if isinstance(balancer, SlowStart):
            if self._is_shown and balancer.starting:
                metrics.starting.add(balancer)
            else:
                metrics.starting.discard(balancer)


class Rotations:
    """Makes rotations, with what all of them need; *default* is how requests are shared where a route asks nothing.

    *first_seconds* are those of the first ejection of an endpoint.
    """

    def __init__(
        self,
        clock: IReactorTime,
        deadlines: Deadlines,
        metrics: Metrics,
        random: Random,
        default: Balancing = DEFAULT_BALANCING,
        slow_start_seconds: float = 0.0,
        first_seconds: float = FIRST_SECONDS,
    ) -> None:
        self._clock = clock
        self._deadlines = deadlines
        self._metrics = metrics
        self._random = random
        self._default = default
        self._slow_start_seconds = slow_start_seconds
        self._first_seconds = first_seconds

    def share(self, default: Balancing, slow_start_seconds: float) -> None:
        """Have rotations that are made from now on share requests so."""
        self._default = default
        self._slow_start_seconds = slow_start_seconds

    def make(
        self,
        backend: BackendReference,
        endpoints: tuple[Endpoint, ...],
        balancing: Balancing | None = None,
        elsewhere: tuple[Endpoint, ...] = (),
    ) -> Rotation:
        """Return a rotation over *endpoints* of *backend*, for which those *elsewhere* stand in."""
        balancer = make_balancer(
            balancing or self._default,
            endpoints,
            self._clock.seconds,
            self._random.random,
            self._slow_start_seconds,
        )
        return Rotation(
            backend, balancer, self._clock, self._deadlines, self._metrics, self._first_seconds, elsewhere
        )
