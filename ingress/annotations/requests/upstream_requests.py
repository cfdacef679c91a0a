"""What endpoints are told in other words than the client's: ``upstream-vhost``, ``x-forwarded-prefix``, ``connection-proxy-header``.

``upstream-vhost`` is the ``Host`` that endpoints get, with the variables of nginx; ``X-Forwarded-Host`` is still that of the request.  What
does not come to a host and perhaps a port leaves ``Host`` as it came.

``x-forwarded-prefix`` is a path, which may be made of what the expression of the route captures, as in a ``rewrite-target``.

``connection-proxy-header`` is about a connection to an endpoint, which is the proxy's own: it is kept between requests, and an upgrade is
passed on.  So the two values that ask for this are honored, and ``close`` changes nothing.
"""

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from attrs import evolve

from ingress.annotations.contract.route_constants import route_constants
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Remark, Risk, ValueRefused, parse_boolean
from ingress.annotations.requests.path_rewrites import captured_of, capturing_of, is_run
from ingress.annotations.requests.rewrite_targets import RewriteTarget, Rewriting, parse_rewrite_target
from ingress.filter_parts.changing import ChangesRequests
from ingress.filters import Facts, FieldChanges, Filter, FilterSpec, Phase, RequestEdit, Services
from ingress.model.frozen import frozen
from ingress.model.requests.templates import CONSTANTS, NO_TEXT, Template, TemplateRefused, read_template
from ingress.model.text.path_expressions import Capturing

MAX_AUTHORITY: Final = 512
"""Bytes: a name of DNS and a port need less."""
_CONNECTION: Final = "connection-proxy-header"

_is_authority = re.compile(rb"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?").fullmatch
_is_prefix = re.compile(r"[A-Za-z0-9\-._~/:%+,=@]{0,1024}").fullmatch
_is_template = re.compile(r"[A-Za-z0-9\-._~/:%+,=@${}]{0,1024}").fullmatch
_OPTIONS: Final = frozenset({"keep-alive", "upgrade", "close", "$connection_upgrade"})


@frozen
class UpstreamRequestSettings:
    """What the annotations of one Ingress say about requests to its endpoints."""

    vhost: Template = NO_TEXT
    prefix: str | RewriteTarget = ""
    """A plain text, or what is made of each request."""
    connection: str = ""
    adds_original_uri: bool = False


def parse_vhost(text: str) -> Template:
    """Read a host, perhaps with a port, of text and variables; raises ``ValueRefused``."""
    text = text.strip()
    try:
        template = read_template(text)
    except TemplateRefused as refusal:
        raise ValueRefused(str(refusal)) from None
    written = b"".join(b"x" if name else part for name, part in template.parts)
    if not written or len(text) > MAX_AUTHORITY or _is_authority(_without_port(template, written)) is None:
        raise ValueRefused(
            'is no host with perhaps a port; write "$service_name.$namespace.svc.cluster.local:80"'
        )
    return template


def _without_port(template: Template, written: bytes) -> bytes:
    # A port may be a variable, too.
    return written[:-2] if template.parts[-1].variable and written.endswith(b":x") else written


def parse_prefix(text: str) -> str | RewriteTarget:
    """Read the prefix of paths that endpoints are told of, of text, groups and variables."""
    text = text.strip()
    if _is_prefix(text) is not None:
        return text
    if _is_template(text) is None:
        raise ValueRefused('is no prefix of a path; write "/app", or "/$1" for what the path captures')
    target = parse_rewrite_target(text)
    names = [name for name in target.captures if not name.isdigit()]
    if names:
        raise ValueRefused(f"holds ${min(names)}, which is no variable here")
    if target.origin.parts:
        raise ValueRefused("is an URL and no path")
    return evolve(target, keeps_query=False)


def parse_connection(text: str) -> str:
    """Read what is asked of connections to endpoints."""
    options = [option.strip().lower() for option in text[:64].split(",")]
    if len(text) > 64 or not _OPTIONS.issuperset(options):
        raise ValueRefused("is nothing that is said of connections to endpoints; write keep-alive")
    return ", ".join(options)


@frozen
class UpstreamHost:
    """Tells endpoints another host than the one that was asked for."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "upstream-host"

    authority: Template

    def describe(self) -> str:
        """Say which."""
        return f"asks endpoints for host {self.authority}"

    def make(self, services: Services) -> Filter:
        """Make the filter that tells it."""
        return _Host(self.authority)


class _Host(Filter):
    def __init__(self, authority: Template) -> None:
        self._authority = authority
        self._fixed = authority.text

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        authority = self._fixed
        if authority is None:
            authority = self._authority.render(facts)
        if len(authority) <= MAX_AUTHORITY and _is_authority(authority) is not None:
            edit.rewrite(authority=authority)


@frozen
class ForwardedPrefix:
    """Tells endpoints below which prefix of paths they are reached."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "forwarded-prefix"

    prefix: bytes

    def describe(self) -> str:
        """Say which."""
        return f"tells endpoints X-Forwarded-Prefix: {self.prefix.decode()}"

    def make(self, services: Services) -> Filter:
        """Make the filter that tells it."""
        return ChangesRequests(FieldChanges(put=((b"X-Forwarded-Prefix", self.prefix),)))


@frozen(cache_hash=True)
class CapturedPrefix:
    """Tells endpoints a prefix that is made of what *path* captures; for an empty *path* of nothing."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "captured-prefix"

    path: str
    prefix: RewriteTarget

    def describe(self) -> str:
        """Say which."""
        return f"tells endpoints X-Forwarded-Prefix: {self.prefix.text}"

    def make(self, services: Services) -> Filter:
        """Make the filter that tells it."""
        return _CapturedPrefix(capturing_of(self.path, self.prefix), Rewriting(self.prefix))


class _CapturedPrefix(Filter):
    def __init__(self, capturing: Capturing | None, rewriting: Rewriting) -> None:
        self._capturing = capturing
        self._rewriting = rewriting

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        """Put the field, in place of what anybody else says."""
        captured = captured_of(self._capturing, facts)
        if captured is not None:
            edit.put(b"X-Forwarded-Prefix", self._rewriting.target(facts, captured))


@frozen
class OriginalUri:
    """Tells endpoints the target that was asked for, whatever it is rewritten to."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "original-uri"

    def describe(self) -> str:
        """Say what is told."""
        return "tells endpoints X-Original-Uri"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return _OriginalUri()


class _OriginalUri(Filter):
    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        """Put the field, in place of what the client says."""
        edit.put(b"X-Original-Uri", facts.target)


def upstream_request_filters(settings: UpstreamRequestSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what changes requests of a route on their way to endpoints."""
    specs: tuple[FilterSpec, ...] = ()
    vhost = settings.vhost
    if vhost.parts:
        specs += (
            UpstreamHost(
                vhost if vhost.variables.isdisjoint(CONSTANTS) else vhost.bound(route_constants(facts))
            ),
        )
    prefix = settings.prefix
    if isinstance(prefix, RewriteTarget):
        if not prefix.captures:
            specs += (CapturedPrefix("", prefix.bound(route_constants(facts))),)
        elif facts.is_expression and is_run(facts.path):
            specs += (CapturedPrefix(facts.path, prefix.bound(route_constants(facts))),)
    elif prefix:
        specs += (ForwardedPrefix(prefix.encode("ascii")),)
    if settings.adds_original_uri:
        specs += (OriginalUri(),)
    return specs


def upstream_request_remarks(settings: UpstreamRequestSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Tell what is not done."""
    if "close" in settings.connection:
        yield Remark(
            _CONNECTION,
            "connections to endpoints are kept between requests, and an endpoint that closes one is asked on another",
        )


UPSTREAM_REQUESTS: Final = Family(
    name="upstream_requests",
    settings=UpstreamRequestSettings(),
    acts="the host and prefix that endpoints are told",
    phases=(Phase.EDITS,),
    filters=upstream_request_filters,
    by_path=True,
    remarks=upstream_request_remarks,
    options={
        "proxy-add-original-uri-header": Annotation(
            "adds_original_uri",
            parse_boolean,
            values="`true` or `false`, the default",
            meaning="tells endpoints in X-Original-Uri the target that was asked for",
        )
    },
    annotations={
        "upstream-vhost": Annotation(
            "vhost",
            parse_vhost,
            instead="endpoints get the host that was asked for",
            values="a host, perhaps with a port, with variables such as $service_name and $namespace; none",
            meaning="the Host that endpoints get",
            differs="what comes to no host leaves Host as it came",
        ),
        "x-forwarded-prefix": Annotation(
            "prefix",
            parse_prefix,
            instead="nothing is said",
            values="a path, perhaps with `$1` to `$9` and variables; none",
            meaning="the X-Forwarded-Prefix that endpoints get, in place of any that came",
            differs="it is sent where no path is rewritten, too",
            risk=Risk.MEDIUM,
        ),
        _CONNECTION: Annotation(
            "connection",
            parse_connection,
            instead="connections to endpoints are kept, and upgrades passed on",
            values="keep-alive, upgrade or close",
            meaning="what is asked of connections to endpoints, which are kept in any case",
            differs="keep-alive breaks no WebSocket; close closes nothing; other values are refused",
        ),
    },
)
