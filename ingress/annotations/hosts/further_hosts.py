"""Hosts that an Ingress gets besides those of its rules: ``server-alias``, ``from-to-www-redirect``.

Both are about a host as a whole, so what becomes of them is for ``ingress.translate.hosts.further_hosts`` to decide: a rule for such a host
takes it away.  ``server-alias`` names hosts that are served as the first host of the rules, by the alphabet, is.  With
``from-to-www-redirect`` each host of the rules sends the one with, or without, ``www.`` before it to itself.

A regular expression as an alias would make hosts belong to whoever describes them, and is refused.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, Final

from attrs import field

from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import (
    Annotation,
    Family,
    Remark,
    Risk,
    ValueRefused,
    parse_boolean,
    quoted,
)
from ingress.annotations.redirects.https_redirect import PERMANENT
from ingress.filter_parts.judging import Judging
from ingress.filter_parts.redirecting import redirect
from ingress.filters import Facts, Filter, FilterSpec, Phase, Reply, Services
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen

ALIASES: Final = "server-alias"
WWW: Final = "from-to-www-redirect"
MAX_ALIASES: Final = 128
"""Of one Ingress: each has all routes of its host over again."""
MAX_CHARACTERS: Final = 64 * 1024


@frozen
class Aliases:
    """Hosts, in lower case and each once, as they were written otherwise."""

    hosts: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()
    """What was refused among them."""


@frozen
class FurtherHostSettings:
    """What the annotations of one Ingress say about further hosts; or what becomes of one of these."""

    aliases: Aliases = Aliases()
    from_to_www: bool = False
    redirects_to: str = field(default="", kw_only=True)
    """Of a host that is sent to another one: which one, ..."""
    status: int = field(default=PERMANENT, kw_only=True)
    """... by which redirect, ..."""
    keeps_slash: bool = field(default=False, kw_only=True)
    """... and whether with the slash at the end of the path."""


def parse_aliases(text: str) -> Aliases:
    """Read hosts, separated by commas; what is no host among them is for the reader of rules to tell."""
    if len(text) > MAX_CHARACTERS:
        raise ValueRefused(f"is longer than {MAX_CHARACTERS} characters")
    members = dict.fromkeys(member for each in text.split(",") if (member := each.strip()))
    expressions = tuple(member for member in members if member.startswith("~"))
    hosts = tuple(dict.fromkeys(member.lower() for member in members if member not in expressions))
    if len(hosts) > MAX_ALIASES:
        raise ValueRefused(f"names more than {MAX_ALIASES} hosts")
    if not hosts:
        if expressions:
            raise ValueRefused(
                "is a regular expression, by which anybody could take hosts of others; name each host"
            )
        raise ValueRefused("names no host; write a.example.com, separated by commas")
    return Aliases(hosts, expressions)


@frozen
class HostRedirect:
    """Answers every request with a redirect to the same target of *host*."""

    phase: ClassVar[Phase] = Phase.SERVER
    name: ClassVar[str] = "host-redirect"

    host: bytes
    status: int = PERMANENT
    keeps_slash: bool = False

    def describe(self) -> str:
        """Say where requests are sent."""
        return f"answers {self.status} to the same target of {self.host.decode()}"

    def make(self, services: Services) -> Filter:
        """Make the filter that redirects."""
        return Judging(self.judge)

    def judge(self, facts: Facts) -> Reply | None:
        """Send a request to the other host, by the scheme and port that it came by.

        As with the redirect to HTTPS, the slash at the end of a path is not repeated unless that is asked for.
        """
        target = facts.target if facts.target.startswith(b"/") else b"/"
        if not self.keeps_slash and target.endswith(b"/") and b"?" not in target:
            target = target[:-1]
        _, mark, port = facts.field(b"host").rpartition(b":")
        shown = b":" + port if mark and port.isdigit() else b""
        location = b"%b://%b%b%b" % (facts.scheme, self.host, shown, target)
        return redirect(self.status, location)


@lru_cache(maxsize=1024)
def _redirect(host: str, status: int, keeps_slash: bool) -> tuple[FilterSpec, ...]:
    return (HostRedirect(host.encode("ascii"), status, keeps_slash),)


def further_host_filters(settings: FurtherHostSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return the redirect of a host that is sent to another one; nothing for hosts of rules."""
    if not settings.redirects_to:
        return ()
    return _redirect(settings.redirects_to, settings.status, settings.keeps_slash)


def further_host_remarks(settings: FurtherHostSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Tell which aliases are none."""
    if settings.aliases.expressions:
        shown = ", ".join(map(quoted, settings.aliases.expressions[:3]))
        message = (
            f"{shown}: a regular expression, by which anybody could take hosts of others; it is left out"
        )
        yield Remark(ALIASES, message, Reason.INVALID_ANNOTATION)


FURTHER_HOSTS: Final = Family(
    name="further_hosts",
    settings=FurtherHostSettings(),
    acts="hosts besides those of the rules",
    phases=(Phase.SERVER,),
    filters=further_host_filters,
    remarks=further_host_remarks,
    annotations={
        ALIASES: Annotation(
            "aliases",
            parse_aliases,
            instead="no other host is served",
            values=f"hosts, separated by commas, at most {MAX_ALIASES}; none",
            meaning="hosts that get the routes of a host of the rules, the first of the alphabet; a rule for one takes it away",
            differs="regular expressions are refused; other namespaces' paths on the host are those of the alias, and their younger rules take it away, with --shared-hosts alone",
            risk=Risk.HIGH,
        ),
        WWW: Annotation(
            "from_to_www",
            parse_boolean,
            values="boolean; false",
            meaning="redirects www.HOST to HOST of a rule, or HOST to www.HOST, unless it has a rule of its own",
            differs="the port is that of the request",
            risk=Risk.LOW,
        ),
    },
)
