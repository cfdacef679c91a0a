"""``spec.tls`` of all Ingresses: which certificate is shown for which server name.

An entry names hosts and a Secret of the Ingress's own namespace.

- The certificate must cover the host.  An entry without hosts means those hosts of the
  Ingress's own rules that the certificate covers; where the Ingress serves all hosts,
  by a host-less rule or by a default backend alone, the certificate's own names.
- An entry without Secret asks for the default certificate.
- The oldest Ingress that brings a usable certificate for a host wins it.
- A host whose Secret is missing or unusable is left to the next Ingress that names it,
  to a wildcard certificate, and at last to the default certificate.  Nothing else of
  the Ingress suffers.

Source: ``networking.k8s.io/v1``, IngressTLS.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from attrs import frozen

from ingress.certificates import Certificate, CertificateError, CertificateTable, load_certificate
from ingress.model.objects import Ingress, IngressTLS, ObjectKey, Secret
from ingress.model.problems import Problem, Reason
from ingress.model.secrets import is_secret_name
from ingress.model.state import ClusterState
from ingress.policy.values import quoted
from ingress.routing.hosts import check_rule_host
from ingress.translate.age import why_first
from ingress.translate.options import TranslateOptions

_SHOWN_NAMES = 8


def translate_certificates(
    ingresses: Iterable[Ingress], state: ClusterState, options: TranslateOptions, now: datetime
) -> tuple[CertificateTable, tuple[Problem, ...]]:
    """Build the certificate table from *ingresses*, which are sorted oldest first; never raises."""
    reader = _TLSReader(_Secrets(state.secrets, now))
    if options.default_ssl_certificate is not None:
        reader.read_default(options.default_ssl_certificate)
    for ingress in ingresses:
        for index, entry in enumerate(ingress.tls):
            reader.read(ingress, entry, f"spec.tls[{index}]")
    exact = {host: one.certificate for host, one in reader.claims.items() if not host.startswith("*")}
    wildcard = {host[1:]: one.certificate for host, one in reader.claims.items() if host.startswith("*")}
    return CertificateTable(exact, wildcard, reader.default), tuple(reader.problems)


@frozen
class _Claim:
    """The certificate of a host; *secret* None stands for the default certificate."""

    ingress: Ingress
    secret: ObjectKey | None
    certificate: Certificate
    field: str


class _Secrets:
    """Reads each Secret at most once in one translation."""

    def __init__(self, secrets: Mapping[ObjectKey, Secret], now: datetime) -> None:
        self._secrets = secrets
        self._now = now
        self._read: dict[ObjectKey, Certificate | CertificateError] = {}

    def certificate(self, key: ObjectKey) -> Certificate | CertificateError | None:
        """Return the certificate in Secret *key*, or why there is none, or None for no such Secret."""
        secret = self._secrets.get(key)
        if secret is None:
            return None
        if key not in self._read:
            try:
                self._read[key] = load_certificate(secret, self._now)
            except CertificateError as error:
                self._read[key] = error
        return self._read[key]


class _TLSReader:
    """Collects who brings which certificate for which host, in the order of precedence."""

    def __init__(self, secrets: _Secrets) -> None:
        self._secrets = secrets
        self.claims: dict[str, _Claim] = {}
        self.default: Certificate | None = None
        self.problems: list[Problem] = []

    def read_default(self, key: ObjectKey) -> None:
        """Read the certificate of ``--default-ssl-certificate``."""
        found = self._secrets.certificate(key)
        if isinstance(found, Certificate):
            self.default = found
            return
        reason, message = _refusal(key, found)
        message = f"--default-ssl-certificate: {message}; a generated certificate is used"
        self.problems.append(Problem("Secret", key.namespace, key.name, reason, message))

    def read(self, ingress: Ingress, entry: IngressTLS, at: str) -> None:
        """Take the hosts of *entry* that its certificate may be shown for."""
        hosts = self._valid_hosts(ingress, entry, at)
        if not entry.secret_name:
            if self.default is not None:
                for host, field in hosts:
                    self._claim(host, _Claim(ingress, None, self.default, field))
            return
        secret = ObjectKey(ingress.key.namespace, entry.secret_name)
        field = f"{at}.secretName"
        if not is_secret_name(entry.secret_name):
            message = f"{quoted(entry.secret_name)} is not a name that a Secret can have; {_FALLBACK}"
            self._report(ingress, field, Reason.SECRET_NOT_FOUND, message)
            return
        found = self._secrets.certificate(secret)
        if not isinstance(found, Certificate):
            reason, message = _refusal(secret, found)
            self._report(ingress, field, reason, f"{message}; {_FALLBACK}")
            return
        if not entry.hosts:
            hosts = [(host, at) for host in _hosts_for(ingress, found)]
            if not hosts:
                message = f"{_names(found)}, which none of the hosts in the rules is"
                self._report(ingress, at, Reason.CERTIFICATE_NAME_MISMATCH, message)
        for host, host_field in hosts:
            if found.covers(host):
                self._claim(host, _Claim(ingress, secret, found, host_field))
            else:
                message = f"{_names(found)}, not for {host}; {_FALLBACK}"
                self._report(ingress, host_field, Reason.CERTIFICATE_NAME_MISMATCH, message)

    def _valid_hosts(self, ingress: Ingress, entry: IngressTLS, at: str) -> list[tuple[str, str]]:
        """Return the valid hosts of *entry*, each with its field."""
        valid: list[tuple[str, str]] = []
        for index, host in enumerate(entry.hosts):
            field = f"{at}.hosts[{index}]"
            fault = check_rule_host(host) if host else "is empty"
            if fault is None:
                valid.append((host.lower(), field))
            else:
                message = f"host {quoted(host)} {fault}; it gets no certificate"
                self._report(ingress, field, Reason.INVALID_HOST, message)
        return valid

    def _claim(self, host: str, claim: _Claim) -> None:
        winner = self.claims.setdefault(host, claim)
        if winner.secret == claim.secret:
            return
        secret = f"Secret {winner.secret}" if winner.secret else "the default certificate"
        if winner.ingress is claim.ingress:
            message = f"{winner.field} gives host {host} {secret}, which is used"
        else:
            why = why_first(winner.ingress, claim.ingress)
            message = f"host {host} has {secret} from Ingress {winner.ingress.key}, {why}"
        self._report(claim.ingress, claim.field, Reason.CERTIFICATE_CONFLICT, message)

    def _report(self, ingress: Ingress, field: str, reason: Reason, message: str) -> None:
        key = ingress.key
        self.problems.append(Problem("Ingress", key.namespace, key.name, reason, message, field))


_FALLBACK = "another certificate that covers the host is shown, or the default"


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
