"""Templates: texts with variables, as nginx writes them: ``$host``, ``${arg_page}``.

Tenants write them, and they become keys, fields of heads, URLs and bodies.  A variable is one of a fixed list, and
nothing of a text is executed: a template is plain data, and rendering puts bytes together.  Three sorts of variables are
told apart by when they are known:

- *constants* say something of a route (``$namespace``, ``$service_name``), and become text as soon as it is known:
  ``Template.bound``;
- those of requests are known where there is a request;
- those of answers (``$status``, ``$sent_http_NAME``) where there is an answer, too.

What is rendered holds no control character that the author did not write: no variable can end a line, but one whose
value comes with the rendering, for which there is ``Template.field_value``.  What a request does
not have is empty, as in nginx.  A ``$`` that no name follows stands for itself; nginx refuses it.

Source of the names: https://nginx.org/en/docs/varindex.html, and what ingress-nginx sets besides.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final, NamedTuple, Protocol, TypeVar
from urllib.parse import quote_from_bytes

from attrs import evolve

from ingress.model.frozen import frozen
from ingress.model.requests.client_authentication import VERIFIED, ClientEvidence
from ingress.model.requests.request_facts import RequestedUri, SecuredRequest
from ingress.model.requests.shown_certificates import read_certificate
from ingress.model.text.named_values import cookie_variable, query_value

MAX_CHARACTERS: Final = 8192
MAX_VARIABLES: Final = 16
"""Each may be as long as a head: what one template makes of a request stays below half a megabyte."""

MAX_FIELD_BYTES: Final = 16 * 1024

NO_VALUES: Final[Mapping[str, bytes]] = {}


class TemplateRefused(ValueError):  # noqa: N818 - it is a verdict on a text, no failure
    """This is no template; the message says why, as what follows the name of the text."""


class TemplateFacts(RequestedUri, SecuredRequest, Protocol):
    """What of a request a template may be made of; ``ingress.filters.Facts`` has all of it."""

    @property
    def id(self) -> bytes:
        """What the request is called in the log."""

    @property
    def method(self) -> bytes:
        """The method, as received."""

    @property
    def client(self) -> bytes:
        """The address of the client."""

    @property
    def forwarded_for(self) -> bytes:
        """What the endpoint is told in ``X-Forwarded-For``."""

    @property
    def client_port(self) -> int:
        """The port of the client; 0 where it is not known."""

    @property
    def server_address(self) -> bytes:
        """The address that the request came to; empty where it is not known."""

    @property
    def protocol(self) -> bytes:
        """What the client speaks, as in ``HTTP/1.1``."""

    @property
    def port(self) -> int:
        """The port of the listener that the request came to."""

    @property
    def now(self) -> float:
        """What time it is, in seconds since the epoch."""

    @property
    def hostname(self) -> bytes:
        """The name of the machine or pod that the controller runs in."""

    @property
    def upgrade(self) -> bytes:
        """The protocol that the client asks to go over to, where that is one that is relayed; else empty."""

    @property
    def content_length(self) -> bytes:
        """What the request says of the length of its body; empty where it says nothing."""

    def field(self, name: bytes) -> bytes:
        """Return the value of the field called *name*, in lower case; of several, that of all as one; empty when there is none."""


class TemplateAnswer(Protocol):
    """What of an answer a template may be made of; ``ingress.filters.AnswerEdit`` has it."""

    @property
    def status(self) -> int:
        """200 to 599."""

    def field(self, name: bytes) -> bytes:
        """Return the value of the first field called *name*, in lower case; empty for none."""


class Part(NamedTuple):
    """One part of a template: a text, or a variable."""

    variable: str = ""
    """Its name without ``$``, as in the tables below; empty for text."""
    text: bytes = b""
    """The text; or of a variable with an open name what the name ends in: of a field, a parameter, a cookie."""


F = TypeVar("F")
_Of = Callable[[TemplateFacts], bytes]


def _args(facts: TemplateFacts) -> bytes:
    return facts.target.partition(b"?")[2]


def _uri(facts: TemplateFacts) -> bytes:
    return _without_controls(facts.path)


# Of what takes long the last one is remembered: hundreds of directives may ask for it, of one request.


@lru_cache(maxsize=1)
def _without_controls(path: bytes) -> bytes:
    # The path is decoded, so it may hold whatever can be escaped.
    return _CONTROL_BYTES.sub(_escaped, path) if _CONTROL_BYTES.search(path) else path


def _escaped(found: re.Match[bytes]) -> bytes:
    return b"%%%02X" % found.group()[0]


def _field(facts: TemplateFacts, name: bytes) -> bytes:
    ends_here = _ENDING_HERE.get(name)
    return facts.field(name) if ends_here is None else ends_here(facts)


def _remote_user(facts: TemplateFacts) -> bytes:
    return _user_of(facts.field(b"authorization"))


@lru_cache(maxsize=1)
def _user_of(authorization: bytes) -> bytes:
    """Return the user that a password is sent for (RFC 7617), whether it is right or not, as nginx does."""
    scheme, _, credentials = authorization.partition(b" ")
    if scheme.lower() != b"basic":
        return b""
    try:
        user, colon, _ = b64decode(credentials.strip(b" "), validate=True).partition(b":")
    except ValueError:
        return b""
    return _CONTROL_BYTES.sub(_escaped, user) if colon else b""


def _verdict(evidence: ClientEvidence | None) -> bytes:
    if evidence is None or not evidence.certificate:
        return b"NONE"
    if evidence.error == VERIFIED:
        return b"SUCCESS"
    return b"FAILED:" + _CONTROL_BYTES.sub(_escaped, evidence.reason.encode("ascii", "replace"))


def _shown_certificate(attribute: str) -> _Of:
    def of(facts: TemplateFacts) -> bytes:
        evidence = facts.client_evidence
        shown = (
            read_certificate(evidence.certificate) if evidence is not None and evidence.certificate else None
        )
        value: bytes = b"" if shown is None else getattr(shown, attribute)
        return value

    return of


@lru_cache(maxsize=1)
def _escape(value: bytes) -> bytes:
    return quote_from_bytes(value, safe="!'()*").encode()


_CONTROL_BYTES: Final = re.compile(rb"[\x00-\x1f\x7f]")
_FIELD_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_REMOTE_ADDRESS: Final[_Of] = lambda facts: facts.client  # noqa: E731 - rows of a table
_PORT: Final[_Of] = lambda facts: b"%d" % facts.port  # noqa: E731

_ENDING_HERE: Final[Mapping[bytes, _Of]] = {
    b"connection": lambda facts: b"Upgrade" if facts.upgrade else b"",
    b"content-length": lambda facts: facts.content_length,
    b"upgrade": lambda facts: facts.upgrade,
}
"""Fields that frame a request or are for the next hop, and so are none of those that go on, as far as anybody asks for them."""

REQUEST_VARIABLES: Final[Mapping[str, _Of]] = {
    "args": _args,
    "best_http_host": lambda facts: facts.authority,
    "binary_remote_addr": _REMOTE_ADDRESS,
    "content_length": lambda facts: facts.content_length,
    "content_type": lambda facts: facts.field(b"content-type"),
    "document_uri": _uri,
    "escaped_request_uri": lambda facts: _escape(facts.target),
    "host": lambda facts: facts.host,
    "https": lambda facts: b"on" if facts.scheme == b"https" else b"",
    "hostname": lambda facts: facts.hostname,
    "is_args": lambda facts: b"?" if _args(facts) else b"",
    "msec": lambda facts: b"%.3f" % facts.now,
    "pass_access_scheme": lambda facts: facts.scheme,
    "pass_port": _PORT,
    "pass_server_port": _PORT,
    "proxy_add_x_forwarded_for": lambda facts: facts.forwarded_for,
    "query_string": _args,
    "remote_addr": _REMOTE_ADDRESS,
    "remote_port": lambda facts: b"%d" % facts.client_port if facts.client_port else b"",
    "remote_user": _remote_user,
    "req_id": lambda facts: facts.id,
    "request": lambda facts: b"%b %b %b" % (facts.method, facts.target, facts.protocol),
    "request_id": lambda facts: facts.id,
    "request_method": lambda facts: facts.method,
    "request_uri": lambda facts: facts.target,
    "scheme": lambda facts: facts.scheme,
    "server_addr": lambda facts: facts.server_address,
    "server_port": _PORT,
    "server_protocol": lambda facts: facts.protocol,
    "ssl_client_escaped_cert": _shown_certificate("escaped_pem"),
    "ssl_client_fingerprint": _shown_certificate("fingerprint"),
    "ssl_client_i_dn": _shown_certificate("issuer"),
    "ssl_client_s_dn": _shown_certificate("subject"),
    "ssl_client_serial": _shown_certificate("serial"),
    "ssl_client_verify": lambda facts: _verdict(facts.client_evidence),
    "the_real_ip": _REMOTE_ADDRESS,
    "time_iso8601": lambda facts: datetime.fromtimestamp(int(facts.now), UTC).isoformat().encode(),
    "time_local": lambda facts: (
        datetime.fromtimestamp(facts.now, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000").encode()
    ),
    "uri": _uri,
}
"""What each variable of a request is; all requests have them."""

REQUEST_NAMES: Final[Mapping[str, Callable[[TemplateFacts, bytes], bytes]]] = {
    "http_": _field,
    "arg_": lambda facts, name: query_value(facts.target, name),
    "cookie_": lambda facts, name: cookie_variable(facts.field(b"cookie"), name),
}
"""The same of those whose name goes on with the name of a field, a parameter or a cookie."""

ANSWER_VARIABLES: Final[Mapping[str, Callable[[TemplateAnswer], bytes]]] = {
    "upstream_cache_status": lambda answer: b"",
    "status": lambda answer: b"%d" % answer.status,
    "upstream_status": lambda answer: b"%d" % answer.status,
}
"""What each variable of an answer is."""

ANSWER_NAMES: Final = ("sent_http_", "upstream_http_")
"""Variables of answers whose name goes on with the name of a field."""

CONSTANTS: Final = frozenset(
    (
        "ingress_name",
        "location_path",
        "namespace",
        "proxy_host",
        "proxy_upstream_name",
        "server_name",
        "service_name",
        "service_port",
    )
)
"""The variables that a route decides."""

_FIELD_NAMES: Final = ("http_", *ANSWER_NAMES)
_NAMES: Final = (*REQUEST_NAMES, *ANSWER_NAMES)
_NAME: Final = re.compile(
    r"\$(?:\{(?P<braced>[^}]*)(?P<closed>\}?)|(?P<digit>[0-9])|(?P<bare>[A-Za-z0-9_]+))"
)
_IS_NAME: Final = re.compile(r"[A-Za-z0-9_]+").fullmatch
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_LINES: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@frozen(cache_hash=True)
class Template:
    """A text with variables: plain data, equal by value."""

    parts: tuple[Part, ...] = ()

    @property
    def text(self) -> bytes | None:
        """What it always is; None where that depends on a variable."""
        if not self.parts:
            return b""
        first = self.parts[0]
        return first.text if len(self.parts) == 1 and not first.variable else None

    @property
    def variables(self) -> frozenset[str]:
        """The names of its variables; of those with an open name the beginning, such as ``http_``."""
        return frozenset(part.variable for part in self.parts if part.variable)

    @property
    def needs_answer(self) -> bool:
        """Whether it can be rendered where there is an answer only."""
        return not self.variables.isdisjoint((*ANSWER_VARIABLES, *ANSWER_NAMES))

    def bound(self, constants: Mapping[str, str]) -> "Template":
        """Return it with *constants*, by name, in place of the variables of these names."""
        if self.variables.isdisjoint(constants):
            return self
        return evolve(self, parts=_joined([_bound(part, constants) for part in self.parts]))

    def render(
        self,
        facts: TemplateFacts,
        answer: TemplateAnswer | None = None,
        values: Mapping[str, bytes] = NO_VALUES,
    ) -> bytes:
        """Return the bytes that it comes to.

        What *values* say of a variable has the last word.  What it asks of an answer is empty without one; so are names that have a
        value nowhere, and constants.
        """
        return b"".join([_value(name, text, facts, answer, values) for name, text in self.parts])

    def field_value(
        self,
        facts: TemplateFacts,
        answer: TemplateAnswer | None = None,
        values: Mapping[str, bytes] = NO_VALUES,
    ) -> bytes:
        """Return what it comes to as the value of a field: without space around, with what *values* have escaped, too.

        What is longer than any field is empty.
        """
        value = self.render(facts, answer, values).strip(b" \t")
        if len(value) > MAX_FIELD_BYTES:
            return b""
        return _FIELD_CONTROLS.sub(_escaped, value) if _FIELD_CONTROLS.search(value) else value

    def __str__(self) -> str:
        """Return it as it may be written, for descriptions."""
        return "".join(
            f"${{{name}{text.decode('utf-8', 'replace')}}}" if name else text.decode("utf-8", "replace")
            for name, text in self.parts
        )


NO_TEXT: Final = Template()


def _value(
    name: str,
    text: bytes,
    facts: TemplateFacts,
    answer: TemplateAnswer | None,
    values: Mapping[str, bytes],
) -> bytes:
    if not name:
        return text
    if name in values:
        return values[name]
    of_request = REQUEST_VARIABLES.get(name)
    if of_request is not None:
        return of_request(facts)
    of_name = REQUEST_NAMES.get(name)
    if of_name is not None:
        return of_name(facts, text)
    of_answer = ANSWER_VARIABLES.get(name)
    if of_answer is not None:
        return b"" if answer is None else of_answer(answer)
    if name in ANSWER_NAMES:
        return b"" if answer is None else answer.field(text)
    return b""


def read_template(
    text: str,
    *,
    answers: bool = False,
    lines: bool = False,
    own: frozenset[str] = frozenset(),
) -> Template:
    """Read a template; raises ``TemplateRefused``.

    With *answers* it may hold variables of answers; with *lines* it may hold line ends, and is fit for no field then; *own*
    are names of variables whose values come with each rendering, such as ``1`` for what an expression captured.
    """
    if len(text) > MAX_CHARACTERS:
        raise TemplateRefused(f"is longer than {MAX_CHARACTERS} characters")
    if (_LINES if lines else _CONTROLS).search(text):
        raise TemplateRefused("holds a control character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TemplateRefused("is no Unicode") from None
    if "$" not in text:
        return Template((Part("", text.encode()),)) if text else NO_TEXT
    parts: list[Part] = []
    at = 0
    for found in _NAME.finditer(text):
        if found.start() > at:
            parts.append(Part("", text[at : found.start()].encode()))
        at = found.end()
        parts.append(_variable(found, answers, own))
    if at < len(text):
        parts.append(Part("", text[at:].encode()))
    if sum(1 for part in parts if part.variable) > MAX_VARIABLES:
        raise TemplateRefused(f"holds more than {MAX_VARIABLES} variables")
    return Template(_joined(parts))


def is_known_variable(name: str) -> bool:
    """Whether *name*, without ``$``, is that of a variable which has a value of its own."""
    return (
        name in REQUEST_VARIABLES
        or name in ANSWER_VARIABLES
        or name in CONSTANTS
        or name.startswith(_NAMES)
        or name.isdecimal()
    )


def _variable(found: re.Match[str], answers: bool, own: frozenset[str]) -> Part:
    name = found["digit"] or found["bare"] or found["braced"] or ""
    if found["braced"] is not None and not (found["closed"] and _IS_NAME(name)):
        raise TemplateRefused("holds a ${ that no name and } follow")
    if name in own:
        return Part(name)
    if name in REQUEST_VARIABLES or name in CONSTANTS or (answers and name in ANSWER_VARIABLES):
        return Part(name)
    for beginning in _NAMES if answers else REQUEST_NAMES:
        rest = name.removeprefix(beginning)
        if rest and rest != name:
            if beginning in _FIELD_NAMES:
                rest = rest.lower().replace("_", "-")
            return Part(beginning, rest.encode())
    raise TemplateRefused(f"holds the variable ${_shown(name)}, which is not known here")


def _shown(name: str) -> str:
    return name if len(name) <= 64 else f"{name[:64]}…"


def _bound(part: Part, constants: Mapping[str, str]) -> Part:
    value = constants.get(part.variable) if part.variable in CONSTANTS else None
    if value is None:
        return part
    return Part("", _CONTROL_BYTES.sub(_escaped, value.encode("utf-8", "replace")))


def _joined(parts: list[Part]) -> tuple[Part, ...]:
    """Return *parts* with neighboring texts as one."""
    joined: list[Part] = []
    for part in parts:
        if joined and not part.variable and not joined[-1].variable:
            joined[-1] = Part("", joined[-1].text + part.text)
        else:
            joined.append(part)
    return tuple(joined)
