"""One firewall process as it is known to those who give it requests, and the next one in its place when it has ended.

It has one thing to do at a time, and a time for that; what it says besides is nonsense.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ingress.firewall.messages import Kind, Said, loaded_of, parts_to_bytes, said_of
from ingress.model.exchanges.firewall import RuleSet, Verdict
from ingress.process.framing import Frame, NonsenseError

MOST_OPEN: Final = 1024
"""Requests that one process has open until their answers come."""
START_SECONDS: Final = 30.0
"""Until a process that was started has the library and the core rules."""
ALIKE_BYTES: Final = 64 * 1024
"""Answers are judged in the order in which they came, but for those that are longer by so much: these come later."""
BLAMED: Final = 3
"""So many processes that ended over rules that a tenant wrote, ..."""
BLAME_SECONDS: Final = 60.0
"""... within this time, and these rules are left out for as long: they would keep everybody else's requests waiting."""
FIRST_PAUSE_SECONDS: Final = 0.25
LONGEST_PAUSE_SECONDS: Final = 30.0
LONGEST_PAUSE_AT_WORK_SECONDS: Final = 1.0
"""The longest pause before a process is started again that ended over a request, which is the request's fault."""

log = Logger()


class Link(Protocol):
    """One process that was started."""

    @property
    def pid(self) -> int:
        """Its process id."""

    @property
    def is_open(self) -> bool:
        """Whether anybody reads what is sent; ``ended`` is told later how it ended."""

    def send(self, frame: Frame, rest: bytes = b"") -> None:
        """Send *frame*, with *rest* as the end of its payload."""

    def kill(self) -> None:
        """End it at once; ``ended`` is told of it."""

    def close(self) -> None:
        """Have it end when it has done what was sent."""


Start = Callable[[Callable[[Frame], None], Callable[[str], None]], Link]
"""Starts a process, of which *came* is told each frame, and *ended* once how it ended; raises ``OSError``."""


class LoadedRules:
    """Rules by the number that processes know them by; satisfies ``ingress.model.exchanges.firewall.Loaded``."""

    def __init__(self, rules: RuleSet, number: int) -> None:
        self.rules = rules
        self.number = number
        self.waiting = 0
        self.payload = parts_to_bytes(rules.parts)
        self._blamed: deque[float] = deque()

    def blame(self, now: float) -> None:
        """A process ended over these rules."""
        self._blamed.append(now)
        if len(self._blamed) > BLAMED:
            self._blamed.popleft()

    def is_left_out(self, now: float) -> bool:
        """Whether no process is to be risked over these rules now; those of the operator's never are."""
        if self.rules.is_operators or len(self._blamed) < BLAMED:
            return False
        first, last = self._blamed[0], self._blamed[-1]
        return last - first <= BLAME_SECONDS and now - last < BLAME_SECONDS


class Job:
    """Something that a verdict comes of."""

    __slots__ = ("body", "deferred", "kind", "loaded", "number", "payload", "size", "stays", "timer")

    def __init__(
        self, kind: Kind, number: int, payload: bytes, loaded: LoadedRules | None, body: bytes = b""
    ) -> None:
        self.kind = kind
        self.number = number
        self.payload = payload
        self.body = body
        """What is sent behind that, without a copy."""
        self.size = len(payload) + len(body)
        self.loaded = loaded
        self.deferred: Deferred[Verdict] | None = None
        """None once nobody waits any more."""
        self.timer: Any = None
        self.stays = False


def disarm(job: Job) -> None:
    timer, job.timer = job.timer, None
    if timer is not None and timer.active():
        timer.cancel()


class Pool(Protocol):
    """Whose member it is."""

    clock: Any
    most_open_bytes: int
    most_rules_bytes: int
    start_process: Start
    count: Callable[[str], object]

    def is_there(self) -> None:
        """A process is there."""

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of all rule sets."""

    def size(self, number: int) -> int:
        """Return how many bytes of memory a rule set takes; 0 where that is not known."""

    def next(self, member: "Member") -> None:
        """Give *member* what is next for it."""

    def loaded(self, job: Job, size: int, refused: str) -> None:
        """A member has taken rules, which take *size* bytes of memory, or *refused* them for this reason."""

    def judged(self, member: "Member", job: Job, said: Said) -> None:
        """A member has judged."""

    def lost(self, job: Job | None, waiting: tuple[Job, ...], why: str) -> None:
        """A process is gone, over the *job* that it had, and with it all that is *waiting* for its verdict."""


class Member:
    """The place of one process: it has one after the other."""

    def __init__(self, pool: Pool, *, tries: bool) -> None:
        self._pool = pool
        self.tries = tries
        """Whether it is given rules of tenants that no process has had yet: these may end it."""
        self.link: Link | None = None
        self.is_ready = False
        self.busy: Job | None = None
        self.own: deque[Job] = deque()
        """Answers to requests that this process has open, until it comes to them."""
        self.answers_ahead = 0.0
        """How many seconds it took longer over answers than over requests, since requests wait."""
        self.open: dict[int, Job] = {}
        """Requests whose answers were not judged yet, ..."""
        self._open_bytes = 0
        """... and of how many bytes they were, which the library keeps."""
        self.known: dict[int, str] = {}
        """Rule sets that it has, or why it does not take them; those that are used last come last."""
        self.to_load: deque[int] = deque()
        """Those that it is to have before anybody asks."""
        self._pause = 0.0
        self._timer: Any = None
        self._given = 0.0
        """When it was given what it is busy with."""
        self._why = ""

    @property
    def is_free(self) -> bool:
        """Whether it can be given something to do."""
        return self.is_ready and self.busy is None and self.link is not None and self.link.is_open

    @property
    def has_room(self) -> bool:
        """Whether it may have one more request open until its answer comes."""
        return len(self.open) < MOST_OPEN and self._open_bytes < self._pool.most_open_bytes

    def keep(self, job: Job) -> None:
        """Have the request of *job* open."""
        self.open[job.number] = job
        self._open_bytes += job.size

    def let_go(self, ticket: int) -> None:
        """Have a request open no more."""
        self._open_bytes -= self.open.pop(ticket).size

    def leave(self, ticket: int) -> None:
        """Have the process be done with a request that is open, and whose answer it does not judge."""
        self.let_go(ticket)
        self.tell(Kind.LEAVE, ticket)

    def take_answer(self) -> Job:
        """Take the answer that is to be judged next: a short one does not wait for long ones."""
        job = min(self.own, key=lambda one: one.size // ALIKE_BYTES)
        self.own.remove(job)
        return job

    def start(self) -> None:
        """Start a process."""
        self._timer = None
        self._why = ""
        try:
            self.link = self._pool.start_process(self.came, self.ended)
        except OSError as error:
            log.error("A firewall process could not be started: {why}", why=error.strerror or str(error))
            self._start_later(LONGEST_PAUSE_SECONDS)
            return
        self._timer = self._pool.clock.callLater(START_SECONDS, self._late)

    def stop(self) -> tuple[Job, ...]:
        """Have the process end, and no other one started; return what it was to judge."""
        self._disarm()
        link, self.link = self.link, None
        self.is_ready = False
        if link is not None:
            link.close()
        return self._forget()

    def give(self, job: Job, seconds: float) -> None:
        """Have the process do *job*, within *seconds*."""
        assert self.link is not None
        if job.kind == Kind.REQUEST and job.loaded is not None:
            number = job.loaded.number
            self.known[number] = self.known.pop(number)
        self.busy = job
        self._given = self._pool.clock.seconds()
        self._timer = self._pool.clock.callLater(seconds, self._late)
        self.link.send(Frame(job.kind, job.number, job.payload), job.body)

    def tell(self, kind: Kind, number: int) -> None:
        """Tell the process what it need not answer."""
        if self.link is not None and self.is_ready:
            self.link.send(Frame(kind, number))

    @property
    def rules_bytes(self) -> int:
        """How much memory the rule sets take that it has."""
        return sum(map(self._pool.size, self.known))

    def _make_room(self) -> None:
        """Give up the rule sets that were not used for longest, where all of them take too much memory; they are loaded again when needed."""
        whole = self.rules_bytes
        for number in tuple(self.known)[:-1]:
            if whole <= self._pool.most_rules_bytes:
                return
            size = self._pool.size(number)
            if size:
                whole -= size
                del self.known[number]
                self.tell(Kind.UNLOAD, number)

    def _late(self) -> None:
        self._timer = None
        assert self.link is not None
        job = self.busy
        self._why = "did not start in time" if job is None else "took too long"
        self._pool.count("process-late")
        self.link.kill()

    def _disarm(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def came(self, frame: Frame) -> None:
        """The process says something; raises ``NonsenseError``."""
        if self.link is None or self._why:
            return
        job = self.busy
        if frame.kind == Kind.READY and not self.is_ready:
            self._disarm()
            self.is_ready = True
            self.to_load = deque(self._pool.numbers())
            self._pool.is_there()
            self._pool.next(self)
            return
        if job is None or frame.number != job.number:
            raise NonsenseError("what nobody asked about")
        if frame.kind == Kind.LOADED and job.kind == Kind.LOAD:
            self._disarm()
            self.busy = None
            size, refused = loaded_of(frame.payload)
            if job.number in self._pool.numbers():
                self.known[job.number] = refused
            elif not refused:
                # They went before it was known that this process has them, so nobody has told it to give them up.
                self.tell(Kind.UNLOAD, job.number)
            self._pool.loaded(job, size, refused)
            self._make_room()
        elif frame.kind == Kind.VERDICT and job.kind != Kind.LOAD:
            said = said_of(frame.payload)
            self._disarm()
            self.busy = None
            self._pause = 0.0
            took = self._pool.clock.seconds() - self._given
            more = took if job.kind == Kind.ANSWER else -took
            self.answers_ahead = max(0.0, self.answers_ahead + more)
            self._pool.judged(self, job, said)
        else:
            raise NonsenseError(f"a frame of kind {frame.kind}")
        self._pool.next(self)

    def ended(self, how: str) -> None:
        """The process is gone."""
        self._disarm()
        link, self.link = self.link, None
        job = self.busy
        was_ready, self.is_ready = self.is_ready, False
        lost = self._forget()
        self.known.clear()
        if link is None:
            return
        why = self._why or f"ended ({how})"
        log.warn("Firewall process {pid} {why}; another one is started", pid=link.pid, why=why)
        self._pool.count("process-ended")
        at_work = was_ready and job is not None
        longest = LONGEST_PAUSE_AT_WORK_SECONDS if at_work else LONGEST_PAUSE_SECONDS
        pause = self._pause
        self._pause = min(max(2 * pause, FIRST_PAUSE_SECONDS), longest)
        self._start_later(min(pause, longest))
        self._pool.lost(job, lost, why)

    def _forget(self) -> tuple[Job, ...]:
        """Have nothing to do any more; return what there was."""
        job, self.busy = self.busy, None
        own, self.own = tuple(self.own), deque()
        self.open.clear()
        self._open_bytes = 0
        self.answers_ahead = 0.0
        return own if job is None else (job, *own)

    def _start_later(self, seconds: float) -> None:
        self._timer = self._pool.clock.callLater(seconds, self.start)
