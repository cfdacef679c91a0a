"""Which differences of sets by chance are told, and where.

A rule looks at one request alone: at what the two answered, and at what the set says that may have to do with it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from posixpath import normpath
from urllib.parse import unquote, urlsplit

from conformance.ingress_nginx.case import PREFIX, Ask
from conformance.ingress_nginx.cases import documents
from conformance.ingress_nginx.comparing import Difference, Outcome
from conformance.ingress_nginx.sampling import CANARIES, Sample

REST = 404
ELSEWHERE = ("new.test", "now.test")
"""Where redirects of an Ingress lead."""


@dataclass(frozen=True)
class Seen:
    """One request of a set, and what became of it."""

    sample: Sample
    ask: Ask
    reference: Outcome
    ours: Outcome
    different: Sequence[Difference]

    def annotations(self, name: str) -> list[str]:
        """The values of an annotation, of all Ingresses that have it."""
        key = f"{PREFIX}{name}"
        found = [placed.thing["metadata"]["annotations"] for placed in self.sample.ingresses]
        return [annotations[key] for annotations in found if key in annotations]

    def default_backends(self) -> set[str]:
        specs = [placed.thing["spec"] for placed in self.sample.ingresses]
        return {spec["defaultBackend"]["service"]["name"] for spec in specs if "defaultBackend" in spec}

    def paths(self) -> list[str]:
        return [path for _, path in self.typed_paths()]

    def typed_paths(self) -> list[tuple[str, str]]:
        """All paths that the host asked for may have, each behind its type: those of its rules, or of all where it has none.

        Those of all, too, where somebody is asked here whom only a path has, which may be that of another host by mistake.
        """
        rules = [rule for placed in self.sample.ingresses for rule in placed.thing["spec"].get("rules", ())]
        host = self.host()
        # What is for a wildcard is not for a host that has rules itself.
        of_host = [rule for rule in rules if rule.get("host") == host] or [
            rule for rule in rules if takes(rule.get("host", ""), host)
        ]
        is_alias = any(host in value.split(",") for value in self.annotations("server-alias"))
        if is_alias or served(self.ours) - self.default_backends():
            of_host = []
        return [
            (path["pathType"], path["path"])
            for rule in of_host or rules
            for path in rule.get("http", {}).get("paths", ())
        ]

    def host(self) -> str:
        """The host that is asked for, as rules write it."""
        return host_of(self.ask.host)

    def tls_hosts(self) -> list[str]:
        tls = [one for placed in self.sample.ingresses for one in placed.thing["spec"].get("tls", ())]
        return [host for one in tls for host in one["hosts"]]

    def whats(self) -> set[str]:
        return {one.what for one in self.different}


def takes(host: str, asked: str) -> bool:
    """Whether a rule for *host* may be one for *asked*, or for a host below it."""
    return not host or asked == host or (host.startswith("*.") and asked.endswith(host[1:]))


def served(outcome: Outcome) -> set[str]:
    """The Services that were asked, without the number of their namespace."""
    return {re.sub(r"[0-9]*#[0-9]+$", "", name) for name, _ in outcome.arrivals}


def location(outcome: Outcome) -> str:
    return next((value for name, value in outcome.got.fields if name.lower() == "location"), "")


def is_rest(seen: Seen) -> bool:
    """No path took it here: it is 404, or for a default backend; there the oldest Ingress of the host has a say."""
    if seen.ours.got.status == REST and not seen.ours.arrivals:
        return seen.reference.got.status in (301, 302, 308, 403, 503) or bool(
            served(seen.reference) & seen.default_backends()
        )
    if seen.default_backends() and not may_take(seen):
        # Here one of them is asked, with what its Ingress says; there it may be none, or what the oldest Ingress says.
        return True
    leads = {urlsplit(location(outcome)).hostname for outcome in (seen.reference, seen.ours)}
    if seen.default_backends() and leads & set(ELSEWHERE):
        return True
    return bool(served(seen.ours)) and served(seen.ours) <= seen.default_backends()


def may_take(seen: Seen) -> bool:
    """Whether a path of the set may be for the request."""
    asked = re.sub("/+", "/", unquote(seen.ask.target.partition("?")[0]))
    target = normpath(asked)
    slashed = f"{target.rstrip('/')}/"
    if asked.endswith(("/", "/.", "/..")):
        target = slashed
    if seen.annotations("use-regex") or seen.annotations("rewrite-target"):
        return any(re.match(path, target, re.IGNORECASE) for path in seen.paths())
    return any(
        target == path if kind == "Exact" else slashed.startswith(f"{path.rstrip('/')}/")
        for kind, path in seen.typed_paths()
    )


def is_slash_of_rest(seen: Seen) -> bool:
    """A default backend takes it, and the redirect to HTTPS keeps the slash at the end as the oldest Ingress of the host has it there."""
    if seen.whats() != {"answer.field.location"} or not (
        seen.default_backends() and seen.annotations("preserve-trailing-slash")
    ):
        return False
    one, other = location(seen.reference), location(seen.ours)
    return one.startswith("https://") and (one == f"{other}/" or f"{one}/" == other)


def is_page_of_rest(seen: Seen) -> bool:
    """No path took it here, or a rule without ``http`` did, and the error pages of the host are asked."""
    codes = [value for _, one in seen.ours.arrivals for name, value in one.fields if name.lower() == "x-code"]
    rests = ([str(REST)], ["503"]) if has_empty_rule(seen) else ([str(REST)],)
    return codes in rests and not seen.reference.arrivals


def is_nobody_there(seen: Seen) -> bool:
    """A backend without endpoints: there 503 comes before who may ask at all."""
    return (seen.reference.got.status, seen.ours.got.status) == (503, 403)


def is_spelling_of_host(seen: Seen) -> bool:
    """The same redirect, but for capitals and the dot at the end of the host."""
    if seen.whats() != {"answer.field.location"}:
        return False
    one, other = urlsplit(location(seen.reference)), urlsplit(location(seen.ours))
    return one._replace(netloc=plain(one.netloc)) == other._replace(netloc=plain(other.netloc))


def host_of(authority: str) -> str:
    """The host of it, as rules write it."""
    return plain(authority).partition(":")[0].replace("host", "HOST")


def plain(authority: str) -> str:
    host, colon, port = authority.lower().partition(":")
    return host.rstrip(".") + colon + port


def is_escape_of_rule(seen: Seen) -> bool:
    """A rule has an escape in its path, and what that stands for is asked for."""
    return " " in unquote(seen.ask.target) and any("%20" in path for path in seen.paths())


def has_parameters(seen: Seen) -> bool:
    return ";" in seen.ask.target


def is_refused(seen: Seen) -> bool:
    return seen.ours.got.status == 400 and any(part in seen.ask.target for part in ("%2F", "..", ";"))


def is_captured(seen: Seen) -> bool:
    """A rewritten path with an empty segment, or a dot segment, which ours leaves out."""
    if not seen.annotations("rewrite-target") or not all(what.endswith(".line") for what in seen.whats()):
        return False
    return any(re.search(r" \S*//|/\.\.?[/? ]", one.reference) for one in seen.different)


def is_slash_after_https(seen: Seen) -> bool:
    return seen.reference.got.status == 301 and location(seen.ours).startswith("https://")


def is_relative(seen: Seen) -> bool:
    """The same redirect, without the scheme and host that are asked for, by an annotation that is younger than that ingress-nginx."""
    if seen.whats() != {"answer.field.location"} or not seen.annotations("relative-redirects"):
        return False
    one, ours = urlsplit(seen.different[0].reference), location(seen.ours)
    is_here = one.scheme == ("https" if seen.ask.secure else "http") and host_of(one.netloc) == seen.host()
    return is_here and ours.startswith("/") and one._replace(scheme="", netloc="").geturl() == ours


def is_page_of_nobody(seen: Seen) -> bool:
    """An error that is replaced where there is nobody to replace it."""
    asked_for = any(str(seen.ours.got.status) in value for value in seen.annotations("custom-http-errors"))
    return asked_for and seen.reference.got.status == 404 and not seen.reference.arrivals


def is_canary_of_others(seen: Seen) -> bool:
    """Canaries belong to a Service there, and to a path here."""
    return bool((served(seen.reference) | served(seen.ours)) & set(CANARIES))


def is_www_of_nobody(seen: Seen) -> bool:
    """A redirect between a host and its www, by an Ingress whose paths all belong to others."""
    host = urlsplit(location(seen.ours)).hostname or ""
    asked_for = plain(seen.ask.host).partition(":")[0]
    return bool(seen.annotations("from-to-www-redirect")) and host.startswith("www.") != asked_for.startswith(
        "www."
    )


def is_root_of_expressions(seen: Seen) -> bool:
    """``/`` of type Exact beside expressions: there the root of the host comes before it, which nobody wrote."""
    roots = [
        path
        for placed in seen.sample.ingresses
        for rule in placed.thing["spec"].get("rules", ())
        for path in rule.get("http", {}).get("paths", ())
        if path["path"] == "/" and path["pathType"] == "Exact"
    ]
    asked_for = bool(seen.annotations("use-regex") or seen.annotations("rewrite-target"))
    there = {path["backend"]["service"]["name"] for path in roots}
    # Who has the root that nobody wrote is the default backend of the oldest Ingress.
    is_other_root = served(seen.reference) <= seen.default_backends()
    is_nobody_there = bool(roots) and seen.ours.got.status == 503 and not seen.ours.arrivals
    is_sent = bool(roots) and urlsplit(location(seen.ours)).hostname in ELSEWHERE
    return asked_for and is_other_root and (bool(there & served(seen.ours)) or is_nobody_there or is_sent)


def is_prefix_told(seen: Seen) -> bool:
    return all(what.endswith(".x-forwarded-prefix") for what in seen.whats())


def has_empty_rule(seen: Seen) -> bool:
    rules = [rule for placed in seen.sample.ingresses for rule in placed.thing["spec"].get("rules", ())]
    return any("http" not in rule for rule in rules)


def is_alias_of_several(seen: Seen) -> bool:
    """An alias of one of several Ingresses that have some: there those of one of them count alone, for each host."""
    values = seen.annotations("server-alias")
    host = seen.host()
    named = any(host in value.split(",") for value in values)
    nobody = next(
        (one for one in (seen.reference, seen.ours) if one.got.status == REST and not one.arrivals), None
    )
    if not named or len(values) < 2:
        return False
    if nobody is None:
        return _is_left_to_others(seen, host)
    # To whom the host is nobody's, it is for whoever takes such ones; that may be another set.
    return nobody is seen.reference or not may_take(seen)


def is_alias_of_two_hosts(seen: Seen) -> bool:
    """An alias that Ingresses of different hosts ask for: here the oldest gets it, there the first host of the alphabet."""
    asking = [hosts for hosts, aliases in _aliases(seen) if seen.host() in aliases]
    return any(hosts != asking[0] for hosts in asking)


def _aliases(seen: Seen) -> list[tuple[set[str], list[str]]]:
    """The hosts of the rules of each Ingress that has aliases, and these."""
    return [
        ({rule.get("host", "") for rule in placed.thing["spec"].get("rules", ())}, value.split(","))
        for placed in seen.sample.ingresses
        if (value := placed.thing["metadata"]["annotations"].get(f"{PREFIX}server-alias"))
    ]


def _is_left_to_others(seen: Seen, alias: str) -> bool:
    """Whether *alias* may be skipped for one host, and be another's then.

    Who asks for it has a host of which another Ingress that has aliases has rules, too, and several hosts; or there is a wildcard above it.
    """
    asking = _aliases(seen)
    hosts_of_rules = {
        rule.get("host", "")
        for placed in seen.sample.ingresses
        for rule in placed.thing["spec"].get("rules", ())
    }
    is_below = any(host != alias and takes(host, alias) for host in hosts_of_rules)
    return any(
        alias in aliases
        and (len(hosts) > 1 or is_below)
        and any(hosts & others for others, _ in asking if others is not hosts)
        for hosts, aliases in asking
    )


def is_empty_rule(seen: Seen) -> bool:
    """A rule without ``http``, for a host that another rule would take: 503, so that nobody else gets its requests."""
    return has_empty_rule(seen) and (seen.reference.got.status, seen.ours.got.status) == (404, 503)


def is_redirect_without_path(seen: Seen) -> bool:
    """A rule without ``http`` redirects, of an Ingress that is not the oldest of the host."""
    asked_for = seen.annotations("permanent-redirect") or seen.annotations("temporal-redirect")
    leads = [urlsplit(location(outcome)).hostname in ELSEWHERE for outcome in (seen.reference, seen.ours)]
    return has_empty_rule(seen) and bool(asked_for) and leads == [False, True]


def is_below_wildcard(seen: Seen) -> bool:
    """Plain HTTP to a host whose wildcard alone is in spec.tls."""
    wildcards = [host[1:] for host in seen.tls_hosts() if host.startswith("*.")]
    name = seen.host()
    below = any(name.endswith(end) for end in wildcards)
    return below and name not in seen.tls_hosts() and location(seen.ours).startswith("https://")


RULES: tuple[tuple[Callable[[Seen], bool], str], ...] = (
    (is_rest, documents.EVERYBODY),
    (is_slash_of_rest, documents.EVERYBODY),
    (is_page_of_rest, documents.ERRORS),
    (is_nobody_there, documents.EVERYBODY),
    (is_spelling_of_host, documents.EVERYBODY),
    (is_refused, documents.EVERYBODY),
    (is_escape_of_rule, documents.EVERYBODY),
    (has_parameters, documents.EVERYBODY),
    (is_captured, documents.TARGETS),
    (is_slash_after_https, "docs/redirects.md#redirects"),
    (is_relative, documents.VERSIONS),
    (is_page_of_nobody, documents.ERRORS),
    (is_canary_of_others, documents.CANARIES),
    (is_www_of_nobody, documents.FURTHER_HOSTS),
    (is_root_of_expressions, documents.EXPRESSIONS),
    (is_prefix_told, "docs/annotations.md#annotations-what-each-of-them-does"),
    (is_alias_of_several, "docs/further-hosts.md#server-alias"),
    (is_alias_of_two_hosts, "docs/further-hosts.md#whose-they-are"),
    (is_empty_rule, "docs/problems.md#problems"),
    (is_redirect_without_path, "docs/redirects.md#to-elsewhere"),
    (is_below_wildcard, documents.REDIRECTING),
)


def told(sample: Sample, ask: Ask, reference: Outcome, ours: Outcome, different: Sequence[Difference]) -> str:
    """The heading that tells of it, or nothing."""
    seen = Seen(sample, ask, reference, ours, different)
    return next((f"{where} ({rule.__name__})" for rule, where in RULES if rule(seen)), "")
