"""What a web application firewall is asked, and what it says: values that filters and whoever has the firewall share.

The rules are ModSecurity's, and are run in processes of their own (``ingress.firewall``).  A filter knows no process: it has
rules *loaded*, hands requests and answers to an ``Inspector``, and waits for verdicts.
"""

from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, Protocol

from ingress.model.frozen import frozen

CORE_RULES: Final = None
"""In the parts of a rule set: the OWASP Core Rule Set, as it is installed."""

NEVER_ENDING: Final = ("text/event-stream", "application/grpc")
"""Media types, or what they begin with, of answers that nobody waits for as a whole, unless rules name them."""

INSPECTOR: Final = "inspector"
"""The key of the state by which filters find the ``Inspector`` of their process."""


@frozen
class FirewallPlan:
    """What the operator said of the firewall."""

    processes: int = 0
    """For each process that serves; 0 for no firewall."""
    seconds: float = 2.0
    """How long a request may wait for its turn, and how long a firewall process may then take over it."""
    body_bytes: int = 1024 * 1024
    """So much of the body of a request, and of that of an answer, is inspected at most, whatever rules ask for."""
    memory_bytes: int = 512 * 1024 * 1024
    """Of each firewall process: address space (RLIMIT_AS)."""


@frozen(cache_hash=True)
class InspectedBodies:
    """Which bodies of answers are inspected."""

    size: int
    """So many bytes of each."""
    types: tuple[str, ...] = ()
    """Of answers whose ``Content-Type`` is one of these, but for its parameters; empty for all."""

    def include(self, content_type: bytes) -> bool:
        """Whether the body of an answer with this ``Content-Type``, which may be empty, is inspected.

        The library compares in the same way: what it would not look at is not brought to it.
        """
        media_type = content_type.partition(b";")[0].decode("latin-1")
        if self.types:
            return media_type in self.types
        return not media_type.strip().lower().startswith(NEVER_ENDING)


@frozen(cache_hash=True)
class RuleSet:
    """The rules of a route; plain data."""

    parts: tuple[str | None, ...]
    """What is loaded, in this order: texts of directives, and ``CORE_RULES``."""
    blocks: bool = False
    """Whether requests are refused by the rules, and then also where nobody can judge them; else they are only told of."""
    body_bytes: int = 0
    """So much of the body of a request is inspected; 0 for none."""
    watches_answers: bool = False
    """Whether any rule may look at answers, ..."""
    answer_bodies: InspectedBodies | None = None
    """... and at which of their bodies; None for none."""
    may_refuse: bool = False
    """Whether a rule may refuse an answer: where they refuse requests, and where one has them do so for some requests."""
    is_operators: bool = True
    """Whether no tenant wrote any of it."""


class InspectedRequest(NamedTuple):
    """A request as rules see it."""

    id: bytes
    """What a transaction is called."""
    client: bytes
    """Its address, ..."""
    server: bytes
    """... the host that it asked for, ..."""
    port: int
    """... and the port that it came to."""
    method: bytes
    target: bytes
    """Path and query, as received."""
    lines: bytes
    """Its fields, as lines with their CRLF."""
    body: bytes = b""
    stays: bool = False
    """Whether its answer is to be inspected, too."""


class InspectedAnswer(NamedTuple):
    """An answer as rules see it."""

    ticket: int
    """That of the verdict on its request."""
    status: int
    lines: bytes
    """Its fields, as lines with their CRLF."""
    body: bytes | None = None
    """As much of it as there may be, and one byte more where it is longer; None where it is not looked at."""


class Verdict(NamedTuple):
    """What became of a request, or of an answer."""

    status: int = 0
    """What it is to be answered with; 0 lets it pass."""
    location: bytes = b""
    """Where a redirect leads."""
    matched: int = 0
    """How many rules told of something."""
    failure: str = ""
    """Why nobody judged it, as what follows "the firewall"; empty where somebody did."""
    ticket: int = 0
    """What its answer is inspected by; 0 where nobody waits for that."""


PASSES: Final = Verdict()


class Loaded(Protocol):
    """Rules that are loaded for as long as somebody has this."""

    @property
    def rules(self) -> RuleSet:
        """Which these are."""


class Inspector(Protocol):
    """Who judges requests and answers by rules."""

    def load(self, rules: RuleSet) -> Loaded:
        """Have *rules* loaded, until what is returned is gone."""

    def inspect(self, loaded: Loaded, request: InspectedRequest) -> Awaitable[Verdict]:
        """Judge *request*; what is awaited never raises."""

    def inspect_answer(self, answer: InspectedAnswer) -> Awaitable[Verdict]:
        """Judge *answer*, and be done with its request."""

    def report_answer(self, answer: InspectedAnswer, then: Callable[[Verdict], object]) -> None:
        """Judge it for the log alone: nobody waits, and *then* is told later what came of it."""

    def leave(self, ticket: int) -> None:
        """Be done with the request of *ticket*, which gets no answer to look at."""
