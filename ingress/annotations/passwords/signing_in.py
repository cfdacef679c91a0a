"""The sign-in page for who shows no password: of any 401 nginx makes the way there, where ``auth-signin`` stands beside a password.

It has an ``error_page`` for the whole location, whoever refuses there.  Clients of gRPC are told 401, as by the service of ``auth-url``.
"""

from collections.abc import Awaitable, Sequence
from typing import ClassVar

from ingress.annotations.external_auth.check import ExternalAuth, to_sign_in
from ingress.annotations.passwords.basic_check import PasswordCheck
from ingress.annotations.passwords.digest_check import DigestCheck
from ingress.filter_parts.judging import is_any_grpc
from ingress.filters import Facts, Filter, FilterSpec, Phase, Reply, Services
from ingress.model.frozen import frozen
from ingress.model.requests.templates import Template


@frozen(cache_hash=True)
class OrSignIn:
    """Sends to *page* whom *check* asks for a password."""

    phase: ClassVar[Phase] = Phase.ACCESS

    check: PasswordCheck | DigestCheck
    page: Template

    @property
    def name(self) -> str:
        """That of the check: who refuses goes by one name in log and metrics, with a sign-in page or without."""
        return self.check.name

    def describe(self) -> str:
        """Say what is asked, and where who cannot say it is sent."""
        return f"{self.check.describe()}, and sends to the sign-in page of auth-url who has none"

    def make(self, services: Services) -> Filter:
        """Make the filter, and the one that asks."""
        return _OrSignIn(self.check.make(services), self.page)


class _OrSignIn(Filter):
    def __init__(self, check: Filter, page: Template) -> None:
        self._check = check
        self._page = page

    def on_request(self, facts: Facts) -> Reply | Awaitable[Reply | None] | None:
        verdict = self._check.on_request(facts)
        if verdict is None or isinstance(verdict, Reply):
            return self._instead(facts, verdict)
        return self._wait(facts, verdict)

    async def _wait(self, facts: Facts, coming: Awaitable[Reply | None]) -> Reply | None:
        return self._instead(facts, await coming)

    def _instead(self, facts: Facts, verdict: Reply | None) -> Reply | None:
        if verdict is None or verdict.status != 401 or is_any_grpc(facts):
            return verdict
        challenges = (field for field in verdict.fields if field[0] == b"WWW-Authenticate")
        return to_sign_in(self._page, facts, *challenges, reason=verdict.reason)


def with_sign_in(asked: Sequence[tuple[FilterSpec, bool]]) -> Sequence[tuple[FilterSpec, bool]]:
    """Return *asked*, those of one route, with the sign-in page of one for the passwords among them."""
    page = next((one.signin for one, _ in asked if isinstance(one, ExternalAuth)), None)
    if page is None:
        return asked
    return [
        (OrSignIn(one, page) if isinstance(one, PasswordCheck | DigestCheck) else one, is_joined)
        for one, is_joined in asked
    ]
