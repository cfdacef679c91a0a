"""Redirects that an Ingress asks for: ``permanent-redirect``, ``temporal-redirect``, ``app-root`` and what belongs to them.

As in ingress-nginx, ``permanent-redirect`` and ``temporal-redirect`` answer every request of the routes of their Ingress: the URL is
the whole answer, and no path is appended unless the URL has a variable such as ``$request_uri``.  If both stand there, the temporal
one counts.  ``app-root`` answers requests for ``/`` alone, of the whole host.  All of them come before the redirect to HTTPS, and before
anybody is asked who he is.  They need no backend: a rule without ``http`` is answered, too.

A URL is ``http``, ``https``, or begins with a slash.  The latter is completed by the host that was asked for, unless
``relative-redirects`` leaves that to the client (RFC 9110 section 10.2.2).

A path of the Ingress's own below ``/.well-known/acme-challenge/`` is not redirected: whoever solves challenges of ACME put it there.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import ClassVar, Final

from ingress.annotations.contract.route_constants import OF_PATH, route_constants
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Remark, Risk, ValueRefused, parse_boolean
from ingress.annotations.redirects.https_redirect import ACME_CHALLENGES, parse_status
from ingress.filter_parts.judging import Judging
from ingress.filter_parts.redirecting import MAX_LOCATION, NO_HOST, TOO_LONG, redirect
from ingress.filters import Facts, Filter, FilterSpec, Phase, Reply, Services
from ingress.model.frozen import frozen
from ingress.model.requests.templates import NO_TEXT, Template, TemplateRefused, read_template

APP_ROOT: Final = "app-root"
PERMANENT: Final = 301
TEMPORAL: Final = 302

_begins_url = re.compile(r"(?:https?|\$scheme|\$\{scheme\})://[^/?#\\\s]", re.IGNORECASE).match
_has_credentials = re.compile(r"[a-z${}]+://[^/?#]*@", re.IGNORECASE).match
_match_slashes = re.compile(rb"[/\\][/\\\t]*").match
"""Behind more of these than one, which need not be slashes, browsers look for a host; they drop tabs."""
_is_root = re.compile(r"/[A-Za-z0-9\-._~!$&'()*+,;=:@%/?#]*").fullmatch
_match_fixed = re.compile(
    r"https?://(?P<host>[^/?#:$]+)(?::[0-9]*)?(?:(?:[/?#]|\$\{(?:request_|document_)?uri\}).*)?",
    re.DOTALL | re.IGNORECASE,
).fullmatch
_VISITORS: Final = frozenset(
    {"http_", "arg_", "cookie_", "args", "query_string", "uri", "document_uri", "request", "request_uri"}
)
_WITH_SLASH: Final = frozenset({"uri", "document_uri", "request_uri"})


@frozen
class UrlRedirectSettings:
    """What the annotations of one Ingress say about redirects to elsewhere."""

    permanent: Template = NO_TEXT
    permanent_code: int = PERMANENT
    temporal: Template = NO_TEXT
    temporal_code: int = TEMPORAL
    relative: bool = False
    app_root: str = ""

    @property
    def location(self) -> Template:
        """Where every request is sent; empty for nowhere."""
        return self.temporal if self.temporal.parts else self.permanent

    @property
    def status(self) -> int:
        """What it is sent there with."""
        return self.temporal_code if self.temporal.parts else self.permanent_code


def parse_location(text: str) -> Template:
    """Read a URL with variables; raises ``ValueRefused`` for what leads nowhere, or would say a password to everybody."""
    text = text.strip()
    if not text.startswith("/") and _begins_url(text) is None:
        raise ValueRefused('is no URL of http or https, nor a path; write "https://example.com$request_uri"')
    if _has_credentials(text) is not None:
        raise ValueRefused("has a user or a password, which every visitor would be told")
    if any(character.isspace() for character in text):
        raise ValueRefused("has a space in it")
    try:
        return read_template(text)
    except TemplateRefused as refusal:
        raise ValueRefused(str(refusal)) from None


def parse_root(text: str) -> str:
    """Read the path that ``/`` is redirected to, perhaps with a query."""
    text = text.strip()
    if len(text) > 4096 or _is_root(text) is None:
        raise ValueRefused('is no path; write "/app"')
    if text.startswith("//"):
        raise ValueRefused("begins with two slashes, behind which a browser would look for a host")
    return text


@frozen
class UrlRedirect:
    """Answers every request with a redirect to *location*, which is completed by the host unless it *is_relative*."""

    phase: ClassVar[Phase] = Phase.REDIRECT
    name: ClassVar[str] = "redirect"

    location: Template
    status: int = PERMANENT
    is_relative: bool = False

    def describe(self) -> str:
        """Say where requests are sent."""
        return f"answers {self.status} to {self.location}"

    def make(self, services: Services) -> Filter:
        """Make the filter that redirects."""
        fixed = self.location.text
        if fixed is None or fixed.startswith(b"/"):
            return Judging(self.judge)
        reply = redirect(self.status, fixed)
        return Judging(lambda facts: reply)

    def judge(self, facts: Facts) -> Reply | None:
        """Send a request elsewhere.

        A variable cannot end the field.  Where the location is a path, it stays one: what a visitor says cannot make
        a host of its beginning.
        """
        location = self.location.render(facts).strip(b" \t")
        if len(location) > MAX_LOCATION:
            return TOO_LONG
        first = self.location.parts[0].text
        if first.startswith(b"/"):
            slashes = _match_slashes(location)
            if slashes is not None and not first.startswith(b"//"):
                location = b"/" + location[slashes.end() :]
            if not self.is_relative:
                beginning = _requested(facts)
                if not beginning:
                    return NO_HOST
                location = beginning + location
        return redirect(self.status, location)


@frozen
class AppRoot:
    """Answers requests for ``/`` with a redirect to *path* of the same host."""

    phase: ClassVar[Phase] = Phase.SERVER
    name: ClassVar[str] = APP_ROOT

    path: bytes

    def describe(self) -> str:
        """Say where they are sent."""
        return f"answers {TEMPORAL} to {self.path.decode()} for /"

    def make(self, services: Services) -> Filter:
        """Make the filter that redirects."""
        return Judging(self.judge)

    def judge(self, facts: Facts) -> Reply | None:
        """Send a request for ``/`` to the application; its query is not repeated, as in ingress-nginx."""
        if facts.path != b"/":
            return None
        beginning = _requested(facts)
        return redirect(TEMPORAL, beginning + self.path) if beginning else NO_HOST


def _requested(facts: Facts) -> bytes:
    """Return scheme and authority as the client asked for them; empty where it named no host."""
    authority = facts.field(b"host") or facts.host
    return b"%b://%b" % (facts.scheme, authority) if authority else b""


@lru_cache(maxsize=1024)
def _redirects(location: Template, status: int, is_relative: bool) -> tuple[FilterSpec, ...]:
    return (UrlRedirect(location, status, is_relative),)


@lru_cache(maxsize=1024)
def _app_root(path: str) -> tuple[FilterSpec, ...]:
    return (AppRoot(path.encode("ascii")),)


def url_redirect_filters(settings: UrlRedirectSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return the redirects of a route."""
    if facts.path.encode("utf-8", "replace").startswith(ACME_CHALLENGES):
        return ()
    specs: tuple[FilterSpec, ...] = _app_root(settings.app_root) if settings.app_root else ()
    location = settings.location
    if location.parts:
        bound = location.bound(route_constants(facts)) if location.variables & _CONSTANTS else location
        specs += _redirects(bound, settings.status, settings.relative)
    return specs


_CONSTANTS: Final = OF_PATH | {"ingress_name", "namespace", "server_name"}


def answers_everything(settings: UrlRedirectSettings) -> bool:
    """Whether every request is answered, so that no backend is ever needed."""
    return bool(settings.location.parts)


def url_redirect_remarks(settings: UrlRedirectSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Tell who can be sent anywhere, and what does not count."""
    for name, location in (
        ("temporal-redirect", settings.temporal),
        ("permanent-redirect", settings.permanent),
    ):
        if name in names and is_open_redirect(location):
            yield Remark(name, "whoever makes a link decides to which host this redirect leads")
    if settings.temporal.parts and settings.permanent.parts:
        yield Remark("permanent-redirect", "temporal-redirect counts, which stands beside it")


def is_open_redirect(location: Template) -> bool:
    """Whether a variable that visitors choose stands where the host is."""
    before = b""
    for variable, text in location.parts:
        if variable:
            if variable in _VISITORS and not (variable in _WITH_SLASH and before.rpartition(b"://")[2]):
                return True
            if variable in _WITH_SLASH:
                return False
            before += b"x"
        else:
            before += text
            if b"/" in before.replace(b"://", b"", 1) or before.startswith(b"/"):
                return False
    return False


def leads_to_itself(settings: UrlRedirectSettings, hosts: Iterable[str]) -> tuple[str, str] | None:
    """Return the annotation that redirects one of *hosts* to itself, and what is to be said of it; None for none."""
    match = _match_fixed(str(settings.location))
    host = None if match is None else next((one for one in hosts if one == match["host"].lower()), None)
    if host is None:
        return None
    name = "temporal-redirect" if settings.temporal.parts else "permanent-redirect"
    return (
        name,
        f"{name}: leads to {host} again, which has this redirect itself; browsers give up after some twenty",
    )


_LOCATION: Final = "a URL of http or https, or a path, with variables such as $request_uri; none"

URL_REDIRECTS: Final = Family(
    name="url_redirects",
    settings=UrlRedirectSettings(),
    acts="redirects requests elsewhere",
    phases=(Phase.SERVER, Phase.REDIRECT),
    filters=url_redirect_filters,
    by_path=True,
    remarks=url_redirect_remarks,
    answers=answers_everything,
    annotations={
        "permanent-redirect": Annotation(
            "permanent",
            parse_location,
            instead="nothing is redirected",
            values=_LOCATION,
            meaning="answers all requests with 301 and this URL, also those for rules without http",
            differs="a path for ACME challenges is not redirected",
            risk=Risk.MEDIUM,
        ),
        "permanent-redirect-code": Annotation(
            "permanent_code",
            parse_status,
            values="301, 302, 303, 307 or 308; 301",
            meaning="the status of permanent-redirect",
        ),
        "temporal-redirect": Annotation(
            "temporal",
            parse_location,
            instead="nothing is redirected",
            values=_LOCATION,
            meaning="answers all requests with 302 and this URL; counts where `permanent-redirect` is there, too",
            differs="a path is allowed; a path for ACME challenges is not redirected",
            risk=Risk.MEDIUM,
        ),
        "temporal-redirect-code": Annotation(
            "temporal_code",
            parse_status,
            values="301, 302, 303, 307 or 308; 302",
            meaning="the status of temporal-redirect",
        ),
        "relative-redirects": Annotation(
            "relative",
            parse_boolean,
            operators=True,
            values="boolean; false",
            meaning="sends a path in a redirect as it is, and does not complete it by scheme and host; also one of a"
            " configuration-snippet, and of proxy-redirect-to",
        ),
        APP_ROOT: Annotation(
            "app_root",
            parse_root,
            instead="nothing is redirected",
            values="a path; none",
            meaning="answers requests for / with 302 and this path",
            risk=Risk.MEDIUM,
        ),
    },
)
