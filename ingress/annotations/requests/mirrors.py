"""Mirrors: ``mirror-target``, ``mirror-host`` and ``mirror-request-body``.

Another service gets a copy of each request, and nobody waits for what it answers: a mirror that hangs, refuses or answers
nonsense changes nothing for the client.  What it gets is the request as the endpoint gets it, but for edits of other
filters; with its body, if that is not too long, and once all of it has passed.

A tenant's target may lead wherever no rule for addresses forbids it, as an external name may; the operator may narrow that.
"""

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from ingress.annotations.contract.asked_urls import (
    ANYWHERE,
    AllowedTargets,
    Leave,
    as_target,
    check_base,
    fault_of_host,
    parse_targets,
    parse_url_template,
    split_url,
)
from ingress.annotations.contract.route_constants import route_constants
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Remark, Risk, ValueRefused, parse_switch
from ingress.filter_parts.mirroring import SECONDS, Mirroring
from ingress.filters import Facts, Filter, FilterSpec, Phase, Services, SubRequest
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen
from ingress.model.requests.templates import (
    CONSTANTS,
    NO_TEXT,
    Part,
    Template,
    TemplateRefused,
    read_template,
)

ALLOW: Final = "mirror-target-allow"
_TARGET: Final = "mirror-target"
_HOST: Final = "mirror-host"
_BODY: Final = "mirror-request-body"
_ANY_ADDRESS: Final = Leave()
_REQUEST_URI: Final = read_template("$request_uri")
_QUERY: Final = read_template("$is_args$args")
_BEGINS_WITH_SLASH: Final = frozenset(("document_uri", "location_path", "request_uri", "uri"))
"""Variables behind which a URL goes on with its path."""
_HOSTS: Final = frozenset(("host", *(CONSTANTS - {"location_path"})))
_LONGEST_HOST: Final = 255
_SOME: Final = dict.fromkeys(CONSTANTS, "x")
_is_authority = re.compile(
    r"(?:[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?"
).fullmatch


def _split(template: Template) -> tuple[str, Template]:
    """Return scheme, host and port of a target, and what is to be asked for there; the first empty where that is unknown."""
    parts = template.parts
    if len(parts) > 1 and not parts[0].variable and parts[1].variable in _BEGINS_WITH_SLASH:
        text = parts[0].text
        if b"/" not in text[text.find(b"//") + 2 :] and b"?" not in text:
            return text.decode("ascii", "replace"), Template(parts[1:])
    return split_url(template)


def parse_mirror_target(text: str) -> Template:
    """Read a URL of http or https, whose host no request decides; raises ``ValueRefused``."""
    template = parse_url_template(text)
    if template.needs_answer:
        raise ValueRefused("has a variable of answers, and none is there when a request is copied")
    base, _ = _split(template.bound(_SOME))
    if not base:
        raise ValueRefused("has a variable in its host, which no request may decide")
    check_base(base)
    return template


def parse_mirror_host(text: str) -> Template:
    """Read what ``Host`` is to say: a name or an address, perhaps with a port, with variables that are names of hosts or of objects."""
    host = text.strip().lower()
    try:
        template = read_template(host)
    except TemplateRefused as refusal:
        raise ValueRefused(str(refusal)) from None
    if not all(_says_a_host(part) or _says_a_port(part) for part in template.parts):
        raise ValueRefused(
            "has a variable that is no host; write $host, or a name such as mirror.example.com"
        )
    if len(template.parts) > 1 and any(map(_says_a_port, template.parts)):
        raise ValueRefused(
            "has something beside a variable that may say a port; write $host, which says the name alone"
        )
    shown = "".join("x" if part.variable else part.text.decode() for part in template.parts)
    if len(host) > _LONGEST_HOST or _is_authority(shown) is None:
        raise ValueRefused("is no host; write a name such as mirror.example.com")
    return template


def _says_a_host(part: Part) -> bool:
    """Whether *part* is text, the host that a client asked for, or the name of an object."""
    return not part.variable or part.variable in _HOSTS


def _says_a_port(part: Part) -> bool:
    """Whether *part* is the host that a client asked for with its port, if it wrote one."""
    return part.variable == "best_http_host" or (part.variable == "http_" and part.text == b"host")


def _is_host(text: bytes) -> bool:
    return len(text) <= _LONGEST_HOST and _is_authority(text.decode("latin-1").lower()) is not None


@frozen
class MirrorSettings:
    """What the annotations of one Ingress say about mirrors."""

    target: Template | None = None
    host: Template = NO_TEXT
    """What ``Host`` says; empty for that of the target."""
    sends_body: bool = True
    allowed: AllowedTargets = ANYWHERE
    """Where targets may lead; the operator's to say."""


@frozen(cache_hash=True)
class Mirror:
    """Sends a copy of each request to *target* at *base*; plain data."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "mirror"

    base: str
    """Scheme, host and port."""
    target: Template = _REQUEST_URI
    host: Template = NO_TEXT
    sends_body: bool = True
    leave: Leave = _ANY_ADDRESS

    def describe(self) -> str:
        """Say where copies go."""
        what = "each request" if self.sends_body else "the head of each request"
        host = f" as {self.host}" if self.host.parts else ""
        return f"sends a copy of {what} to {self.base}{self.target}{host}"

    def make(self, services: Services) -> Filter:
        """Make the filter that copies."""
        return Mirroring(self.copy, services, sends_body=self.sends_body)

    def copy(self, facts: Facts, body: bytes) -> SubRequest:
        """Return what is sent of a request."""
        return SubRequest(
            self.base,
            target=as_target(self.target.render(facts)),
            authority=self._authority(facts),
            lines=facts.lines + facts.proxys_lines,
            method=facts.method,
            body=body if self.sends_body else None,
            seconds=SECONDS,
            wants_body=False,
            is_trusted=self.leave.is_trusted,
            within=self.leave.within,
            verifies=False,
            trace=facts.trace,
        )

    def _authority(self, facts: Facts) -> bytes:
        """Return what ``Host`` says; empty for the host of the target, also where the host of the request makes none with what is beside it."""
        said = self.host.render(facts)
        return said if len(self.host.parts) < 2 or _is_host(said) else b""


def mirror_filters(settings: MirrorSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what copies the requests of a route, where that may be."""
    if settings.target is None:
        return ()
    constants = route_constants(facts)
    base, target = _split(settings.target.bound(constants))
    leave = None
    try:
        leave = settings.allowed.leave(check_base(base))
    except ValueRefused:
        pass  # The names of its objects make no host of it.
    if leave is None:
        return ()
    if not target.parts:
        # There is nothing behind its host.
        target = _REQUEST_URI
    elif not settings.target.variables and all(b"?" not in part.text for part in target.parts):
        # The query goes along with a path that is written out; whoever has variables says by them what there is to be.
        target = Template(target.parts + _QUERY.parts)
    host = settings.host.bound(constants)
    if host.text is not None and not _is_host(host.text):
        # Such as the *. of a rule's host, by $server_name.
        host = NO_TEXT
    return (Mirror(base, target, host, settings.sends_body, leave),)


def mirror_remarks(settings: MirrorSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Say what is asked for in vain."""
    if settings.target is None:
        if _TARGET not in names:
            for name in sorted(names):
                yield Remark(name, f"means nothing without {_TARGET}")
        return
    base, _ = _split(settings.target.bound(_SOME))
    if settings.target.variables.isdisjoint(CONSTANTS) or settings.allowed != ANYWHERE:
        fault = fault_of_host(base, settings.allowed, ALLOW)
        if fault:
            yield Remark(_TARGET, f"{fault}; nothing is mirrored", Reason.INVALID_ANNOTATION)


MIRRORS: Final = Family(
    name="mirrors",
    settings=MirrorSettings(),
    acts="sends copies of requests elsewhere",
    phases=(Phase.EDITS,),
    filters=mirror_filters,
    by_path=True,
    remarks=mirror_remarks,
    annotations={
        _TARGET: Annotation(
            "target",
            parse_mirror_target,
            instead="nothing is mirrored",
            values="a URL with variables, such as `https://test.example.com$request_uri`",
            meaning="where a copy of each request goes, whose answer nobody waits for; without a path, to that of the request",
            differs="a slow mirror slows nothing down: it gets no more than 64 requests at a time; addresses that no tenant may name"
            " are refused, and `--mirror-target-allow` narrows them; no variable of a request may stand in the host",
            risk=Risk.HIGH,
        ),
        _HOST: Annotation(
            "host",
            parse_mirror_host,
            instead="the host of the target is used",
            values="a name, or `$host`; the host of the target",
            meaning="what `Host` says in copies",
            risk=Risk.HIGH,
        ),
        _BODY: Annotation(
            "sends_body",
            parse_switch,
            instead="bodies are sent",
            values="`on` or `off`; on",
            meaning="whether copies have the body of the request",
            differs="requests with more than 64 KiB are not mirrored, unless it is off",
        ),
    },
    options={
        ALLOW: Annotation(
            "allowed",
            parse_targets,
            values="hosts, `*.` and a domain, and networks, with commas; anywhere",
            meaning="where mirror-target of Ingresses may lead; a host that is named in full may lead to any address, this host's own included",
        ),
    },
)
