"""Session affinity: ``affinity``, ``affinity-mode``, ``affinity-canary-behavior`` and the cookies of ``session-cookie-…``.

The cookie alone decides: no table of sessions is kept anywhere.  What its value says is in ``ingress.model.upstream.affinity``; that
an endpoint is chosen by it, in ``ingress.routing.balancing.sticky``.  Here clients are told it: those that have no cookie, and those
whose endpoint is not there any more.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from typing import ClassVar, Final

from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Place, Risk, ValueRefused, parse_boolean
from ingress.filters import AnswerEdit, Clock, Facts, Filter, FilterSpec, Phase, Services
from ingress.model.frozen import frozen
from ingress.model.upstream.affinity import Affinity, AffinityMode, mark_of_endpoint

DEFAULT_COOKIE: Final = b"INGRESSCOOKIE"
_MAX_CHARACTERS: Final = 1024
_MAX_SECONDS: Final = 100 * 366 * 24 * 3600

_is_token = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}").fullmatch
_is_path = re.compile(r"/[\x21-\x3a\x3c-\x7e]*").fullmatch
_is_domain = re.compile(r"\.?[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?").fullmatch

# Of a path of a route: that a browser compares it as we do, and it is no expression.
_is_plain = re.compile(r"/[A-Za-z0-9/_.~-]*").fullmatch

_MISTAKING_CHROME: Final = re.compile(rb"Chrom(?:e|ium)/(?:5[1-9]|6[0-6])\.")
_MISTAKING_UC_BROWSER: Final = re.compile(
    rb"UCBrowser/(?:[0-9]\.|1[01]\.|12\.(?:[0-9]\.|1[0-2]\.|13\.[01]\.))"
)
_MOST_OF_AGENT: Final = 512


def mistakes_none(agent: bytes) -> bool:
    """Whether the program *agent* (``User-Agent``) takes ``SameSite=None`` for ``Strict``, or refuses a cookie that has it.

    Source: https://www.chromium.org/updates/same-site/incompatible-clients/
    """
    agent = agent[:_MOST_OF_AGENT]
    if b"AppleWebKit/" in agent and b"Chrom" not in agent:
        if b"(iP" in agent and b" OS 12_" in agent:
            return True
        if b"Mac OS X 10_14" in agent:
            return b"Safari/" in agent or agent.endswith(b"(KHTML, like Gecko)")
    return bool(_MISTAKING_CHROME.search(agent) or _MISTAKING_UC_BROWSER.search(agent))


class SameSite(StrEnum):
    """Whose requests carry the cookie (RFC 6265bis)."""

    NONE = "None"
    LAX = "Lax"
    STRICT = "Strict"


class CanaryBehavior(StrEnum):
    """What canaries are to clients that have a cookie."""

    STICKY = "sticky"
    """They stay where they were, at the canary or not."""
    LEGACY = "legacy"
    """Each request is decided anew."""


def parse_affinity(text: str) -> bool:
    """Read what keeps clients at an endpoint, of which there is one thing."""
    text = text.strip()
    if text not in ("", "cookie"):
        raise ValueRefused('is not "cookie"')
    return bool(text)


def parse_cookie_name(text: str) -> bytes:
    """Read the name of a cookie (a token of RFC 9110)."""
    text = text.strip()
    if _is_token(text) is None:
        raise ValueRefused("is no name of a cookie: letters, digits and hyphens, up to 128 of them")
    return text.encode("ascii")


def parse_path(text: str) -> str:
    """Read the path of a cookie."""
    text = text.strip()
    if len(text) > _MAX_CHARACTERS or _is_path(text) is None:
        raise ValueRefused(
            f"is no path of a cookie; write one such as /, of up to {_MAX_CHARACTERS} characters"
        )
    return text


def parse_domain(text: str) -> str:
    """Read the domain of a cookie."""
    text = text.strip()
    if _is_domain(text) is None:
        raise ValueRefused("is no domain; write one such as example.com")
    return text


def parse_seconds(text: str) -> int | None:
    """Read how many seconds a cookie lives; 0 and less make it one of the session, which is of more use than one that browsers drop."""
    text = text.strip()
    if re.fullmatch(r"-?[0-9]{1,10}", text) is None or int(text) > _MAX_SECONDS:
        raise ValueRefused(f"is no number of seconds up to {_MAX_SECONDS}")
    return int(text) if int(text) > 0 else None


def parse_same_site(text: str) -> SameSite:
    """Read one of three words, in upper or lower case."""
    found = next((one for one in SameSite if one.lower() == text.strip().lower()), None)
    if found is None:
        raise ValueRefused('is none of "None", "Lax" and "Strict"')
    return found


def parse_mode(text: str) -> AffinityMode:
    """Read ``balanced`` or ``persistent``."""
    if text.strip() not in list(AffinityMode):
        raise ValueRefused('is neither "balanced" nor "persistent"')
    return AffinityMode(text.strip())


def parse_canary_behavior(text: str) -> CanaryBehavior:
    """Read ``sticky`` or ``legacy``."""
    if text.strip() not in list(CanaryBehavior):
        raise ValueRefused('is neither "sticky" nor "legacy"')
    return CanaryBehavior(text.strip())


@frozen
class SessionCookie:
    """Tells clients by a cookie at which endpoint they are to stay."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "session-cookie"

    affinity: Affinity
    path: str = "/"
    domain: str = ""
    max_age: int | None = None
    """Seconds."""
    expires: int | None = None
    """Seconds from when it is set."""
    secure: bool = False
    """Whether browsers send it over HTTPS only whatever the request came over; over HTTPS it is so in any case."""
    same_site: SameSite | None = None
    omits_none: bool = False
    """Whether programs that mistake ``SameSite=None`` are not told it."""
    partitioned: bool = False
    changes_on_failure: bool = False
    """Whether a client moves to the endpoint that answered in place of its own."""
    mark: bytes = b""
    """What stands for the backend, where several share the requests; else empty."""

    def describe(self) -> str:
        """Say how clients stay, and where."""
        moves = ", and moves them when theirs fails" if self.changes_on_failure else ""
        return f"keeps clients at an endpoint by cookie {self.affinity.cookie.decode()} ({self.affinity.mode.value}){moves}"

    def make(self, services: Services) -> Filter:
        """Make the filter that tells."""
        return _TellsClients(self, services.clock)

    def key_after(self, facts: Facts) -> bytes:
        """Return the key that the client is to have once ``facts.endpoint`` answered; empty where it has the right one."""
        key, mark = self.affinity.told(facts)
        endpoint = facts.endpoint
        if endpoint is None:
            return b""
        if key:
            goes_by_mark = key.startswith(b"e")
            if facts.was_retried:
                is_right = not self.changes_on_failure
            else:
                is_right = not goes_by_mark or key == mark_of_endpoint(endpoint)
            if is_right:
                return b"" if mark == self.mark else key
        elif not facts.was_retried:
            return self.affinity.first_key(facts) or mark_of_endpoint(endpoint)
        return mark_of_endpoint(endpoint)


class _TellsClients(Filter):
    def __init__(self, spec: SessionCookie, clock: Clock) -> None:
        self._spec = spec
        self._clock = clock
        self._name = spec.affinity.cookie + b"="
        self._attributes = "".join(_attributes(spec)).encode("ascii")
        site = b"" if spec.same_site is None else b"; SameSite=" + spec.same_site.value.encode()
        self._site = site + (b"; Partitioned" if spec.partitioned else b"")
        self._site_of_mistaken = b"" if spec.same_site is SameSite.NONE and spec.omits_none else self._site

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        """Tell the client, unless it knows."""
        if edit.is_ours:
            return
        spec = self._spec
        key = spec.key_after(facts)
        if not key:
            return
        value = self._name + key + (b"." + spec.mark if spec.mark else b"")
        if spec.expires is not None:
            until = self._clock.now() + timedelta(seconds=spec.expires)
            value += until.strftime("; Expires=%a, %d %b %Y %H:%M:%S GMT").encode("ascii")
        is_secure = spec.secure or facts.scheme == b"https"
        site = self._site
        if self._site_of_mistaken != site and mistakes_none(facts.field(b"user-agent")):
            site = self._site_of_mistaken
        edit.add(b"Set-Cookie", value + self._attributes + (b"; Secure" if is_secure else b"") + site)


def _attributes(spec: SessionCookie) -> Iterator[str]:
    if spec.max_age is not None:
        yield f"; Max-Age={spec.max_age}"
    if spec.domain:
        yield f"; Domain={spec.domain}"
    yield f"; Path={spec.path}; HttpOnly"


@frozen
class AffinitySettings:
    """What the annotations of one Ingress say about sessions; nothing of it counts unless *by_cookie*."""

    by_cookie: bool = False
    mode: AffinityMode = AffinityMode.BALANCED
    canaries: CanaryBehavior = CanaryBehavior.STICKY
    cookie: bytes = DEFAULT_COOKIE
    path: str = ""
    """Empty: that of the route."""
    domain: str = ""
    max_age: int | None = None
    expires: int | None = None
    secure: bool = False
    same_site: SameSite | None = None
    omits_none: bool = False
    partitioned: bool = False
    changes_on_failure: bool = False

    def affinity(self) -> Affinity | None:
        """Return how clients stay; None where they need not."""
        return _affinity(self.cookie, self.mode) if self.by_cookie else None


_affinity = lru_cache(maxsize=256)(Affinity)


def session_cookie(settings: AffinitySettings, facts: RouteFacts) -> SessionCookie:
    """Return what tells the clients of a route; *settings* are of one that has affinity."""
    affinity = settings.affinity()
    assert affinity is not None
    path = settings.path
    if not path:
        path = facts.path if _is_plain(facts.path) is not None else "/"
    return SessionCookie(
        affinity,
        path,
        settings.domain,
        settings.max_age,
        settings.expires,
        settings.secure,
        settings.same_site,
        settings.omits_none,
        settings.partitioned,
        settings.changes_on_failure,
    )


def _filters(settings: AffinitySettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    return (session_cookie(settings, facts),) if settings.by_cookie else ()


_SECONDS: Final = "seconds; none, which makes it a cookie of the session"
_NO_SECONDS: Final = (
    "`0` and less make it a cookie of the session; that of ingress-nginx browsers drop at once"
)

AFFINITY: Final = Family(
    name="affinity",
    settings=AffinitySettings(),
    acts="keeps clients at an endpoint",
    phases=(Phase.ANSWER,),
    place=Place.BACKEND,
    filters=_filters,
    by_path=True,
    annotations={
        "affinity": Annotation(
            "by_cookie",
            parse_affinity,
            values="`cookie`; none",
            meaning="keeps a client at one endpoint, by a cookie",
        ),
        "affinity-mode": Annotation(
            "mode",
            parse_mode,
            values="`balanced`, `persistent`; balanced",
            meaning="whether some clients move when endpoints come, or none as long as theirs is there",
            risk=Risk.MEDIUM,
        ),
        "affinity-canary-behavior": Annotation(
            "canaries",
            parse_canary_behavior,
            values="`sticky`, `legacy`; sticky",
            meaning="of a canary: whether a client stays with it once it met it, or each request is decided anew, unless its cookie is that of the primary",
        ),
        "session-cookie-name": Annotation(
            "cookie",
            parse_cookie_name,
            values="a name; INGRESSCOOKIE",
            meaning="what the cookie is called",
            risk=Risk.MEDIUM,
        ),
        "session-cookie-path": Annotation(
            "path",
            parse_path,
            values="a path; that of the route",
            meaning="the paths with which browsers send the cookie",
            differs="the cookie of a path that is a regular expression has `/`",
            risk=Risk.MEDIUM,
        ),
        "session-cookie-domain": Annotation(
            "domain",
            parse_domain,
            values="a domain; none",
            meaning="the hosts to which browsers send the cookie",
            risk=Risk.MEDIUM,
        ),
        "session-cookie-max-age": Annotation(
            "max_age",
            parse_seconds,
            values=_SECONDS,
            meaning="how long browsers keep the cookie",
            differs=_NO_SECONDS,
            risk=Risk.MEDIUM,
        ),
        "session-cookie-expires": Annotation(
            "expires",
            parse_seconds,
            values=_SECONDS,
            meaning="how long browsers keep the cookie, as a date, for old ones",
            differs=_NO_SECONDS,
            risk=Risk.MEDIUM,
        ),
        "session-cookie-secure": Annotation(
            "secure",
            parse_boolean,
            values="`true` or `false`; false",
            meaning="`true` has browsers send the cookie over HTTPS only; one that is told over HTTPS is so in any case",
        ),
        "session-cookie-samesite": Annotation(
            "same_site",
            parse_same_site,
            values="`None`, `Lax`, `Strict`; none",
            meaning="whether browsers send the cookie with requests that other sites cause",
        ),
        "session-cookie-conditional-samesite-none": Annotation(
            "omits_none",
            parse_boolean,
            values="`true` or `false`; false",
            meaning="leaves `SameSite=None` out for browsers that mistake it",
        ),
        "session-cookie-partitioned": Annotation(
            "partitioned",
            parse_boolean,
            values="`true` or `false`; false",
            meaning="has browsers keep the cookie for each site that it is embedded in",
        ),
        "session-cookie-change-on-failure": Annotation(
            "changes_on_failure",
            parse_boolean,
            values="`true` or `false`; false",
            meaning="moves a client to the endpoint that answered when its own failed",
            differs="without it, too, another endpoint answers while that of a client cannot be reached; ingress-nginx answers 502",
        ),
    },
)
