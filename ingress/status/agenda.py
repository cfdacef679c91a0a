"""What is to be written, and when the next write may go.  Pure, but for the clock it is given.

An ``Agenda`` holds each key once, to be looked at now or later.  A ``Pace`` bounds how often the
API server is asked, and leaves it alone for a while when it is in trouble; ``Failing`` says when that is not its trouble,
and ``Closures`` leave one namespace alone.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from heapq import heappop, heappush
from itertools import count, islice
from math import inf
from typing import Generic, TypeVar

from ingress.cluster.api.backoff import Backoff
from ingress.errors import KubernetesError

_K = TypeVar("_K", bound=Hashable)

_FIRST_CLOSURE_SECONDS = 5.0
_TRIES_PER_SECOND = 10.0
_LONGEST_PAUSE_SECONDS = 60.0
MOST_IN_A_ROW = 100
"""So many may fail with nobody answered among them before that is put down to the API server again, whatever it says."""
WOKEN_AT_ONCE = 100
"""How many of the keys that were put off are taken up at once: tens of thousands of problems may come together, and each takes some microseconds."""


class Agenda(Generic[_K]):
    """Keys to look at, in the order in which they came, and others *behind* these, of which one is taken for each of them.

    *clock* returns seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # A plain dictionary is slow to give its first key when those before it were taken.
        self._now: OrderedDict[_K, None] = OrderedDict()
        # Behind these, one for each of them; that some of it is above, too, does no harm.
        self._behind: deque[_K] = deque()
        self._is_turn_of_behind = True
        self._later: list[tuple[float, int, _K]] = []
        # Of those of ``_until`` that do not wait for their time any more, what was above each time, the first time first.
        self._recalled: deque[list[tuple[float, int, _K]]] = deque()
        self._until: dict[_K, float] = {}
        self._numbers = count()

    def __len__(self) -> int:
        """How many keys there are."""
        return len(self._now) + len(self._behind) + len(self._until)

    def __contains__(self, key: object) -> bool:
        return key in self._now or key in self._until

    def add(self, keys: Iterable[_K]) -> None:
        """Have these looked at now, but for those that are put off."""
        for key in keys:
            if key not in self._until:
                self._now[key] = None

    def add_all(self, keys: Iterable[_K]) -> None:
        """Have all *keys* that there are looked at behind the others; the last such call counts.

        They are only kept, which for ten thousands of them takes no time.  So ``drop`` leaves
        them, and whoever looks at one sees whether it is still there.
        """
        self._behind = deque(keys)

    def add_behind(self, key: _K) -> None:
        """Have *key* looked at behind all that are behind the others."""
        if key not in self._until:
            self._behind.append(key)

    def add_all_behind(self, keys: Iterable[_K]) -> None:
        """Have each of *keys* that is not to be looked at anyway looked at behind all that are behind the others."""
        waiting = frozenset(self._behind)
        self._behind.extend(key for key in keys if key not in waiting and key not in self)

    def put_off(self, key: _K, until: float) -> None:
        """Look at *key* again then, and not before, whatever happens."""
        self._now.pop(key, None)
        self._until[key] = until
        heappush(self._later, (until, next(self._numbers), key))

    def recall(self, keys: Iterable[_K] | None = None) -> None:
        """Look at those of *keys* that were put off now, or at all, since the reason may be gone.

        All are taken up some at a time, as those are whose time has come: to hash ten thousands of problems takes a hundredth of a second.
        """
        if keys is None:
            if self._later:
                self._recalled.append(self._later)
                self._later = []
            return
        for key in keys:
            if self._until.pop(key, None) is not None:
                self._now[key] = None

    def drop(self, key: _K) -> None:
        """Look at *key* no more."""
        self._now.pop(key, None)
        self._until.pop(key, None)

    def clear(self) -> None:
        """Look at nothing any more."""
        self._now, self._later, self._until = OrderedDict(), [], {}
        self._behind, self._recalled = deque(), deque()

    def take(self) -> _K | None:
        """Return the next key to look at, which is forgotten; None when there is none now."""
        # One for each that is taken: those that go on coming must not keep them waiting for ever.
        self._wake(1 if self._now else WOKEN_AT_ONCE)
        # Nor must these, of which hundreds may be tried again and again, keep what is behind them waiting for ever.
        self._is_turn_of_behind = not self._is_turn_of_behind
        if self._now and not (self._is_turn_of_behind and self._behind):
            return self._now.popitem(last=False)[0]
        while self._behind:
            key = self._behind.popleft()
            if key not in self._until:
                return key
        return self._now.popitem(last=False)[0] if self._now else None

    def take_any(self, random: Callable[[], float], spared: int) -> _K | None:
        """Return one of the keys to look at now, whichever, as ``take`` does; not of those *spared* that came last, if there are others.

        *random* returns a number in [0, 1).
        """
        self._wake(WOKEN_AT_ONCE)
        at = int(random() * max(1, len(self._now) + len(self._behind) - spared))
        if at < len(self._now):
            key = next(islice(self._now, at, None))
            del self._now[key]
            return key
        at -= len(self._now)
        if at < len(self._behind):
            key = self._behind[at]
            del self._behind[at]
            if key not in self._until:
                return key
        return self.take()

    @property
    def is_due(self) -> bool:
        """Whether there is something to look at now."""
        at = self.next_at()
        return at is not None and at <= self._clock()

    def next_at(self) -> float | None:
        """Return when there is something to look at, None for never; now, too, while there is much to forget before that can be said."""
        self._forget_outdated(WOKEN_AT_ONCE)
        if self._now or self._behind or self._recalled:
            return self._clock()
        if not self._later:
            return None
        return self._clock() if self._is_outdated(self._later[0]) else max(self._later[0][0], self._clock())

    def _wake(self, most: int) -> None:
        """Have *most* of those that were recalled, or whose time has come, looked at now; what is outdated counts among them."""
        now = self._clock()
        while most := most - self._forget_outdated(most):
            heap = self._recalled[0] if self._recalled else self._later
            if not heap or (heap is self._later and heap[0][0] > now):
                return
            most -= 1
            key = heappop(heap)[2]
            del self._until[key]
            self._now[key] = None

    def _forget_outdated(self, most: int) -> int:
        """Forget up to *most* of those that come first and are outdated; return how many."""
        forgotten = 0
        while forgotten < most:
            heap = self._recalled[0] if self._recalled else self._later
            if heap and self._is_outdated(heap[0]):
                heappop(heap)
                forgotten += 1
            elif self._recalled and not heap:
                self._recalled.popleft()
            else:
                break
        return forgotten

    def _is_outdated(self, entry: tuple[float, int, _K]) -> bool:
        return self._until.get(entry[2]) != entry[0]


class Failing(Generic[_K]):
    """Keys whose requests failed as if the API server were in trouble, until they do not.

    Once another one is answered meanwhile it is *theirs*: a webhook may hang for a few objects.  Then nobody waits for them, nor for
    those that fail behind them with the same words.
    Each is tried once a minute at most, and where there are many, all together ten times a second.
    """

    def __init__(self) -> None:
        self._suspects: dict[_K, int] = {}
        self._own: dict[_K, int] = {}
        # What was said of suspects, and of those of which it turned out.
        self._said: set[str] = set()
        self._own_words: set[str] = set()
        self._failed_in_a_row = 0

    def failed(self, key: _K, words: str = "", *, is_own: bool = False) -> float | None:
        """Note such a failure, with its *words* (``words_of``), which *is_own* where the error says so; return how many seconds to put *key* off, None where others are to wait as well."""
        self._failed_in_a_row += 1
        if self._failed_in_a_row > MOST_IN_A_ROW:
            self._own_words = set()
        if is_own or key in self._own or words in self._own_words:
            self._suspects.pop(key, None)
            failures = self._own[key] = self._own.get(key, 0) + 1
            of_all = len(self._own) / _TRIES_PER_SECOND
            # No power of two that is longer than a year.
            pause = float(min(2.0 ** min(failures, 25), max(_LONGEST_PAUSE_SECONDS, of_all)))
            # Where the error does not say so it may be that the API server has too much to do, which answers some all the same.
            return pause if is_own else max(pause, of_all)
        self._suspects[key] = self._suspects.get(key, 0) + 1
        if words and len(self._said) < MOST_IN_A_ROW:
            self._said.add(words)
        return None

    def is_own(self, key: _K) -> bool:
        """Whether it is known of *key* that the trouble is its own."""
        return key in self._own

    @property
    def suspected(self) -> int:
        """How many keys failed of which that is not known."""
        return len(self._suspects)

    def often(self, times: int) -> frozenset[_K]:
        """Return the keys that failed so many times in a row, or more, though others were answered meanwhile."""
        return frozenset(key for key, failures in self._own.items() if failures >= times)

    def answered(self, key: _K) -> None:
        """Note that the request of *key* was answered."""
        self.forget(key)
        self._failed_in_a_row = 0
        if self._suspects:
            self._own |= self._suspects
            self._own_words = self._said
            self._suspects, self._said = {}, set()

    def forget(self, key: _K) -> None:
        """Note that *key* is of no interest any more."""
        self._suspects.pop(key, None)
        self._own.pop(key, None)

    def clear(self) -> None:
        """Forget all of them."""
        self._suspects, self._own = {}, {}
        self._said, self._own_words = set(), set()


class Pace:
    """At most *per_second* requests in the long run, *burst* at once, and none while in trouble.

    *clock* returns seconds, *random* a number in [0, 1).
    """

    def __init__(
        self, clock: Callable[[], float], random: Callable[[], float], *, per_second: float, burst: int
    ) -> None:
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._tokens = float(burst)
        self._filled_at = clock()
        self._closed_until = self._filled_at
        self._trouble = Backoff(clock, random, first_seconds=0.5, ceiling_seconds=30.0)

    def opens_at(self) -> float:
        """Return when the next request may go: now, or later."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._filled_at) * self._per_second)
        self._filled_at = now
        missing = max(0.0, 1.0 - self._tokens)
        return max(now + missing / self._per_second, self._closed_until)

    def went(self) -> None:
        """Note a request that goes now."""
        self._tokens -= 1.0

    def answered(self) -> None:
        """Note that the API server does what it is asked: the next trouble is a first one."""
        self._trouble.worked()

    def troubled(self, error: KubernetesError) -> None:
        """Note an error that is about the API server and not about the object."""
        now = self._clock()
        if now < self._closed_until:
            # Of several requests that were under way, one speaks for all.
            self._closed_until = max(self._closed_until, now + (error.retry_after_seconds or 0.0))
        else:
            self._closed_until = now + self._trouble.failed(error.retry_after_seconds or 0.0)


class Closures:
    """Namespaces in which something is forbidden, and how long they are left alone.

    That is for seconds at first, as an API server that has just started denies all for a moment,
    and then ever longer.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}
        self._seconds: dict[str, float] = {}

    def close(self, namespace: str, longest: float) -> float:
        """Leave *namespace* alone, for *longest* seconds at most; return until when.

        Where many are closed it is longer, so that all together are tried ten times a second at most.
        """
        now = self._clock()
        if self._until.get(namespace, -inf) > now:
            # Of several requests that were under way, one speaks for all.
            return self._until[namespace]
        longest = max(longest, len(self._until) / _TRIES_PER_SECOND)
        self._until = {name: until for name, until in self._until.items() if until + longest > now}
        self._seconds = {name: seconds for name, seconds in self._seconds.items() if name in self._until}
        seconds = min(self._seconds.get(namespace, _FIRST_CLOSURE_SECONDS / 4) * 4, longest)
        self._seconds[namespace] = seconds
        self._until[namespace] = now + seconds
        return now + seconds

    def permitted(self, namespace: str) -> bool:
        """Note that it is permitted in *namespace*; return whether it was closed.

        Then none is left alone any more, since it may be permitted everywhere now.
        """
        if namespace not in self._until:
            return False
        self._until.clear()
        self._seconds.clear()
        return True

    def until(self, namespace: str) -> float:
        """Return until when *namespace* is left alone; a time before all times when it never was."""
        return self._until.get(namespace, -inf)


def words_of(error: KubernetesError) -> str:
    """Return what tells errors of one cause from others, for ``Failing``; empty where the API server says that it is about whoever asks, or that it is busy.

    Of what it refuses under load some is answered between the rest, and all of it in the same words: whoever went on would add to that load.
    """
    is_about_us = error.status in (401, 429, 503) or error.retry_after_seconds is not None
    return "" if is_about_us else str(error)


def is_of_a_webhook(error: KubernetesError) -> bool:
    """Whether *error* is that of an admission webhook that could not be asked, or is broken: the API server's words for that, with status 500.

    Webhooks are for some objects and not for others, which may be those of many namespaces.
    """
    return error.status == 500 and "failed calling webhook" in error.message
