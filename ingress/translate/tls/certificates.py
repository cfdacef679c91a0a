"""The certificates that one object asks for (``spec.tls`` of an Ingress): which it brings for which host.

An entry names hosts and a Secret.

- The certificate must cover the host.  An entry without hosts is for the hosts of the
  object's own rules; where it serves all hosts, by a host-less rule or by a default
  backend alone, for the certificate's own names.
- An entry without Secret asks for the default certificate.
- A host of the object's own rules that no entry names is *implied* where a certificate of the entries covers it, or else
  the default: as in ingress-nginx that is shown for it.  Where none does it is no host of TLS, while ingress-nginx would send
  its visitors to a certificate that is for somebody else.
- An entry whose Secret is missing, unusable or for other names still speaks for its hosts, and
  brings no certificate for them.  Nothing else of the object suffers.
- A certificate that has expired, or is not valid yet, is brought like any other, and that is told.

What becomes of a host that several objects name is for ``ingress.translate.hosts.tls`` to decide.

Source: ``networking.k8s.io/v1``, IngressTLS.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import attrs

from ingress.annotations.contract.values import placeholder_hint, quoted
from ingress.identity.certificates import Certificate, CertificateError
from ingress.model.cluster.objects import ObjectKey, Owner, Secret
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.secrets import is_secret_name
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.routing.hosts import check_rule_host
from ingress.translate.absent_secrets import hidden_by, secret_in
from ingress.translate.claims import CertificateRequest, ParsedObject
from ingress.translate.options import TranslateOptions
from ingress.translate.ownership import wildcard_of

_SHOWN_NAMES = 8
_MISSED_EACH = 20
"""Of the hosts of an entry that its certificate is not for, so many are told one by one."""
_LOOKED_AT_ONCE: Final = 1000
"""Entries, or hosts of them, of which nothing but the name is looked at in a step."""
HOSTS_AT_ONCE: Final = 200
"""Hosts of one object that are looked at in a step."""

Lookup = Callable[[ObjectKey], Certificate | CertificateError | None]
"""Finds the certificate in a Secret, or why there is none, or None for no such Secret."""


@frozen(weakref_slot=False)
class CertificateClaim:
    """What an object says about TLS of a host.

    *secret* None stands for the default certificate; *certificate* None for one that cannot be had.
    """

    owner: Owner
    host: str
    secret: ObjectKey | None
    certificate: Certificate | None
    field: str
    is_implied: bool = False
    """Whether the host is of a rule, and no entry names it: whoever does so comes first, however young."""


_FEW: Final = 8
"""As many claims are sooner looked through than sorted by hosts."""


@frozen(weakref_slot=False)
class TLSReading:
    """What the entries of one object come to with the Secrets as they are."""

    claims: tuple[CertificateClaim, ...] = ()
    """In the order of precedence within the object."""
    problems: tuple[Problem, ...] = ()
    by_host: Mapping[str, Sequence[CertificateClaim]] = attrs.field(factory=dict, eq=False, repr=False)
    """The claims about each host, in their order, where they are not few."""

    def of_host(self, host: str) -> Sequence[CertificateClaim]:
        """Return the claims about *host*, in their order."""
        if len(self.claims) <= _FEW:
            return [claim for claim in self.claims if claim.host == host]
        return self.by_host.get(host, ())


def load(secret: Secret | None) -> Certificate | CertificateError | None:
    """Return the certificate in *secret*, or why there is none, or None where there is no Secret."""
    if secret is None:
        return None
    # Most starts of a command meet no Secret, and this takes long to import.
    from ingress.identity.key_pairs import load_certificate

    try:
        return load_certificate(secret)
    except CertificateError as error:
        return error


def find(
    key: ObjectKey, state: ClusterState, options: TranslateOptions
) -> Certificate | CertificateError | None:
    """Return the certificate in the Secret *key*, or why there is none, or None where there is no Secret."""
    try:
        secret = secret_in(state, key)
    except CertificateError as error:
        return error
    return hidden_by(options.secret_selector) if secret is None and options.secret_selector else load(secret)


def default_problems(
    key: ObjectKey, found: Certificate | CertificateError | None, now: datetime
) -> tuple[Problem, ...]:
    """Return what is wrong with *found*, the certificate of ``--default-ssl-certificate``."""
    if not isinstance(found, Certificate):
        reason, message = refusal(key, found)
        message = f"{message}; a generated certificate is used"
    elif found.is_valid_at(now):
        return ()
    else:
        reason, message = out_of_time(found, now)
    return (Problem("Secret", key.namespace, key.name, reason, f"--default-ssl-certificate: {message}"),)


def naming_secrets(parsed: ParsedObject, default: ObjectKey | None) -> Stepwise[tuple[ObjectKey, ...]]:
    """Find in steps the Secrets that ``read_tls`` looks at; *default* is that of the default certificate."""
    named: dict[ObjectKey, None] = {}
    listed: set[str] = set()
    looked_at = 0
    for entry in parsed.certificates:
        if entry.secret is not None:
            named[entry.secret] = None
        elif default is not None:
            named[default] = None
        if default is not None:
            listed.update([host.lower() for host in entry.hosts])
            looked_at += len(entry.hosts)
        looked_at += 1
        if looked_at >= _LOOKED_AT_ONCE:
            looked_at = 0
            yield
    # What is implied may be shown it.
    if default is not None and parsed.certificates and not listed.issuperset(parsed.hosts):
        named[default] = None
    return tuple(named)


def read_tls(
    parsed: ParsedObject, lookup: Lookup, default: Certificate | None, now: datetime
) -> Stepwise[TLSReading]:
    """Read what *parsed* asks for, an entry or a part of one a step; *default* is for entries without Secret.  Never raises."""
    if not parsed.certificates:
        return _NO_TLS
    reader = _TLSReader(parsed, lookup, default, now)
    for number, entry in enumerate(parsed.certificates):
        if number:
            yield
        yield from reader.read(entry)
    yield from reader.finish()
    by_host: dict[str, list[CertificateClaim]] = {}
    for number, claim in enumerate(reader.claims if len(reader.claims) > _FEW else (), 1):
        by_host.setdefault(claim.host, []).append(claim)
        if not number % HOSTS_AT_ONCE:
            yield
    return TLSReading(tuple(reader.claims), tuple(reader.problems), by_host)


class _TLSReader:
    """Collects what an object says about TLS of its hosts."""

    def __init__(
        self, parsed: ParsedObject, lookup: Lookup, default: Certificate | None, now: datetime
    ) -> None:
        self._reading = parsed
        # Further hosts that no entry names, by the host of the rules that they go by.
        self._further: dict[str, list[str]] = {}
        if parsed.further:
            named = {host.lower() for entry in parsed.certificates for host in entry.hosts}
            for one in parsed.further:
                if one.host not in named:
                    self._further.setdefault(one.target, []).append(one.host)
        self._lookup = lookup
        self._default = default
        self._now = now
        self.claims: list[CertificateClaim] = []
        self.problems: list[Problem] = []
        # The hosts that entries list, those that have a certificate, and those that have none.
        self._listed: set[str] = set()
        self._served: set[str] = set()
        self._bare: set[str] = set()
        # Of entries without hosts: their Secrets, the hosts of the rules, whether the object takes all hosts besides,
        # and the certificates for some hosts, with their fields.
        self._spread: set[ObjectKey | None] = set()
        self._rule_hosts: dict[str, None] | None = None
        self._takes_all = False
        self._missed: list[tuple[str, Certificate]] = []
        # The certificates of the entries with hosts, each with its field.
        self._named: list[tuple[ObjectKey, Certificate, str]] = []

    def read(self, entry: CertificateRequest) -> Iterator[None]:
        """Take what *entry* says about its hosts, some of them a step."""
        hosts = yield from self._valid_hosts(entry)
        if not entry.hosts:
            # Written twice, it says the same.
            if entry.secret not in self._spread:
                self._spread.add(entry.secret)
                yield from self._read_without_hosts(entry)
            return
        secret, found = self._certificate(entry)
        if secret is not None and found is not None:
            self._named.append((secret, found, entry.secret_field))
        missed: list[str] = []
        for number, (host, field) in enumerate(hosts, 1):
            if not number % HOSTS_AT_ONCE:
                yield
            self._listed.add(host)
            if found is None or secret is None or found.covers(host):
                self._claim(host, secret, found, field)
                self._claim_further(host, secret, found, field)
            else:
                self._claim(host, secret, None, field)
                missed.append(host)
                if len(missed) <= _MISSED_EACH:
                    message = f"{_names(found)}, not for {host}; {_FALLBACK}"
                    self._report(field, Reason.CERTIFICATE_NAME_MISMATCH, message)
        self._report_more(found, missed, entry.hosts_field)

    def finish(self) -> Iterator[None]:
        """Claim the hosts that are implied, and tell of those for which no entry brings a certificate, where that was not told yet."""
        if self._rule_hosts is None:
            # Else an entry without hosts is for all of them.
            yield from self._imply(
                [host for host in self._reading.hosts if host and host not in self._listed]
            )
        if not self._missed:
            return
        field, certificate = self._missed[0]
        missed = [
            host for host in self._rule_hosts or () if host not in self._served and host not in self._listed
        ]
        for host in missed[:_MISSED_EACH]:
            message = f"{_names(certificate)}, not for {host}; {_FALLBACK}"
            self._report(field, Reason.CERTIFICATE_NAME_MISMATCH, message)
        self._report_more(certificate, missed, field)

    def _report_more(self, certificate: Certificate | None, missed: Sequence[str], field: str) -> None:
        """Tell of those of *missed*, the hosts that *certificate* is not for, which were not told one by one."""
        more = missed[_MISSED_EACH:]
        if certificate is not None and more:
            which = more[0] if len(more) == 1 else f"{len(more)} more hosts here, {more[0]} the first of them"
            message = f"{_names(certificate)}, not for {which}; {_FALLBACK}"
            self._report(field, Reason.CERTIFICATE_NAME_MISMATCH, message)

    def _read_without_hosts(self, entry: CertificateRequest) -> Iterator[None]:
        at = entry.field
        secret, found = self._certificate(entry)
        is_first = self._rule_hosts is None
        if self._rule_hosts is None:
            self._rule_hosts = dict.fromkeys(self._reading.hosts)
            self._takes_all = not self._reading.has_rules or "" in self._rule_hosts
            self._rule_hosts.pop("", None)
        hosts = self._rule_hosts
        claimed: Collection[str] = ()
        if found is not None:
            covered = [host for host in hosts if secret is None or found.covers(host)]
            claimed = dict.fromkeys((*covered, *(_own_hosts(found) if self._takes_all else ())))
            yield
        for number, host in enumerate(claimed, 1):
            self._claim(host, secret, found, at)
            self._claim_further(host, secret, found, at)
            if not number % HOSTS_AT_ONCE:
                yield
        for number, host in enumerate(hosts if is_first else (), 1):
            self._claim(host, secret, None, at)
            if not number % HOSTS_AT_ONCE:
                yield
        if found is not None and secret is not None:
            if claimed:
                self._missed.append((at, found))
            else:
                message = f"{_names(found)}, which none of the hosts in the rules is"
                self._report(at, Reason.CERTIFICATE_NAME_MISMATCH, message)
        elif entry.secret is None and not claimed and not hosts:
            message = "the entry names neither hosts nor a Secret, and no rule names a host; it has no effect"
            self._report(at, Reason.CERTIFICATE_NAME_MISMATCH, message)

    def _certificate(self, entry: CertificateRequest) -> tuple[ObjectKey | None, Certificate | None]:
        """Return the Secret that *entry* names, and the certificate that it stands for, or None with a problem."""
        secret = entry.secret
        if secret is None:
            return None, self._default
        field = entry.secret_field
        if not is_secret_name(secret.name):
            message = f"{quoted(secret.name)} is not a name that a Secret can have; {_FALLBACK}"
            self._report(field, Reason.SECRET_NOT_FOUND, message)
            return secret, None
        found = self._lookup(secret)
        if not isinstance(found, Certificate):
            reason, message = refusal(secret, found)
            if entry.issued_by and reason is Reason.SECRET_NOT_FOUND:
                # It has the type that is watched, so nothing is to be said of what a selector leaves out.
                message = f"{refusal(secret, None)[1]}, and cert-manager is to make it, by {entry.issued_by}; 'kubectl describe certificate' says how far it is"
            self._report(field, reason, f"{message}; {_FALLBACK}")
            return secret, None
        if not found.is_valid_at(self._now):
            self._report(field, *out_of_time(found, self._now))
        return secret, found

    def _valid_hosts(self, entry: CertificateRequest) -> Stepwise[list[tuple[str, str]]]:
        """Find, some of them a step, the valid hosts of *entry*, each with its field."""
        valid: list[tuple[str, str]] = []
        for index, host in enumerate(entry.hosts):
            if not (index + 1) % HOSTS_AT_ONCE:
                yield
            field = f"{entry.hosts_field}[{index}]"
            fault = check_rule_host(host) if host else "is empty"
            if fault is None:
                valid.append((host.lower(), field))
            else:
                message = f"host {quoted(host)} {fault}; it gets no certificate{placeholder_hint(host)}"
                self._report(field, Reason.INVALID_HOST, message)
        return valid

    def _imply(self, hosts: list[str]) -> Iterator[None]:
        """Claim, some hundred a step, those of *hosts* that a certificate covers, each with the first one that does."""
        shown: list[tuple[ObjectKey | None, Certificate, str]] = [*self._named]
        if self._default is not None:
            shown.append((None, self._default, "spec.tls"))
        # There may be thousands of hosts, and of certificates.
        firsts: dict[str, int] = {}
        for number, (_, certificate, _) in enumerate(shown if hosts else ()):
            for name in certificate.names:
                firsts.setdefault(name, number)
        owner = self._reading.owner
        for count, host in enumerate(hosts, 1):
            if not count % HOSTS_AT_ONCE:
                yield
            covering = [firsts[name] for name in (host, wildcard_of(host)) if name in firsts]
            if covering:
                secret, found, field = shown[min(covering)]
                self.claims.append(CertificateClaim(owner, host, secret, found, field, is_implied=True))
                self._claim_further(host, secret, found, field)

    def _claim_further(
        self, host: str, secret: ObjectKey | None, certificate: Certificate | None, field: str
    ) -> None:
        """Claim the further hosts that go by *host*, and that its certificate covers."""
        for further in self._further.get(host, ()):
            if certificate is not None and (secret is None or certificate.covers(further)):
                self._claim(further, secret, certificate, field)

    def _claim(
        self, host: str, secret: ObjectKey | None, certificate: Certificate | None, field: str
    ) -> None:
        if certificate is not None:
            self._served.add(host)
        elif host in self._served or host in self._bare:
            # Without a certificate it says only that there is to be TLS, which is said.
            return
        else:
            self._bare.add(host)
        self.claims.append(CertificateClaim(self._reading.owner, host, secret, certificate, field))

    def _report(self, field: str, reason: Reason, message: str) -> None:
        self.problems.append(self._reading.owner.problem(reason, message, field))


_NO_TLS = TLSReading()
_FALLBACK = "another certificate that covers the host is shown, or the default"


def out_of_time(certificate: Certificate, now: datetime) -> tuple[Reason, str]:
    """Say what is wrong with *certificate*, which is not valid *now*, and is shown all the same."""
    begins = now < certificate.not_before
    reason = Reason.CERTIFICATE_NOT_YET_VALID if begins else Reason.CERTIFICATE_EXPIRED
    verb, when = ("is valid from", certificate.not_before) if begins else ("ended at", certificate.not_after)
    message = f"the certificate in Secret {certificate.secret} {verb} {when:%Y-%m-%dT%H:%M:%SZ}"
    return reason, f"{message}; it is shown all the same, and clients may refuse it"


def refusal(key: ObjectKey, error: CertificateError | None) -> tuple[Reason, str]:
    """Say why there is no certificate in the Secret *key*, which is not there if there is no *error*."""
    if error is None:
        return Reason.SECRET_NOT_FOUND, f"there is no Secret {key} that holds a certificate"
    return error.reason, f"Secret {key}: {error.message}"


def _names(certificate: Certificate) -> str:
    names = ", ".join(quoted(name) for name in certificate.names[:_SHOWN_NAMES]) or "no name"
    more = ", …" if len(certificate.names) > _SHOWN_NAMES else ""
    return f"the certificate in Secret {certificate.secret} is for {names}{more}"


def _own_hosts(certificate: Certificate) -> Iterator[str]:
    """Yield the names of *certificate* that can be hosts."""
    return (name for name in certificate.names if name and check_rule_host(name) is None)
