"""``spec.tls`` of all Ingresses: which certificate is shown for which server name.

An entry names hosts and a Secret of the Ingress's own namespace.

- The certificate must cover the host.  An entry without hosts means those hosts of the
  Ingress's own rules that the certificate covers; where the Ingress serves all hosts,
  by a host-less rule or by a default backend alone, the certificate's own names.
- An entry without Secret asks for the default certificate.
- The oldest Ingress that brings a usable certificate for a host wins it.  Others of its
  namespace may add certificates with keys of other types, so that a host has RSA for old
  clients and ECDSA for the rest; for the same type the oldest wins.  Other namespaces may
  not: most clients would then be shown what a stranger brought for the host.
- A host whose Secret is missing or unusable is left to the next Ingress that names it,
  to a wildcard certificate, and at last to the default certificate.  Nothing else of
  the Ingress suffers.

Source: ``networking.k8s.io/v1``, IngressTLS.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cache

from attrs import frozen

from ingress.certificates import Certificate, CertificateError, CertificateTable, load_certificate
from ingress.model.objects import Ingress, IngressTLS, ObjectKey, Secret
from ingress.model.problems import Problem, Reason
from ingress.model.secrets import is_secret_name
from ingress.model.state import ClusterState
from ingress.policy.values import quoted
from ingress.routing.hosts import check_rule_host
from ingress.translate.absent_secrets import hidden_by, secret_in
from ingress.translate.age import why_first
from ingress.translate.options import TranslateOptions

_SHOWN_NAMES = 8

Lookup = Callable[[ObjectKey], Certificate | CertificateError | None]
"""Finds the certificate in a Secret, or why there is none, or None for no such Secret."""


@frozen(weakref_slot=False)
class CertificateClaim:
    """The certificate that an Ingress brings for a host; *secret* None stands for the default certificate."""

    ingress: Ingress
    host: str
    secret: ObjectKey | None
    certificate: Certificate
    field: str


@frozen(weakref_slot=False)
class TLSReading:
    """What ``spec.tls`` of one Ingress comes to with the Secrets as they are."""

    claims: tuple[CertificateClaim, ...] = ()
    """In the order of precedence within the Ingress."""
    problems: tuple[Problem, ...] = ()


def load(secret: Secret | None, now: datetime) -> Certificate | CertificateError | None:
    """Return the certificate in *secret*, or why there is none, or None where there is no Secret."""
    if secret is None:
        return None
    try:
        return load_certificate(secret, now)
    except CertificateError as error:
        return error


def find(
    key: ObjectKey, state: ClusterState, options: TranslateOptions, now: datetime
) -> Certificate | CertificateError | None:
    """Return the certificate in the Secret *key*, or why there is none, or None where there is no Secret."""
    try:
        secret = secret_in(state, key)
    except CertificateError as error:
        return error
    return (
        hidden_by(options.secret_selector)
        if secret is None and options.secret_selector
        else load(secret, now)
    )


def default_problems(key: ObjectKey, found: Certificate | CertificateError | None) -> tuple[Problem, ...]:
    """Return what is wrong with *found*, the certificate of ``--default-ssl-certificate``."""
    if isinstance(found, Certificate):
        return ()
    reason, message = _refusal(key, found)
    message = f"--default-ssl-certificate: {message}; a generated certificate is used"
    return (Problem("Secret", key.namespace, key.name, reason, message),)


def secrets_named(ingress: Ingress, default: ObjectKey | None) -> tuple[ObjectKey, ...]:
    """Return the Secrets that ``read_tls`` looks at; *default* is that of the default certificate."""
    named: dict[ObjectKey, None] = {}
    for entry in ingress.tls:
        if entry.secret_name:
            named[ObjectKey(ingress.key.namespace, entry.secret_name)] = None
        elif default is not None:
            named[default] = None
    return tuple(named)


def read_tls(ingress: Ingress, lookup: Lookup, default: Certificate | None) -> TLSReading:
    """Read ``spec.tls`` of *ingress*; *default* is for entries without Secret.  Never raises."""
    if not ingress.tls:
        return _NO_TLS
    reader = _TLSReader(ingress, lookup, default)
    for index, entry in enumerate(ingress.tls):
        reader.read(entry, f"spec.tls[{index}]")
    return TLSReading(tuple(reader.claims), tuple(reader.problems))


def choose(claims: Iterable[CertificateClaim]) -> tuple[tuple[Certificate, ...], tuple[Problem, ...]]:
    """Choose between *claims* to one host, sorted oldest first, and tell those that come too late.

    Returns at most one certificate for each type of key, in the order of the claims.
    """
    winners: dict[str, CertificateClaim] = {}
    first: CertificateClaim | None = None
    problems: list[Problem] = []
    for claim in claims:
        if first is None:
            first = claim
        is_ours = claim.ingress.key.namespace == first.ingress.key.namespace
        winner = winners.setdefault(claim.certificate.key_type, claim) if is_ours else first
        if claim.secret != winner.secret:
            problems.append(_conflict(claim, winner))
    return tuple(winner.certificate for winner in winners.values()), tuple(problems)


def translate_certificates(
    ingresses: Iterable[Ingress], state: ClusterState, options: TranslateOptions, now: datetime
) -> tuple[CertificateTable, tuple[Problem, ...]]:
    """Build the certificate table from *ingresses*, which are sorted oldest first; never raises."""
    lookup = cache(lambda key: find(key, state, options, now))
    default: Certificate | None = None
    problems: list[Problem] = []
    if options.default_ssl_certificate is not None:
        found = lookup(options.default_ssl_certificate)
        default = found if isinstance(found, Certificate) else None
        problems += default_problems(options.default_ssl_certificate, found)
    by_host: dict[str, list[CertificateClaim]] = {}
    for ingress in ingresses:
        reading = read_tls(ingress, lookup, default)
        problems += reading.problems
        for claim in reading.claims:
            by_host.setdefault(claim.host, []).append(claim)
    exact: dict[str, tuple[Certificate, ...]] = {}
    wildcard: dict[str, tuple[Certificate, ...]] = {}
    for host, claims in by_host.items():
        certificates, conflicts = choose(claims)
        problems += conflicts
        if host.startswith("*"):
            wildcard[host[1:]] = certificates
        else:
            exact[host] = certificates
    return CertificateTable(exact, wildcard, default), tuple(problems)


class _TLSReader:
    """Collects which certificates an Ingress brings for which hosts."""

    def __init__(self, ingress: Ingress, lookup: Lookup, default: Certificate | None) -> None:
        self._ingress = ingress
        self._lookup = lookup
        self._default = default
        self.claims: list[CertificateClaim] = []
        self.problems: list[Problem] = []

    def read(self, entry: IngressTLS, at: str) -> None:
        """Take the hosts of *entry* that its certificate may be shown for."""
        hosts = self._valid_hosts(entry, at)
        if not entry.secret_name:
            if self._default is not None:
                for host, field in hosts:
                    self._claim(host, None, self._default, field)
            return
        ingress = self._ingress
        secret = ObjectKey(ingress.key.namespace, entry.secret_name)
        field = f"{at}.secretName"
        if not is_secret_name(entry.secret_name):
            message = f"{quoted(entry.secret_name)} is not a name that a Secret can have; {_FALLBACK}"
            self._report(field, Reason.SECRET_NOT_FOUND, message)
            return
        found = self._lookup(secret)
        if not isinstance(found, Certificate):
            reason, message = _refusal(secret, found)
            self._report(field, reason, f"{message}; {_FALLBACK}")
            return
        if not entry.hosts:
            hosts = [(host, at) for host in _hosts_for(ingress, found)]
            if not hosts:
                message = f"{_names(found)}, which none of the hosts in the rules is"
                self._report(at, Reason.CERTIFICATE_NAME_MISMATCH, message)
        for host, host_field in hosts:
            if found.covers(host):
                self._claim(host, secret, found, host_field)
            else:
                message = f"{_names(found)}, not for {host}; {_FALLBACK}"
                self._report(host_field, Reason.CERTIFICATE_NAME_MISMATCH, message)

    def _valid_hosts(self, entry: IngressTLS, at: str) -> list[tuple[str, str]]:
        """Return the valid hosts of *entry*, each with its field."""
        valid: list[tuple[str, str]] = []
        for index, host in enumerate(entry.hosts):
            field = f"{at}.hosts[{index}]"
            fault = check_rule_host(host) if host else "is empty"
            if fault is None:
                valid.append((host.lower(), field))
            else:
                message = f"host {quoted(host)} {fault}; it gets no certificate"
                self._report(field, Reason.INVALID_HOST, message)
        return valid

    def _claim(self, host: str, secret: ObjectKey | None, certificate: Certificate, field: str) -> None:
        self.claims.append(CertificateClaim(self._ingress, host, secret, certificate, field))

    def _report(self, field: str, reason: Reason, message: str) -> None:
        self.problems.append(_problem(self._ingress, field, reason, message))


_NO_TLS = TLSReading()
_FALLBACK = "another certificate that covers the host is shown, or the default"


def _conflict(loser: CertificateClaim, winner: CertificateClaim) -> Problem:
    secret = f"Secret {winner.secret}" if winner.secret else "the default certificate"
    if winner.ingress is loser.ingress:
        message = f"{winner.field} gives host {loser.host} {secret}, which is used"
    else:
        why = why_first(winner.ingress, loser.ingress)
        message = f"host {loser.host} has {secret} from Ingress {winner.ingress.key}, {why}"
    return _problem(loser.ingress, loser.field, Reason.CERTIFICATE_CONFLICT, message)


def _problem(ingress: Ingress, field: str, reason: Reason, message: str) -> Problem:
    key = ingress.key
    return Problem("Ingress", key.namespace, key.name, reason, message, field)


def _refusal(key: ObjectKey, error: CertificateError | None) -> tuple[Reason, str]:
    if error is None:
        return Reason.SECRET_NOT_FOUND, f"there is no Secret {key} that holds a certificate"
    return error.reason, f"Secret {key}: {error.message}"


def _names(certificate: Certificate) -> str:
    names = ", ".join(quoted(name) for name in certificate.names[:_SHOWN_NAMES]) or "no name"
    more = ", …" if len(certificate.names) > _SHOWN_NAMES else ""
    return f"the certificate in Secret {certificate.secret} is for {names}{more}"


def _hosts_for(ingress: Ingress, certificate: Certificate) -> list[str]:
    """Return the hosts of *ingress* that *certificate* is for, when ``tls`` names none."""
    rule_hosts = [rule.host.lower() for rule in ingress.rules if check_rule_host(rule.host) is None]
    hosts = [host for host in rule_hosts if host and certificate.covers(host)]
    if not ingress.rules or "" in rule_hosts:
        hosts += [name for name in certificate.names if name and check_rule_host(name) is None]
    return list(dict.fromkeys(hosts))
