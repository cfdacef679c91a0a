"""Error pages of somebody else's: ``custom-http-errors`` and ``default-backend``.

An answer with one of the statuses of ``custom-http-errors`` is replaced by that of the *default backend*: the Service
that ``default-backend`` names, or else that of ``--default-backend-service``.  It is told by fields what happened, as
in ingress-nginx, and whatever it answers goes to the client, status included.  That holds whoever made the
answer: the endpoint, the proxy, another filter.  If nobody answers, the client gets the status alone.

The Service of ``default-backend`` also stands in for the Service of a path that has no endpoint: then it gets the
requests themselves, with the fields besides (``stand_in``), and its answers go on whatever their status.
"""

import re
from collections.abc import Awaitable, Iterator
from typing import ClassVar, Final

from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import (
    Annotation,
    Family,
    NamedBackend,
    ValueRefused,
    parse_boolean,
    quoted,
)
from ingress.filter_parts.judging import is_any_grpc, status_reply
from ingress.filters import (
    AnswerEdit,
    Facts,
    FieldChanges,
    Filter,
    FilterSpec,
    Phase,
    Reply,
    RequestEdit,
    Services,
    SubAnswer,
    SubRequest,
    SubRequestFailed,
)
from ingress.model.frozen import frozen
from ingress.model.upstream.backends import BackendReference

SECONDS: Final = 10.0
"""How long the default backend may take for its answer, all of it."""
MOST_BYTES: Final = 256 * 1024
"""Of its body; a longer one is not sent."""
MOST_AT_ONCE: Final = 64
"""Answers that one route waits for at a time; further ones are the status alone."""

_DEFAULT_BACKEND: Final = "default-backend"
_MOST_CHARACTERS: Final = 4096
_is_code = re.compile(r"[3-5][0-9]{2}", re.ASCII).fullmatch
_is_service = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?", re.ASCII).fullmatch
_UNASKED: Final = frozenset(
    b"""connection content-length date http2-settings keep-alive proxy-connection server te trailer transfer-encoding
    upgrade""".split()
)
"""Fields of its answer that are not sent on, since those of the proxy's own replies are."""
_TOLD: Final = (b"accept", b"accept-encoding", b"accept-language", b"cookie", b"referer", b"user-agent")
"""Fields of the request that it is told as they came, to choose a page by."""
_FORMAT: Final = b"X-Format"
_STANDS_IN: Final = object()
"""What notes of a request have that went to a default backend which stands in."""


def parse_codes(text: str) -> tuple[int, ...]:
    """Read statuses from 300 to 599, with commas between them."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueRefused(f"has more than {_MOST_CHARACTERS} characters")
    words = [word for one in text.split(",") if (word := one.strip())]
    for word in words:
        if _is_code(word) is None:
            raise ValueRefused(
                f'holds {quoted(word[:16])}, which is no status from 300 to 599; write "404,503"'
            )
    return tuple(sorted({int(word) for word in words}))


def parse_service(text: str) -> str:
    """Read the name of a Service of the own namespace."""
    name = text.strip()
    if _is_service(name) is None:
        raise ValueRefused(
            "is not the name of a Service; write that alone, without namespace and port: its first port is asked"
        )
    return name


@frozen
class CustomErrorSettings:
    """What the annotations of one Ingress say about its error pages."""

    codes: tuple[int, ...] = ()
    """The statuses of answers that are replaced, in order."""
    service: str = ""
    """The default backend; empty for the operator's."""
    is_enabled: bool = True
    keeps_answers: bool = False
    """Whether those of endpoints stay as they are, and only the proxy's own are replaced."""


@frozen
class CustomErrors:
    """Replaces answers with one of *codes* by those of the first of *backends* that answers."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "custom-errors"

    codes: tuple[int, ...]
    backends: tuple[BackendReference, ...] = ()
    keeps_answers: bool = False
    about: tuple[tuple[bytes, bytes], ...] = ()
    """Fields that tell whose route it is."""

    def describe(self) -> str:
        """Say which answers are replaced, and by whose."""
        codes = ", ".join(map(str, self.codes))
        whose = " of the proxy's own" if self.keeps_answers else ""
        by = " or ".join(map(str, self.backends)) or "the status alone"
        return f"replaces answers{whose} with {codes} by {by}"

    def make(self, services: Services) -> Filter:
        """Make the filter that replaces."""
        return _Replacing(self, services)


class _Replacing(Filter):
    """Asks the default backend for an answer, at most as often at a time as it may."""

    def __init__(self, spec: CustomErrors, services: Services) -> None:
        self._codes = frozenset(spec.codes)
        self._backends = spec.backends
        self._keeps_answers = spec.keeps_answers
        self._about = spec.about
        self._services = services
        self._under_way = 0

    async def _replaced(self, facts: Facts, status: int, challenges: tuple[bytes, ...]) -> Reply:
        """Return what the client gets in place of an answer with *status*, which had these *challenges*."""
        self._under_way += 1
        try:
            answer = await self._asked(facts, status)
        finally:
            self._under_way -= 1
        if answer is None:
            self._services.count("failed")
            return _status_alone(status, challenges)
        self._services.count("replaced")
        fields = [(name, value) for name, value in answer.fields if name.lower() not in _UNASKED]
        if answer.status == 401 and not answer.field(b"www-authenticate"):
            fields += _challenge_fields(challenges)
        return Reply(answer.status, tuple(fields), answer.body)

    async def _asked(self, facts: Facts, status: int) -> SubAnswer | None:
        """Return the first answer, within the time for all; None for none."""
        fields = tuple(told_fields(facts, status)) + self._about
        ends = self._services.clock.seconds() + SECONDS
        for backend in self._backends:
            left = ends - self._services.clock.seconds()
            if left <= 0:
                break
            try:
                answer = await self._services.ask(_request(facts, backend, fields, left))
            except (SubRequestFailed, ValueError):
                continue
            if 200 <= answer.status <= 599:
                return answer
        return None

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> Reply | Awaitable[Reply | None] | None:
        """Replace the answer, if it has such a status; those to gRPC, and of a default backend, stay as they are."""
        status = edit.status
        if status not in self._codes:
            return None
        if not edit.is_ours and (self._keeps_answers or _STANDS_IN in facts.notes):
            return None
        if is_any_grpc(facts):
            return None
        challenges = edit.values(b"www-authenticate") if status == 401 else ()
        if not self._backends:
            return _status_alone(status, challenges)
        if self._under_way >= MOST_AT_ONCE:
            self._services.count("busy")
            return _status_alone(status, challenges)
        return self._replaced(facts, status, challenges)


def _status_alone(status: int, challenges: tuple[bytes, ...]) -> Reply:
    return status_reply(status, *_challenge_fields(challenges))


def _challenge_fields(challenges: tuple[bytes, ...]) -> list[tuple[bytes, bytes]]:
    return [(b"WWW-Authenticate", one) for one in challenges]


def told_fields(facts: Facts, status: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield what the default backend is told of a request that was answered with *status*."""
    yield b"X-Code", b"%d" % status
    yield _FORMAT, facts.field(b"accept")
    yield b"X-Original-URI", facts.target
    yield b"X-Request-ID", facts.id
    yield b"X-Forwarded-For", facts.client
    for name in _TOLD:
        value = facts.field(name)
        if value:
            yield name, value


def _request(
    facts: Facts, backend: BackendReference, fields: tuple[tuple[bytes, bytes], ...], seconds: float
) -> SubRequest:
    _, question, query = facts.target.partition(b"?")
    return SubRequest(
        f"http://{backend.name}",
        target=b"/" + question + query,
        authority=facts.authority,
        fields=fields,
        seconds=seconds,
        max_bytes=MOST_BYTES,
        backend=backend,
        trace=facts.trace,
    )


@frozen
class StandingIn:
    """Tells the default backend, which gets the requests of a Service without endpoints, whose they are."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "standing-in"

    about: tuple[tuple[bytes, bytes], ...] = ()

    def describe(self) -> str:
        """Say who is told what."""
        return "tells the default backend, which stands in for a Service without endpoints, whose requests it gets"

    def make(self, services: Services) -> Filter:
        """Make the filter that tells."""
        return _Telling(FieldChanges(put=((b"X-Code", b"503"), *self.about)))


class _Telling(Filter):
    """Sets the fields."""

    def __init__(self, changes: FieldChanges) -> None:
        self._changes = changes

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        """Set them."""
        facts.notes[_STANDS_IN] = True
        edit.change(self._changes)
        edit.put(_FORMAT, facts.field(b"accept"))


def about_route(facts: RouteFacts) -> tuple[tuple[bytes, bytes], ...]:
    """Return the fields that say whose route it is; what is not known is left out."""
    owner, backend = facts.owner, facts.backend
    said = {
        b"X-Namespace": "" if owner is None else owner.key.namespace,
        b"X-Ingress-Name": "" if owner is None else owner.key.name,
        b"X-Service-Name": "" if backend is None else backend.name,
        b"X-Service-Port": "" if backend is None else str(backend.port),
    }
    return tuple((name, _as_value(text)) for name, text in said.items() if text)


def _as_value(text: str) -> bytes:
    # Names of objects out of manifests may be anything.
    return "".join(one if one.isprintable() else "?" for one in text).strip().encode("ascii", "replace")


def own_default_backend(settings: CustomErrorSettings, facts: RouteFacts) -> BackendReference | None:
    """Return the Service that the Ingress names itself."""
    if not settings.service or facts.owner is None:
        return None
    return BackendReference(facts.owner.key.namespace, settings.service)


def error_backends(settings: CustomErrorSettings, facts: RouteFacts) -> Iterator[NamedBackend]:
    """Yield who is asked for error pages, first the one that the Ingress names."""
    own = own_default_backend(settings, facts)
    if own is not None:
        yield NamedBackend(_DEFAULT_BACKEND, own)
    if settings.codes and settings.is_enabled:
        operators = facts.host.default_backend
        if operators is not None and operators != own:
            yield NamedBackend("", operators)


def error_filters(settings: CustomErrorSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what replaces errors of a route; one that no Ingress asks for leads to the operator's default backend itself."""
    if not settings.codes or not settings.is_enabled:
        return ()
    backends = tuple(named.reference for named in error_backends(settings, facts))
    return (CustomErrors(settings.codes, backends, settings.keeps_answers, about_route(facts)),)


CUSTOM_ERRORS: Final = Family(
    name="custom_errors",
    settings=CustomErrorSettings(),
    acts="replaces errors by answers of the default backend",
    phases=(Phase.ANSWER, Phase.EDITS),
    filters=error_filters,
    backends=error_backends,
    by_path=True,
    holds_unmatched=True,
    annotations={
        "custom-http-errors": Annotation(
            "codes",
            parse_codes,
            instead="no answer is replaced",
            values="statuses from 300 to 599, such as `404,503`",
            meaning="answers with these statuses are replaced by that of the default backend, which is told about them",
            differs="the default backend is asked by GET, without body; its answer may have 256k and take 10 s; without any"
            " default backend, and where it fails, the client gets the status alone; answers to gRPC stay",
            operators=True,
        ),
        _DEFAULT_BACKEND: Annotation(
            "service",
            parse_service,
            instead="the operator's default backend is used",
            values="the name of a Service of the own namespace",
            meaning="who answers in place of a Service without endpoints, and for `custom-http-errors`",
            differs="it is spoken to in plain HTTP",
        ),
        "disable-proxy-intercept-errors": Annotation(
            "keeps_answers",
            parse_boolean,
            instead="answers of endpoints are replaced, too",
            values="a boolean; false",
            meaning="`true` leaves errors that endpoints answer as they are, and replaces the proxy's own",
            operators=True,
        ),
        "enable-custom-http-errors": Annotation(
            "is_enabled",
            parse_boolean,
            instead="errors are replaced",
            values="a boolean; true",
            meaning="`false` replaces no errors, whatever `custom-http-errors` says",
        ),
    },
)
