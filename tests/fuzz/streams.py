"""Plays one mutated conversation in memory, and checks what must hold of every one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from zope.interface import provider

from tests.corpus.cases import Case
from tests.corpus.judge import ADDED, Outcome, WrongError, check_unfinished
from tests.corpus.memory import Play
from tests.fuzz.mutations import conversation, pieces
from tests.http.strict import StrictError, read_answer

# What may never reach upstream from downstream, whatever was said.
STOPPED = frozenset(
    (b"te", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"trailer", b"forwarded", b"proxy")
)


@contextmanager
def nothing_logged() -> Iterator[None]:
    """Raise ``WrongError`` when a failure is logged inside."""
    failures: list[str] = []

    @provider(ILogObserver)
    def observe(event: LogEvent) -> None:
        if "log_failure" in event:
            failures.append(event["log_failure"].getTraceback())

    globalLogPublisher.addObserver(observe)
    try:
        yield
    finally:
        globalLogPublisher.removeObserver(observe)
    if failures:
        raise WrongError("a failure was logged:\n" + "\n".join(failures))


def fuzz_one(seed: int) -> tuple[Case, Outcome]:
    """Play the conversation of *seed*; raises ``WrongError`` when anything about it is wrong."""
    random = Random(seed)
    case = conversation(random)
    play = Play(on_epoll=bool(seed % 2))
    with nothing_logged():
        outcome = play.run(case, pieces(random, case.sent))
        left = play.end()
    if left:
        raise WrongError(f"still open: {left}")
    check(case, outcome)
    return case, outcome


def check(case: Case, outcome: Outcome) -> None:
    """Check what reached either side."""
    try:
        check_unfinished(outcome)
    except StrictError as error:
        raise WrongError(f"upstream got the beginning of nonsense: {error}") from error
    for request in outcome.requests:
        names = [name.lower() for name, _ in request.fields]
        host = request.values(b"host")[0].lower().partition(b":")[0].removesuffix(b".")
        if host != b"shop.test":
            raise WrongError(f"upstream got a request for {host!r}")
        if STOPPED.intersection(names) or any(b"_" in name for name in names):
            raise WrongError(f"upstream got {names!r}")
        if any(names.count(name) != 1 for name in ADDED):
            raise WrongError(f"not each of our fields is there once: {names!r}")
        if request.values(b"x-real-ip") != [outcome.peer] or request.values(b"x-forwarded-for") != [
            outcome.peer
        ]:
            raise WrongError("a peer forged its address")
    if b"HEAD" not in case.sent and b" 101 " not in outcome.received:
        check_answers(case, outcome)


def check_answers(case: Case, outcome: Outcome) -> None:
    """Check that downstream got whole answers, and at most a last one that it sees to be cut."""
    rest = outcome.received
    closed = outcome.ended and not outcome.was_reset
    while rest:
        try:
            _, rest = read_answer(rest, b"GET", closed)
        except StrictError as error:
            if not outcome.ended and not _waits(case):
                raise WrongError(f"downstream cannot read {rest[:300]!r}: {error}") from error
            if rest.count(b"\r\nServer: txingress\r\n") > 1:
                raise WrongError(f"something follows an unfinished answer: {rest[:300]!r}") from error
            return


def _waits(case: Case) -> bool:
    """Whether upstream may have said half an answer and nothing after it."""
    return not case.hangs_up
