"""How the backends of one Ingress are spoken to, by its annotations alone.

What a Secret must add (``ingress.translate.endpoints.upstream_tls``) and what a Service says where the
Ingress says nothing (``ingress.translate.endpoints.backends``) is found later, since these change at other
times.  A protocol that is asked for and cannot be had is never replaced by another: its
backends answer 503, and a ``Problem`` says why.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from attrs import evolve

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.upstream.backend_protocols import (
    OF_HOST,
    UNREADABLE_SECRET,
    BackendProtocol,
    UpstreamSettings,
    read_name,
)
from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.requests.templates import NO_TEXT, Template
from ingress.model.upstream.backends import BackendReference
from ingress.model.upstream.upstream_tls import (
    ProtocolAsked,
    ProtocolRefused,
    UpstreamProtocol,
    UpstreamTlsRequest,
)

_HTTP: Final = ProtocolAsked()
_GRPC: Final = ProtocolAsked(is_http2=True)
_FASTCGI: Final = ProtocolAsked(is_fastcgi=True)


@frozen(weakref_slot=False)
class ProtocolReading:
    """*usual* is for all requests; with *secure*, those that came over TLS get that instead."""

    usual: UpstreamProtocol = None
    secure: UpstreamProtocol = None
    problems: tuple[Problem, ...] = ()
    name: Template = NO_TEXT
    """Whom certificates of endpoints are for, where host or Service of a route decide that."""

    def usual_for(self, host: str, service: str) -> UpstreamProtocol:
        """Return *usual* for a route of this *host* to this *service*."""
        return self.usual if self.name is NO_TEXT else _named(self.usual, self.name, host, service)

    def reference_for(self, host: str, backend: BackendReference) -> BackendReference:
        """Return *backend*, which was named for another host, as a route of *host* is to ask it."""
        if self.name is NO_TEXT or backend.protocol is None:
            return backend
        return backend._replace(protocol=self.usual_for(host, backend.name))

    def secure_for(self, host: str, service: str) -> UpstreamProtocol:
        """Return *secure* for such a route."""
        return self.secure if self.name is NO_TEXT else _named(self.secure, self.name, host, service)

    def lacks_name(self, hosts: Iterable[str]) -> bool:
        """Whether *name* is that of a host, and one of *hosts* has none: it is a wildcard, or empty."""
        return OF_HOST in self.name.variables and not all(map(_is_name, hosts))

    @property
    def request(self) -> UpstreamTlsRequest | None:
        """What is asked of TLS; None where it is not spoken."""
        for protocol in (self.usual, self.secure):
            if isinstance(protocol, ProtocolAsked) and protocol.tls is not None:
                return protocol.tls
        return None

    @property
    def secret(self) -> ObjectKey | None:
        """The Secret that TLS needs."""
        request = self.request
        return None if request is None else request.secret


NOTHING_ASKED: Final = ProtocolReading()


def read_protocols(
    owner: Owner, settings: UpstreamSettings, annotations: AnnotationReader
) -> ProtocolReading:
    """Return how the backends of *owner*, whose *settings* these are, are to be spoken to."""
    match settings.asked:
        case None:
            return NOTHING_ASKED
        case BackendProtocol.HTTP:
            return ProtocolReading(_HTTP)
        case BackendProtocol.GRPC:
            return ProtocolReading(_GRPC)
        case BackendProtocol.FCGI:
            return ProtocolReading(_FASTCGI)
    is_http2 = settings.asked is BackendProtocol.GRPCS
    over_tls, problems = _over_tls(owner, settings, annotations, is_http2=is_http2)
    name = NO_TEXT
    if not isinstance(settings.name, str):
        name = settings.name.bound({"namespace": owner.key.namespace, "ingress_name": owner.key.name})
    if settings.asked is BackendProtocol.AUTO_HTTP:
        return ProtocolReading(_HTTP, over_tls, problems, name)
    return ProtocolReading(over_tls, None, problems, name)


@lru_cache(maxsize=1024)
def _named(protocol: UpstreamProtocol, name: Template, host: str, service: str) -> UpstreamProtocol:
    """Return *protocol* with what *name* comes to; without one where that is none."""
    if not isinstance(protocol, ProtocolAsked) or protocol.tls is None:
        return protocol
    constants = {"service_name": service}
    if _is_name(host):
        constants[OF_HOST] = host
    bound = name.bound(constants)
    try:
        found = "" if bound.variables else read_name(str(bound))
    except ValueRefused:
        found = ""
    settings = evolve(protocol.tls.tls_settings, name=found)
    return evolve(protocol, tls=evolve(protocol.tls, tls_settings=settings))


def _is_name(host: str) -> bool:
    return bool(host) and not host.startswith("*")


def _over_tls(
    owner: Owner, settings: UpstreamSettings, annotations: AnnotationReader, *, is_http2: bool
) -> tuple[UpstreamProtocol, tuple[Problem, ...]]:
    secret = settings.secret
    if secret == UNREADABLE_SECRET:
        # The annotation reader has told the problem.
        return ProtocolRefused("proxy-ssl-secret names no Secret"), ()
    if secret is not None and secret.namespace != owner.key.namespace:
        message = (
            f"proxy-ssl-secret: Secret {secret} is of another namespace than the Ingress;"
            " backends that are spoken to over TLS answer 503"
        )
        problem = _problem(owner, annotations, "proxy-ssl-secret", Reason.INVALID_ANNOTATION, message)
        return ProtocolRefused("proxy-ssl-secret is of another namespace"), (problem,)
    return ProtocolAsked(UpstreamTlsRequest(settings.tls_settings, secret), is_http2), ()


def _problem(owner: Owner, annotations: AnnotationReader, name: str, reason: Reason, message: str) -> Problem:
    return owner.problem(reason, message, annotations.field(name))
