"""URLs that an Ingress has us ask, such as ``auth-url``: taken apart as far as they are known, and where they may lead.

A tenant's URL may lead wherever no rule for addresses forbids it: to none of our own addresses, the API server, or a cloud's
metadata service, which is looked at for each connection.  An operator may narrow that to hosts and networks (``--auth-url-allow``,
``--mirror-target-allow``).  A host that the operator names is the operator's own word, and may lead anywhere.
"""

import re
from ipaddress import ip_address, ip_network
from typing import Final

from attrs import evolve

from ingress.annotations.contract.values import ValueRefused, quoted
from ingress.model.frozen import frozen
from ingress.model.network.addresses import address_fault
from ingress.model.network.http_urls import parse_url
from ingress.model.requests.templates import Part, Template, TemplateRefused, read_template

MAX_CHARACTERS: Final = 2048
"""Of a URL."""
MAX_TARGETS: Final = 256
"""Hosts and networks of ``--auth-url-allow``."""

_begins_as_url = re.compile(r"(https?)://(?=[^/?])", re.IGNORECASE).match
_has_blank = re.compile(r"[^\x21-\x7e]").search
_is_pattern = re.compile(r"(?:\*\.)?[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*").fullmatch
_authority_ends = re.compile(rb"[/?]").search
_unsafe = re.compile(rb"[^\x21\x22\x24-\x7e]")


@frozen
class Leave:
    """What a request to some host is allowed."""

    is_trusted: bool = False
    """Whether it may lead anywhere."""
    within: tuple[str, ...] = ()
    """The networks that it must lead into; none: into any."""


@frozen
class AllowedTargets:
    """Where URLs of tenants may lead; with nothing in it, wherever the rules for addresses let them."""

    hosts: frozenset[str] = frozenset()
    """In lower case; ``.example.com`` stands for all names that end so."""
    networks: tuple[str, ...] = ()

    def leave(self, host: str) -> Leave | None:
        """Return what a request to *host*, in lower case, is allowed; None: there may be none."""
        if not self.hosts and not self.networks:
            return Leave()
        if host in self.hosts:
            return Leave(is_trusted=True)
        at = host.find(".")
        while at >= 0:
            # Whoever names a host below this may have chosen its address.
            if host[at:] in self.hosts:
                return Leave()
            at = host.find(".", at + 1)
        return Leave(within=self.networks) if self.networks else None

    def __str__(self) -> str:
        hosts = sorted(f"*{host}" if host.startswith(".") else host for host in self.hosts)
        return ", ".join((*hosts, *self.networks))


ANYWHERE: Final = AllowedTargets()


def parse_targets(text: str) -> AllowedTargets:
    """Read a list of hosts (``auth.example.com``, ``*.example.com``) and networks (``10.0.0.0/8``)."""
    members = [member.lower().removesuffix(".") for member in text.replace(",", " ").split()]
    if len(members) > MAX_TARGETS:
        raise ValueRefused(f"has more than {MAX_TARGETS} members")
    hosts: set[str] = set()
    networks: list[str] = []
    for member in members:
        if "/" in member:
            try:
                networks.append(str(ip_network(member, strict=False)))
            except ValueError:
                raise ValueRefused(f"has {quoted(member)}, which is no network") from None
        elif _is_pattern(member):
            hosts.add(member.removeprefix("*"))
        else:
            try:
                hosts.add(str(ip_address(member.strip("[]"))))
            except ValueError:
                raise ValueRefused(f"has {quoted(member)}, which is no host and no network") from None
    return AllowedTargets(frozenset(hosts), tuple(dict.fromkeys(networks)))


def parse_url_template(text: str, *, has_hash: bool = False) -> Template:
    """Read a URL of http or https with variables; raises ``ValueRefused``.

    With *has_hash* there may be a ``#`` in its query, as there is where another URL stands in that; it is asked for escaped.
    """
    text = text.strip()
    if len(text) > MAX_CHARACTERS:
        raise ValueRefused(f"is longer than {MAX_CHARACTERS} characters")
    if _has_blank(text):
        raise ValueRefused("has blanks or other characters that no URL has")
    begins = _begins_as_url(text)
    if begins is None:
        raise ValueRefused("is no URL that begins with http:// or https:// and a host")
    before_query = text if not has_hash else text.partition("?")[0]
    if "#" in before_query:
        raise ValueRefused("has a fragment, which is nothing to ask for")
    text = begins[1].lower() + text[begins.end(1) :]
    if "@" in re.split("[/?]", text[begins.end() :], maxsplit=1)[0]:
        raise ValueRefused("holds a user, which a URL to ask must not")
    try:
        template = read_template(text)
    except TemplateRefused as refusal:
        raise ValueRefused(str(refusal)) from None
    base, _ = split_url(template)
    if base:
        check_base(base)
    return template


def check_base(base: str) -> str:
    """Return the host of *base*, in lower case; raises ``ValueRefused`` where it names none."""
    try:
        return parse_url(base).host
    except ValueError:
        raise ValueRefused("names no host and port that can be asked") from None


def split_url(template: Template) -> tuple[str, Template]:
    """Return scheme, host and port of a URL, and what is to be asked for there.

    The first is empty where it depends on a variable; the second is all of the URL then.
    """
    first = template.parts[0] if template.parts else Part()
    if first.variable:
        return "", template
    text = first.text
    end = _authority_ends(text, text.find(b"//") + 2)
    if end is None and len(template.parts) > 1:
        return "", template
    at = len(text) if end is None else end.start()
    rest = (Part("", text[at:]), *template.parts[1:]) if at < len(text) else template.parts[1:]
    return text[:at].decode("ascii", "replace"), evolve(template, parts=rest)


def split_rendered(url: bytes) -> tuple[str, bytes]:
    """Return scheme, host and port of a rendered *url*, and its target, which may be empty."""
    end = _authority_ends(url, url.find(b"//") + 2)
    at = len(url) if end is None else end.start()
    return url[:at].decode("latin-1"), url[at:]


def as_target(text: bytes) -> bytes:
    """Return *text*, path and query as variables left them, as a target in origin form."""
    if _unsafe.search(text):
        text = as_visible(text).replace(b"#", b"%23")
    return text if text.startswith(b"/") else b"/" + text


def as_visible(text: bytes) -> bytes:
    """Return *text* with everything escaped that is no visible character of ASCII."""
    return _invisible.sub(lambda found: b"%%%02X" % found[0][0], text)


_invisible = re.compile(rb"[^\x21-\x7e]")


def fault_of_host(base: str, allowed: AllowedTargets, option: str = "auth-url-allow") -> str:
    """Say why a tenant's requests must not go to *base*, as far as that is known beforehand; empty if they may.

    *option* is what the operator says *allowed* by.
    """
    host = parse_url(base).host
    leave = allowed.leave(host)
    if leave is None:
        return f"leads to {host}, which is not among what --{option} names"
    try:
        ip_address(host)
    except ValueError:
        return ""
    fault = None if leave.is_trusted else address_fault(host)
    return f"leads to {host}, which {fault}" if fault else ""
