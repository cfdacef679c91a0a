"""Which Secrets show another certificate than before.  Pure, in steps."""

from collections.abc import Iterator, Mapping

from ingress.identity.certificates import Certificate, CertificateTable
from ingress.model.cluster.objects import ObjectKey
from ingress.model.observability.changes_and_failures import MOST_HOSTS
from ingress.model.shared_map import SharedMap
from ingress.translate.snapshot import Snapshot

_Shown = tuple[Certificate, ...]


class Renewed:
    """A Secret has the certificate *after* in place of *before*."""

    def __init__(self, before: Certificate, after: Certificate) -> None:
        self.before = before
        self.after = after
        self.hosts: list[str] = []
        """Those that are shown it, the first few."""


def certificate_effects(before: Snapshot, after: Snapshot, found: dict[ObjectKey, Renewed]) -> Iterator[None]:
    """Put into *found* what is different, by Secret, of hosts that show a certificate of it both times."""
    old = dict(before.tables())
    for name, table in after.tables():
        known = old.get(name)
        if known is not None and known.certificates is not table.certificates:
            yield from _of_table(known.certificates, table.certificates, found)
        yield


def _of_table(
    before: CertificateTable, after: CertificateTable, found: dict[ObjectKey, Renewed]
) -> Iterator[None]:
    yield from _of_hosts(before.exact, after.exact, "", found)
    yield from _of_hosts(before.wildcard, after.wildcard, "*", found)
    if before.default is not None and after.default is not None:
        _compare((before.default,), (after.default,), "", found)


def _of_hosts(
    before: Mapping[str, _Shown],
    after: Mapping[str, _Shown],
    sign: str,
    found: dict[ObjectKey, Renewed],
) -> Iterator[None]:
    if before is after or not isinstance(before, SharedMap) or not isinstance(after, SharedMap):
        return
    for portion in after.portions_since(before):
        for name, shown in portion:
            _compare(before.get(name) or (), shown or (), sign + name, found)
        yield


def _compare(before: _Shown, after: _Shown, host: str, found: dict[ObjectKey, Renewed]) -> None:
    known = {certificate.secret: certificate for certificate in before}
    for certificate in after:
        was = known.get(certificate.secret)
        if was is None or was.fingerprint == certificate.fingerprint:
            continue
        renewed = found.get(certificate.secret)
        if renewed is None:
            renewed = found[certificate.secret] = Renewed(was, certificate)
        if host and len(renewed.hosts) < MOST_HOSTS:
            renewed.hosts.append(host)
