"""The check of external authentication: another service is asked about each request, and decides.

The meaning is that of ingress-nginx, which has nginx do it (https://nginx.org/en/docs/http/ngx_http_auth_request_module.html):
a sub-request with the client's fields and no body goes to the service.  Its status of 200 to 299 lets the request pass, 401
and 403 are the answer, and anything else, or no answer, is 500: nobody passes because the service is away.

What is asked, and what its answer means, are functions of values here; the filter at the end of the module calls them.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import ClassVar, Final
from weakref import finalize

from attrs import field

from ingress.annotations.contract.asked_urls import (
    ANYWHERE,
    AllowedTargets,
    Leave,
    as_target,
    as_visible,
    split_rendered,
    split_url,
)
from ingress.annotations.external_auth.cache import Durations, VerdictCache, seconds_for
from ingress.filter_parts.judging import is_any_grpc, status_reply
from ingress.filters import (
    AnswerEdit,
    Facts,
    FieldChanges,
    Filter,
    Phase,
    Reply,
    RequestEdit,
    Scope,
    Services,
    SubAnswer,
    SubRequest,
    SubRequestFailed,
)
from ingress.model.frozen import frozen
from ingress.model.network.http_urls import parse_url
from ingress.model.requests.templates import Template, read_template

SENT_FROM: Final = b"nginx-ingress-controller"
"""What ``X-Sent-From`` says, as services look for it that were written for ingress-nginx."""
MAX_ANSWER_BYTES: Final = 64 * 1024
"""Of an answer's body that are waited for, so that its connection can be used again; nobody reads them."""

MAX_KNOWN: Final = 64
MAX_KNOWN_BYTES: Final = 2048
"""Answers that are remembered as they were read, and how large one of these may be."""
_FIELD_BYTES: Final = 128
"""What a field takes that is remembered, besides its texts."""
REQUEST_URI: Final = read_template("$request_uri")
COOKIES_PASS: Final = frozenset((200, 201, 204, 206, 301, 302, 303, 304, 307, 308))
"""The statuses of answers that cookies of the service go with: those of nginx's ``add_header``."""

_FAILED: Final = status_reply(500, reason="auth-url comes to no URL for this request")
# What a client says under these names is not told: they are ours, or would have an answer without a verdict.
_OURS: Final = (
    b"x-original-url",
    b"x-original-uri",
    b"x-original-method",
    b"x-sent-from",
    b"x-auth-request-redirect",
    # Services go by these as well, behind other proxies.
    b"x-forwarded-uri",
    b"x-forwarded-method",
)
_CONDITIONS: Final = (
    b"range",
    b"if-match",
    b"if-modified-since",
    b"if-none-match",
    b"if-range",
    b"if-unmodified-since",
)


@frozen
class AuthCaching:
    """What verdicts are remembered by, and for how long."""

    key: Template
    durations: Durations
    route: str
    """The host and path that they are for."""


@frozen(cache_hash=True)
class ExternalAuth:
    """Asks *url* about each request; plain data."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "external-auth"

    url: Template
    method: str = ""
    """Empty for GET, where nothing else is asked for."""
    signin: Template | None = None
    """Where who is not known is sent, with the parameter by which it is found out where to come back to."""
    response_headers: tuple[str, ...] = ()
    """Fields of the service's answer that the endpoint is told, and of nobody else."""
    request_redirect: Template = REQUEST_URI
    """What the service is told in ``X-Auth-Request-Redirect``."""
    fields: tuple[tuple[str, Template], ...] = ()
    """Further fields that the service is told."""
    caching: AuthCaching | None = None
    always_sets_cookie: bool = False
    seconds: float = 10.0
    """How long the service may take."""
    verifies: bool = False
    """Whether the certificate at an ``https`` URL must be for its host, and of an authority of the system."""
    allowed: AllowedTargets = ANYWHERE
    is_operators: bool = False
    """Whether the operator wrote the URL."""

    def describe(self) -> str:
        """Say who is asked."""
        method = f"{self.method} " if self.method else ""
        signin = ", and sends to its sign-in page who is not known" if self.signin is not None else ""
        cached = ", whose verdicts are remembered" if self.caching is not None else ""
        return f"asks {method}{self.url}{cached}, whether a request may pass{signin}"

    def make(self, services: Services) -> Filter:
        """Make the filter that asks."""
        asking = _Asking(self, services)
        return _Tells(asking) if self.response_headers else _Asks(asking)


_NO_CHANGES: Final = FieldChanges()


@frozen
class Verdict:
    """What the service said of a request, as far as anybody goes by it."""

    status: int
    changes: FieldChanges = _NO_CHANGES
    """What that does to the fields that the endpoint gets."""
    cookies: tuple[bytes, ...] = ()
    challenges: tuple[bytes, ...] = ()
    """What ``WWW-Authenticate`` says."""
    fields: tuple[tuple[bytes, bytes], ...] = ()
    """All that it said besides."""
    size: int = field(default=0, eq=False)
    """About how many bytes these have."""

    @property
    def allows(self) -> bool:
        """Whether the request may pass."""
        return 200 <= self.status < 300

    @property
    def is_one(self) -> bool:
        """Whether it is a verdict at all."""
        return self.allows or self.status in (401, 403)

    def field(self, name: bytes) -> bytes:
        """Return the value of the first field called *name*, in lower case; empty when there is none."""
        return next((value for called, value in self.fields if called.lower() == name), b"")


def verdict_of(answer: SubAnswer, response_headers: tuple[bytes, ...]) -> Verdict:
    """Return what *answer* says; of several fields of a name the endpoint gets one, with commas in between, as of nginx."""
    cookies: list[bytes] = []
    challenges: list[bytes] = []
    found: dict[bytes, bytes] = {}
    wanted = {name.lower(): name for name in response_headers}
    for name, value in answer.fields:
        lower = name.lower()
        if lower == b"set-cookie":
            cookies.append(value)
        elif lower == b"www-authenticate":
            challenges.append(value)
        called = wanted.get(lower)
        if called is not None and value:
            found[called] = found[called] + b", " + value if called in found else value
    gone = tuple(name for name in response_headers if name not in found)
    told = tuple(found.items())
    size = sum([len(name) + len(value) for name, value in answer.fields])
    changes = FieldChanges(drop=gone, put=told)
    return Verdict(answer.status, changes, tuple(cookies), tuple(challenges), answer.fields, size)


def verdict_on(facts: Facts) -> Verdict | None:
    """Return what the service said of a request that it let pass; None where no service did."""
    return next((note for note in facts.notes.values() if isinstance(note, Verdict)), None)


class _Asking:
    """What the filters of one spec have in common: whom they ask, what they ask, and what they make of the answer."""

    def __init__(self, spec: ExternalAuth, services: Services) -> None:
        self.spec = spec
        self._services = services
        self._clock = services.clock
        self._base, self._target = split_url(spec.url)
        text = self._target.text
        self._url = "" if text is None or not self._base else self._base + as_target(text).decode("ascii")
        """All of it, where it depends on no variable."""
        self._leave = self._leave_for(self._base) if self._base else None
        self._redirect = None if spec.request_redirect == REQUEST_URI else spec.request_redirect
        self._method = spec.method.encode("ascii") or b"GET"
        names = [*_OURS, *(name.lower().encode("ascii") for name, _ in spec.fields)]
        if spec.caching is not None:
            names += _CONDITIONS
        self._without = tuple(dict.fromkeys(names))
        self._more = tuple((name.encode("ascii"), template) for name, template in spec.fields)
        self._replaced = frozenset(name.lower() for name, _ in self._more)
        """Whose values are for *spec* to say, and not for us."""
        self.response_headers = tuple(name.encode("ascii") for name in spec.response_headers)
        self.unknown = FieldChanges(drop=self.response_headers)
        """What is done to a request about which nothing is known: none of these fields is the client's to say."""
        self._known: dict[tuple[int, tuple[tuple[bytes, bytes], ...]], Verdict] = {}
        """What answers meant that were read before: those about one client are the same for a second, most likely."""
        self._token = object()
        self._cache: VerdictCache[Verdict] | None = None
        if spec.caching is not None:
            new_cache = partial(VerdictCache[Verdict], clock=services.clock)
            cache: VerdictCache[Verdict] = services.state(Scope.WORKER, "verdicts", new_cache)
            self._cache = cache
            # Nobody asks for what was remembered, once there is no such spec any more.
            finalize(self, cache.forget, self._token).atexit = False

    def _leave_for(self, base: str) -> Leave:
        """Return what requests to *base* are allowed; raises ``ValueError`` if there may be none."""
        if self.spec.is_operators and self._base:
            return Leave(is_trusted=True)
        leave = self.spec.allowed.leave(parse_url(base).host)
        if leave is None:
            raise ValueError("--auth-url-allow does not name this host")
        return leave

    # Asking

    def ask(
        self, facts: Facts, decided: Callable[[Verdict], Reply | None]
    ) -> Reply | Awaitable[Reply | None] | None:
        """Find the verdict on a request, and return what *decided* makes of it, now or later."""
        key: bytes | None = None
        cache, caching = self._cache, self.spec.caching
        if cache is not None and caching is not None:
            key = caching.key.render(facts)
            known = cache.get(self._token, key, self._clock.seconds())
            if known is not None:
                self._services.count("remembered")
                return decided(known)
        try:
            return self._services.ask_then(self.request(facts), partial(self._heard, key, decided))
        except ValueError:
            self._services.count("not-asked")
            return _FAILED

    def request(self, facts: Facts) -> SubRequest:
        """Return what the service is asked about a request; raises ``ValueError`` where its URL comes to none."""
        url, target, leave = self._url, b"", self._leave
        if leave is None:
            url, rest = split_rendered(self._target.render(facts))
            target = as_target(rest)
            leave = self._leave_for(url)
        elif not url:
            url, target = self._base, as_target(self._target.render(facts))
        asked_for = facts.target
        fields: tuple[tuple[bytes, bytes], ...] = (
            (b"X-Original-URL", b"%b://%b%b" % (facts.scheme, facts.field(b"host") or facts.host, asked_for)),
            (b"X-Original-Method", facts.method),
            (b"X-Sent-From", SENT_FROM),
            (
                b"X-Auth-Request-Redirect",
                asked_for if self._redirect is None else self._redirect.render(facts),
            ),
        )
        if self.spec.method:
            fields += ((b"X-Original-URI", asked_for),)
        if self._more:
            fields = (
                *(one for one in fields if one[0].lower() not in self._replaced),
                *((name, value) for name, template in self._more if (value := template.render(facts))),
            )
        return SubRequest(
            url,
            target=target,
            lines=facts.lines + facts.proxys_lines,
            without=self._without,
            method=self._method,
            fields=fields,
            body=None,
            seconds=self.spec.seconds,
            max_bytes=MAX_ANSWER_BYTES,
            wants_body=False,
            is_trusted=leave.is_trusted,
            within=leave.within,
            verifies=self.spec.verifies,
            trace=facts.trace,
        )

    def _heard(
        self,
        key: bytes | None,
        decided: Callable[[Verdict], Reply | None],
        heard: SubAnswer | SubRequestFailed,
    ) -> Reply | None:
        if isinstance(heard, SubRequestFailed):
            self._services.count("unanswered")
            return status_reply(500, reason=f"the service of auth-url gave no answer: {heard}")
        said = heard.status, heard.fields
        verdict = self._known.get(said)
        if verdict is None:
            verdict = verdict_of(heard, self.response_headers)
            if verdict.size <= MAX_KNOWN_BYTES:
                if len(self._known) >= MAX_KNOWN:
                    self._known.clear()
                self._known[said] = verdict
        if not verdict.is_one:
            self._services.count("no-verdict")
            reason = f"the service of auth-url answered {heard.status}, which says neither yes nor no"
            return self._with_cookies(status_reply(500, reason=reason), verdict)
        if key is not None:
            self._remember(key, heard, verdict)
        return decided(verdict)

    def _remember(self, key: bytes, answer: SubAnswer, verdict: Verdict) -> None:
        caching = self.spec.caching
        assert self._cache is not None and caching is not None
        seconds = seconds_for(answer, caching.durations, self._clock.now())
        if seconds > 0:
            until = self._clock.seconds() + seconds
            size = verdict.size + len(verdict.fields) * _FIELD_BYTES + len(key)
            self._cache.put(self._token, key, until, verdict, size)

    # What a verdict means

    def refusal(self, facts: Facts, verdict: Verdict) -> Reply:
        """Return the answer to a request that may not pass."""
        self._services.count("refused")
        challenges: list[tuple[bytes, bytes]] = []
        if verdict.status == 401:
            challenges = [(b"WWW-Authenticate", value) for value in verdict.challenges]
            signin = self.spec.signin
            if signin is not None and not is_any_grpc(facts):
                return to_sign_in(signin, facts, *challenges, *_cookie_fields(verdict))
        reason = f"the service of auth-url answered {verdict.status}"
        return self._with_cookies(status_reply(verdict.status, *challenges, reason=reason), verdict)

    def _with_cookies(self, reply: Reply, verdict: Verdict) -> Reply:
        if not self.spec.always_sets_cookie or not verdict.cookies:
            return reply
        return Reply(reply.status, (*reply.fields, *_cookie_fields(verdict)), reply.body, reply.reason)

    def cookies_for(self, status: int, verdict: Verdict) -> tuple[bytes, ...]:
        """Return the cookies of the service that go with an endpoint's answer of *status*."""
        return verdict.cookies if self.spec.always_sets_cookie or status in COOKIES_PASS else ()


def _cookie_fields(verdict: Verdict) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((b"Set-Cookie", value) for value in verdict.cookies)


def to_sign_in(page: Template, facts: Facts, *fields: tuple[bytes, bytes], reason: str = "") -> Reply:
    """Return what sends a client to the sign-in *page*, with further *fields*."""
    return status_reply(302, (b"Location", as_visible(page.render(facts))), *fields, reason=reason)


class _Asks(Filter):
    """Lets pass whom the service lets pass."""

    def __init__(self, asking: _Asking) -> None:
        self._asking = asking

    def on_request(self, facts: Facts) -> Reply | Awaitable[Reply | None] | None:
        """Ask."""
        return self._asking.ask(facts, partial(self._decided, facts))

    def _decided(self, facts: Facts, verdict: Verdict) -> Reply | None:
        if not verdict.allows:
            return self._asking.refusal(facts, verdict)
        facts.notes[self] = verdict
        return None

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        """Have the client get the cookies of the service that let it pass."""
        verdict = facts.notes.get(self)
        if isinstance(verdict, Verdict) and verdict.cookies:
            for cookie in self._asking.cookies_for(edit.status, verdict):
                edit.add(b"Set-Cookie", cookie)


class _Tells(_Asks):
    """Tells the endpoint what the service said, besides."""

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        """Tell it, whatever the client says itself."""
        verdict = facts.notes.get(self)
        edit.change(verdict.changes if isinstance(verdict, Verdict) else self._asking.unknown)
