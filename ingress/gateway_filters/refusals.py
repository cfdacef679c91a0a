"""Refusals: what stands before a rule that cannot be served as it was meant.

A filter that is not known, or makes no sense, is not skipped: requests that it stands before get an error, as
``HTTPRouteFilter`` says.  Where backends are missing, no filter refuses, but ``Route.broken_status`` says what is answered.
"""

from typing import ClassVar, Final

from ingress.filter_parts.judging import Judging, status_reply
from ingress.filters import Filter, Phase, Reply, Services
from ingress.model.frozen import frozen


@frozen(cache_hash=True)
class Refusal:
    """Answers every request with *status*."""

    phase: ClassVar[Phase] = Phase.SERVER
    name: ClassVar[str] = "refusal"

    why: str
    """What comes behind a colon; nobody but the operator and whoever wrote the route gets to see it."""
    status: int = 500

    def describe(self) -> str:
        """Say why nobody gets through."""
        return f"answers {self.status}: {self.why}"

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        reply = status_reply(self.status, reason=self.why)

        def judge(facts: object) -> Reply:
            return reply

        return Judging(judge)


BAD_FILTER: Final = Refusal("a filter of the rule is not honored")
BAD_RULE: Final = Refusal("the rule asks for what is not honored")
