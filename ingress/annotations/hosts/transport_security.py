"""``Strict-Transport-Security``: telling browsers that a host is to be asked over HTTPS only (RFC 6797).

As in ingress-nginx it is said by default for hosts that redirect by ``spec.tls``, on all
answers over TLS, errors and our own replies included; never over plain HTTP, where it would
mean nothing (section 8.1).  What upstream says in its place is dropped: the field must not
come twice (section 7.1), and who runs the controller decides for the whole host.  Unlike there, a
host without a valid certificate for it says nothing: browsers would let nobody past it (section 8.4).
"""

from typing import ClassVar

from ingress.annotations.contract.host_facts import CertifiedHosts
from ingress.filters import AnswerEdit, ChangesBy, Facts, FieldChanges, Filter, Phase, Services
from ingress.model.frozen import frozen


@frozen
class StrictTransport:
    """What the field says, for hosts with a certificate."""

    max_age_seconds: int = 31536000
    """A year, as in ingress-nginx."""
    includes_subdomains: bool = True
    preload: bool = False
    """Whether browser vendors may build the host into their lists; it is hard to get out of these."""


STRICT_TRANSPORT = StrictTransport()


def transport_security_value(strict: StrictTransport) -> bytes:
    """Return the value of the field."""
    value = f"max-age={strict.max_age_seconds}"
    if strict.includes_subdomains:
        value += "; includeSubDomains"
    if strict.preload:
        value += "; preload"
    return value.encode("ascii")


@frozen(cache_hash=True)
class TransportSecurity:
    """What the answers of a route say over TLS; *hosts* None means every host of the route."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "hsts"

    value: bytes
    """That of the field."""
    hosts: CertifiedHosts | None = None

    def describe(self) -> str:
        """Say what browsers are told."""
        hosts = "" if self.hosts is None else ", for the hosts that have certificates"
        return f"tells browsers to come over HTTPS only ({self.value.decode()}){hosts}"

    def make(self, services: Services) -> Filter:
        """Make the filter that tells."""
        changes = FieldChanges(put=((b"Strict-Transport-Security", self.value),))
        return _Everywhere(changes) if self.hosts is None else _Insisting(changes, self.hosts)


class _Everywhere(Filter):
    """Stands on nearly every answer over TLS, so what it does is said beforehand."""

    def __init__(self, changes: FieldChanges) -> None:
        self.answer_changes = ChangesBy(lambda _: changes, over_tls=True)


class _Insisting(Filter):
    def __init__(self, changes: FieldChanges, hosts: CertifiedHosts) -> None:
        self._changes = changes
        self._hosts = hosts

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        if facts.is_secure and facts.host in self._hosts:
            edit.change(self._changes)
