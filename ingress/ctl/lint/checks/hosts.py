"""Hosts: their TLS, and who else has them."""

from collections.abc import Iterator
from functools import partial
from itertools import islice

from ingress.annotations.contract.values import quoted
from ingress.annotations.redirects.https_redirect import REDIRECTS
from ingress.ctl.lint.finding import Finding
from ingress.ctl.lint.rules import (
    DEFAULT_BACKEND_OF_ALL,
    HOST_IN_NAMESPACES,
    HOST_WITHOUT_TLS,
    PLAIN_HTTP_BESIDE_TLS,
    REDIRECT_WITHOUT_TLS,
    RULE_WITHOUT_PATHS,
    TLS_HOST_WITHOUT_RULE,
    TLS_WITHOUT_SECRET,
)
from ingress.ctl.lint.survey import Subject, Survey
from ingress.model.text.lookup_budget import found_at_last
from ingress.routing.hosts import check_rule_host
from ingress.routing.route import Match
from ingress.translate.age import why_first
from ingress.translate.claims import DEFAULT_BACKEND_FIELD, ROOT, ParsedObject
from ingress.translate.hosts.merging import ALL_HOSTS
from ingress.translate.ownership import wildcard_of
from ingress.translate.readers.ingress.objects import Ingress
from ingress.wording import first_of

_MOST_SHOWN = 3
_UNNAMED = b"unnamed.invalid"
"""A host that no rule names: RFC 6761 section 6.4."""


def check_hosts(survey: Survey, subject: Subject) -> Iterator[Finding]:
    """Yield what is odd about the hosts of an object."""
    parsed = subject.parsed
    if parsed is None:
        return
    yield from _tls_hosts(survey, subject, parsed)
    yield from _rule_hosts(survey, subject, parsed)
    yield from _namespaces(survey, subject, parsed)
    yield from _default_backend(survey, subject, parsed)
    yield from _rules_without_paths(survey, subject, parsed)


def _tls_hosts(survey: Survey, subject: Subject, parsed: ParsedObject) -> Iterator[Finding]:
    """Yield what is odd about the entries of ``tls``."""
    further = {one.host for one in parsed.further}
    for entry in parsed.certificates:
        if entry.secret is None and entry.hosts:
            shown = _shown(entry.hosts)
            yield subject.found(
                TLS_WITHOUT_SECRET,
                f"the entry for {shown} names no Secret, so the default certificate is shown there",
                entry.field,
            )
        for index, written in enumerate(entry.hosts):
            host = written.lower()
            if parsed.default_backend is not None or host in further or check_rule_host(host) is not None:
                continue
            if not _is_served(survey, host):
                yield subject.found(
                    TLS_HOST_WITHOUT_RULE,
                    f"no rule has the host {quoted(written)}",
                    f"{entry.hosts_field}[{index}]",
                )


def _is_served(survey: Survey, host: str) -> bool:
    """Whether any object has a rule that takes *host*, which may be a wildcard, or some host below it."""
    if host in survey.by_host or (wildcard_of(host) or "") in survey.by_host or "" in survey.by_host:
        return True
    return host.startswith("*.") and host[1:] in survey.parents


def _rule_hosts(survey: Survey, subject: Subject, parsed: ParsedObject) -> Iterator[Finding]:
    """Yield what is odd about the TLS of hosts of rules."""
    named = [host for host in parsed.hosts if host]
    bare = [host for host in named if not survey.has_tls(host)]
    redirects = parsed.settings.of(REDIRECTS)
    if parsed.certificates and any(entry.hosts for entry in parsed.certificates):
        for host in bare:
            does = (
                "HTTPS shows the default certificate there, and force-ssl-redirect sends everybody to it"
                if redirects.force_ssl_redirect
                else "HTTPS shows the default certificate there, and plain HTTP is not redirected, which ingress-nginx would do"
            )
            yield subject.found(
                HOST_WITHOUT_TLS, f"spec.tls names other hosts, and not {host}: {does}", "spec.tls"
            )
        if (
            "ssl-redirect" in subject.annotations
            and not redirects.ssl_redirect
            and not redirects.force_ssl_redirect
        ):
            yield subject.found(
                PLAIN_HTTP_BESIDE_TLS,
                "hosts of spec.tls are served over plain HTTP, too, since ssl-redirect is off",
                subject.field("ssl-redirect"),
            )
    elif bare and redirects.force_ssl_redirect and subject.says("force-ssl-redirect"):
        yield subject.found(
            REDIRECT_WITHOUT_TLS,
            f"visitors of {_shown(bare)} are sent to HTTPS, where the default certificate is shown, since no spec.tls names it",
            subject.field("force-ssl-redirect"),
        )


def _namespaces(survey: Survey, subject: Subject, parsed: ParsedObject) -> Iterator[Finding]:
    """Yield the hosts that Ingresses of other namespaces have rules for, too."""
    own = parsed.owner.key.namespace
    for host in parsed.hosts:
        firsts = survey.first_by_namespace(host)
        if not host or len(firsts) < 2:
            continue
        some = (str(first) for namespace, first in firsts.items() if namespace != own)
        others = list(islice(some, _MOST_SHOWN))
        unnamed = len(firsts) - 1 - len(others)
        more = f" and {unnamed} more" if unnamed else ""
        owning = next(iter(firsts))
        whose = "it belongs here" if owning == own else f"it belongs to namespace {owning}"
        yield subject.found(
            HOST_IN_NAMESPACES,
            f"host {host} has rules in other namespaces, too, as in {', '.join(others)}{more}; {whose}",
            parsed.rules_field,
        )


def _default_backend(survey: Survey, subject: Subject, parsed: ParsedObject) -> Iterator[Finding]:
    """Yield that the default backend beside rules gets what is for none of all rules."""
    if not isinstance(subject.value, Ingress) or not parsed.has_rules or ALL_HOSTS in parsed.hosts:
        return
    route = found_at_last(partial(survey.snapshot.table.find, _UNNAMED, ROOT.encode()))
    if route is None or route.owner != parsed.owner:
        return
    named = f"{_shown(parsed.hosts)} alone" if parsed.hosts else "no host"
    yield subject.found(
        DEFAULT_BACKEND_OF_ALL,
        f"requests for hosts that no rule names go to this default backend; ingress-nginx serves it for {named}",
        DEFAULT_BACKEND_FIELD,
    )


def _rules_without_paths(survey: Survey, subject: Subject, parsed: ParsedObject) -> Iterator[Finding]:
    """Yield where a rule without paths answers what no path takes, as it does in ingress-nginx for the oldest Ingress of a named host alone."""
    if parsed.default_backend is not None:
        return
    for route in subject.routes:
        host = route.host
        if host not in parsed.answered or route.path != ROOT or route.match is not Match.PREFIX:
            continue
        if any(
            claim.path == ROOT and claim.match is Match.PREFIX
            for claim in subject.claims_by_host.get(host, ())
        ):
            continue  # A path of another rule of its own, which both have.
        oldest = next(one.parsed for one in survey.by_host[host] if isinstance(one.value, Ingress))
        if not host:
            there = "in ingress-nginx a rule has to name a host for that"
        elif oldest is not None and oldest.owner != parsed.owner:
            there = f"in ingress-nginx it is 404, or as {oldest.owner} has it, {why_first(oldest.owner, parsed.owner)}"
        else:
            continue
        shown = f"host {host}" if host else "all hosts"
        message = f"what no path of {shown} takes is answered by this rule; {there}"
        yield subject.found(RULE_WITHOUT_PATHS, message, parsed.rules_field)


def _shown(hosts: tuple[str, ...] | list[str]) -> str:
    return first_of([quoted(host).strip('"') for host in hosts], _MOST_SHOWN)
