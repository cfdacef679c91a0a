"""Client certificates of hosts: what Ingresses ask for, which of them decides, and what becomes of it.

Like the handshake, the check is one for a whole host: that of the oldest Ingress which asks
for it, of those of the namespace that the host belongs to (``ingress.translate.ownership``), and it
holds for the routes of all others there, too.  A host is never left open
because its check cannot be made: without a usable Secret all of its routes answer 403.  What
an Ingress of another namespace asks for is not done, so its own routes on the host answer 403.
Revocation lists come from the same Secret as the authorities.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

from attrs import evolve

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.client_certificates.check import (
    ClientCertificateFields,
    ClientCheck,
    EarlyCheck,
    HostClosed,
)
from ingress.annotations.client_certificates.family import (
    CLIENT_CERTIFICATES,
    NO_SECRET,
    SECRET_ANNOTATION,
    ClientCertificateSettings,
    secret_asked,
)
from ingress.annotations.redirects.https_redirect import ACME_CHALLENGES, HttpsRedirect
from ingress.filters import FilterSpec, Phase
from ingress.identity.certificates import CertificateError
from ingress.model.cluster.objects import ObjectKey, Owner, Secret
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.requests.client_authentication import (
    LIST_BEGINS,
    LIST_ENDS,
    ClientAuthentication,
    octets_of_list,
)
from ingress.routing.paths import rule_path
from ingress.translate.age import why_first
from ingress.translate.claims import ParsedObject
from ingress.translate.ownership import is_stranger, told
from ingress.translate.tls.authorities import load_authorities

CRL_KEY: Final = "ca.crl"

_MOST_LISTS: Final = 64
_KEPT: Final = 32
"""Thousands of Ingresses refer to the same lists; reading a long one takes milliseconds, and each copy of it a megabyte."""
_CLOSED_HOSTS: Final = "its hosts answer 403"
_STRANGERS_DEMAND: Final = (
    f"{SECRET_ANNOTATION} of other namespaces has no effect there, and their own paths answer 403"
)

Lookup = Callable[[ObjectKey], Secret | None]
"""Finds a Secret by its key."""


@frozen(weakref_slot=False)
class ClientCertificateRequest:
    """What one Ingress asks of the clients of its hosts; *authentication* None when that cannot be had."""

    settings: ClientCertificateSettings
    authentication: ClientAuthentication | None


@frozen(weakref_slot=False)
class HostGuard:
    """What stands before the routes of a host.  ``OPEN`` is nothing."""

    authentication: ClientAuthentication | None = None
    check: ClientCheck | HostClosed | None = None
    challenge_check: ClientCheck | HostClosed | None = None
    """The same for routes of ACME challenges, which are asked for over plain HTTP."""
    fields: FilterSpec | None = None
    """What endpoints are told."""
    problems: tuple[Problem, ...] = ()
    closed: frozenset[Owner] = frozenset()
    """Those whose routes are closed, since they ask for a check that this host does not make."""

    def check_of(self, path: str, owner: Owner | None = None) -> ClientCheck | HostClosed | None:
        """Return the check of the route of *path*, which *owner* asks for."""
        is_closed = owner in self.closed
        if self.check is None and not is_closed:
            return None
        # The path may lack the slash at its end, and then matches no less.
        is_challenge = (rule_path(path) + b"/").startswith(ACME_CHALLENGES)
        if is_closed:
            return HostClosed(serves_challenges=is_challenge)
        return self.challenge_check if is_challenge else self.check


OPEN: Final = HostGuard()
_MAY_ANSWER: Final = frozenset((Phase.SERVER, Phase.REWRITE, Phase.REDIRECT))


def checks_before(
    own: Iterable[FilterSpec], check: ClientCheck | HostClosed | None
) -> tuple[FilterSpec, ...]:
    """Return *check* as it stands before *own*, what a route or host has otherwise: ahead of that, too, where it may answer.

    The redirect to HTTPS may not: what came by TLS passes it.
    """
    if check is None:
        return ()
    may_answer = any(one.phase in _MAY_ANSWER and not isinstance(one, HttpsRedirect) for one in own)
    return (EarlyCheck(check), check) if may_answer else (check,)


def read_request(
    parsed: ParsedObject, lookup: Lookup, annotations: AnnotationReader
) -> tuple[ClientCertificateRequest | None, tuple[Problem, ...]]:
    """Return what *parsed* asks of clients, if it does, and what it asks in vain.  Never raises."""
    settings = parsed.settings.of(CLIENT_CERTIFICATES)
    if settings.secret is None or settings.mode is None:
        return None, ()
    if settings.secret == NO_SECRET:
        # The reader of annotations has told why.
        return ClientCertificateRequest(settings, None), ()
    secret = secret_asked(parsed.owner.key, settings)
    if secret is None:
        message = f"Secret {settings.secret} is in another namespace and out of reach; {_CLOSED_HOSTS}"
        problem = _problem(parsed, annotations, Reason.INVALID_ANNOTATION, message)
        return ClientCertificateRequest(settings, None), (problem,)
    mode, settings = settings.mode, evolve(settings, secret=secret)
    try:
        found = lookup(secret)
        if found is None:
            raise CertificateError("there is no such Secret", Reason.SECRET_NOT_FOUND)
        authentication = ClientAuthentication(
            f"Secret {secret}", load_authorities(found), load_revocations(found), mode, settings.depth
        )
    except CertificateError as error:
        message = f"Secret {secret}: {error.message}; {_CLOSED_HOSTS}"
        return ClientCertificateRequest(settings, None), (
            _problem(parsed, annotations, error.reason, message),
        )
    return ClientCertificateRequest(settings, authentication), ()


def load_revocations(secret: Secret) -> bytes:
    """Return the revocation lists in ``ca.crl`` of *secret* as PEM, empty for no such key.

    Raises ``CertificateError`` if they cannot be read: to ignore them would let in who was put out.
    """
    content = secret.content.get(CRL_KEY)
    if content is None:
        return b""
    found = _read_lists(content)
    if isinstance(found, str):
        raise CertificateError(found)
    return found


@lru_cache(maxsize=_KEPT)
def _read_lists(content: bytes) -> bytes | str:
    """Return the revocation lists in *content*, or say what is wrong with it."""
    *pieces, rest = content.split(LIST_ENDS)
    blocks = [LIST_BEGINS + piece.partition(LIST_BEGINS)[2] + LIST_ENDS + b"\n" for piece in pieces]
    is_all = all(piece.count(b"-----BEGIN") == piece.count(LIST_BEGINS) == 1 for piece in pieces)
    if not blocks or not is_all or b"-----BEGIN" in rest:
        return f"{CRL_KEY}: no PEM revocation lists, or something besides"
    if len(blocks) > _MOST_LISTS:
        return f"{CRL_KEY}: more than {_MOST_LISTS} revocation lists"
    try:
        lists = b"".join(map(_checked, blocks))
    except (ValueError, TypeError):
        return f"{CRL_KEY}: a revocation list cannot be read"
    return content if lists == content else lists


def _checked(block: bytes) -> bytes:
    """Return *block*, a revocation list in PEM, without what may stand in it besides; raises ``ValueError`` or ``TypeError`` for none."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    try:
        octets = octets_of_list(block)
    except ValueError:
        # There may be fields before the text (RFC 1421).
        return x509.load_pem_x509_crl(block).public_bytes(Encoding.PEM)
    # In half of the time that cryptography takes to read PEM.
    x509.load_der_x509_crl(octets)
    return block


def guard_host(
    host: str,
    all_parsed: Sequence[ParsedObject],
    request_of: Callable[[ParsedObject], ClientCertificateRequest | None],
    annotations: AnnotationReader,
    owner: Owner | None,
) -> HostGuard:
    """Decide what stands before *host*; *all_parsed* have a say about it and are sorted oldest first.

    *owner* is to whom the host belongs, None where all may speak for it.
    """
    winner: tuple[ParsedObject, ClientCertificateRequest] | None = None
    problems: list[Problem] = []
    closed: list[Owner] = []
    for parsed in all_parsed:
        request = request_of(parsed)
        if request is None:
            continue
        if owner is not None and is_stranger(parsed.owner, owner):
            closed.append(parsed.owner)
            field = annotations.field(SECRET_ANNOTATION)
            problems.append(told(parsed.owner, field, _STRANGERS_DEMAND, host, owner))
        elif winner is None:
            winner = parsed, request
        elif request != winner[1]:
            problems.append(_conflict(host, parsed, winner[0], annotations))
    guard = OPEN if winner is None else _guard(winner[1])
    return evolve(guard, problems=tuple(problems), closed=frozenset(closed)) if problems else guard


def _guard(request: ClientCertificateRequest) -> HostGuard:
    authentication, settings = request.authentication, request.settings
    if authentication is None:
        return HostGuard(None, HostClosed(), HostClosed(serves_challenges=True))
    check, challenge_check = (
        ClientCheck(authentication, settings.common_names, settings.error_page, serves_challenges)
        for serves_challenges in (False, True)
    )
    fields = ClientCertificateFields(settings.passes_certificate)
    return HostGuard(authentication, check, challenge_check, fields)


def _conflict(host: str, loser: ParsedObject, winner: ParsedObject, annotations: AnnotationReader) -> Problem:
    why = why_first(winner.owner, loser.owner)
    shown = f"host {host} has" if host else "hosts that no rule names have"
    message = f"{shown} the client authentication of {winner.owner}, {why}"
    return _problem(loser, annotations, Reason.CLIENT_AUTHENTICATION_CONFLICT, message)


def _problem(parsed: ParsedObject, annotations: AnnotationReader, reason: Reason, message: str) -> Problem:
    field = annotations.field(SECRET_ANNOTATION)
    return parsed.owner.problem(reason, f"{SECRET_ANNOTATION}: {message}", field)
