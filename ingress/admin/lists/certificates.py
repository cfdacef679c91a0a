"""Certificates, by Secret, without keys."""

from collections.abc import Callable, Iterator
from typing import Final

from ingress.admin.contract.listing import Filter, Listing, Position
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_row import listing_rows
from ingress.admin.contract.schemas import Schema, fields_of, list_of, moment, text, truth, whole_number
from ingress.admin.lists.parameters import HOST, NAMESPACE
from ingress.identity.certificates import Certificate
from ingress.plain_data.steps import AT_ONCE, NOT_YET, NotYet, in_order
from ingress.process.timestamps import rfc3339

_Entry = tuple[Certificate, list[str]]
"""A certificate, and the hosts that it is chosen for."""

CERTIFICATE: Final[Schema] = fields_of(
    {
        "secret": text("`NAMESPACE/NAME`."),
        "keyType": text("`RSA` or `ECDSA`, say."),
        "names": list_of(text(), "What it covers."),
        "hosts": list_of(text(), "What it is chosen for."),
        "default": truth("Whether it serves all other names."),
        "notBefore": moment("From when on it is good."),
        "notAfter": moment("Until when."),
        "daysLeft": whole_number("Whole days until then; negative past it."),
        "endsSoon": truth("Whether that is two weeks or less."),
        "fingerprint": text("SHA-256 of the certificate."),
    }
)


def _entries(asked: PageRequest) -> Iterator[_Entry | NotYet]:
    hosts: dict[Certificate, list[str]] = {}
    for number, (host, certificate) in enumerate(asked.snapshot.shown(), 1):
        chosen = hosts.setdefault(certificate, [])
        if host:
            chosen.append(host)
        if not number % AT_ONCE:
            yield NOT_YET
    yield from hosts.items()


def _position(entry: _Entry) -> Position:
    return str(entry[0].secret), entry[0].fingerprint


def _as_data(entry: _Entry, asked: PageRequest) -> dict[str, object]:
    certificate, chosen = entry
    return {
        "secret": str(certificate.secret),
        "keyType": certificate.key_type,
        "names": iter(certificate.names),
        "hosts": in_order(chosen, str),
        "default": certificate == asked.snapshot.certificates.default,
        "notBefore": rfc3339(certificate.not_before),
        "notAfter": rfc3339(certificate.not_after),
        "daysLeft": (certificate.not_after - asked.now).days,
        "endsSoon": certificate.ends_soon(asked.now),
        "fingerprint": certificate.fingerprint,
    }


def _in_namespace(namespace: str, asked: PageRequest) -> Callable[[_Entry], bool]:
    return lambda entry: entry[0].secret.namespace == namespace


def _for_host(host: str, asked: PageRequest) -> Callable[[_Entry], bool]:
    host = host.lower()
    return lambda entry: host in entry[1]


CERTIFICATES: Final = Listing(
    "certificates",
    (str, str),
    _entries,
    _position,
    _as_data,
    (Filter(NAMESPACE, _in_namespace), Filter(HOST, _for_host)),
)
"""Sorted by Secret."""

ROWS: Final = listing_rows(CERTIFICATES, "certificates by Secret, without keys", CERTIFICATE, has_alias=True)
