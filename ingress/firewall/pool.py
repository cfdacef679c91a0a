"""Firewall processes as those see them who have requests judged: who gets which request, until when, and what becomes of it.

A process has one thing to do at a time, so it is known at any moment which requests end with it: exactly that one, and those
whose answers it was to look at.  All others wait for their turn, with a bound in number, in bytes and in time.  Answers come first,
since more was done for them, but have no more of the time than requests while there are such: bodies take a hundred times as long.

    inspect ──▶ queue ──▶ a member that is free ──▶ verdict
                 │ late, or no room: failure            │ late: the process is killed, and another one started
                 ▼                                      ▼
              failure                                failure
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final
from weakref import WeakValueDictionary, finalize

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger

from ingress.firewall.members import BLAMED, Job, LoadedRules, Member, Start, disarm
from ingress.firewall.messages import Kind, Said, answer_head_to_bytes, request_head_to_bytes
from ingress.firewall.rule_log import RuleLog
from ingress.firewall.serving import LOAD_SECONDS, MOST_RULES_BYTES
from ingress.model.exchanges.firewall import (
    PASSES,
    FirewallPlan,
    InspectedAnswer,
    InspectedRequest,
    Loaded,
    RuleSet,
    Verdict,
)

MOST_WAITING: Final = 512
"""Requests that wait for their turn, ..."""
MOST_WAITING_BYTES: Final = 32 * 1024 * 1024
"""... and of these together; ..."""
MOST_OF_ONE: Final = MOST_WAITING // 2
"""... and so many with the same rules, lest others find no room."""
OPEN_SHARE: Final = 4
"""One in so many bytes of the memory of a process may be of requests that it has open: the library has a body more than once."""
RULES_SHARE: Final = 2
"""One in so many may be of rule sets; those that were not used for longest are given up, and loaded again when needed."""
MOST_RULE_SETS: Final = 512

MOST_ENDED_LOADING: Final = 2
"""So many processes that end while they are given the same rules, and it is not tried again ..."""
ENDED_LOADING_SECONDS: Final = 300.0
"""... for so long."""

PATIENCE_SECONDS: Final = 15.0
"""Until listeners open without any process: what asks for it is answered 503, and all else is served."""

log = Logger()


class Firewall:
    """All firewall processes of one that serves; satisfies ``ingress.model.exchanges.firewall.Inspector``.

    *start_process* starts one, *count* is told words for what happens.
    """

    def __init__(
        self,
        clock: Any,
        plan: FirewallPlan,
        start_process: Start,
        count: Callable[[str], object],
        telling: RuleLog,
    ) -> None:
        self.clock = clock
        self.start_process = start_process
        self.count = count
        self._plan = plan
        self.most_open_bytes = plan.memory_bytes // OPEN_SHARE
        self.most_rules_bytes = plan.memory_bytes // RULES_SHARE
        self._telling = telling
        self._queue: deque[Job] = deque()
        self._waiting_bytes = 0
        self._rule_sets = 0
        self._tickets = 0
        self._loaded: WeakValueDictionary[RuleSet, LoadedRules] = WeakValueDictionary()
        self._in_use: dict[int, bytes] = {}
        """Rule sets by their numbers, as they travel."""
        self._ended_loading: dict[int, tuple[int, float]] = {}
        """How many processes ended while they were given a rule set, and when the last one did."""
        self._sizes: dict[int, int] = {}
        """How much memory rule sets take that a process had, and those of the operator's."""
        # One at least goes on, whatever comes of rules of tenants that nobody has had yet.
        self._members = [
            Member(self, tries=number > 0 or plan.processes == 1) for number in range(plan.processes)
        ]
        self._holders: dict[int, Member] = {}
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
        waiting = tuple(self._queue)
        self._queue.clear()
        for member in self._members:
            waiting += member.stop()
        self.lost(None, waiting, "is stopped")

    # What filters ask for

    def load(self, rules: RuleSet) -> Loaded:
        """Have *rules* loaded, until what is returned is gone."""
        found = self._loaded.get(rules)
        if found is None:
            self._rule_sets = self._rule_sets % 0xFFFFFFFF + 1
            found = self._loaded[rules] = LoadedRules(rules, self._rule_sets)
            if len(self._in_use) < MOST_RULE_SETS:
                self._in_use[found.number] = found.payload
                if rules.is_operators:
                    self._sizes[found.number] = 0
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
        assert isinstance(loaded, LoadedRules)
        if self._is_over:
            return succeed(Verdict(failure="is stopped"))
        if loaded.number not in self._in_use:
            return succeed(Verdict(failure=f"has more than {MOST_RULE_SETS} different rule sets"))
        if loaded.is_left_out(self.clock.seconds()):
            self.count("left-out")
            why = f"leaves these rules out for a while: {BLAMED} of its processes ended over them"
            return succeed(Verdict(failure=why))
        head = request_head_to_bytes(loaded.number, request)
        job = Job(Kind.REQUEST, self._ticket(), head, loaded, request.body)
        job.stays = request.stays
        is_full = (
            len(self._queue) >= MOST_WAITING
            or loaded.waiting >= MOST_OF_ONE
            or self._waiting_bytes + job.size > MOST_WAITING_BYTES
        )
        if is_full:
            self.count("full")
            return succeed(Verdict(failure="has too many requests that wait"))
        waited = job.deferred = Deferred(lambda _: self._cancelled(job))
        self._queue.append(job)
        loaded.waiting += 1
        self._waiting_bytes += job.size
        job.timer = self.clock.callLater(self._plan.seconds, self._waited_too_long, job)
        for member in self._members:
            if not self._queue:
                break
            if member.is_free:
                self.next(member)
        return waited

    def report_answer(self, answer: InspectedAnswer, then: Callable[[Verdict], object]) -> None:
        """Judge *answer* for the log alone; *then* is told later what came of it."""
        self.inspect_answer(answer).addCallback(then)

    def inspect_answer(self, answer: InspectedAnswer) -> Deferred[Verdict]:
        """Judge *answer*, and be done with its request."""
        ticket = answer.ticket
        member = self._holders.pop(ticket, None)
        asked = None if member is None else member.open.get(ticket)
        if member is None or asked is None:
            return succeed(Verdict(failure="lost the request to this answer, with one of its processes"))
        job = Job(Kind.ANSWER, ticket, answer_head_to_bytes(answer), asked.loaded, answer.body or b"")
        waited = job.deferred = Deferred(lambda _: self._answer_cancelled(member, job))
        member.own.append(job)
        job.timer = self.clock.callLater(self._plan.seconds, self._answer_waited_too_long, member, job)
        self.next(member)
        return waited

    def leave(self, ticket: int) -> None:
        """Be done with the request of *ticket*."""
        member = self._holders.pop(ticket, None)
        if member is not None and ticket in member.open:
            member.leave(ticket)

    # What members tell

    def next(self, member: Member) -> None:
        """Give *member* what is next for it."""
        while member.is_free:
            job = self._first(member)
            if job is None:
                member.answers_ahead = 0.0
            if member.own and (member.answers_ahead <= 0.0 or not member.has_room):
                answer = member.take_answer()
                disarm(answer)
                member.give(answer, self._plan.seconds)
                continue
            if job is None:
                self._load_ahead(member)
                return
            loaded = job.loaded
            assert loaded is not None
            if job.stays and not member.has_room:
                if any(one.has_room and self._may_have(one, loaded.number) for one in self._members):
                    return
                self._take(job)
                self._fail(job, "has too many requests whose answers did not come yet")
                continue
            refused = member.known.get(loaded.number)
            if self._ends_processes(loaded.number):
                self._take(job)
                why = f"cannot use these rules: {MOST_ENDED_LOADING} of its processes ended over them"
                self._fail(job, why)
            elif refused is None:
                self._give_rules(member, loaded.number, loaded.payload)
            elif refused:
                self._take(job)
                self._fail(job, f"cannot use these rules: {refused}")
            else:
                self._take(job)
                member.give(job, self._plan.seconds)

    def _may_have(self, member: Member, number: int) -> bool:
        return member.tries or number in self._sizes

    def _first(self, member: Member) -> Job | None:
        """Return what *member* can have of the queue first."""
        for job in self._queue:
            assert job.loaded is not None
            if self._may_have(member, job.loaded.number):
                return job
        return None

    def _load_ahead(self, member: Member) -> None:
        while member.to_load:
            number = member.to_load[0]
            if any(
                one.busy and (one.busy.kind, one.busy.number) == (Kind.LOAD, number) for one in self._members
            ):
                # What takes long is to keep one of them busy, and not all.
                return
            member.to_load.popleft()
            payload = self._in_use.get(number)
            fits = member.rules_bytes + self.size(number) <= self.most_rules_bytes
            if (
                payload is not None
                and number not in member.known
                and fits
                and self._may_have(member, number)
                and not self._ends_processes(number)
            ):
                self._give_rules(member, number, payload)
                return

    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of all rule sets."""
        return tuple(self._in_use)

    def size(self, number: int) -> int:
        """Return how many bytes of memory a rule set takes; 0 where that is not known."""
        return self._sizes.get(number, 0)

    def _ends_processes(self, number: int) -> bool:
        """Whether processes ended when they were given these rules, so that it is not tried again for now."""
        ended, last = self._ended_loading.get(number, (0, 0.0))
        return ended >= MOST_ENDED_LOADING and self.clock.seconds() - last < ENDED_LOADING_SECONDS

    def _give_rules(self, member: Member, number: int, payload: bytes) -> None:
        member.give(Job(Kind.LOAD, number, payload, None), LOAD_SECONDS)

    def loaded(self, job: Job, size: int, refused: str) -> None:
        """A member has taken rules, which take *size* bytes of memory, or *refused* them for this reason."""
        if refused:
            self._telling.rules_refused(refused)
        if job.number in self._in_use:
            is_new = job.number not in self._sizes
            self._sizes[job.number] = min(size, MOST_RULES_BYTES)
            for member in self._members:
                if is_new and not member.tries:
                    member.to_load.append(job.number)
        for member in self._members:
            if member.is_free:
                # It may have left them to that one.
                self.next(member)

    def judged(self, member: Member, job: Job, said: Said) -> None:
        """A member has judged."""
        self._telling.lines(said.lines, said.matched)
        deferred, job.deferred = job.deferred, None
        ticket = 0
        if job.kind == Kind.ANSWER:
            member.let_go(job.number)
        elif job.stays and not said.status:
            if deferred is None:
                member.tell(Kind.LEAVE, job.number)
            else:
                ticket = job.number
                job.payload = job.body = b""
                member.keep(job)
                self._holders[ticket] = member
        if deferred is not None:
            is_plain = not said.status and not said.matched and not ticket
            verdict = PASSES if is_plain else Verdict(said.status, said.location, said.matched, "", ticket)
            deferred.callback(verdict)

    def lost(self, job: Job | None, waiting: tuple[Job, ...], why: str) -> None:
        """A process is gone, over the *job* that it had, and with it all that is *waiting* for its verdict."""
        if job is not None and job.loaded is not None:
            job.loaded.blame(self.clock.seconds())
        if job is not None and job.kind == Kind.LOAD and job.number in self._in_use:
            ended = self._ended_loading.get(job.number, (0, 0.0))[0] + 1
            self._ended_loading[job.number] = ended, self.clock.seconds()
            if ended == MOST_ENDED_LOADING:
                self._telling.rules_refused(f"{ended} firewall processes ended over it")
        self._holders = {ticket: one for ticket, one in self._holders.items() if ticket in one.open}
        for one in waiting:
            self._fail(one, f"had a process that {why}" if why != "is stopped" else why)

    # One request

    def _ticket(self) -> int:
        self._tickets = self._tickets % 0xFFFFFFFF + 1
        return self._tickets

    def _take(self, job: Job) -> None:
        """Take *job* out of the queue, mostly the first one."""
        self._queue.remove(job)
        self._leaves_queue(job)

    def _leaves_queue(self, job: Job) -> None:
        self._waiting_bytes -= job.size
        if job.loaded is not None:
            job.loaded.waiting -= 1
        disarm(job)

    def _answer_waited_too_long(self, member: Member, job: Job) -> None:
        member.own.remove(job)
        member.leave(job.number)
        self.count("waited-too-long")
        self._fail(job, f"did not come to it within {self._plan.seconds:g} s")

    def _waited_too_long(self, job: Job) -> None:
        self._queue.remove(job)
        self._leaves_queue(job)
        self.count("waited-too-long")
        self._fail(job, f"did not come to it within {self._plan.seconds:g} s")

    def _cancelled(self, job: Job) -> None:
        """Nobody waits any more; what is under way goes on, and is nobody's."""
        job.deferred = None
        if job in self._queue:
            self._queue.remove(job)
            self._leaves_queue(job)

    def _answer_cancelled(self, member: Member, job: Job) -> None:
        """Nobody waits any more for the verdict on an answer."""
        job.deferred = None
        if job in member.own:
            disarm(job)
            member.own.remove(job)
            member.leave(job.number)

    def _fail(self, job: Job, why: str) -> None:
        disarm(job)
        deferred, job.deferred = job.deferred, None
        if deferred is not None:
            deferred.callback(Verdict(failure=why))

    def _unload(self, number: int) -> None:
        self._in_use.pop(number, None)
        self._sizes.pop(number, None)
        self._ended_loading.pop(number, None)
        for member in self._members:
            if member.known.pop(number, None) == "":
                member.tell(Kind.UNLOAD, number)
