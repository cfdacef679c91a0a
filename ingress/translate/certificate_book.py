"""Which certificate is shown for which host, kept up to date host by host.

Part of incremental translation.  A Secret is read when somebody names it, and again
when it changes, when its certificate expires, and when the clock is set back.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from ingress.certificates import Certificate, CertificateError, CertificateTable
from ingress.model.objects import Ingress, ObjectKey
from ingress.model.shared_map import SharedMap
from ingress.model.state import ClusterState
from ingress.translate.age import by_age
from ingress.translate.bookkeeping import Draft, Index, ProblemLedger
from ingress.translate.certificates import (
    TLSReading,
    choose,
    default_problems,
    find,
    read_tls,
    secrets_named,
)
from ingress.translate.options import TranslateOptions
from ingress.translate.rules import IngressReading

_NONE = TLSReading()
_Certificates = tuple[Certificate, ...]
_Chosen = SharedMap[str, _Certificates]


class CertificateBook:
    """Keeps the certificates of hosts; tells the problems to *ledger*."""

    def __init__(self, options: TranslateOptions, ledger: ProblemLedger) -> None:
        self._options = options
        self._default_secret = options.default_ssl_certificate
        self._ledger = ledger
        self._default: Certificate | None = None
        self._default_is_stale = self._default_secret is not None
        self._loaded: dict[ObjectKey, Certificate | CertificateError | None] = {}
        self._next_expiry: datetime | None = None
        self._looked_at: datetime | None = None
        # By Secret, and by host: the Ingresses.
        self._users: Index[ObjectKey, ObjectKey] = Index()
        self._claimants: Index[str, ObjectKey] = Index()
        self._readings: dict[ObjectKey, TLSReading] = {}
        self._stale_ingresses: dict[ObjectKey, None] = {}
        self._stale_hosts: dict[str, None] = {}
        self._exact: Draft[str, _Certificates, _Chosen] = Draft(SharedMap())
        self._wildcard: Draft[str, _Certificates, _Chosen] = Draft(SharedMap())
        self._shown: Counter[Certificate] = Counter()
        self._table = CertificateTable(SharedMap(), SharedMap())

    def begin(self, now: datetime) -> None:
        """Note what time does to certificates."""
        if self._looked_at is not None and now < self._looked_at:
            # What had expired by the clock of then may be good by the clock of now.
            for key in [key for key, found in self._loaded.items() if isinstance(found, CertificateError)]:
                self.secret_changed(key)
        self._looked_at = now
        if self._next_expiry is not None and self._next_expiry <= now:
            self._next_expiry = None
            for key, found in [*self._loaded.items()]:
                if isinstance(found, Certificate):
                    if found.not_after <= now:
                        self.secret_changed(key)
                    else:
                        self._expires(found)

    def secret_changed(self, secret: ObjectKey) -> None:
        """Note that *secret* has to be read again, if anybody names it."""
        self._loaded.pop(secret, None)
        self._stale_ingresses.update(dict.fromkeys(self._users.get(secret)))
        if secret == self._default_secret:
            self._default_is_stale = True

    def ingress_changed(self, key: ObjectKey, before: Ingress | None, after: Ingress | None) -> None:
        """Note that the Ingress *key* was *before* and is *after*; None where it is not served."""
        if (before is None or not before.tls) and (after is None or not after.tls):
            return
        named_before = () if before is None else secrets_named(before, self._default_secret)
        named_after = () if after is None else secrets_named(after, self._default_secret)
        self._users.replace(key, named_before, named_after)
        for secret in named_before:
            if secret not in self._users and secret != self._default_secret:
                self._loaded.pop(secret, None)
        self._stale_ingresses[key] = None

    def read(
        self, readings: Mapping[ObjectKey, IngressReading], state: ClusterState, now: datetime
    ) -> Iterator[None]:
        """Read ``spec.tls`` of the Ingresses whose Secrets or entries changed, one a step."""
        if self._default_is_stale:
            self._read_default(state, now)
            yield
        while self._stale_ingresses:
            key, _ = self._stale_ingresses.popitem()
            reading = readings.get(key)
            before = self._readings.pop(key, _NONE)
            after = _NONE
            if reading is not None:
                after = read_tls(
                    reading.ingress, lambda secret: self._certificate(secret, state, now), self._default
                )
            if after is not _NONE:
                self._readings[key] = after
            hosts_before = {claim.host: None for claim in before.claims}
            hosts_after = {claim.host: None for claim in after.claims}
            self._claimants.replace(key, hosts_before, hosts_after)
            self._stale_hosts.update(hosts_before)
            self._stale_hosts.update(hosts_after)
            self._ledger.put(("tls", key), after.problems)
            yield

    def choose(self) -> Iterator[tuple[str, bool]]:
        """Choose for each host that is in question, one a step; yield it, and whether it has a certificate."""
        while self._stale_hosts:
            host, _ = self._stale_hosts.popitem()
            yield host, self._choose(host)

    def finish(self) -> CertificateTable:
        """Return the certificates as they are now; the same object as long as they are."""
        self._stale_ingresses, self._stale_hosts = {}, {}
        exact, wildcard = self._exact.finished(), self._wildcard.finished()
        known = self._table
        if exact is not known.exact or wildcard is not known.wildcard or self._default is not known.default:
            self._table = CertificateTable(exact, wildcard, self._default)
        return self._table

    def count(self) -> int:
        """How many different certificates are shown for hosts or by default."""
        return len(self._shown) + (self._default is not None and self._default not in self._shown)

    def _read_default(self, state: ClusterState, now: datetime) -> None:
        self._default_is_stale = False
        secret = self._default_secret
        assert secret is not None
        found = self._certificate(secret, state, now)
        self._default = found if isinstance(found, Certificate) else None
        self._ledger.put("default certificate", default_problems(secret, found))

    def _certificate(
        self, secret: ObjectKey, state: ClusterState, now: datetime
    ) -> Certificate | CertificateError | None:
        if secret in self._loaded:
            return self._loaded[secret]
        found = self._loaded[secret] = find(secret, state, self._options, now)
        if isinstance(found, Certificate):
            self._expires(found)
        return found

    def _expires(self, certificate: Certificate) -> None:
        if self._next_expiry is None or certificate.not_after < self._next_expiry:
            self._next_expiry = certificate.not_after

    def _choose(self, host: str) -> bool:
        claimants: Collection[ObjectKey] = self._claimants.get(host)
        claims = [claim for key in claimants for claim in self._readings[key].claims if claim.host == host]
        if len(claimants) > 1:
            claims.sort(key=lambda claim: by_age(claim.ingress))
        chosen, problems = choose(claims)
        self._ledger.put(("certificate", host), problems)
        draft, name = (self._wildcard, host[1:]) if host.startswith("*") else (self._exact, host)
        before = draft.get(name) or ()
        if chosen != before:
            draft.put(name, chosen or None)
            self._shown.update(chosen)
            for certificate in before:
                self._shown[certificate] -= 1
                if not self._shown[certificate]:
                    del self._shown[certificate]
        return bool(chosen)
