"""Who has to let a request in where several are asked: ``satisfy``, which is ``all`` or ``any``.

Joined are address ranges, passwords, what another service decides, and ``allow`` and ``deny`` of snippets: the families that say so
(``Family.satisfies``).  With ``any`` the first that lets a request pass decides, and the others are not asked; where all refuse, the reply is
nginx's: the way to sign in where there is one, else 401 where anybody asks for a password, else 403.  Whatever else a member answers ends the matter, be it that
a service failed or that too many passwords wait.  Client certificates, filters of the operator's and guards that are missing are not joined.
"""

from collections.abc import Awaitable, Sequence
from typing import ClassVar, Final

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.contract.values import Annotation, Family, ValueRefused
from ingress.filters import (
    AnswerEdit,
    Facts,
    Filter,
    FilterSpec,
    Hook,
    Phase,
    Reply,
    RequestEdit,
    Services,
    used_hooks,
)
from ingress.model.frozen import frozen

ANNOTATION: Final = "satisfy"
_SIGN_IN: Final = 2
"""How much it helps to be sent to a sign-in page."""


def parse_satisfy(text: str) -> bool:
    """Say whether one is enough."""
    if text not in ("all", "any"):
        raise ValueRefused('is neither "all" nor "any"')
    return text == "any"


@frozen
class SatisfySettings:
    """Whether one of those that are asked is enough."""

    is_any: bool = False


@frozen(cache_hash=True)
class AnyOf:
    """Lets pass what one of *members* lets pass, which are asked in order."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "satisfy-any"

    members: tuple[FilterSpec, ...]

    def describe(self) -> str:
        """Say who is asked."""
        return f"lets in whom one of these does: {', '.join(one.name for one in self.members)}"

    def make(self, services: Services) -> Filter:
        """Make the filter, and those of its members."""
        members = [one.make(services) for one in self.members]
        tells = any(used_hooks(one) - {Hook.REQUEST} for one in members)
        return _Telling(members) if tells else _Joined(members)


def joined(asked: Sequence[tuple[FilterSpec, bool]]) -> tuple[FilterSpec, ...]:
    """Return the specs of *asked*, with one in place of those that are joined; each has with it whether its family is."""
    is_member = [
        is_joined and one.phase is Phase.ACCESS and not isinstance(one, GuardMissing)
        for one, is_joined in asked
    ]
    if sum(is_member) < 2:
        return tuple(one for one, _ in asked)
    members = tuple(one for (one, _), joins in zip(asked, is_member, strict=True) if joins)
    first = is_member.index(True)
    return tuple(
        AnyOf(members) if number == first else one
        for number, (one, _) in enumerate(asked)
        if number == first or not is_member[number]
    )


class _Joined(Filter):
    def __init__(self, members: Sequence[Filter]) -> None:
        self._members = members
        self.holds_body = max(one.holds_body for one in members)

    def on_request(self, facts: Facts) -> Reply | Awaitable[Reply | None] | None:
        return self._ask(facts, 0, None)

    def _ask(self, facts: Facts, first: int, refusal: Reply | None) -> Reply | Awaitable[Reply | None] | None:
        """Ask members from the *first* on; *refusal* is what those before said."""
        for number in range(first, len(self._members)):
            member = self._members[number]
            methods, schemes = member.asked_methods, member.asked_schemes
            if (methods is not None and facts.method not in methods) or (
                schemes is not None and facts.scheme not in schemes
            ):
                # It would let pass what it does not look at.
                continue
            verdict = member.on_request(facts)
            if verdict is None:
                return None
            if not isinstance(verdict, Reply):
                return self._wait(facts, verdict, number + 1, refusal)
            if not _refuses(verdict):
                return verdict
            refusal = _more_helpful(refusal, verdict)
        return refusal

    async def _wait(
        self, facts: Facts, coming: Awaitable[Reply | None], after: int, refusal: Reply | None
    ) -> Reply | None:
        verdict = await coming
        if verdict is None or not _refuses(verdict):
            return verdict
        rest = self._ask(facts, after, _more_helpful(refusal, verdict))
        return rest if rest is None or isinstance(rest, Reply) else await rest


class _Telling(_Joined):
    """What members have to tell, or to take away, they do whoever let the request pass."""

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        for member in self._members:
            member.on_upstream(facts, edit)

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        for member in self._members:
            member.on_answer(facts, edit)


def _refuses(reply: Reply) -> bool:
    """Whether *reply* says no, or where to sign in, so that another member may still say yes."""
    return reply.status in (401, 403) or 300 <= reply.status < 400


def _more_helpful(before: Reply | None, reply: Reply) -> Reply:
    """Return what is said of two refusals: the way to sign in, or else who asks for a password; of two alike the first.

    Of two ways to sign in it is the later one: a service that was asked may have set a cookie.
    """
    if before is None:
        return reply
    help_before, help_now = _help(before), _help(reply)
    return reply if help_now > help_before or help_now == _SIGN_IN else before


def _help(reply: Reply) -> int:
    return 0 if reply.status == 403 else 1 if reply.status == 401 else _SIGN_IN


SATISFY: Final = Family(
    name="satisfy",
    settings=SatisfySettings(),
    acts="says whether one of those is enough who let requests in",
    annotations={
        ANNOTATION: Annotation(
            "is_any",
            parse_satisfy,
            values="`all` or `any`; `all`",
            meaning=(
                "`any`: who is let in by address, by password or by `auth-url` is in, whatever the others say;"
                " where all refuse it is the way to sign in if there is one, else 401 if a password would help, else 403"
            ),
            differs="where one of them cannot be honored the paths answer 503 all the same; whom a `denylist-source-range` names"
            " stays out where nothing says who is allowed",
        )
    },
)
