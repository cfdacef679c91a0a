"""External authentication: ``auth-url`` and its family, and the operator's ``global-auth-url``.

What is asked and what becomes of the answer is in ``check``; here it is read what there is to ask, and whether.  An
Ingress with an ``auth-url`` of its own goes by its own annotations alone; any other goes by what the operator says for
all, unless it says ``enable-global-auth: "false"``, as in ingress-nginx.

What cannot be read as it was meant must not open anything: a URL, a method, a list of fields, or a snippet that is
refused has the paths answer 503.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from attrs import evolve

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.contract.asked_urls import (
    ANYWHERE,
    AllowedTargets,
    check_base,
    fault_of_host,
    parse_targets,
    split_url,
)
from ingress.annotations.contract.references import Found, Reference
from ingress.annotations.contract.route_constants import route_constants
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import (
    Annotation,
    Family,
    Remark,
    Risk,
    ValueRefused,
    parse_boolean,
    parse_locations,
    parse_object_key_or_nothing,
    quoted,
)
from ingress.annotations.external_auth.cache import NO_DURATIONS, parse_durations
from ingress.annotations.external_auth.check import AuthCaching, ExternalAuth
from ingress.annotations.external_auth.settings import REFUSED, AuthSettings, Refused
from ingress.annotations.external_auth.values import (
    parse_auth_url,
    parse_key,
    parse_method,
    parse_names,
    parse_number,
    parse_own_signin,
    parse_parameter,
    parse_redirect,
    parse_seconds,
    parse_sharing,
    parse_signin,
    parse_snippet,
    read_fields,
    signin_template,
    visitors_host,
)
from ingress.filters import FilterSpec, Phase
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.requests.reserved_fields import RESERVED_FIELDS_OF_REQUESTS
from ingress.model.requests.templates import Template, TemplateRefused

_CLOSES: Final = "the paths that auth-url guards answer 503 rather than be open"
_NO_SIGNIN: Final = "who is not known gets 401"


@lru_cache(maxsize=1024)
def _signin_page(page: str, parameter: str, declared: frozenset[str]) -> Template | str | None:
    """Return where those are sent who are not known; None for nowhere, or what of *page* cannot be had."""
    try:
        return signin_template(page, parameter, declared) if page else None
    except TemplateRefused as refusal:
        return str(refusal)


# What becomes of them


def auth_filters(settings: AuthSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return the check of a route: its own, or the operator's; none where nobody is to be asked."""
    if settings.url is not None:
        return (_check(settings, facts, is_operators=False),)
    if settings.global_url is None or not settings.is_global or facts.owner is None:
        return ()
    return (_check(settings.of_operator, facts, is_operators=True),)


def auth_guards(settings: AuthSettings) -> bool:
    """Whether anybody is asked."""
    return settings.url is not None or (settings.global_url is not None and settings.is_global)


def _check(settings: AuthSettings, facts: RouteFacts, *, is_operators: bool) -> FilterSpec:
    url, method, headers = settings.url, settings.method, settings.response_headers
    if (
        not isinstance(url, Template)
        or isinstance(method, Refused)
        or isinstance(headers, Refused)
        or isinstance(settings.snippet, Refused)
        or isinstance(settings.config_map, Refused)
    ):
        return GuardMissing()
    if _chosen_by(url, settings.allowed, facts.host.host):
        return GuardMissing()
    constants = route_constants(facts)
    url = url.bound(constants)
    base, _ = split_url(url)
    try:
        if base:
            check_base(base)
        if base and not is_operators and fault_of_host(base, settings.allowed):
            return GuardMissing()
        # Of those with one name that of the snippet counts.
        told = {
            name.lower(): (name, value) for name, value in (*_told(settings, facts), *settings.snippet.fields)
        }
    except ValueRefused:
        # Of the constants of the route came no host; or what is to be told the service is not there, and was told of.
        return GuardMissing()
    signin = _signin_page(settings.signin, settings.signin_parameter, settings.snippet.variables)
    return ExternalAuth(
        url,
        method,
        signin.bound(constants) if isinstance(signin, Template) else None,
        tuple(name for name in headers if name.lower() not in RESERVED_FIELDS_OF_REQUESTS),
        settings.request_redirect.bound(constants),
        fields=tuple((name, value.bound(constants)) for name, value in told.values()),
        caching=_caching(settings, facts, constants),
        always_sets_cookie=settings.always_sets_cookie,
        seconds=settings.seconds,
        verifies=settings.verifies,
        allowed=settings.allowed,
        is_operators=is_operators,
    )


def _chosen_by(url: Template, allowed: AllowedTargets, host: str) -> str:
    """Return the variable by which visitors of *host* choose who is asked about them, unless it is *allowed* in so many words."""
    return "" if allowed != ANYWHERE else visitors_host(url, is_named=bool(host))


def visitors_choose(settings: AuthSettings, hosts: Iterable[str]) -> str:
    """Return what is to be said of an Ingress with rules for *hosts* whose visitors choose who is asked; empty where they do not."""
    if isinstance(settings.url, Template):
        name, url, allowed = "auth-url", settings.url, settings.allowed
    elif settings.url is None and settings.is_global and isinstance(settings.global_url, Template):
        name, url, allowed = "global-auth-url", settings.global_url, ANYWHERE
    else:
        return ""
    for host in hosts:
        chosen = _chosen_by(url, allowed, host)
        if chosen:
            where = "" if host else ", where no rule names it"
            return f"{name}: visitors choose {chosen} in its host{where}; {_CLOSES}"
    return ""


def _told(settings: AuthSettings, facts: RouteFacts) -> tuple[tuple[str, Template], ...]:
    """Return what the service is told besides; raises ``ValueRefused`` where that cannot be had."""
    if settings.config_map is None or facts.owner is None:
        return ()
    for reference in auth_references(settings, facts.owner.key):
        content = facts.found.config_map(reference)
        if content is not None:
            return read_fields(content)
    raise ValueRefused("is not there")


def auth_references(settings: AuthSettings, asking: ObjectKey) -> Iterable[Reference]:
    """Name the ConfigMap with what the service is told."""
    named = settings.config_map
    if settings.url is not None and isinstance(named, ObjectKey):
        key = ObjectKey(named.namespace or asking.namespace, named.name)
        yield Reference(Kind.CONFIG_MAP, key, "auth-proxy-set-headers", without=_CLOSES)


def auth_contents(settings: AuthSettings, asking: ObjectKey, found: Found) -> Iterable[Remark]:
    """Tell of what in that ConfigMap is no field."""
    for reference in auth_references(settings, asking):
        content = found.config_map(reference)
        try:
            read_fields({} if content is None else content)
        except ValueRefused as refusal:
            message = f"ConfigMap {reference.key} {refusal}; {_CLOSES}"
            yield Remark(reference.annotation, message, Reason.INVALID_ANNOTATION)


def _caching(settings: AuthSettings, facts: RouteFacts, constants: Mapping[str, str]) -> AuthCaching | None:
    if settings.cache_key is None or not settings.durations.seconds:
        return None
    return AuthCaching(
        settings.cache_key.bound(constants), settings.durations, f"{facts.host.host}{facts.path}"
    )


# What is to be told

_MEANS_NOTHING_ALONE: Final = (
    "auth-signin",
    "auth-response-headers",
    "auth-method",
    "auth-request-redirect",
    "auth-cache-key",
    "auth-always-set-cookie",
    "auth-proxy-set-headers",
)


def auth_remarks(settings: AuthSettings, names: frozenset[str]) -> Iterable[Remark]:
    """Say what of the annotations of one Ingress means nothing, or cannot be had, as they stand together."""
    if settings.url is None:
        alone = [name for name in _MEANS_NOTHING_ALONE if name in names]
        if alone:
            also = f"; nor {'does' if len(alone) == 2 else 'do'} {', '.join(alone[1:])}" if alone[1:] else ""
            operators = (
                ", and the operator's global-auth-url goes by the operator's own"
                if settings.global_url
                else ""
            )
            yield Remark(alone[0], f"means nothing without auth-url{operators}{also}")
        return
    if "auth-cache-duration" in names and settings.cache_key is None:
        yield Remark("auth-cache-duration", "means nothing without auth-cache-key: no verdict is remembered")
    if not isinstance(settings.response_headers, Refused):
        reserved = [name for name in settings.response_headers if name.lower() in RESERVED_FIELDS_OF_REQUESTS]
        if reserved:
            message = f"{', '.join(reserved)} frame a message or belong to a connection, and are never taken from an answer"
            yield Remark("auth-response-headers", message)
    if not isinstance(settings.snippet, Refused):
        fault = _signin_page(settings.signin, settings.signin_parameter, settings.snippet.variables)
        if isinstance(fault, str):
            message = f"{quoted(settings.signin)} {fault}; {_NO_SIGNIN}"
            yield Remark("auth-signin", message, Reason.INVALID_ANNOTATION)
        if settings.snippet.variables:
            empty = ", ".join(f"${name}" for name in sorted(settings.snippet.variables))
            message = f"auth_request_set fills nothing there, as in ingress-nginx: empty is {empty}"
            yield Remark("auth-snippet", message)
    if isinstance(settings.url, Template):
        base, _ = split_url(settings.url)
        fault = fault_of_host(base, settings.allowed) if base else ""
        if fault:
            message = f"{fault}; its paths answer 503 rather than be open"
            yield Remark("auth-url", message, Reason.INVALID_ANNOTATION, closes=True)


_TEXT: Final = "text with variables"
_NAMES: Final = "names of fields, with commas"

_ASKING: Final[Mapping[str, Annotation]] = {
    "auth-url": Annotation(
        "url",
        parse_auth_url,
        refused=REFUSED,
        instead=_CLOSES,
        values="URL of http or https, with variables",
        meaning="asks a service about each request, which passes with 2xx, gets 401 or 403 as the service says, and else 500",
        differs="connections to the service are kept; `Host` has its port where that is not the usual one; `X-Forwarded-Proto` and "
        "`-Host` are told, too; rules for addresses hold",
        risk=Risk.HIGH,
    ),
    "auth-method": Annotation(
        "method",
        parse_method,
        refused=REFUSED,
        instead=_CLOSES,
        values="GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS; GET",
        meaning="asks the service by this method, and tells it `X-Original-URI`",
    ),
    "auth-signin": Annotation(
        "signin",
        parse_own_signin,
        instead=_NO_SIGNIN,
        values="URL of http or https, or a path of the host that was asked, with variables",
        meaning="sends whom the service answers 401 there, with 302 and the way back in `rd`; and who shows no password, where one is asked for",
        differs="clients of gRPC get 401 as `grpc-status: 16`",
        risk=Risk.HIGH,
    ),
    "auth-signin-redirect-param": Annotation(
        "signin_parameter",
        parse_parameter,
        values="name of a parameter; `rd`",
        meaning="has the way back in this parameter of the sign-in page",
        risk=Risk.MEDIUM,
    ),
    "auth-response-headers": Annotation(
        "response_headers",
        parse_names,
        refused=REFUSED,
        instead=_CLOSES,
        values=_NAMES,
        meaning="tells the endpoint these fields of the service's answer, and never what the client says under their names",
        differs="fields that frame a message or belong to a connection are never taken",
        risk=Risk.MEDIUM,
    ),
    "auth-request-redirect": Annotation(
        "request_redirect",
        parse_redirect,
        values=f"{_TEXT}; `$request_uri`",
        meaning="tells the service this in `X-Auth-Request-Redirect`",
        risk=Risk.MEDIUM,
    ),
    "auth-cache-key": Annotation(
        "cache_key",
        parse_key,
        instead="no verdict is remembered",
        values=f"{_TEXT}; none",
        meaning="remembers the verdicts of the service by this key, for each path by itself",
        differs="at most 16,384 verdicts and 8 MiB in all; verdicts alone, and none of an answer with `Set-Cookie`",
        risk=Risk.MEDIUM,
    ),
    "auth-cache-duration": Annotation(
        "durations",
        parse_durations,
        refused=NO_DURATIONS,
        instead="no verdict is remembered",
        values="statuses and a time, with commas; `200 202 401 5m`",
        meaning="remembers verdicts for so long",
        risk=Risk.MEDIUM,
    ),
    "auth-always-set-cookie": Annotation(
        "always_sets_cookie",
        parse_boolean,
        values="boolean; false",
        meaning="has cookies of the service go with answers of any status, and not only 200, 201, 204, 206, 301 to 304, 307 and 308",
        differs="each cookie is a field of its own",
    ),
    "auth-snippet": Annotation(
        "snippet",
        parse_snippet,
        refused=REFUSED,
        instead=_CLOSES,
        values="`proxy_set_header NAME VALUE;`, as often as one likes, with variables; `auth_request_set $NAME VALUE;`",
        meaning="tells the service these fields besides; what `auth_request_set` names is a variable, and empty",
        differs="read as data, never executed: any other directive has the paths answer 503, for it may be what the service decides by",
        risk=Risk.CRITICAL,
    ),
}
"""What an Ingress says for itself, and the operator for all others by the name behind ``global-``."""
_OPERATORS_SIGNIN: Final = evolve(_ASKING["auth-signin"], parse=parse_signin)
"""An option is read by itself, whatever others declare."""

_POOLED: Final = "changes nothing: connections to services are always kept, and shared by who asks the same"

EXTERNAL_AUTH: Final = Family(
    name="external_auth",
    settings=AuthSettings(),
    acts="asks another service who may",
    phases=(Phase.ACCESS,),
    filters=auth_filters,
    filters_unasked=True,
    by_path=True,
    remarks=auth_remarks,
    guards=auth_guards,
    authenticates=True,
    references=auth_references,
    contents=auth_contents,
    satisfies=True,
    annotations={
        **_ASKING,
        "auth-proxy-set-headers": Annotation(
            "config_map",
            parse_object_key_or_nothing,
            refused=REFUSED,
            instead=_CLOSES,
            values="name of a ConfigMap of the namespace",
            meaning="tells the service these fields besides; their values may have variables",
            differs="none that frames a message or belongs to a connection, nor `Host`",
            risk=Risk.MEDIUM,
        ),
        "auth-keepalive": Annotation("keeps_connections", parse_number, values="number", meaning=_POOLED),
        "auth-keepalive-requests": Annotation(
            "keeps_connections", parse_number, values="number", meaning=_POOLED
        ),
        "auth-keepalive-share-vars": Annotation(
            "keeps_connections", parse_sharing, values="boolean", meaning=_POOLED
        ),
        "auth-keepalive-timeout": Annotation(
            "keeps_connections", parse_number, values="seconds", meaning=_POOLED
        ),
        "enable-global-auth": Annotation(
            "is_global",
            parse_boolean,
            values="boolean; true",
            meaning="has the operator's `global-auth-url` asked where there is no `auth-url`",
        ),
    },
    options={
        **{
            f"global-{name}": evolve(
                row, setting=f"global_{row.setting}", meaning=f"for Ingresses without auth-url: {row.meaning}"
            )
            for name, row in {**_ASKING, "auth-signin": _OPERATORS_SIGNIN}.items()
        },
        "no-auth-locations": Annotation(
            "exempt",
            parse_locations,
            values="beginnings of paths, with commas; `/.well-known/acme-challenge`",
            meaning="which paths of rules ask for neither a password nor a verdict of auth-url, by what they begin with",
        ),
        "auth-url-allow": Annotation(
            "allowed",
            parse_targets,
            values="hosts, `*.` and a domain, and networks, with commas; anywhere",
            meaning="where auth-url of Ingresses may lead; a host that is named in full may lead to any address, this host's own included",
        ),
        "auth-url-timeout": Annotation(
            "seconds",
            parse_seconds,
            values="seconds; 10",
            meaning="how long a service that auth-url asks may take; then the request gets 500",
        ),
        "auth-url-verify": Annotation(
            "verifies",
            parse_boolean,
            values="boolean; false",
            meaning="whether the certificate of a service at https must be for its host and of an authority of the system",
        ),
    },
)
