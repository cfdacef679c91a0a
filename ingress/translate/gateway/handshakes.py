"""What becomes of the handshakes of Gateways' listeners: the certificates that each shows, and what it asks of clients.

- A listener shows the certificates that it names, and nobody else's: the ones that are for the name that a client asks for,
  those with the name itself first; where none is, all of them.  Of several with keys of one type the first is taken.
- A Secret that is missing or unusable, or not permitted, is told (``InvalidCertificateRef``), and the others are shown.  A
  listener without any refuses handshakes.  So does one that is to let in only clients of authorities none of which can
  be had (``NoValidCACertificate``): it is never left open.
- An expired certificate is shown like any other; that is told, and clients decide.

A Secret that was good and became bad stays at its good version in the store; that is told as well.  What is not permitted any
more is not looked at any more, whatever there is of it.

Source: ``ListenerTLSConfig`` and ``FrontendTLSValidation`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from ingress.identity.certificates import Certificate, CertificateTable
from ingress.identity.server_names import PLAIN_HANDSHAKE, HandshakeSettings, HandshakeSettingsTable
from ingress.model.cluster.objects import Kind
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.model.stepwise import Stepwise, finished
from ingress.translate.age import by_age
from ingress.translate.gateway.faults import Fault
from ingress.translate.gateway.handshake_requests import (
    ClientValidation,
    HandshakeRequest,
)
from ingress.translate.tls.authorities import join_authorities
from ingress.translate.tls.certificates import Lookup, out_of_time, refusal

AT_ONCE: Final = 500
"""Listeners that are put together in one step."""
MOST_INTERMEDIATES: Final = 4
"""Certificates between that of a client and the trusted one; the API leaves it to who implements it."""


@frozen(weakref_slot=False)
class ListenerHandshake:
    """What a listener's handshakes go by."""

    request: HandshakeRequest
    certificates: tuple[Certificate, ...]
    """None where handshakes are refused."""
    settings: HandshakeSettings
    problems: tuple[Problem, ...] = ()


class HandshakeTables(NamedTuple):
    """What the handshakes of one table of listeners go by."""

    certificates: CertificateTable
    settings: HandshakeSettingsTable


_ABSENT: Final = (Reason.SECRET_NOT_FOUND, Reason.SECRET_FORBIDDEN)
"""What a Secret is that nobody has seen; it may have a certificate all the same."""
NO_HANDSHAKES: Final = HandshakeTables(
    CertificateTable(covers_labels=True), HandshakeSettingsTable(covers_labels=True)
)


def decide_handshake(
    request: HandshakeRequest, load: Lookup, state: ClusterState, now: datetime
) -> ListenerHandshake:
    """Decide about the handshakes that *request* is about; *load* finds certificates, *state* has the authorities."""
    problems: list[Problem] = []
    certificates: dict[Certificate, None] = {}
    for secret, field in request.certificates:
        found = load(secret)
        if not isinstance(found, Certificate):
            why, message = refusal(secret, found)
            reason: Reason = why if why in _ABSENT else Reason.INVALID_CERTIFICATE_REF
            owner = request.owner
            elsewhere = "" if secret.namespace == owner.key.namespace else secret.namespace
            problems.append(owner.problem(reason, message, field, elsewhere))
            continue
        certificates[found] = None
        for stale in state.problems_of.get((Kind.SECRET, secret), ()):
            message = f"Secret {secret}: {stale.message}"
            problems.append(request.owner.problem(Reason.INVALID_CERTIFICATE_REF, message, field))
        if not found.is_valid_at(now):
            reason, message = out_of_time(found, now)
            problems.append(request.owner.problem(reason, message, field))
    settings = PLAIN_HANDSHAKE
    if request.validation is not None:
        authentication, faults = authenticate(request.validation, state)
        problems += (request.validation.owner.problem(*one) for one in faults)
        if authentication is None:
            certificates = {}
        else:
            settings = HandshakeSettings(client_authentication=authentication)
    return ListenerHandshake(request, tuple(certificates), settings, tuple(problems))


def authenticate(
    validation: ClientValidation, state: ClusterState
) -> tuple[ClientAuthentication | None, tuple[Fault, ...]]:
    """Return what is asked of clients, None where that cannot be had; and what is wrong with the authorities."""
    faults = list(validation.faults)
    joined = join_authorities(((one.kind, one.key) for one in validation.authorities), state)
    for named in validation.authorities:
        fault = joined.faults.get((named.kind, named.key))
        if fault is not None:
            faults.append(Fault(Reason.INVALID_CA_REF, fault, named.field))
    if not joined.pem:
        message = "names no authority that can be used, so no handshake succeeds"
        faults.append(Fault(Reason.NO_VALID_CA, message, validation.field))
        return None, tuple(faults)
    sources = " and ".join(f"{kind} {key}" for kind, key in joined.used)
    asked = ClientAuthentication(sources, joined.pem, mode=validation.mode, depth=MOST_INTERMEDIATES)
    return asked, tuple(faults)


def _gather(handshakes: Iterable[ListenerHandshake]) -> Stepwise[dict[str, ListenerHandshake]]:
    """Find in steps those of *handshakes* by their hostnames; where two have the same, the older alone."""
    by_hostname: dict[str, ListenerHandshake] = {}
    for number, one in enumerate(handshakes, 1):
        known = by_hostname.get(one.request.hostname)
        if known is None or _order(one) < _order(known):
            by_hostname[one.request.hostname] = one
        if not number % AT_ONCE:
            yield
    return by_hostname


def tables_of(handshakes: Iterable[ListenerHandshake]) -> Stepwise[HandshakeTables]:
    """Find in steps what the handshakes of the listeners of one table go by."""
    exact: dict[str, tuple[Certificate, ...]] = {}
    wide: dict[str, tuple[Certificate, ...]] = {}
    settings: dict[str, HandshakeSettings] = {}
    gathered = yield from _gather(handshakes)
    for number, (hostname, one) in enumerate(gathered.items(), 1):
        if not number % AT_ONCE:
            yield
        settings[hostname] = one.settings
        if hostname and not hostname.startswith("*"):
            exact[hostname] = one.certificates
        else:
            wide[hostname[1:]] = one.certificates
    return HandshakeTables(
        CertificateTable(exact, wide, covers_labels=True),
        HandshakeSettingsTable(settings, covers_labels=True),
    )


def translate_handshakes(
    requests: Iterable[HandshakeRequest],
    load: Lookup,
    state: ClusterState,
    now: datetime,
) -> tuple[dict[str, HandshakeTables], tuple[Problem, ...]]:
    """Decide about all *requests*; return what holds in each table, and the problems.  Never raises."""
    by_table: dict[str, list[ListenerHandshake]] = {}
    problems: list[Problem] = []
    for request in requests:
        decided = decide_handshake(request, load, state, now)
        problems += decided.problems
        if request.table:
            by_table.setdefault(request.table, []).append(decided)
    return {name: finished(tables_of(some)) for name, some in by_table.items()}, tuple(problems)


def _order(one: ListenerHandshake) -> tuple[tuple[str, ...], str]:
    return by_age(one.request.owner), one.request.field
