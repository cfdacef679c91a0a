"""``spec.tls`` of one Ingress: which certificate it brings for which host.

An entry names hosts and a Secret of the Ingress's own namespace.

- The certificate must cover the host.  An entry without hosts is for the hosts of the
  Ingress's own rules; where the Ingress serves all hosts, by a host-less rule or by a default
  backend alone, for the certificate's own names.
- An entry without Secret asks for the default certificate.
- An entry whose Secret is missing, unusable or for other names still speaks for its hosts, and
  brings no certificate for them.  Nothing else of the Ingress suffers.
- A certificate that has expired, or is not valid yet, is brought like any other, and that is told.

What becomes of a host that several Ingresses name is for ``ingress.translate.host_tls`` to decide.

Source: ``networking.k8s.io/v1``, IngressTLS.
"""

from collections.abc import Callable, Collection, Iterator
from datetime import datetime

from attrs import frozen

from ingress.annotations.values import quoted
from ingress.identity.certificates import Certificate, CertificateError, load_certificate
from ingress.model.objects import Ingress, IngressTLS, ObjectKey, Secret
from ingress.model.problems import Problem, Reason
from ingress.model.secrets import is_secret_name
from ingress.model.state import ClusterState
from ingress.routing.hosts import check_rule_host
from ingress.translate.absent_secrets import hidden_by, secret_in
from ingress.translate.options import TranslateOptions

_SHOWN_NAMES = 8

Lookup = Callable[[ObjectKey], Certificate | CertificateError | None]
"""Finds the certificate in a Secret, or why there is none, or None for no such Secret."""


@frozen(weakref_slot=False)
class CertificateClaim:
    """What an Ingress says about TLS of a host.

    *secret* None stands for the default certificate; *certificate* None for one that cannot be had.
    """

    ingress: Ingress
    host: str
    secret: ObjectKey | None
    certificate: Certificate | None
    field: str


@frozen(weakref_slot=False)
class TLSReading:
    """What ``spec.tls`` of one Ingress comes to with the Secrets as they are."""

    claims: tuple[CertificateClaim, ...] = ()
    """In the order of precedence within the Ingress."""
    problems: tuple[Problem, ...] = ()


def load(secret: Secret | None) -> Certificate | CertificateError | None:
    """Return the certificate in *secret*, or why there is none, or None where there is no Secret."""
    if secret is None:
        return None
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
        reason, message = _refusal(key, found)
        message = f"{message}; a generated certificate is used"
    elif found.is_valid_at(now):
        return ()
    else:
        reason, message = _out_of_time(found, now)
    return (Problem("Secret", key.namespace, key.name, reason, f"--default-ssl-certificate: {message}"),)


def secrets_named(ingress: Ingress, default: ObjectKey | None) -> tuple[ObjectKey, ...]:
    """Return the Secrets that ``read_tls`` looks at; *default* is that of the default certificate."""
    named: dict[ObjectKey, None] = {}
    for entry in ingress.tls:
        if entry.secret_name:
            named[ObjectKey(ingress.key.namespace, entry.secret_name)] = None
        elif default is not None:
            named[default] = None
    return tuple(named)


def read_tls(ingress: Ingress, lookup: Lookup, default: Certificate | None, now: datetime) -> TLSReading:
    """Read ``spec.tls`` of *ingress*; *default* is for entries without Secret.  Never raises."""
    if not ingress.tls:
        return _NO_TLS
    reader = _TLSReader(ingress, lookup, default, now)
    for index, entry in enumerate(ingress.tls):
        reader.read(entry, f"spec.tls[{index}]")
    reader.finish()
    return TLSReading(tuple(reader.claims), tuple(reader.problems))


class _TLSReader:
    """Collects what an Ingress says about TLS of its hosts."""

    def __init__(self, ingress: Ingress, lookup: Lookup, default: Certificate | None, now: datetime) -> None:
        self._ingress = ingress
        self._lookup = lookup
        self._default = default
        self._now = now
        self.claims: list[CertificateClaim] = []
        self.problems: list[Problem] = []
        # The hosts that entries list, those that have a certificate, and those that have none.
        self._listed: set[str] = set()
        self._served: set[str] = set()
        self._bare: set[str] = set()
        # Of entries without hosts: their Secrets, the hosts of the rules, whether the Ingress takes all hosts besides,
        # and the certificates for some hosts, with their fields.
        self._spread: set[str] = set()
        self._rule_hosts: dict[str, None] | None = None
        self._takes_all = False
        self._missed: list[tuple[str, Certificate]] = []

    def read(self, entry: IngressTLS, at: str) -> None:
        """Take what *entry* says about its hosts."""
        hosts = self._valid_hosts(entry, at)
        if not entry.hosts:
            # Written twice, it says the same.
            if entry.secret_name not in self._spread:
                self._spread.add(entry.secret_name)
                self._read_without_hosts(entry, at)
            return
        secret, found = self._certificate(entry, at)
        for host, field in hosts:
            self._listed.add(host)
            if found is None or secret is None or found.covers(host):
                self._claim(host, secret, found, field)
            else:
                self._claim(host, secret, None, field)
                message = f"{_names(found)}, not for {host}; {_FALLBACK}"
                self._report(field, Reason.CERTIFICATE_NAME_MISMATCH, message)

    def finish(self) -> None:
        """Tell of the hosts for which no entry brings a certificate, where that was not told yet."""
        if not self._missed:
            return
        field, certificate = self._missed[0]
        for host in self._rule_hosts or ():
            if host not in self._served and host not in self._listed:
                message = f"{_names(certificate)}, not for {host}; {_FALLBACK}"
                self._report(field, Reason.CERTIFICATE_NAME_MISMATCH, message)

    def _read_without_hosts(self, entry: IngressTLS, at: str) -> None:
        secret, found = self._certificate(entry, at)
        is_first = self._rule_hosts is None
        if self._rule_hosts is None:
            valid = (rule.host.lower() for rule in self._ingress.rules if check_rule_host(rule.host) is None)
            self._rule_hosts = dict.fromkeys(valid)
            self._takes_all = not self._ingress.rules or "" in self._rule_hosts
            self._rule_hosts.pop("", None)
        hosts = self._rule_hosts
        claimed: Collection[str] = ()
        if found is not None:
            covered = [host for host in hosts if secret is None or found.covers(host)]
            claimed = dict.fromkeys((*covered, *(_own_hosts(found) if self._takes_all else ())))
        for host in claimed:
            self._claim(host, secret, found, at)
        if is_first:
            for host in hosts:
                self._claim(host, secret, None, at)
        if found is not None and secret is not None:
            if claimed:
                self._missed.append((at, found))
            else:
                message = f"{_names(found)}, which none of the hosts in the rules is"
                self._report(at, Reason.CERTIFICATE_NAME_MISMATCH, message)
        elif not entry.secret_name and not claimed and not hosts:
            message = "the entry names neither hosts nor a Secret, and no rule names a host; it has no effect"
            self._report(at, Reason.CERTIFICATE_NAME_MISMATCH, message)

    def _certificate(self, entry: IngressTLS, at: str) -> tuple[ObjectKey | None, Certificate | None]:
        """Return the Secret that *entry* names, and the certificate that it stands for, or None with a problem."""
        if not entry.secret_name:
            return None, self._default
        secret = ObjectKey(self._ingress.key.namespace, entry.secret_name)
        field = f"{at}.secretName"
        if not is_secret_name(entry.secret_name):
            message = f"{quoted(entry.secret_name)} is not a name that a Secret can have; {_FALLBACK}"
            self._report(field, Reason.SECRET_NOT_FOUND, message)
            return secret, None
        found = self._lookup(secret)
        if not isinstance(found, Certificate):
            reason, message = _refusal(secret, found)
            self._report(field, reason, f"{message}; {_FALLBACK}")
            return secret, None
        if not found.is_valid_at(self._now):
            self._report(field, *_out_of_time(found, self._now))
        return secret, found

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
        self.claims.append(CertificateClaim(self._ingress, host, secret, certificate, field))

    def _report(self, field: str, reason: Reason, message: str) -> None:
        self.problems.append(problem_of(self._ingress, field, reason, message))


_NO_TLS = TLSReading()
_FALLBACK = "another certificate that covers the host is shown, or the default"


def problem_of(ingress: Ingress, field: str, reason: Reason, message: str) -> Problem:
    """Return a problem of *ingress*."""
    key = ingress.key
    return Problem("Ingress", key.namespace, key.name, reason, message, field)


def _out_of_time(certificate: Certificate, now: datetime) -> tuple[Reason, str]:
    """Say what is wrong with *certificate*, which is not valid *now*."""
    begins = now < certificate.not_before
    reason = Reason.CERTIFICATE_NOT_YET_VALID if begins else Reason.CERTIFICATE_EXPIRED
    verb, when = ("is valid from", certificate.not_before) if begins else ("ended at", certificate.not_after)
    message = f"the certificate in Secret {certificate.secret} {verb} {when:%Y-%m-%dT%H:%M:%SZ}"
    return reason, f"{message}; it is shown all the same, and clients may refuse it"


def _refusal(key: ObjectKey, error: CertificateError | None) -> tuple[Reason, str]:
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
