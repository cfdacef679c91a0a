"""What the annotations of external authentication accept: URLs, names, texts with variables, and the rest.

What a URL to ask may be is in ``asked_urls``, what a duration is in ``cache``.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import parse_qs

from ingress.annotations.contract.asked_urls import parse_url_template
from ingress.annotations.contract.values import ValueRefused, parse_boolean, quoted
from ingress.annotations.external_auth.check import REQUEST_URI
from ingress.annotations.nginx.field_directives import DirectiveRefused, sent_field
from ingress.annotations.nginx.grammar import GrammarError, read_directives
from ingress.annotations.nginx.statements import read_set_from_auth
from ingress.model.frozen import frozen
from ingress.model.requests.reserved_fields import RESERVED_FIELDS_OF_REQUESTS
from ingress.model.requests.templates import (
    CONSTANTS,
    Template,
    TemplateRefused,
    is_known_variable,
    read_template,
)

RETURN_PARAMETER: Final = "rd"
"""The parameter of a sign-in page that says where to come back to, where nothing else is asked for."""
MAX_NAMES: Final = 64
"""Fields of the service's answer that endpoints are told."""
MOST_SECONDS: Final = 50.0
"""That a service may be given: the proxy waits 60 s for any decision."""
MAX_SIGNIN_CHARACTERS: Final = 2048

_SETS_FIELD: Final = "proxy_set_header"
_SETS_VARIABLE: Final = "auth_request_set"
_NOTHING: Final = read_template("")
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_is_name = re.compile(r"[A-Za-z0-9_-]{1,128}").fullmatch
_is_parameter = re.compile(r"[A-Za-z0-9._~-]{1,64}").fullmatch
_is_number = re.compile(r"[0-9]{1,9}").fullmatch
_is_seconds = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,3})?").fullmatch
_begins_as_page = re.compile(r"(?:https?|\$\{?(?:pass_access_)?scheme\}?)://(?=[^/?#])", re.IGNORECASE).match
_ASKED: Final = "$pass_access_scheme://$http_host"
"""Scheme and host that the client asked for."""
_REQUESTED: Final = frozenset((("host", b""), ("http_", b"host")))
_PATHS: Final = frozenset(("request_uri", "uri", "document_uri"))
"""Variables that begin with a slash."""
_names_variable = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)").findall


@frozen
class AuthSnippet:
    """What an ``auth-snippet`` says."""

    fields: tuple[tuple[str, Template], ...] = ()
    """What the service is told, by name."""
    variables: frozenset[str] = frozenset()
    """What ``auth_request_set`` gives a value, without ``$``: none is ever filled.

    In ingress-nginx the directive stands in the location of the question, where nginx does not act by it, since that
    location asks nobody itself.
    """


def parse_auth_url(text: str) -> Template | None:
    """Read the URL of a service; a blank value asks nobody."""
    return parse_url_template(text, has_hash=True) if text.strip() else None


def visitors_host(template: Template, *, is_named: bool) -> str:
    """Return the variable by which visitors choose the host of this URL; empty where they do not.

    The host of the request is chosen by the rule that names it, where one does (*is_named*).
    """
    for variable, name in _in_host(template):
        if variable not in CONSTANTS and not (is_named and (variable, name) in _REQUESTED):
            return f"${variable}{name.decode('ascii', 'replace')}"
    return ""


def _in_host(template: Template) -> Iterator[tuple[str, bytes]]:
    """Yield the variables in the host of a URL, each with what its name goes on with."""
    (_, begins), *more = template.parts
    has_begun = False
    for variable, text in (("", begins.partition(b"://")[2]), *more):
        if not variable:
            if b"/" in text or b"?" in text:
                return
        elif has_begun and variable in _PATHS:
            return
        else:
            yield variable, text
        has_begun = has_begun or bool(variable or text)


def parse_method(text: str) -> str:
    """Read a method to ask by."""
    if text not in _METHODS:
        raise ValueRefused(f"is no method to ask by; write one of {', '.join(sorted(_METHODS))}")
    return text


def parse_signin(text: str, *, may_declare: bool = False) -> str:
    """Read the URL of a sign-in page; it is kept as text, since a parameter is put behind it.

    A path is one of the host that was asked, as in ingress-nginx, where nginx completes it.  Where a snippet *may declare*
    variables, any may stand in it.
    """
    text = text.strip()
    if not text:
        return ""
    if len(text) > MAX_SIGNIN_CHARACTERS:
        raise ValueRefused(f"is longer than {MAX_SIGNIN_CHARACTERS} characters")
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueRefused("has blanks or other characters that no URL has")
    if text.startswith("/") and not text.startswith("//"):
        text = f"{_ASKED}{text}"
    if _begins_as_page(text) is None:
        raise ValueRefused("is no URL that begins with http:// or https:// and a host, and no path")
    names = frozenset(name for name in _names_variable(text) if not is_known_variable(name))
    try:
        signin_template(text, RETURN_PARAMETER, names if may_declare else frozenset())
    except TemplateRefused as refusal:
        raise ValueRefused(str(refusal)) from None
    return text


def parse_own_signin(text: str) -> str:
    """Read the same in an Ingress, whose ``auth-snippet`` may declare variables: ``signin_template`` says which are missing."""
    return parse_signin(text, may_declare=True)


def signin_template(page: str, parameter: str, declared: frozenset[str]) -> Template:
    """Return the address of a sign-in page, with the way back; raises ``TemplateRefused``.

    Variables that an ``auth-snippet`` has *declared* are empty.
    """
    return read_template(with_return(page, parameter), own=declared)


def parse_parameter(text: str) -> str:
    """Read the name of a parameter."""
    if not _is_parameter(text):
        raise ValueRefused("is no name of a parameter; write letters, digits, and . _ ~ -")
    return text


def parse_names(text: str) -> tuple[str, ...]:
    """Read names of fields, with commas in between."""
    if len(text) > MAX_NAMES * 130:
        raise ValueRefused("is too long for a list of names of fields")
    names = {name.lower(): name for member in text.split(",") if (name := member.strip())}
    if len(names) > MAX_NAMES:
        raise ValueRefused(f"has more than {MAX_NAMES} names")
    for name in names.values():
        if not _is_name(name):
            raise ValueRefused(f"has {quoted(name)}, which is no name of a field")
    return tuple(names.values())


def parse_text(text: str) -> Template:
    """Read a text with variables that becomes the value of a field."""
    try:
        return read_template(text.strip())
    except TemplateRefused as refusal:
        raise ValueRefused(str(refusal)) from None


def parse_redirect(text: str) -> Template:
    """Read what a service is told to come back to; a blank value is what holds where nothing is said."""
    return parse_text(text) if text.strip() else REQUEST_URI


def parse_key(text: str) -> Template | None:
    """Read a key; a blank value remembers nothing."""
    return parse_text(text) if text.strip() else None


def parse_snippet(text: str) -> AuthSnippet:
    """Read fields that the service is told, by ``proxy_set_header``, and variables, by ``auth_request_set``.

    All the rest is refused as a whole: what the service is told, or not, may be what it decides by.
    """
    found: dict[str, tuple[str, Template]] = {}
    try:
        directives = read_directives(text)
        for directive in directives:
            if directive.name not in (_SETS_FIELD, _SETS_VARIABLE) or directive.block is not None:
                raise ValueRefused(
                    f"has in line {directive.line} what is neither {_SETS_FIELD} nor {_SETS_VARIABLE}, and is never executed"
                )
        variables: set[str] = set()
        for directive in directives:
            if directive.name == _SETS_VARIABLE:
                variables.add(read_set_from_auth(directive.arguments, frozenset(variables)).name)
        for directive in directives:
            if directive.name != _SETS_FIELD:
                continue
            field = sent_field(directive.arguments, frozenset(variables))
            if field is None:
                continue
            name = field.name.decode("ascii")
            if name.lower() in RESERVED_FIELDS_OF_REQUESTS:
                raise DirectiveRefused(
                    f"is about the field {directive.arguments[0]}, which is the proxy's own"
                )
            found[name.lower()] = name, field.value or _NOTHING
    except GrammarError as error:
        raise ValueRefused(f"{error}, and is never executed") from None
    except DirectiveRefused as refusal:
        raise ValueRefused(f"has in line {directive.line} {directive.name}, which {refusal}") from None
    if len(found) > MAX_NAMES:
        raise ValueRefused(f"has more than {MAX_NAMES} fields")
    return AuthSnippet(tuple(found.values()), frozenset(variables))


def parse_number(text: str) -> None:
    """Accept a number, which changes nothing."""
    if not _is_number(text):
        raise ValueRefused("is no number")


def parse_sharing(text: str) -> None:
    """Accept a boolean, which changes nothing."""
    parse_boolean(text)


def parse_seconds(text: str) -> float:
    """Read how long a service may take."""
    if not _is_seconds(text) or not 0 < float(text) <= MOST_SECONDS:
        raise ValueRefused(f"is no number of seconds from 0.001 to {MOST_SECONDS:g}")
    return float(text)


def with_return(page: str, parameter: str) -> str:
    """Return *page* with *parameter*, unless its query has that: the escaped target that was asked for, and where."""
    query = parse_qs(page.partition("?")[2].partition("#")[0], keep_blank_values=True)
    if any(query.get(parameter, ())):
        return page
    joint = "&" if query else ("" if page.endswith("?") else "?")
    return f"{page}{joint}{parameter}={_ASKED}$escaped_request_uri"


def read_fields(content: Mapping[str, str]) -> tuple[tuple[str, Template], ...]:
    """Read names and values of fields; raises ``ValueRefused`` that says which is none."""
    if len(content) > MAX_NAMES:
        raise ValueRefused(f"has more than {MAX_NAMES} fields")
    found = []
    for name, value in sorted(content.items()):
        if not _is_name(name) or name.lower() in RESERVED_FIELDS_OF_REQUESTS:
            raise ValueRefused(f"has {quoted(name)}, which is no field that a service can be told")
        try:
            found.append((name, read_template(value.strip())))
        except TemplateRefused as refusal:
            raise ValueRefused(f"has in {name} what {refusal}") from None
    return tuple(found)
