"""Firewall processes as those see them who have requests judged: who gets which request, until when, and what becomes of it.

A process has one thing to do at a time, so it is known at any moment which requests end with it: exactly that one, and those
whose answers it was to look at.  All others wait for their turn, with a bound in number, in bytes and in time.

    inspect ──▶ queue ──▶ a member that is free ──▶ verdict
                 │ late, or no room: failure            │ late: the process is killed, and another one started
                 ▼                                      ▼
              failure                                failure
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary, finalize

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger

from ingress.firewall.messages import Kind, answer_to_bytes, parts_to_bytes, request_to_bytes, said_of
from ingress.firewall.serving import LOAD_SECONDS
from ingress.firewall.telling import Telling
from ingress.model.firewall import PASSES, FirewallPlan, InspectedRequest, Loaded, RuleSet, Verdict
from ingress.process.framing import Frame, NonsenseError

MOST_WAITING: Final = 512
"""Requests that wait for their turn, ..."""
MOST_WAITING_BYTES: Final = 32 * 1024 * 1024
"""... and of these together; ..."""
MOST_OF_ONE: Final = MOST_WAITING // 2
"""... and so many with the same rules, lest others find no room."""
MOST_OPEN: Final = 1024
"""Requests that one process has open until their answers come, ..."""
OPEN_SHARE: Final = 4
"""... and one in so many bytes of its memory may be theirs: the library has a body more than once."""
MOST_RULE_SETS: Final = 512

MOST_ENDED_LOADING: Final = 2
"""So many processes that end while they are given the same rules, and it is not tried again ..."""
ENDED_LOADING_SECONDS: Final = 300.0
"""... for so long."""

START_SECONDS: Final = 30.0
"""Until a process that was started has the library and the core rules."""
PATIENCE_SECONDS: Final = 15.0
"""Until listeners open without any process: what asks for it is answered 503, and all else is served."""
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

    def send(self, frame: Frame) -> None:
        """Send *frame*."""

    def kill(self) -> None:
        """End it at once; ``ended`` is told of it."""

    def close(self) -> None:
        """Have it end when it has done what was sent."""


Start = Callable[[Callable[[Frame], None], Callable[[str], None]], Link]
"""Starts a process, of which *came* is told each frame, and *ended* once how it ended; raises ``OSError``."""


class _LoadedRules:
    """Rules by the number that processes know them by; satisfies ``ingress.model.firewall.Loaded``."""

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


class _Job:
    """Something that a verdict comes of."""

    __slots__ = ("deferred", "kind", "loaded", "number", "payload", "size", "stays", "timer")

    def __init__(self, kind: Kind, number: int, payload: bytes, loaded: _LoadedRules | None) -> None:
        self.kind = kind
        self.number = number
        self.payload = payload
        self.size = len(payload)
        self.loaded = loaded
        self.deferred: Deferred[Verdict] | None = None
        """None once nobody waits any more."""
        self.timer: Any = None
        self.stays = False


def _disarm(job: _Job) -> None:
    timer, job.timer = job.timer, None
    if timer is not None and timer.active():
        timer.cancel()


class _Member:
    """The place of one process: it has one after the other."""

    def __init__(self, pool: "Firewall") -> None:
        self._pool = pool
        self.link: Link | None = None
        self.is_ready = False
        self.busy: _Job | None = None
        self.own: deque[_Job] = deque()
        """Answers to requests that this process has open."""
        self.open: dict[int, _Job] = {}
        """Requests whose answers it waits for, ..."""
        self._open_bytes = 0
        """... and of how many bytes they were, which the library keeps."""
        self.known: dict[int, str] = {}
        """Rule sets that it has, or why it does not take them."""
        self.to_load: deque[int] = deque()
        """Those that it is to have before anybody asks."""
        self._pause = 0.0
        self._timer: Any = None
        self._why = ""

    @property
    def is_free(self) -> bool:
        """Whether it can be given something to do."""
        return self.is_ready and self.busy is None and self.link is not None and self.link.is_open

    @property
    def has_room(self) -> bool:
        """Whether it may have one more request open until its answer comes."""
        return len(self.open) < MOST_OPEN and self._open_bytes < self._pool.most_open_bytes

    def keep(self, job: _Job) -> None:
        """Have the request of *job* open."""
        self.open[job.number] = job
        self._open_bytes += job.size

    def let_go(self, ticket: int) -> _Job | None:
        """Have a request open no more; return what it was."""
        job = self.open.pop(ticket, None)
        if job is not None:
            self._open_bytes -= job.size
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

    def stop(self) -> None:
        """Have the process end, and no other one started."""
        self._disarm()
        link, self.link = self.link, None
        self.is_ready = False
        if link is not None:
            link.close()

    def give(self, job: _Job, seconds: float) -> None:
        """Have the process do *job*, within *seconds*."""
        assert self.link is not None
        self.busy = job
        self._timer = self._pool.clock.callLater(seconds, self._late)
        self.link.send(Frame(job.kind, job.number, job.payload))

    def tell(self, kind: Kind, number: int) -> None:
        """Tell the process what it need not answer."""
        if self.link is not None and self.is_ready:
            self.link.send(Frame(kind, number))

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
            self.known[job.number] = frame.payload.decode("utf-8", "replace")
            self._pool.loaded(job, self.known[job.number])
        elif frame.kind == Kind.VERDICT and job.kind != Kind.LOAD:
            said = said_of(frame.payload)
            self._disarm()
            self.busy = None
            self._pause = 0.0
            self._pool.judged(self, job, said)
        else:
            raise NonsenseError(f"a frame of kind {frame.kind}")
        self._pool.next(self)

    def ended(self, how: str) -> None:
        """The process is gone."""
        self._disarm()
        link, self.link = self.link, None
        job, self.busy = self.busy, None
        was_ready, self.is_ready = self.is_ready, False
        own, self.own = tuple(self.own), deque()
        self.open.clear()
        self._open_bytes = 0
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
        self._pool.lost(job, own, why)

    def _start_later(self, seconds: float) -> None:
        self._timer = self._pool.clock.callLater(seconds, self.start)


class Firewall:
    """All firewall processes of one that serves; satisfies ``ingress.model.firewall.Inspector``.

    *start_process* starts one, *count* is told words for what happens.
    """

    def __init__(
        self,
        clock: Any,
        plan: FirewallPlan,
        start_process: Start,
        count: Callable[[str], object],
        telling: Telling,
    ) -> None:
        self.clock = clock
        self.start_process = start_process
        self.count = count
        self._plan = plan
        self.most_open_bytes = plan.memory_bytes // OPEN_SHARE
        self._telling = telling
        self._queue: deque[_Job] = deque()
        self._waiting_bytes = 0
        self._rule_sets = 0
        self._tickets = 0
        self._loaded: WeakValueDictionary[RuleSet, _LoadedRules] = WeakValueDictionary()
        self._in_use: dict[int, bytes] = {}
        """Rule sets by their numbers, as they travel."""
        self._ended_loading: dict[int, tuple[int, float]] = {}
        """How many processes ended while they were given a rule set, and when the last one did."""
        self._members = [_Member(self) for _ in range(plan.processes)]
        self._holders: dict[int, _Member] = {}
        """Who has a request open until its answer comes."""
        self._is_over = False
        self._is_there = not self._members
        self._waiting_for_it: list[Deferred[None]] = []
        self._patience: Any = None

    def start(self) -> None:
        """Start the processes."""
        for member in self._members:
            member.start()
        if self._members:
            self._patience = self.clock.callLater(PATIENCE_SECONDS, self._goes_on_without)

    def until_there(self) -> Deferred[None]:
        """Return what fires when a process is there, or when it has been waited for long enough."""
        waiting: Deferred[None] = Deferred()
        if self._is_there or self._is_over:
            waiting.callback(None)
        else:
            self._waiting_for_it.append(waiting)
        return waiting

    def is_there(self) -> None:
        """A process is there."""
        self._is_there = True
        patience, self._patience = self._patience, None
        if patience is not None and patience.active():
            patience.cancel()
        waiting, self._waiting_for_it = self._waiting_for_it, []
        for one in waiting:
            one.callback(None)

    def _goes_on_without(self) -> None:
        log.error(
            "No firewall process is there after {seconds} s; it is served without", seconds=PATIENCE_SECONDS
        )
        self.is_there()

    def stop(self) -> None:
        """End them; what still waits fails."""
        self._is_over = True
        self.is_there()
        for member in self._members:
            member.stop()
        self.lost(None, tuple(self._queue), "is stopped")
        self._queue.clear()

    # What filters ask for

    def load(self, rules: RuleSet) -> Loaded:
        """Have *rules* loaded, until what is returned is gone."""
        found = self._loaded.get(rules)
        if found is None:
            self._rule_sets = self._rule_sets % 0xFFFFFFFF + 1
            found = self._loaded[rules] = _LoadedRules(rules, self._rule_sets)
            if len(self._in_use) < MOST_RULE_SETS:
                self._in_use[found.number] = found.payload
                finalize(found, self._unload, found.number).atexit = False
                for member in self._members:
                    member.to_load.append(found.number)
                    self.next(member)
            else:
                log.error(
                    "There are more than {most} different rule sets for the firewall", most=MOST_RULE_SETS
                )
        return found

    def inspect(self, loaded: Loaded, request: InspectedRequest) -> Awaitable[Verdict]:
        """Judge *request*."""
        assert isinstance(loaded, _LoadedRules)
        if self._is_over:
            return succeed(Verdict(failure="is stopped"))
        if loaded.number not in self._in_use:
            return succeed(Verdict(failure=f"has more than {MOST_RULE_SETS} different rule sets"))
        if loaded.is_left_out(self.clock.seconds()):
            self.count("left-out")
            why = f"leaves these rules out for a while: {BLAMED} of its processes ended over them"
            return succeed(Verdict(failure=why))
        job = _Job(Kind.REQUEST, self._ticket(), request_to_bytes(loaded.number, request), loaded)
        job.stays = request.stays
        is_full = (
            len(self._queue) >= MOST_WAITING
            or loaded.waiting >= MOST_OF_ONE
            or self._waiting_bytes + len(job.payload) > MOST_WAITING_BYTES
        )
        if is_full:
            self.count("full")
            return succeed(Verdict(failure="has too many requests that wait"))
        waited = job.deferred = Deferred(lambda _: self._cancelled(job))
        self._queue.append(job)
        loaded.waiting += 1
        self._waiting_bytes += len(job.payload)
        job.timer = self.clock.callLater(self._plan.seconds, self._waited_too_long, job)
        for member in self._members:
            if not self._queue:
                break
            if member.is_free:
                self.next(member)
        return waited

    def inspect_answer(self, ticket: int, status: int, lines: bytes) -> Awaitable[Verdict]:
        """Judge the head of an answer, and be done with the request of *ticket*."""
        member = self._holders.pop(ticket, None)
        asked = None if member is None else member.let_go(ticket)
        if member is None or asked is None:
            return succeed(Verdict(failure="lost the request to this answer, with one of its processes"))
        job = _Job(Kind.ANSWER, ticket, answer_to_bytes(status, lines), asked.loaded)
        waited = job.deferred = Deferred(lambda _: self._cancelled(job))
        member.own.append(job)
        job.timer = self.clock.callLater(self._plan.seconds, self._answer_waited_too_long, member, job)
        self.next(member)
        return waited

    def leave(self, ticket: int) -> None:
        """Be done with the request of *ticket*."""
        member = self._holders.pop(ticket, None)
        if member is not None and member.let_go(ticket) is not None:
            member.tell(Kind.LEAVE, ticket)

    # What members tell

    def next(self, member: _Member) -> None:
        """Give *member* what is next for it."""
        while member.is_free:
            if member.own:
                job = member.own.popleft()
                _disarm(job)
                if job.deferred is None:
                    member.tell(Kind.LEAVE, job.number)
                else:
                    member.give(job, self._plan.seconds)
                continue
            if not self._queue:
                self._load_ahead(member)
                return
            if self._queue[0].stays and not member.has_room:
                if any(one.has_room for one in self._members):
                    return
                self._fail(self._taken(), "has too many requests whose answers did not come yet")
                continue
            loaded = self._queue[0].loaded
            assert loaded is not None
            refused = member.known.get(loaded.number)
            if self._ends_processes(loaded.number):
                self._fail(
                    self._taken(),
                    f"cannot use these rules: {MOST_ENDED_LOADING} of its processes ended over them",
                )
            elif refused is None:
                self._give_rules(member, loaded.number, loaded.payload)
            elif refused:
                self._fail(self._taken(), f"cannot use these rules: {refused}")
            else:
                member.give(self._taken(), self._plan.seconds)

    def _load_ahead(self, member: _Member) -> None:
        while member.to_load:
            number = member.to_load[0]
            if any(
                one.busy and (one.busy.kind, one.busy.number) == (Kind.LOAD, number) for one in self._members
            ):
                # What takes long is to keep one of them busy, and not all.
                return
            member.to_load.popleft()
            payload = self._in_use.get(number)
            if payload is not None and number not in member.known and not self._ends_processes(number):
                self._give_rules(member, number, payload)
                return

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of all rule sets."""
        return tuple(self._in_use)

    def _ends_processes(self, number: int) -> bool:
        """Whether processes ended when they were given these rules, so that it is not tried again for now."""
        ended, last = self._ended_loading.get(number, (0, 0.0))
        return ended >= MOST_ENDED_LOADING and self.clock.seconds() - last < ENDED_LOADING_SECONDS

    def _give_rules(self, member: _Member, number: int, payload: bytes) -> None:
        member.give(_Job(Kind.LOAD, number, payload, None), LOAD_SECONDS)

    def loaded(self, job: _Job, refused: str) -> None:
        """A member has taken rules, or *refused* them for this reason."""
        if refused:
            self._telling.rules_refused(refused)
        for member in self._members:
            if member.is_free:
                # It may have left them to that one.
                self.next(member)

    def judged(self, member: _Member, job: _Job, said: Any) -> None:
        """A member has judged."""
        self._telling.lines(said.lines, said.matched)
        deferred, job.deferred = job.deferred, None
        ticket = 0
        if job.kind == Kind.REQUEST and job.stays and not said.status:
            if deferred is None:
                member.tell(Kind.LEAVE, job.number)
            else:
                ticket = job.number
                job.payload = b""
                member.keep(job)
                self._holders[ticket] = member
        if deferred is not None:
            is_plain = not said.status and not said.matched and not ticket
            verdict = PASSES if is_plain else Verdict(said.status, said.location, said.matched, "", ticket)
            deferred.callback(verdict)

    def lost(self, job: _Job | None, own: tuple[_Job, ...], why: str) -> None:
        """A process is gone, with the *job* that it had, and its *own* that waited for it."""
        if job is not None and job.loaded is not None:
            job.loaded.blame(self.clock.seconds())
        if job is not None and job.kind == Kind.LOAD and job.number in self._in_use:
            ended = self._ended_loading.get(job.number, (0, 0.0))[0] + 1
            self._ended_loading[job.number] = ended, self.clock.seconds()
            if ended == MOST_ENDED_LOADING:
                self._telling.rules_refused(f"{ended} firewall processes ended over it")
        self._holders = {ticket: one for ticket, one in self._holders.items() if ticket in one.open}
        for one in (job, *own):
            if one is not None:
                self._fail(one, f"had a process that {why}" if why != "is stopped" else why)

    # One request

    def _ticket(self) -> int:
        self._tickets = self._tickets % 0xFFFFFFFF + 1
        return self._tickets

    def _taken(self) -> _Job:
        """Take the first of the queue."""
        job = self._queue.popleft()
        self._leaves_queue(job)
        return job

    def _leaves_queue(self, job: _Job) -> None:
        self._waiting_bytes -= job.size
        if job.loaded is not None:
            job.loaded.waiting -= 1
        _disarm(job)

    def _answer_waited_too_long(self, member: _Member, job: _Job) -> None:
        member.own.remove(job)
        member.tell(Kind.LEAVE, job.number)
        self.count("waited-too-long")
        self._fail(job, f"did not come to it within {self._plan.seconds:g} s")

    def _waited_too_long(self, job: _Job) -> None:
        self._queue.remove(job)
        self._leaves_queue(job)
        self.count("waited-too-long")
        self._fail(job, f"did not come to it within {self._plan.seconds:g} s")

    def _cancelled(self, job: _Job) -> None:
        """Nobody waits any more; what is under way goes on, and is nobody's."""
        job.deferred = None
        if job in self._queue:
            self._queue.remove(job)
            self._leaves_queue(job)

    def _fail(self, job: _Job, why: str) -> None:
        _disarm(job)
        deferred, job.deferred = job.deferred, None
        if deferred is not None:
            deferred.callback(Verdict(failure=why))

    def _unload(self, number: int) -> None:
        self._in_use.pop(number, None)
        self._ended_loading.pop(number, None)
        for member in self._members:
            if member.known.pop(number, None) == "":
                member.tell(Kind.UNLOAD, number)
