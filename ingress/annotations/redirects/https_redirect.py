"""The redirect from HTTP to HTTPS: ``ssl-redirect``, ``force-ssl-redirect``, ``preserve-trailing-slash``.

``ssl-redirect`` is on unless an Ingress turns it off, and holds for hosts that ``spec.tls``
speaks for.  ``force-ssl-redirect`` is off unless an Ingress turns it on, and holds for all
hosts.  The operator may have both the other way around; an Ingress that says something has
the last word.  Which hosts ``spec.tls`` speaks for is known when a route is built, so the
route of any other host has no such filter.

As in ingress-nginx, the slash at the end of a path is not repeated in the location,
unless ``preserve-trailing-slash`` says so, or the operator wants no quirks.  Where a query follows the path, all of the
target is repeated: ingress-nginx would cut a slash off the end of the query.

ACME challenges (RFC 8555 section 8.3) are exempt: an authority asks for them over
HTTP at the very time when a host has no good certificate yet.  So are paths of rules that begin as the
operator's ``no-tls-redirect-locations`` says.
"""

from functools import lru_cache
from typing import ClassVar, Final

from ingress.annotations.contract.host_facts import EVERY_HOST, CertifiedHosts
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import (
    Annotation,
    Family,
    Risk,
    ValueRefused,
    parse_boolean,
    parse_locations,
)
from ingress.filter_parts.judging import Judging
from ingress.filter_parts.redirecting import NO_HOST
from ingress.filters import Filter, FilterSpec, Phase, Reply, Services
from ingress.model.frozen import frozen
from ingress.model.requests.request_facts import RequestedUri

HTTPS_PORT: Final = 443
PERMANENT: Final = 308
STATUSES: Final = frozenset({301, 302, 303, 307, 308})
"""Those that nginx sends a location with."""
ACME_CHALLENGES: Final = b"/.well-known/acme-challenge/"

_IN_THE_CLEAR: Final = frozenset({b"http"})
_BODY: Final = b"This site is served over HTTPS.\n"


@frozen
class RedirectSettings:
    """What the annotations of one Ingress say about redirects."""

    ssl_redirect: bool = True
    force_ssl_redirect: bool = False
    preserve_trailing_slash: bool = False
    status: int = PERMANENT
    """That of the redirect, for the operator to say."""
    exempt: tuple[str, ...] = ()
    """What the paths of rules begin with that are never redirected, for the operator to say."""


@frozen
class HttpsRedirect:
    """Answers plain HTTP with *status* and the same host and target over HTTPS.

    308 keeps method and body (RFC 9110 section 15.4.9).  *port* is where browsers
    reach our HTTPS; *hosts* None means every host of the route.
    """

    phase: ClassVar[Phase] = Phase.REDIRECT
    name: ClassVar[str] = "https-redirect"

    port: int = HTTPS_PORT
    hosts: CertifiedHosts | None = None
    keeps_slash: bool = False
    status: int = PERMANENT

    def describe(self) -> str:
        """Say where plain HTTP is sent."""
        hosts = "" if self.hosts is None else " for the hosts that have certificates"
        port = "" if self.port == HTTPS_PORT else f" on port {self.port}"
        status = "" if self.status == PERMANENT else f" with {self.status}"
        return f"sends plain HTTP{hosts} to HTTPS{port}{status}"

    def make(self, services: Services) -> Filter:
        """Make the filter that redirects."""
        return Judging(self.judge, _IN_THE_CLEAR)

    def judge(self, request: RequestedUri) -> Reply | None:
        """Redirect *request* if it came in the clear and its host can do better.

        The host has passed the grammar of hosts and the target that of targets, so
        neither can hold what would end a header field; the target begins with a
        slash, or is empty, and so cannot change the authority it is put behind.
        """
        if request.scheme != b"http" or request.path.startswith(ACME_CHALLENGES):
            return None
        host = request.host
        if self.hosts is not None and host not in self.hosts:
            return None
        if not host:
            return NO_HOST
        target = request.target
        if not target.startswith(b"/"):
            target = b"/"
        if not self.keeps_slash and target.endswith(b"/") and b"?" not in target:
            target = target[:-1]
        port = b"" if self.port == HTTPS_PORT else b":%d" % self.port
        location = b"https://%b%b%b" % (request.public_host, port, target)
        return Reply(self.status, ((b"Location", location), (b"Content-Type", b"text/plain")), _BODY)


def parse_status(text: str) -> int:
    """Read the status of a redirect; raises ``ValueRefused`` for what is none."""
    if text.strip() not in map(str, STATUSES):
        raise ValueRefused(
            f"is no status of a redirect; write one of {', '.join(map(str, sorted(STATUSES)))}"
        )
    return int(text)


def parse_exempt(text: str) -> tuple[str, ...]:
    """Read beginnings of paths, with commas in between, but for that of challenges, which needs no word."""
    challenges = ACME_CHALLENGES.decode().rstrip("/")
    return tuple(one for one in parse_locations(text) if one.rstrip("/") != challenges)


@lru_cache(maxsize=64)
def _everywhere(port: int, keeps_slash: bool, status: int) -> tuple[FilterSpec, ...]:
    """Return the one value for all routes that redirect on every host, which are nearly all."""
    return (HttpsRedirect(port, None, keeps_slash, status),)


def redirect_filters(settings: RedirectSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return the redirect of a route, none where it never redirects."""
    host = facts.host
    hosts = host.certified
    if settings.force_ssl_redirect:
        hosts = EVERY_HOST
    elif not settings.ssl_redirect:
        hosts = None
    keeps_slash = settings.preserve_trailing_slash or host.keeps_slash
    if hosts is None or facts.path.startswith(settings.exempt):
        return ()
    if hosts is EVERY_HOST:
        return _everywhere(host.https_port, keeps_slash, settings.status)
    return (HttpsRedirect(host.https_port, hosts, keeps_slash, settings.status),)


REDIRECTS: Final = Family(
    name="redirects",
    settings=RedirectSettings(),
    acts="redirects plain HTTP",
    phases=(Phase.REDIRECT,),
    filters=redirect_filters,
    filters_unasked=True,
    by_path=True,
    by_path_where=lambda settings: bool(settings.exempt),
    options={
        "no-tls-redirect-locations": Annotation(
            "exempt",
            parse_exempt,
            values="beginnings of paths, with commas; none",
            meaning="which paths of rules are not redirected to HTTPS, by what they begin with, besides requests below `/.well-known/acme-challenge/`, which never are",
        ),
        "http-redirect-code": Annotation(
            "status",
            parse_status,
            values="301, 302, 303, 307 or 308; 308",
            meaning="the status of redirects to HTTPS, and of those between a host and its www. one",
        ),
    },
    annotations={
        "ssl-redirect": Annotation(
            "ssl_redirect",
            parse_boolean,
            operators=True,
            values="`true` or `false`; true",
            meaning="redirects plain HTTP for hosts of `spec.tls` to HTTPS",
        ),
        "force-ssl-redirect": Annotation(
            "force_ssl_redirect",
            parse_boolean,
            operators=True,
            values="`true` or `false`; false",
            meaning="redirects plain HTTP for all hosts to HTTPS",
            risk=Risk.MEDIUM,
        ),
        "preserve-trailing-slash": Annotation(
            "preserve_trailing_slash",
            parse_boolean,
            operators=True,
            values="`true` or `false`; false",
            meaning="repeats the slash at the end of a path in redirects to HTTPS, and between a host and its `www.` one",
            risk=Risk.MEDIUM,
        ),
    },
)
