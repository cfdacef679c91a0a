"""What endpoints of FastCGI are told of requests: ``fastcgi-index`` and ``fastcgi-params-configmap``.

They get what the file ``fastcgi_params`` of nginx has, and over it the keys of a ConfigMap of the own namespace, whose values hold
variables as nginx has them.  What is left of a rewritten target is what counts for ``$uri``, ``$args`` and what follows from them, as in
nginx; ``$request_uri`` is what came.  A value that cannot be read is told of and not sent, and where the ConfigMap is missing the paths
answer 503, as in ingress-nginx.

A body whose length is not known beforehand has to be held whole, since programs behind CGI go by its length.

Source: https://nginx.org/en/docs/http/ngx_http_fastcgi_module.html, and ``ngx_http_fastcgi_module.c`` for what variables are.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, Final
from urllib.parse import unquote_to_bytes

from ingress.annotations.contract.references import Found, Reference, first_entries
from ingress.annotations.contract.route_constants import route_constants
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Remark, ValueRefused, quoted
from ingress.filter_parts.judging import Judging, status_reply
from ingress.filters import CgiRequest, Facts, Filter, FilterSpec, Phase, Reply, RequestEdit, Services
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen
from ingress.model.requests.decoded_paths import decoded_path
from ingress.model.requests.templates import REQUEST_VARIABLES, Template, TemplateRefused, read_template

PARAMS: Final = "fastcgi-params-configmap"
INDEX: Final = "fastcgi-index"
MOST_PARAMS: Final = 128
MOST_VARIABLES: Final = 64
"""In all of them together: each may be as long as the head of a request, and is rendered again for each."""
MOST_UNSIZED_BYTES: Final = 1024 * 1024
"""Of a body that comes without its length."""
MOST_VALUE_CHARACTERS: Final = 4096
DOCUMENT_ROOT: Final = "/usr/local/nginx/html"
"""The root of ingress-nginx, which has no other one: its image is built so."""
NGINX_VERSION: Final = "1.27.1"
"""Of the last ingress-nginx: programs look for nginx here, such as for how they write links."""

UNREADABLE_CONFIG_MAP: Final = ObjectKey("", "")
"""Stands where ``fastcgi-params-configmap`` names none: something was asked for, and nobody knows what."""

_SCRIPT_FILENAME: Final = "SCRIPT_FILENAME"
_CONTENT_LENGTH: Final = "CONTENT_LENGTH"
_MOST_INDEX_CHARACTERS: Final = 256
_is_param: Final = re.compile(r"[-._A-Za-z0-9]{1,128}").fullmatch
_is_index: Final = re.compile(r"[^\x00-\x20\x7f$?#%\\]+").fullmatch

OWN_VARIABLES: Final[frozenset[str]] = frozenset(
    (
        "args",
        "content_length",
        "document_root",
        "document_uri",
        "fastcgi_path_info",
        "fastcgi_script_name",
        "is_args",
        "nginx_version",
        "query_string",
        "realpath_root",
        "request_filename",
        "uri",
    )
)
"""Variables that are known where params are, or mean something else there."""

# The file of nginx, in its order.
_USUAL: Final[tuple[tuple[str, str], ...]] = (
    ("QUERY_STRING", "$query_string"),
    ("REQUEST_METHOD", "$request_method"),
    ("CONTENT_TYPE", "$content_type"),
    (_CONTENT_LENGTH, "$content_length"),
    ("SCRIPT_NAME", "$fastcgi_script_name"),
    ("REQUEST_URI", "$request_uri"),
    ("DOCUMENT_URI", "$document_uri"),
    ("DOCUMENT_ROOT", "$document_root"),
    ("SERVER_PROTOCOL", "$server_protocol"),
    ("REQUEST_SCHEME", "$scheme"),
    ("HTTPS", "$https"),
    ("GATEWAY_INTERFACE", "CGI/1.1"),
    ("SERVER_SOFTWARE", "nginx/$nginx_version"),
    ("REMOTE_ADDR", "$remote_addr"),
    ("REMOTE_PORT", "$remote_port"),
    ("SERVER_ADDR", "$server_addr"),
    ("SERVER_PORT", "$server_port"),
    ("SERVER_NAME", "$server_name"),
    ("REDIRECT_STATUS", "200"),
)
_IF_NOT_EMPTY: Final = frozenset((b"HTTPS",))
"""Those of the file that are not sent without a value."""

USUAL_PARAMS: Final[tuple[tuple[bytes, Template], ...]] = tuple(
    (name.encode(), read_template(text, own=OWN_VARIABLES)) for name, text in _USUAL
)


def parse_index(text: str) -> str:
    """Read the name of a file that is added to a path which ends with a slash."""
    if len(text) > _MOST_INDEX_CHARACTERS or not _is_index(text) or not text.isascii():
        raise ValueRefused("is no name of a file")
    return text


@frozen
class FastCgiSettings:
    """What one Ingress, and the operator, say about FastCGI."""

    index: str = ""
    config_map: ObjectKey | None = None
    """As it was written."""
    keeps_connections: bool = False


@frozen(cache_hash=True)
class FastCgiParams:
    """Tells endpoints of FastCGI what they are asked for, by params."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "fastcgi-params"

    index: str = ""
    params: tuple[tuple[bytes, Template], ...] = ()
    """Those of the Ingress; they come before those that there always are."""
    server_name: str = "_"
    keeps_connections: bool = False

    def describe(self) -> str:
        """Say which are the Ingress's own."""
        own = ", ".join(name.decode() for name, _ in self.params)
        index = f"; {self.index} is the script of a path that ends with a slash" if self.index else ""
        return f"tells endpoints of FastCGI nginx's params{f', and as its own {own}' if own else ''}{index}"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return _Tells(self)


@frozen(cache_hash=True)
class FastCgiClosed:
    """Answers 503: what endpoints would have to be told is not known."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "fastcgi-closed"

    def describe(self) -> str:
        """Say why."""
        return f"answers 503: {PARAMS} names no ConfigMap that is there"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return Judging(lambda facts: _CLOSED)


_CLOSED: Final = status_reply(503, reason=f"{PARAMS} names no ConfigMap that is there")
_LENGTH_REQUIRED: Final = status_reply(
    411, reason="FastCGI needs the length of a body, and one without it is longer than what is held"
)


class _Tells(Filter):
    """Holds bodies without a length, and tells the params."""

    holds_body = MOST_UNSIZED_BYTES + 1  # Of one that has as many, the end is awaited.
    asks_unsized = True

    def __init__(self, spec: FastCgiParams) -> None:
        self._index = spec.index.encode()
        own = {name for name, _ in spec.params}
        constants = {"server_name": spec.server_name}
        self._usual = tuple(
            (name, _value_of(one.bound(constants))) for name, one in USUAL_PARAMS if name not in own
        )
        self._own = tuple((name, _value_of(one)) for name, one in spec.params)
        self._keeps_connections = spec.keeps_connections

    def on_request(self, facts: Facts) -> Reply | None:
        return None if facts.is_body_whole else _LENGTH_REQUIRED

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        values = script_values(facts, edit.target, self._index)
        params = [(name, value_of(facts, values)) for name, value_of in self._usual]
        params = [one for one in params if one[1] or one[0] not in _IF_NOT_EMPTY]
        params += [(name, value_of(facts, values)) for name, value_of in self._own]
        edit.tell(CgiRequest(tuple(params), self._keeps_connections))


def _value_of(template: Template) -> Callable[[Facts, Mapping[str, bytes]], bytes]:
    """Return what renders *template* with values of ``OWN_VARIABLES``; most are a text or one variable, which takes a third of the time."""
    text = template.text
    if text is not None:
        return lambda facts, values: text
    ((variable, _), *more) = template.parts
    if not more and variable in OWN_VARIABLES:
        return lambda facts, values: values[variable]
    of_request = None if more else REQUEST_VARIABLES.get(variable)
    if of_request is not None:
        return lambda facts, values: of_request(facts)
    return lambda facts, values: template.render(facts, None, values)


def script_values(facts: Facts, target: bytes, index: bytes) -> dict[str, bytes]:
    """Return the values of ``OWN_VARIABLES`` for a request that asks the endpoint for *target*."""
    path, _, args = target.partition(b"?")
    # What was rewritten is as nginx has it: without escapes.  What was not is read as its route was found.
    uri = decoded_path(facts.path, target) if target == facts.target else unquote_to_bytes(path)
    if _CONTROLS.search(uri):
        uri = _CONTROLS.sub(lambda found: b"%%%02X" % found.group()[0], uri)
    script = uri + index if uri.endswith(b"/") else uri
    root = DOCUMENT_ROOT.encode()
    length = len(facts.body) if facts.body_length is None else facts.body_length
    return {
        "args": args,
        "content_length": b"%d" % length if length else b"",
        "document_root": root,
        "document_uri": uri,
        "fastcgi_path_info": b"",
        "fastcgi_script_name": script,
        "is_args": b"?" if args else b"",
        "nginx_version": NGINX_VERSION.encode(),
        "query_string": args,
        "realpath_root": root,
        "request_filename": root + uri,
        "uri": uri,
    }


_CONTROLS: Final = re.compile(rb"[\x00-\x1f\x7f]")


def fastcgi_references(settings: FastCgiSettings, asking: ObjectKey) -> Iterator[Reference]:
    """Name the ConfigMap, which is of the own namespace unless another one is named."""
    named = settings.config_map
    if named is not None and named != UNREADABLE_CONFIG_MAP:
        key = ObjectKey(named.namespace or asking.namespace, named.name)
        yield Reference(Kind.CONFIG_MAP, key, PARAMS, without="the paths answer 503")


def fastcgi_filters(settings: FastCgiSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what tells the endpoints of a route, which speak FastCGI."""
    params: tuple[tuple[bytes, Template], ...] = ()
    constants = route_constants(facts)
    if settings.config_map is not None:
        asking = ObjectKey("", "") if facts.owner is None else facts.owner.key
        content = [facts.found.config_map(one) for one in fastcgi_references(settings, asking)]
        if not content or content[0] is None:
            return (FastCgiClosed(),)
        read, _ = _read(content[0])
        params = tuple((name.encode(), template.bound(constants)) for name, template in read)
    return (FastCgiParams(settings.index, params, constants["server_name"], settings.keeps_connections),)


def _read(content: Mapping[str, str]) -> tuple[list[tuple[str, Template]], list[str]]:
    """Return the params in *content*, and what is told of the rest."""
    params: list[tuple[str, Template]] = []
    faults: list[str] = []
    room = MOST_VARIABLES
    for name, value in first_entries(content, MOST_PARAMS):
        if name == _CONTENT_LENGTH and value.strip() in ("$content_length", "${content_length}"):
            # What it is anyway.
            continue
        fault = _fault(name, value)
        if fault is None:
            try:
                template = read_template(value, lines=True, own=OWN_VARIABLES)
                count = sum(1 for part in template.parts if part.variable)
                if count > room:
                    fault = f"with the value of {name} there would be more than {MOST_VARIABLES} variables"
                else:
                    room -= count
                    params.append((name, template))
            except TemplateRefused as refusal:
                fault = f"the value of {name} {refusal}"
        if fault is not None:
            faults.append(fault)
    return params, faults


def _fault(name: str, value: str) -> str | None:
    if not _is_param(name):
        return f"{quoted(name)} is no name of a param"
    if name == _CONTENT_LENGTH:
        return f"{name} is the proxy's own"
    if len(value) > MOST_VALUE_CHARACTERS:
        return f"the value of {name} is longer than {MOST_VALUE_CHARACTERS} characters"
    return None


def fastcgi_contents(settings: FastCgiSettings, asking: ObjectKey, found: Found) -> Iterator[Remark]:
    """Tell of what in the ConfigMap is no param, and of the one that PHP-FPM needs."""
    for reference in fastcgi_references(settings, asking):
        content = found.config_map(reference) or {}
        _, faults = _read(content)
        if faults:
            more = f", and {len(faults) - 3} more" if len(faults) > 3 else ""
            message = f"ConfigMap {reference.key}: {'; '.join(faults[:3])}{more}; the others are sent"
            yield Remark(PARAMS, message, Reason.INVALID_ANNOTATION)
        if len(content) > MOST_PARAMS:
            message = f"ConfigMap {reference.key} has more than {MOST_PARAMS} params; those behind them are not sent"
            yield Remark(PARAMS, message, Reason.INVALID_ANNOTATION)
        if _SCRIPT_FILENAME not in content:
            message = (
                f"ConfigMap {reference.key} has no {_SCRIPT_FILENAME}, without which PHP-FPM finds no script"
            )
            yield Remark(PARAMS, message)
