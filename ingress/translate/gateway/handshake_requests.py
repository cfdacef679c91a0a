"""What Gateways and ListenerSets ask of the handshakes of their listeners.  Plain values.

Readers make them of what objects say, with what is permitted; Secrets and ConfigMaps complete them (``handshakes.py``).

Source: ``ListenerTLSConfig`` and ``FrontendTLSConfig`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Owner
from ingress.model.cluster.secrets import TLS_KEYS, Needs
from ingress.model.frozen import frozen
from ingress.model.requests.client_authentication import VerifyClient
from ingress.translate.gateway.faults import Fault
from ingress.translate.tls.authorities import CA_KEY


class NamedCertificate(NamedTuple):
    """A Secret with a key pair that may be used, there or not."""

    secret: ObjectKey
    field: str
    """Where it is named: ``spec.listeners[0].tls.certificateRefs[0]``."""


class NamedAuthorities(NamedTuple):
    """A Secret or a ConfigMap with authorities that may be used, there or not."""

    kind: Kind
    key: ObjectKey
    field: str

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


@frozen(weakref_slot=False)
class ClientValidation:
    """What a Gateway asks of clients at some ports (``FrontendTLSValidation``)."""

    owner: Owner
    mode: VerifyClient
    authorities: tuple[NamedAuthorities, ...]
    faults: tuple[Fault, ...]
    """Of authorities that are named besides, and of what else makes no sense."""
    field: str
    """Where it stands: ``spec.tls.frontend.default.validation``."""


@frozen(weakref_slot=False)
class HandshakeRequest:
    """What a listener asks of its handshakes."""

    owner: Owner
    table: str
    """The table of its address and port; empty where nothing is served."""
    hostname: str
    """In lower case, ``*.example.com`` for a wildcard, empty for all hosts."""
    field: str
    """Where the listener stands: ``spec.listeners[0]``."""
    certificates: tuple[NamedCertificate, ...] = ()
    """In order.  None are named where TLS passes through, or where what is named may not be used."""
    validation: ClientValidation | None = None


@frozen(weakref_slot=False)
class GatewayTls:
    """What a Gateway or a ListenerSet asks of TLS.  ``NOTHING_ASKED`` is that of all other objects."""

    handshakes: tuple[HandshakeRequest, ...] = ()
    backend_certificate: NamedCertificate | None = None
    """Of a Gateway: what is shown to endpoints that ask for it."""

    def named(self) -> Iterator[ObjectId]:
        """Yield every Secret and ConfigMap that handshakes go by; some may come again."""
        for handshake in self.handshakes:
            yield from ((Kind.SECRET, one.secret) for one in handshake.certificates)
            if handshake.validation is not None:
                yield from ((one.kind, one.key) for one in handshake.validation.authorities)


NOTHING_ASKED: Final = GatewayTls()

AUTHORITY_KEYS: Final = frozenset({CA_KEY})


def needs_among(named: Iterable[tuple[ObjectId, frozenset[str]]], kind: Kind) -> Needs:
    """Return the objects of *kind* among those that are *named*, with all keys that are needed of each."""
    needs: dict[ObjectKey, frozenset[str]] = {}
    for (of_kind, key), keys in named:
        if of_kind is kind:
            needs[key] = needs.get(key, frozenset()) | keys
    return needs


CERTIFICATE_KEYS: Final = TLS_KEYS
