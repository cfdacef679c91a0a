"""A filter that asks another service about each request, and lets it pass or not.

``--filter ask-first=http://guard.test/may`` asks that URL, with what the client asked for in fields.  A status of 200 to
299 lets the request pass, and who the service says it is (``X-User``) is told to the endpoint.  401 and 403 are the
answer.  Anything else, and no answer at all, is 503: nobody passes because the service is away.

A URL that a tenant may have chosen leads to none of this host's own addresses.  ``ask-first-anywhere`` may ask these, too,
and so it is for ``--filter`` alone, and nothing to allow.
"""

from typing import ClassVar
from urllib.parse import urlsplit

from attrs import evolve, frozen

from ingress.filters import (
    Facts,
    Filter,
    Phase,
    Reply,
    RequestEdit,
    Services,
    SubRequest,
    SubRequestFailed,
)

SECONDS = 2.0
"""How long the service may take."""


def read(arguments: str) -> "AskFirst":
    """Make the spec of ``--filter ask-first=URL``."""
    parts = urlsplit(arguments)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ValueError("give it the URL to ask, such as http://guard.test/may")
    return AskFirst(arguments)


def read_trusted(arguments: str) -> "AskFirst":
    """Make the spec of ``--filter ask-first-anywhere=URL``."""
    return evolve(read(arguments), is_trusted=True)


@frozen
class AskFirst:
    """What was asked for: plain data, in the snapshot."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "ask-first"

    url: str
    is_trusted: bool = False
    """Whether it may lead anywhere."""

    def describe(self) -> str:
        """Say what its filter does."""
        return f"asks {self.url} whether a request may pass"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return _Asks(self, services)


class _Asks(Filter):
    """What lives in the proxy."""

    def __init__(self, spec: AskFirst, services: Services) -> None:
        self._spec = spec
        self._services = services

    async def on_request(self, facts: Facts) -> Reply | None:
        """Ask, and wait for the answer; a client that leaves meanwhile ends this."""
        asked = (
            (b"X-Original-Method", facts.method),
            (b"X-Original-Host", facts.host),
            (b"X-Original-Target", facts.target),
            (b"Cookie", facts.field(b"cookie")),
            (b"Authorization", facts.field(b"authorization")),
        )
        fields = tuple((name, value) for name, value in asked if value)
        spec = self._spec
        request = SubRequest(spec.url, fields=fields, seconds=SECONDS, is_trusted=spec.is_trusted)
        try:
            answer = await self._services.ask(request)
        except SubRequestFailed:
            self._services.count("unanswered")
            return Reply(503, ((b"Retry-After", b"1"),))
        if 200 <= answer.status < 300:
            facts.notes[self] = answer.field(b"x-user")
            return None
        self._services.count("refused")
        if answer.status not in (401, 403):
            return Reply(503)
        challenge = answer.field(b"www-authenticate")
        return Reply(answer.status, ((b"WWW-Authenticate", challenge),) if challenge else ())

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        """Tell the endpoint who it is, whatever the client says itself."""
        edit.drop(b"X-User")
        user = facts.notes.get(self)
        if isinstance(user, bytes) and user:
            edit.put(b"X-User", user)
