"""What is honored, and lets in, shows or passes on what it had better not: what reviewers of Ingresses look for."""

import re
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Final

from ingress.annotations.access.address_ranges import ADDRESS_RANGES
from ingress.annotations.access.satisfy import SATISFY
from ingress.annotations.annotations import FAMILIES, AnnotationSettings
from ingress.annotations.answers.cors import CORS
from ingress.annotations.client_certificates.family import CLIENT_CERTIFICATES, SECRET_ANNOTATION
from ingress.annotations.contract.values import Risk, quoted
from ingress.annotations.external_auth.family import EXTERNAL_AUTH
from ingress.annotations.passwords.family import PASSWORDS
from ingress.annotations.rate_limits.family import RATE_LIMITS
from ingress.annotations.redirects.https_redirect import HttpsRedirect
from ingress.annotations.redirects.url_redirects import URL_REDIRECTS, is_open_redirect
from ingress.annotations.requests.bodies import BODIES
from ingress.annotations.upstream.backend_protocols import UPSTREAMS, BackendProtocol
from ingress.ctl.lint.finding import Finding
from ingress.ctl.lint.rules import (
    ALLOWS_EVERYBODY,
    ANY_CERTIFICATE,
    ANYONE_SATISFIES,
    AUTH_OVER_HTTP,
    BODY_WITHOUT_LIMIT,
    CERTIFICATE_NOT_REQUIRED,
    CORS_EVERYBODY,
    CORS_NULL,
    CRITICAL_RISK,
    MIRROR_OVER_HTTP,
    OPEN_REDIRECT,
    PASSWORDS_OVER_HTTP,
    SHARED_VERDICTS,
    UPSTREAM_NOT_VERIFIED,
)
from ingress.ctl.lint.survey import Subject, Survey
from ingress.model.frozen import frozen
from ingress.model.network.networks import Network, read_network
from ingress.model.requests.client_authentication import VerifyClient
from ingress.wording import first_of

_EVERYBODY: Final = frozenset(map(read_network, ("0.0.0.0/0", "::/0")))
_CRITICAL: Final = frozenset(
    name for family in FAMILIES for name, row in family.annotations.items() if row.risk is Risk.CRITICAL
)
_URL = re.compile(r"(?i)http://(?:[^/@?#]*@)?(?P<host>\[[^\]]*\]|[^/:?#$]*)").match
_NEAR: Final = (".svc", ".svc.cluster.local", ".cluster.local", ".local", ".internal", ".localhost", ".test")
_PUBLIC: Final = frozenset({"app", "ch", "cloud", "com", "de", "dev", "eu", "fr", "io", "net", "org", "uk"})
_TELLING_APART: Final = frozenset(
    {
        "http_",
        "cookie_",
        "remote_user",
        "arg_",
        "args",
        "query_string",
        "request",
        "request_uri",
        "escaped_request_uri",
        "ssl_client_escaped_cert",
        "ssl_client_fingerprint",
        "ssl_client_s_dn",
        "ssl_client_serial",
    }
)
"""The variables by which visitors may be told apart; the names end where they are open."""
_TLS: Final = (BackendProtocol.HTTPS, BackendProtocol.GRPCS)


def check_safety(survey: Survey, subject: Subject) -> Iterator[Finding]:
    """Yield what is unsafe about the annotations of an object."""
    parsed = subject.parsed
    if parsed is None or not subject.annotations:
        return
    settings = parsed.settings
    for some in (
        _passwords(subject, settings),
        _external(subject, settings),
        _addresses(subject, settings),
        _cors(subject, settings),
        _endpoints(subject, settings),
        _redirects(subject, settings),
        _clients(subject, settings),
        _others(subject, settings),
    ):
        yield from some


def _passwords(subject: Subject, settings: AnnotationSettings) -> Iterator[Finding]:
    asked = settings.of(PASSWORDS)
    if asked.scheme is None and asked.secret is None:
        return
    hosts = dict.fromkeys(
        route.host or "all hosts"
        for route in subject.routes
        if not any(isinstance(spec, HttpsRedirect) for spec in route.filters)
    )
    if hosts:
        shown = first_of(list(hosts), 3)
        name = "auth-type" if subject.says("auth-type") else "auth-secret"
        yield subject.found(
            PASSWORDS_OVER_HTTP,
            f"passwords are asked for over plain HTTP, too, on {shown}",
            subject.field(name),
        )


def _external(subject: Subject, settings: AnnotationSettings) -> Iterator[Finding]:
    for name, what in (("auth-url", "is asked who may come in"), ("auth-signin", "has visitors sign in")):
        host = _far_host(subject.annotations.get(name, ""))
        if host:
            yield subject.found(
                AUTH_OVER_HTTP,
                f"{host} {what} over plain HTTP, where anybody on the way may read and answer",
                subject.field(name),
            )
    key = settings.of(EXTERNAL_AUTH).cache_key
    if (
        key is not None
        and key.parts
        and subject.says("auth-url")
        and key.variables.isdisjoint(_TELLING_APART)
    ):
        yield subject.found(
            SHARED_VERDICTS,
            f"{quoted(subject.annotations.get('auth-cache-key', ''))} is the same for visitors who are not: one is let in on another's verdict",
            subject.field("auth-cache-key"),
        )
    target = _far_host(subject.annotations.get("mirror-target", ""))
    if target:
        yield subject.found(
            MIRROR_OVER_HTTP,
            f"copies of requests, with cookies and passwords, go to {target} over plain HTTP",
            subject.field("mirror-target"),
        )


def _addresses(subject: Subject, settings: AnnotationSettings) -> Iterator[Finding]:
    ranges, limits = settings.of(ADDRESS_RANGES), settings.of(RATE_LIMITS)
    is_older = ranges.allowlist is None or ranges.is_left_to_older_name
    name = "whitelist-source-range" if is_older else "allowlist-source-range"
    everybody = _everybody(ranges.allowed)
    if everybody and subject.says(name):
        if settings.of(SATISFY).is_any and _asks(settings):
            yield subject.found(
                ANYONE_SATISFIES,
                f"satisfy: any lets in whom {name} has, and {everybody.words}: no password is asked for, and nobody is asked about"
                f" them{everybody.but('are asked')}",
                subject.field("satisfy"),
            )
        yield subject.found(
            ALLOWS_EVERYBODY,
            f"{everybody.words}, so {everybody.nobody} is kept out{everybody.but('are answered 403')}",
            subject.field(name),
        )
    denied = _everybody(ranges.denylist)
    if denied and subject.says("denylist-source-range"):
        yield subject.found(
            ALLOWS_EVERYBODY,
            f"{denied.words}, so {denied.all} answered 403{denied.but('are not')}",
            subject.field("denylist-source-range"),
        )
    for name, exempt in (("limit-allowlist", limits.allowlist), ("limit-whitelist", limits.whitelist)):
        found = _everybody(exempt)
        if found and subject.says(name):
            yield subject.found(
                ALLOWS_EVERYBODY,
                f"{found.words}, so {found.nobody} is limited{found.but('are')}",
                subject.field(name),
            )


def _asks(settings: AnnotationSettings) -> bool:
    passwords = settings.of(PASSWORDS)
    return (
        passwords.scheme is not None
        or passwords.secret is not None
        or settings.of(EXTERNAL_AUTH).url is not None
    )


@frozen
class _Everybody:
    """Who is in a list that has all addresses, of one version of IP or of both."""

    words: str
    others: str = ""
    """Whom it does not have, where that is a version of its own."""

    @property
    def nobody(self) -> str:
        """The subject of a sentence about none of them."""
        return "none of them" if self.others else "nobody"

    @property
    def all(self) -> str:
        """Subject and verb of a sentence about all of them."""
        return "all of them are" if self.others else "everybody is"

    def but(self, what: str) -> str:
        """Return *what* becomes of the others, as the end of a sentence about everybody."""
        return f"; {self.others} {what}" if self.others else ""


def _everybody(ranges: Iterable[Network] | None) -> _Everybody | None:
    """Return who is in *ranges*; None where they have all addresses of neither version."""
    some = tuple(ranges or ())
    whole = [one for one in some if one in _EVERYBODY]
    if len(whole) != 1:
        return _Everybody(f"{whole[0]} and {whole[1]} are everybody") if whole else None
    version = whole[0].version
    other = 6 if version == 4 else 4
    lists_some = any(one.version == other for one in some)
    others = f"clients over IPv{other}{' that it does not list' if lists_some else ''}"
    return _Everybody(f"{whole[0]} is everybody over IPv{version}", others)


def _cors(subject: Subject, settings: AnnotationSettings) -> Iterator[Finding]:
    cors = settings.of(CORS)
    if not cors.enabled:
        return
    if cors.origins.is_everybody and cors.credentials and subject.says("cors-allow-credentials"):
        yield subject.found(
            CORS_EVERYBODY,
            "all origins are allowed, and credentials besides: browsers send none then, and a list of origins is what is meant",
            subject.field("cors-allow-credentials"),
        )
    if b"null" in cors.origins.exact:
        yield subject.found(
            CORS_NULL,
            "null is what any page says of itself that is in a sandbox or a file, so any page is allowed",
            subject.field("cors-allow-origin"),
        )


def _endpoints(subject: Subject, settings: AnnotationSettings) -> Iterator[Finding]:
    asked = settings.of(UPSTREAMS)
    is_tls = asked.protocol in _TLS or (asked.protocol is None and asked.secure_backends)
    if is_tls and not asked.verify:
        name = "proxy-ssl-verify" if subject.says("proxy-ssl-verify") else "backend-protocol"
        name = name if subject.says(name) else "secure-backends"
        yield subject.found(
            UPSTREAM_NOT_VERIFIED,
            "endpoints are spoken to over TLS, and whatever certificate they have is taken",
            subject.field(name),
        )


def _redirects(subject: Subject, settings: AnnotationSettings) -> Iterator[Finding]:
    asked = settings.of(URL_REDIRECTS)
    for name, location in (("permanent-redirect", asked.permanent), ("temporal-redirect", asked.temporal)):
        if subject.says(name) and is_open_redirect(location):
            yield subject.found(
                OPEN_REDIRECT,
                "whoever makes a link decides to which host this redirect leads",
                subject.field(name),
            )


def _clients(subject: Subject, settings: AnnotationSettings) -> Iterator[Finding]:
    asked = settings.of(CLIENT_CERTIFICATES)
    if (
        asked.secret is None
        or not subject.says(SECRET_ANNOTATION)
        or not subject.says("auth-tls-verify-client")
    ):
        return
    field = subject.field("auth-tls-verify-client")
    if asked.mode is VerifyClient.OPTIONAL_NO_CA:
        yield subject.found(
            ANY_CERTIFICATE, "certificates of any authority are let in, and those without one", field
        )
    elif asked.mode is not VerifyClient.REQUIRED:
        yield subject.found(
            CERTIFICATE_NOT_REQUIRED, "who shows no certificate is let in, for the endpoint to judge", field
        )


def _others(subject: Subject, settings: AnnotationSettings) -> Iterator[Finding]:
    if subject.says("proxy-body-size") and settings.of(BODIES).max_bytes == 0:
        yield subject.found(
            BODY_WITHOUT_LIMIT, "request bodies may be of any size", subject.field("proxy-body-size")
        )
    for name in subject.annotations:
        if name in _CRITICAL and subject.says(name):
            yield subject.found(
                CRITICAL_RISK,
                f"{name} is graded Critical: ingress-nginx takes it only with allow-snippet-annotations; here it is read as data,"
                " and never executed",
                subject.field(name),
            )


def _far_host(text: str) -> str:
    """Return the host of a URL of plain HTTP that leads out of the cluster, as far as its name tells; empty for others."""
    found = _URL(text.strip()[:4096]) if text else None
    host = "" if found is None else found["host"].lower().rstrip(".")
    if not host or host.endswith(_NEAR):
        return ""
    try:
        return "" if ip_address(host.strip("[]")).is_private else host
    except ValueError:
        labels = host.split(".")
    # A name of two labels is mostly that of a Service and its namespace.
    return host if len(labels) > 2 or (len(labels) == 2 and labels[1] in _PUBLIC) else ""
