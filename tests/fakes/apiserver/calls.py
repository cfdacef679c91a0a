"""What a request asks for: verb, resource, namespace, name, as the API derives them from HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, unquote

from attrs import Factory, define, field

from tests.fakes.apiserver.selectors import selected_name

_COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_OBJECT_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@define
class Call:
    """
    One request as the log keeps it.

    ``plural`` is empty for paths outside the resources (discovery, version).
    ``verb`` is the RBAC verb, or the method in small letters when there is
    none. ``status`` is the HTTP status, once there is one; None for a request
    that was dropped or is left waiting.
    """

    method: str
    path: str
    query: Mapping[str, str]
    fields: Sequence[tuple[str, str]]
    """Names, in small letters, and values; those of one name stand together."""
    body: bytes = field(repr=False)
    seconds: float
    """When the request was read, by the reactor's clock."""
    group: str = ""
    version: str = ""
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    verb: str = ""
    status: int | None = None
    extra: tuple[str, ...] = Factory(tuple)

    @property
    def headers(self) -> Mapping[str, str]:
        """The fields by their names; of several with one name, the first."""
        return dict(reversed(self.fields))

    @property
    def rule_name(self) -> str:
        """The name that RBAC ``resourceNames`` are compared with."""
        if self.name or self.verb not in ("list", "watch", "deletecollection"):
            return self.name
        return selected_name(self.query.get("fieldSelector", ""))

    @property
    def token(self) -> str | None:
        """The bearer token, or None."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" and token else None


def parse_call(method: str, uri: str, fields: Sequence[tuple[str, str]], body: bytes, seconds: float) -> Call:
    """Read a request; nothing is refused here."""
    path, _, query_text = uri.partition("?")
    query: dict[str, str] = {}
    for name, value in parse_qsl(query_text, keep_blank_values=True):
        # Go's url.Values.Get returns the first of several values.
        query.setdefault(name, value)
    call = Call(method, path, query, fields, body, seconds, verb=method.lower())
    steps = [unquote(step) for step in path.strip("/").split("/")]
    if steps[0] == "api" and len(steps) > 2:
        call.version, rest = steps[1], steps[2:]
    elif steps[0] == "apis" and len(steps) > 3:
        call.group, call.version, rest = steps[1], steps[2], steps[3:]
    else:
        return call
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        call.namespace, rest = rest[1], rest[2:]
    call.plural, call.name, call.subresource = (*rest, "", "")[:3]
    call.extra = tuple(rest[3:])
    if call.name:
        call.verb = _OBJECT_VERBS.get(method, call.verb)
    else:
        call.verb = _COLLECTION_VERBS.get(method, call.verb)
        if call.verb == "list" and is_true(query.get("watch")):
            call.verb = "watch"
    return call


def is_true(text: str | None) -> bool:
    """Read a boolean of a query as the API does: present, and neither "false" nor "0"."""
    return text is not None and text.lower() not in ("false", "0")
