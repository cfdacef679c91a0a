"""What stands before a route as filters of an HTTPRoute, and what of it cannot be said.

What keeps requests out, or decides where they go, and cannot be said closes its rule: no guard, no service.

Sources: ``HTTPRouteFilter`` and the filters in it.
"""

import re
from typing import Final

from attrs import Factory, define

from ingress.annotations.access.blocking import Blocking
from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.answers.configured_fields import (
    AnswerFields,
    HiddenFields,
    RenderedFields,
    RequestFields,
)
from ingress.annotations.answers.cors import CorsFields, CorsPreflight
from ingress.annotations.client_certificates.check import EarlyCheck, HostClosed
from ingress.annotations.hosts.further_hosts import HostRedirect
from ingress.annotations.hosts.transport_security import TransportSecurity
from ingress.annotations.operator_filters import OperatorFilter
from ingress.annotations.passwords.basic_check import CredentialsKept
from ingress.annotations.redirects.slash_redirect import SlashRedirect
from ingress.annotations.redirects.url_redirects import AppRoot, UrlRedirect
from ingress.annotations.requests.mirrors import Mirror
from ingress.annotations.requests.path_rewrites import (
    PathRewrite,
    RegexMissing,
    RewriteMissing,
    RewriteRedirect,
)
from ingress.annotations.requests.upstream_requests import ForwardedPrefix, UpstreamHost
from ingress.annotations.snippets.answers import AnswerPlan
from ingress.annotations.snippets.ending import UnlessEnded
from ingress.annotations.snippets.filters import (
    PathStatements,
    ServerStatements,
    SnippetAnswers,
    SnippetEdits,
)
from ingress.annotations.snippets.requests import RequestPlan
from ingress.annotations.upstream.affinity import SessionCookie
from ingress.ctl.gateway.cross_origin import said_cors
from ingress.ctl.gateway.fields import field_of, modifier_of
from ingress.ctl.gateway.paths import replaced_prefix
from ingress.ctl.gateway.rendering_values import Effect, Json, Remark
from ingress.filters import FieldChanges, FilterSpec, Phase
from ingress.gateway_filters.redirects import STATUSES
from ingress.model.requests.templates import Template
from ingress.model.upstream.backends import BackendReference
from ingress.routing.route import Route

_ALWAYS_CLOSED: Final = (GuardMissing, RegexMissing, RewriteMissing, HostClosed)
_DECIDING: Final = (ServerStatements, PathStatements, RewriteRedirect, Blocking)
_is_hostname = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*").fullmatch
_is_address = re.compile(r"[0-9.]+").fullmatch
_match_location = re.compile(
    r"(?:(?P<scheme>https?)://(?P<host>[^/:?#]+)(?::(?P<port>[0-9]{1,5}))?)?(?P<path>/[^?#]*)?"
).fullmatch
_match_service = re.compile(
    r"http://(?P<name>[a-z0-9-]+)\.(?P<namespace>[a-z0-9-]+)\.svc(?:\.cluster\.local)?(?::(?P<port>[0-9]+))?"
).fullmatch


@define
class RuleParts:
    """What the filters of a route come to."""

    request: dict[str, tuple[str, str]] = Factory(dict)
    """Fields for endpoints by their name in lower case: the name as it is written, and the value, empty where the field goes."""
    response: dict[str, tuple[str, str]] = Factory(dict)
    added: list[tuple[str, str]] = Factory(list)
    """Fields of answers beside others of the same name."""
    cors: Json | None = None
    rewrite: Json = Factory(dict)
    redirect: Json | None = None
    mirrors: list[BackendReference] = Factory(list)
    root: str = ""
    """Where requests for ``/`` are sent."""
    session: Json | None = None
    is_closed: bool = False

    def filters(self, remark: Remark) -> list[Json]:
        """Return the filters, but for mirrors, whose backends are for others to name."""
        found: list[Json] = []
        for kind, name, fields, added in (
            ("RequestHeaderModifier", "requestHeaderModifier", self.request, []),
            ("ResponseHeaderModifier", "responseHeaderModifier", self.response, self.added),
        ):
            modifier = modifier_of(fields, added, remark)
            if modifier:
                found.append({"type": kind, name: modifier})
        if self.cors is not None:
            found.append({"type": "CORS", "cors": self.cors})
        if self.redirect is not None:
            found.append({"type": "RequestRedirect", "requestRedirect": self.redirect})
        elif self.rewrite:
            found.append({"type": "URLRewrite", "urlRewrite": self.rewrite})
        return found


class FilterSaying:
    """Says the filters *specs* of *route*, for requests that came by *scheme*."""

    def __init__(
        self, route: Route, scheme: str, remark: Remark, *, experimental: bool, unguarded: bool
    ) -> None:
        self._route = route
        self._scheme = scheme
        self._remark = remark
        self._experimental = experimental
        self._unguarded = unguarded
        self.parts = RuleParts()

    def say(self, specs: tuple[FilterSpec, ...]) -> RuleParts:
        """Return what *specs* come to."""
        before = [one for one in specs if one.phase is not Phase.ANSWER]
        answers = [one for one in specs if one.phase is Phase.ANSWER]
        # The last one sees answers first; the first has the last word.
        for spec in (*before, *reversed(answers)):
            self._say(spec)
        return self.parts

    def _say(self, spec: FilterSpec) -> None:
        parts = self.parts
        match spec:
            case UnlessEnded():
                self._say(spec.spec)
            case UrlRedirect():
                self._redirect(spec, spec.location, spec.status)
            case HostRedirect():
                host = spec.host.decode("ascii", "replace")
                self._redirect_to(spec, {"hostname": host, "statusCode": spec.status})
            case SlashRedirect():
                path = {"type": "ReplaceFullPath", "replaceFullPath": spec.path.decode("utf-8", "replace")}
                self._redirect_to(spec, {"path": path, "statusCode": 301})
            case AppRoot():
                self._app_root(spec)
            case PathRewrite():
                self._rewrite(spec)
            case UpstreamHost():
                self._host(spec)
            case ForwardedPrefix():
                parts.request["x-forwarded-prefix"] = (
                    "X-Forwarded-Prefix",
                    spec.prefix.decode("utf-8", "replace"),
                )
            case CredentialsKept():
                parts.request["authorization"] = ("Authorization", "")
            case RequestFields():
                self._fields(spec, spec.fields, self.parts.request)
            case AnswerFields():
                self._changes(FieldChanges(spec.drop, spec.put))
            case RenderedFields():
                self._fields(spec, spec.fields, self.parts.response)
            case HiddenFields():
                self._changes(FieldChanges(spec.names))
            case SnippetEdits():
                self._snippet_edits(spec)
            case SnippetAnswers():
                self._snippet_answers(spec)
            case TransportSecurity():
                self._strict(spec)
            case CorsPreflight() | EarlyCheck():
                # Another filter says it, too.
                pass
            case CorsFields():
                self.parts.cors = said_cors(spec, self._remark)
                if self.parts.cors is None:
                    self._left_out(spec)
            case Mirror():
                self._mirror(spec)
            case SessionCookie():
                self._session(spec)
            case _:
                self._other(spec)

    def _other(self, spec: FilterSpec) -> None:
        if isinstance(spec, _ALWAYS_CLOSED):
            self._close(spec)
        elif self._guards(spec):
            if self._unguarded:
                self._remark(spec.name, f"{spec.describe()}; the rule is open to everybody", Effect.LEFT_OUT)
            else:
                self._close(spec)
        else:
            self._left_out(spec)

    def _guards(self, spec: FilterSpec) -> bool:
        if isinstance(spec, OperatorFilter):
            return spec.phase < Phase.EDITS
        return spec.phase is Phase.ACCESS or isinstance(spec, _DECIDING)

    def _close(self, spec: FilterSpec) -> None:
        self.parts.is_closed = True
        self._remark(spec.name, spec.describe(), Effect.CLOSED)

    def _left_out(self, spec: FilterSpec) -> None:
        self._remark(spec.name, spec.describe(), Effect.LEFT_OUT)

    # Redirects and rewrites

    def _redirect_to(self, spec: FilterSpec, redirect: Json) -> None:
        if redirect["statusCode"] not in STATUSES:
            self._close(spec)
        elif self.parts.redirect is None:
            self.parts.redirect = redirect

    def _redirect(self, spec: FilterSpec, location: Template, status: int) -> None:
        texts = [part.text.decode("utf-8", "replace") for part in location.parts if not part.variable]
        goes_on = [part.variable for part in location.parts if part.variable] == ["request_uri"]
        found = (
            _match_location(texts[0]) if len(texts) == 1 and (goes_on or len(location.parts) == 1) else None
        )
        if found is None or (goes_on and (found["path"] or location.parts[0].variable)):
            self._close(spec)
            return
        redirect: Json = {}
        if found["host"]:
            if not _is_hostname(found["host"].lower()) or _is_address(found["host"]):
                self._close(spec)
                return
            redirect = {"scheme": found["scheme"], "hostname": found["host"].lower()}
            if found["port"]:
                redirect["port"] = int(found["port"])
        if not goes_on:
            redirect["path"] = {"type": "ReplaceFullPath", "replaceFullPath": found["path"] or "/"}
            why = f"{spec.describe()}: the query of a request is kept by the Gateway API, and dropped today"
            self._remark(spec.name, why, Effect.DIFFERS)
        self._redirect_to(spec, {**redirect, "statusCode": status})

    def _app_root(self, spec: AppRoot) -> None:
        path = spec.path.decode("utf-8", "replace")
        if "?" in path or "#" in path:
            self._left_out(spec)
        else:
            self.parts.root = path

    def _rewrite(self, spec: PathRewrite) -> None:
        target = spec.target
        fixed = target.path.text
        if target.origin.parts or target.query.parts:
            self._close(spec)
            return
        if not target.keeps_query:
            self._remark(
                spec.name,
                f"{spec.describe()}: the query of a request is dropped today, and kept then",
                Effect.DIFFERS,
            )
        if fixed is not None:
            path = fixed.decode("utf-8", "replace")
            path = path if path.startswith("/") else f"/{path}"
            self.parts.rewrite["path"] = {"type": "ReplaceFullPath", "replaceFullPath": path}
            return
        replaced = replaced_prefix(self._route, target.path)
        if replaced is None:
            self._close(spec)
            return
        found, prefix = replaced
        if found.prefix.rstrip("/") != prefix.rstrip("/"):
            self.parts.rewrite["path"] = {"type": "ReplacePrefixMatch", "replacePrefixMatch": prefix}

    def _host(self, spec: UpstreamHost) -> None:
        text = spec.authority.text
        host = "" if text is None else text.decode("utf-8", "replace").lower()
        if _is_hostname(host) and not _is_address(host):
            self.parts.rewrite["hostname"] = host
        else:
            self._left_out(spec)

    # Fields

    def _fields(
        self, spec: FilterSpec, fields: tuple[tuple[bytes, Template], ...], put: dict[str, tuple[str, str]]
    ) -> None:
        for name, template in fields:
            text = template.text
            if text is None:
                shown = name.decode("ascii", "replace")
                self._remark(spec.name, f"{shown} is {template}, which has a variable", Effect.LEFT_OUT)
            else:
                put[name.decode("ascii", "replace").lower()] = field_of(name, text)

    def _changes(self, changes: FieldChanges) -> None:
        response = self.parts.response
        for name in changes.drop:
            response[name.decode("ascii", "replace").lower()] = (name.decode("ascii", "replace"), "")
        for name, value in changes.put:
            response[name.decode("ascii", "replace").lower()] = field_of(name, value)
        self.parts.added += [field_of(name, value) for name, value in changes.add]

    def _snippet_edits(self, spec: SnippetEdits) -> None:
        changes = RequestPlan(spec.layers.level(None)).fixed
        if changes is None:
            self._left_out(spec)
            return
        for name in changes.drop:
            shown = name.decode("ascii", "replace")
            self.parts.request[shown.lower()] = (shown, "")
        for name, value in changes.put:
            self.parts.request[name.decode("ascii", "replace").lower()] = field_of(name, value)

    def _snippet_answers(self, spec: SnippetAnswers) -> None:
        plan = AnswerPlan(spec.layers.level(None))
        changes = plan.changes if spec.is_same else None
        if changes is None:
            changes = plan.usual
            if changes is None or changes == FieldChanges():
                self._left_out(spec)
                return
            why = (
                f"{spec.describe()}: of some answers today, such as those with good statuses, and of all then"
            )
            self._remark(spec.name, why, Effect.DIFFERS)
        self._changes(changes)

    def _strict(self, spec: TransportSecurity) -> None:
        if self._scheme != "https":
            return
        if spec.hosts is not None:
            self._remark(spec.name, f"{spec.describe()}, for some hosts of the route alone", Effect.LEFT_OUT)
        else:
            name = b"Strict-Transport-Security"
            self.parts.response[name.decode().lower()] = field_of(name, spec.value)

    # What is more than a field

    def _mirror(self, spec: Mirror) -> None:
        found = _match_service(spec.base)
        goes_on = [part.variable for part in spec.target.parts] == ["request_uri"]
        if found is None or not goes_on:
            self._left_out(spec)
            return
        self.parts.mirrors.append(
            BackendReference(found["namespace"], found["name"], int(found["port"] or 80))
        )
        if spec.host or not spec.sends_body:
            self._remark(
                spec.name, f"{spec.describe()}: copies are whole, and keep their host", Effect.DIFFERS
            )

    def _session(self, spec: SessionCookie) -> None:
        name = spec.affinity.cookie.decode("ascii", "replace")
        if not self._experimental:
            why = f"{spec.describe()}; sessionPersistence is of the experimental channel (--experimental)"
            self._remark(spec.name, why, Effect.LEFT_OUT)
            return
        session: Json = {"sessionName": name[:128], "type": "Cookie"}
        lasts = spec.max_age or spec.expires
        if lasts:
            session["absoluteTimeout"] = (
                f"{min(lasts, 99999)}s" if lasts < 100000 else f"{min(lasts // 3600, 99999)}h"
            )
            session["cookieConfig"] = {"lifetimeType": "Permanent"}
        self.parts.session = session
        self._remark(
            spec.name,
            f"{spec.describe()}: path, domain and flags of the cookie are the implementation's",
            Effect.DIFFERS,
        )
