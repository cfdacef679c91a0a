"""Asking the filters of a chain, one after the other, until one says something; what follows is for who asks to say.

Pure.
"""

from typing import NamedTuple

from ingress.filters import Reply
from ingress.http.edited_heads import AnswerChange, check_field
from ingress.proxy.exchange.facts import RequestFacts
from ingress.proxy.exchange.filtering.chain import Chain, LiveFilter


class Stop(NamedTuple):
    """Where not all filters have seen a request, or an answer: the number of the last that has, who that is, and what it said.

    Without *live* none has.
    """

    at: int
    live: LiveFilter | None
    verdict: object
    error: Exception | None


def consult(
    chain: Chain,
    facts: RequestFacts,
    change: AnswerChange,
    first: int = 0,
    silenced: frozenset[LiveFilter] = frozenset(),
) -> Stop | None:
    """Have the filters of *chain* see an answer, from the *first* on, until one says something; None: all have seen it."""
    at = first - 1
    for live, hook in chain.answers[first:] if first else chain.answers:
        at += 1
        if live in silenced:
            continue
        try:
            verdict = hook(facts, change)
            if isinstance(verdict, Reply):
                check_reply(verdict)
        except Exception as error:
            return Stop(at, live, None, error)
        if verdict is not None:
            return Stop(at, live, verdict, None)
    return None


def ask_at_once(chain: Chain, facts: RequestFacts) -> Stop | None:
    """Have the filters of *chain*, none of which holds bodies, decide about a request, until one says something.

    None: all let it pass, which is what nearly all requests meet, and costs no more than they.
    """
    at = -1
    for live, hook in chain.requests:
        at += 1
        if live.methods is not None and facts.method not in live.methods:
            continue
        if live.schemes is not None and facts.scheme not in live.schemes:
            continue
        try:
            verdict = hook(facts)
            if isinstance(verdict, Reply):
                check_reply(verdict)
        except Exception as error:
            return Stop(at, live, None, error)
        if verdict is not None:
            return Stop(at, live, verdict, None)
    return None


def check_reply(reply: object) -> None:
    """Raise ``TypeError`` for what is no reply or holds what its types forbid, ``ValueError`` for one that could not be sent as it is."""
    if not isinstance(reply, Reply):
        raise TypeError(f"a hook returned {type(reply).__name__}, and no reply")
    # Filters are whoever's, and no checker of types has to have seen them.
    _check_type("the status", reply.status, int)
    _check_type("the body", reply.body, bytes)
    if not 200 <= reply.status <= 599:
        raise ValueError(f"{reply.status} is no status of an answer")
    for name, value in reply.fields:
        _check_type("a name", name, bytes)
        _check_type("a value", value, bytes)
        check_field(name, value)


def _check_type(what: str, found: object, wanted: type) -> None:
    if not isinstance(found, wanted):
        raise TypeError(f"{what} of a reply is {type(found).__name__}, and not {wanted.__name__}")
