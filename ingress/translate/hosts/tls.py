"""What ``spec.tls`` comes to for each host: its certificates, the redirect to HTTPS, and insisting on it.

- The entries that are heard are those of the namespace to which the host belongs
  (``ingress.translate.ownership``); where no rule names the host, of the namespace of the oldest
  entry for it.  The others are told.
- An entry that is heard carries the redirect, whatever has become of its Secret: as in
  ingress-nginx the host then gets the default certificate, and no visitor is sent back to plain HTTP.
- The oldest entry with a usable certificate wins.  Others of its namespace may add certificates
  with keys of other types, so that a host has RSA for old clients and ECDSA for the rest.
- A host without certificate of its own is shown that of its wildcard, and redirects with
  it, if both belong to one namespace; otherwise nothing of the wildcard is for it.
  That is told to whoever brings the wildcard, once.
- What a namespace says of a wildcard that belongs to another one it says of its own hosts below
  alone: a rule of a stranger for the wildcard takes nothing from them.
- ``Strict-Transport-Security`` is said where the host redirects, and all that may be shown for it
  covers it and is valid now: a browser that heard it lets its user past no fault of a certificate.

An expired certificate is shown like any other; clients decide.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain

from ingress.identity.certificates import Certificate, CertificateTable
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.stepwise import finished
from ingress.translate.age import why_first
from ingress.translate.claims import ParsedObject
from ingress.translate.options import TranslateOptions
from ingress.translate.ownership import OPTION, is_stranger, server_of, told, wildcard_of
from ingress.translate.tls.certificates import (
    CertificateClaim,
    default_problems,
    find,
    read_tls,
)

_NO_EFFECT = "spec.tls of other namespaces has no effect there"
_BELOW_ALONE = "spec.tls of other namespaces is for their own hosts below it alone"


class SaidByStrangers:
    """What *claims* say of a wildcard that belongs to *namespace*, of others: for hosts below that belong to these.

    There may be thousands, of whom few have such hosts, so it is decided when the first one asks.
    """

    def __init__(self, claims: Iterable[CertificateClaim], namespace: str | None, now: datetime) -> None:
        # With whether each certificate is valid, by which hosts insist.
        self._said: dict[str, list[tuple[CertificateClaim, bool]]] = {}
        for claim in claims:
            whose, certificate = claim.owner.key.namespace, claim.certificate
            if whose != namespace:
                is_valid = certificate is None or certificate.is_valid_at(now)
                self._said.setdefault(whose, []).append((claim, is_valid))
        self._chosen: dict[str, tuple[Certificate, ...]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SaidByStrangers) and self._said == other._said

    __hash__ = None  # type: ignore[assignment]  # Values that change nothing are compared, and are no keys.

    def __repr__(self) -> str:
        return f"<SaidByStrangers of {len(self._said)} namespaces>"

    def certificates(self, namespace: str) -> tuple[Certificate, ...] | None:
        """Return those that *namespace* brings for the wildcard, at most one for each type of key; None where it does not speak of it."""
        said = self._said.get(namespace)
        if said is not None and namespace not in self._chosen:
            self._chosen[namespace] = _chosen([claim for claim, _ in said])[0]
        return None if said is None else self._chosen[namespace]


@frozen
class HostTls:
    """The decision about one host.  ``NO_TLS`` is that of all others."""

    namespace: str | None = None
    """Whose entries are heard; None for those of all."""
    is_claimed: bool = False
    """Whether an entry for just this host is heard."""
    certificates: tuple[Certificate, ...] = ()
    """Those that the entries bring, at most one for each type of key, the most important first."""
    hides_wildcard: bool = False
    """Whether the certificates of its wildcard are a stranger's, and no other is to be shown for it."""
    is_left_out: bool = False
    """Whether it would be as its wildcard is, did both belong to one namespace."""
    shows_default: bool = True
    """Whether the default certificate is shown."""
    redirects: bool = False
    insists: bool = False
    """Whether browsers are told to come over HTTPS alone."""
    first: CertificateClaim | None = None
    """The oldest claim that is heard."""
    of_strangers: SaidByStrangers | None = None
    """If this is a wildcard of which other namespaces speak, too."""

    @property
    def entry(self) -> tuple[Certificate, ...] | None:
        """What the table of certificates has for the host; empty where only the default is to be shown."""
        return self.certificates or (() if self.hides_wildcard else None)

    @property
    def for_others(self) -> tuple[object, ...]:
        """If this is a wildcard: what the decisions about the hosts below it depend on."""
        return self.namespace, self.is_claimed, bool(self.certificates), self.insists, self.of_strangers


NO_TLS = HostTls()


def decide_tls(
    host: str,
    claims: Sequence[CertificateClaim],
    owners: Mapping[str, Owner],
    wildcard: HostTls,
    default: Certificate | None,
    now: datetime,
    *,
    is_shared: bool,
) -> tuple[HostTls, Iterable[Problem]]:
    """Decide about *host*; return the decision with its problems, which are made as they are taken, once: there may be thousands.

    *claims* are those for just this host, sorted oldest first; *owners* the owners of all hosts
    that rules name.  *wildcard* is the decision about the wildcard that takes the host.
    """
    namespace, heard, problems = _heard(host, claims, None if is_shared else owners)
    certificates, conflicts = _chosen(heard)
    strangers, own = wildcard.of_strangers, None
    if strangers is not None and namespace is not None:
        own = strangers.certificates(namespace)
    if own and not certificates:
        # Handshakes find what the wildcard has by itself, and this it has not.
        certificates = own
    inherits = own is not None or (wildcard.is_claimed and wildcard.namespace == namespace)
    if not claims and not inherits and not wildcard.certificates:
        return NO_TLS, ()
    redirects = bool(heard) or inherits
    shows_wildcard = inherits and own is None and not certificates and bool(wildcard.certificates)
    shows_default = not certificates and not shows_wildcard
    shown = certificates or (() if default is None else (default,))
    insists = redirects and bool(shown) and all(one.is_valid_at(now) and one.covers(host) for one in shown)
    decision = HostTls(
        namespace,
        bool(heard),
        certificates,
        shows_default and bool(wildcard.certificates),
        wildcard.is_claimed and not inherits and not heard,
        shows_default,
        redirects,
        wildcard.insists if shows_wildcard else insists,
        heard[0] if heard else None,
        SaidByStrangers(claims, namespace, now)
        if host.startswith("*") and len(heard) < len(claims)
        else None,
    )
    return decision, chain(problems, conflicts)


def wildcard_problem(host: str, wildcard: HostTls) -> Problem | None:
    """Tell whoever brings the certificate of *wildcard*, which is *host*, that it leaves hosts out."""
    claim = wildcard.first
    if claim is None:
        return None
    message = (
        f"hosts below {host} that belong to other namespaces and are in no spec.tls there are not shown "
        f"what this entry brings, unless the controller is started with {OPTION}"
    )
    return claim.owner.problem(Reason.HOST_CONFLICT, message, claim.field)


def _heard(
    host: str, claims: Sequence[CertificateClaim], owners: Mapping[str, Owner] | None
) -> tuple[str | None, Sequence[CertificateClaim], Iterable[Problem]]:
    """Return whose claims to *host* are heard, these claims, and what the others are told; all without *owners*."""
    if owners is None:
        return None, claims, ()
    served = server_of(host, owners)
    if served is not None:
        by, owner = served
        has = "a rule for it" if by == host else f"a rule for {by}"
    elif claims:
        owner, has = claims[0].owner, "tls for it, and no rule names it"
    else:
        return None, (), ()
    heard = [claim for claim in claims if not is_stranger(claim.owner, owner)]
    if len(heard) == len(claims):
        return owner.key.namespace, heard, ()
    no_effect = _BELOW_ALONE if host.startswith("*") else _NO_EFFECT
    has_default = any(claim.secret is None for claim in heard)
    problems = (
        told(claim.owner, claim.field, no_effect, host, owner, has=has)
        for claim in claims
        # Who asks for the default certificate where it is shown loses nothing.
        if is_stranger(claim.owner, owner)
        and not claim.is_implied
        and not (has_default and claim.secret is None)
    )
    return owner.key.namespace, heard, problems


def _chosen(heard: Sequence[CertificateClaim]) -> tuple[tuple[Certificate, ...], tuple[Problem, ...]]:
    """Choose as ``choose`` does, of those by name if any of these brings a certificate."""
    named = [claim for claim in heard if not claim.is_implied]
    return choose(named if any(claim.certificate for claim in named) else heard)


def choose(claims: Iterable[CertificateClaim]) -> tuple[tuple[Certificate, ...], tuple[Problem, ...]]:
    """Choose between *claims* to one host, sorted oldest first, and tell those that come too late.

    Returns at most one certificate for each type of key, in the order of the claims.  Namespaces that
    share hosts do not add to each other's: most clients would be shown what a stranger brought.
    """
    winners: dict[str, CertificateClaim] = {}
    certificates: list[Certificate] = []
    first: CertificateClaim | None = None
    problems: list[Problem] = []
    for claim in claims:
        certificate = claim.certificate
        if certificate is None:
            continue
        if first is None:
            first = claim
        winner = first
        if claim.owner.key.namespace == first.owner.key.namespace:
            winner = winners.setdefault(certificate.key_type, claim)
        if winner is claim:
            certificates.append(certificate)
        elif claim.secret != winner.secret and not claim.is_implied:
            problems.append(_conflict(claim, winner))
    return tuple(certificates), tuple(problems)


def translate_tls(
    all_parsed: Iterable[ParsedObject],
    owners: Mapping[str, Owner],
    state: ClusterState,
    options: TranslateOptions,
    now: datetime,
) -> tuple[CertificateTable, Mapping[str, HostTls], tuple[Problem, ...]]:
    """Decide about all hosts.

    *all_parsed* are sorted oldest first, *owners* the owners of the hosts that their rules name.
    Returns the table, the decisions by host, and the problems.  Never raises.
    """
    lookup = cache(lambda key: find(key, state, options))
    default: Certificate | None = None
    problems: list[Problem] = []
    if options.default_ssl_certificate is not None:
        found = lookup(options.default_ssl_certificate)
        default = found if isinstance(found, Certificate) else None
        problems += default_problems(options.default_ssl_certificate, found, now)
    by_host: dict[str, list[CertificateClaim]] = {}
    for parsed in all_parsed:
        found_tls = finished(read_tls(parsed, lookup, default, now))
        problems += found_tls.problems
        for claim in found_tls.claims:
            by_host.setdefault(claim.host, []).append(claim)
    decisions: dict[str, HostTls] = {}
    # Wildcards come first: the hosts below them depend on them.
    hosts = {host for host in (*owners, *by_host) if host}
    for host in sorted(hosts, key=lambda one: not one.startswith("*")):
        above = wildcard_of(host)
        decisions[host], told_of_host = decide_tls(
            host,
            by_host.get(host, ()),
            owners,
            NO_TLS if above is None else decisions.get(above, NO_TLS),
            default,
            now,
            is_shared=options.shared_hosts,
        )
        problems += told_of_host
    exact: dict[str, tuple[Certificate, ...]] = {}
    wide: dict[str, tuple[Certificate, ...]] = {}
    for above in {wildcard_of(host) for host, decision in decisions.items() if decision.is_left_out}:
        problem = None if above is None else wildcard_problem(above, decisions[above])
        problems += () if problem is None else (problem,)
    for host, decision in decisions.items():
        if decision.entry is None:
            continue
        if host.startswith("*"):
            wide[host[1:]] = decision.entry
        else:
            exact[host] = decision.entry
    return CertificateTable(exact, wide, default), decisions, tuple(problems)


def _conflict(loser: CertificateClaim, winner: CertificateClaim) -> Problem:
    secret = f"Secret {winner.secret}" if winner.secret else "the default certificate"
    if winner.owner == loser.owner:
        message = f"{winner.field} gives host {loser.host} {secret}, which is used"
    else:
        why = why_first(winner.owner, loser.owner)
        message = f"host {loser.host} has {secret} from {winner.owner}, {why}"
    return loser.owner.problem(Reason.CERTIFICATE_CONFLICT, message, loser.field)
