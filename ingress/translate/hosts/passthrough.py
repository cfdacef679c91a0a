"""Whether TLS for a host passes through, and to which backend.

As in ingress-nginx, the oldest Ingress that names a host decides whether its TLS is terminated
here, and the backend of its path ``/`` gets it: a server name is all that is known of a
connection, so all paths are one.  Unlike there, that path must be its own; else an
Ingress could send what its visitors say to the pods of another.  Where another namespace has it,
since a default backend yields to rules and a prefix to the exact path, TLS goes on to what it
went to before: nobody ends it by a rule for a host that is not his.
"""

from collections.abc import Mapping, Sequence

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.client_certificates.family import CLIENT_CERTIFICATES
from ingress.annotations.contract.values import quoted
from ingress.annotations.hosts.passthrough import ANNOTATION, PASSTHROUGH
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.upstream.backends import BackendReference
from ingress.routing.paths import rule_path
from ingress.routing.route import Match
from ingress.translate.age import why_first
from ingress.translate.claims import Claim, ParsedObject
from ingress.translate.hosts.closing import HostClosing
from ingress.translate.hosts.merging import default_claim
from ingress.translate.ownership import is_stranger


@frozen
class Passing:
    """The *claim* whose backend gets the TLS of a host."""

    claim: Claim
    carrier: Claim
    """The claim by whose route it is found: itself, or another one of its object where a stranger has its path."""


@frozen
class HostPassthrough:
    """What becomes of the TLS of one host: who gets it, or None."""

    passing: Passing | None = None
    problems: tuple[Problem, ...] = ()


_TERMINATED = HostPassthrough()


def choose_passthrough(
    host: str,
    all_parsed: Sequence[ParsedObject],
    claims: Sequence[Claim],
    annotations: AnnotationReader,
    closing: HostClosing,
    *,
    is_guarded: bool,
    is_shared: bool,
) -> HostPassthrough:
    """Decide about *host*.

    *all_parsed* are those that have a say about it, sorted oldest first; *claims* are those that won,
    *closing* says which of these are closed, *is_guarded* that something stands before the host as a whole, and
    *is_shared* that all namespaces speak for it.
    """
    asking = [one for one in all_parsed if one.settings.of(PASSTHROUGH).passes_tls and host in one.hosts]
    if not asking:
        return _TERMINATED
    field = annotations.field(ANNOTATION)
    if not host:
        message = "a rule without host has no server name; its TLS is terminated here"
        return HostPassthrough(None, tuple(_problem(one, field, message) for one in asking))
    first = all_parsed[0]
    if not first.settings.of(PASSTHROUGH).passes_tls:
        decided = f"TLS for host {host} is terminated here, as {first.owner} has it"
        return HostPassthrough(
            None,
            tuple(_problem(one, field, f"{decided}, {why_first(first.owner, one.owner)}") for one in asking),
        )
    roots = [one for one in claims if one.match is not Match.BEGINNING and rule_path(one.path) == b"/"]
    own = [one for one in roots if is_shared or not is_stranger(one.owner, first.owner)]
    root = min(own or roots, key=lambda claim: claim.match is not Match.EXACT, default=None)
    carrier = root
    if root is not None and not own:
        # A stranger has it, and the default backend of this one would, were he not there.
        carrier = next((one for one in claims if one.owner == first.owner), None)
        root = (None if carrier is None else default_claim(first, host)) or root
    if root is None or root.owner != first.owner:
        owner = "nobody has" if root is None else f"{root.owner} has"
        message = (
            f"TLS for host {host} is terminated here: it would go to the backend of path /, which {owner}"
        )
        return HostPassthrough(None, (_problem(first, field, message),))
    if closing.lacks_guard(first):
        # It answers 503 rather than be open, and has been told so.
        return _TERMINATED
    by_owner = {one.owner: one for one in all_parsed}
    closed = _first_closed(root, claims, by_owner, closing)
    if closed is not None:
        message = (
            f"TLS for host {host} is terminated here, since it would lead past what is closed there: path "
            f"{quoted(closed.path)} of {closed.owner} answers 503"
        )
        return HostPassthrough(None, (_problem(first, field, message),))
    if first.settings.of(CLIENT_CERTIFICATES).asks:
        message = f"TLS for host {host} is terminated here, since this {first.owner.kind} demands client certificates"
        return HostPassthrough(None, (_problem(first, field, message),))
    if annotations.guards(first.settings):
        message = (
            f"TLS for host {host} is terminated here, since this {first.owner.kind} says who may come in"
        )
        return HostPassthrough(None, (_problem(first, field, message),))
    if is_guarded:
        message = (
            f"TLS for host {host} is terminated here, since it would lead past what guards the host as a whole:"
            " client certificates, or a server-snippet, of another Ingress"
        )
        return HostPassthrough(None, (_problem(first, field, message),))
    guarded = _first_guarded(root, claims, by_owner, annotations)
    if guarded is not None:
        message = (
            f"TLS for host {host} is terminated here, since it would lead past {guarded.owner}, which says who may "
            f"come in at path {quoted(guarded.path)}"
        )
        return HostPassthrough(None, (_problem(first, field, message),))
    message = (
        f"TLS for host {host} passes through to the backend of path / in {first.owner}, "
        "whatever the path; over TLS this one is out of reach"
    )
    # A path that leads where TLS goes anyway loses nothing.
    lost = [claim for claim in claims if claim.backend != root.backend]
    return HostPassthrough(
        Passing(root, carrier or root), tuple(_problem(claim, claim.field, message) for claim in lost)
    )


def _first_closed(
    root: Claim,
    claims: Sequence[Claim],
    all_parsed: Mapping[Owner, ParsedObject],
    closing: HostClosing,
) -> Claim | None:
    """Find a claim that nobody may get to, and that TLS to the backend of *root* would open."""
    for claim in claims:
        if claim.match is Match.BEGINNING and claim.beginnings is not None and claim.beginnings.takes_all:
            return claim
        leads_there = passed_backend(claim) == passed_backend(root)
        if leads_there and closing.lacks_guard(all_parsed[claim.owner]):
            return claim
    return None


def _first_guarded(
    root: Claim,
    claims: Sequence[Claim],
    all_parsed: Mapping[Owner, ParsedObject],
    annotations: AnnotationReader,
) -> Claim | None:
    """Find a claim whose owner keeps somebody out whom TLS to the backend of *root* would let in."""
    for claim in claims:
        leads_there = passed_backend(claim) == passed_backend(root)
        if leads_there and annotations.guards(all_parsed[claim.owner].settings):
            return claim
    return None


def passed_backend(claim: Claim) -> BackendReference:
    """Return where TLS goes by *claim*: to the same Service, and nothing of ours around it."""
    return claim.backend._replace(protocol=None)


def _problem(parsed: ParsedObject | Claim, field: str, message: str) -> Problem:
    return parsed.owner.problem(Reason.PASSTHROUGH_CONFLICT, message, field)
