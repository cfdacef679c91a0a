"""How the backends of one Ingress are spoken to, by its annotations alone.

What a Secret must add is found later (``ingress.translate.upstream_tls``), since Secrets
change at other times.  A protocol that is asked for and cannot be had is never replaced by
another: its backends answer 503, and a ``Problem`` says why.
"""

from typing import Final

from attrs import frozen

from ingress.model.objects import Ingress, ObjectKey
from ingress.model.problems import Problem, Reason
from ingress.model.upstream_tls import ProtocolRefused, TlsDemand, UpstreamProtocol
from ingress.policy.annotations import AnnotationReader
from ingress.policy.upstreams import UNREADABLE_SECRET, BackendProtocol, UpstreamSettings

_OVER_TLS: Final = (BackendProtocol.HTTPS, BackendProtocol.AUTO_HTTP)


@frozen(weakref_slot=False)
class ProtocolReading:
    """*usual* is for all requests; with *secure*, those that came over TLS get that instead."""

    usual: UpstreamProtocol = None
    secure: UpstreamProtocol = None
    problems: tuple[Problem, ...] = ()

    @property
    def demand(self) -> TlsDemand | None:
        """What is asked of TLS; None where it is not spoken."""
        for protocol in (self.usual, self.secure):
            if isinstance(protocol, TlsDemand):
                return protocol
        return None

    @property
    def secret(self) -> ObjectKey | None:
        """The Secret that TLS needs."""
        demand = self.demand
        return None if demand is None else demand.secret


IN_THE_CLEAR: Final = ProtocolReading()


def read_protocols(
    ingress: Ingress, settings: UpstreamSettings, annotations: AnnotationReader
) -> ProtocolReading:
    """Return how the backends of *ingress*, whose *settings* these are, are to be spoken to."""
    spoken = settings.spoken
    if spoken is BackendProtocol.HTTP:
        return IN_THE_CLEAR
    if spoken not in _OVER_TLS:
        message = f"backend-protocol: {spoken} is not spoken by this controller; the Ingress answers 503"
        refused = ProtocolRefused(f"backend-protocol {spoken} is not spoken by this controller")
        problem = _problem(ingress, annotations, "backend-protocol", Reason.UNSUPPORTED_ANNOTATION, message)
        return ProtocolReading(refused, None, (problem,))
    over_tls, problems = _over_tls(ingress, settings, annotations)
    if spoken is BackendProtocol.AUTO_HTTP:
        return ProtocolReading(None, over_tls, problems)
    return ProtocolReading(over_tls, None, problems)


def _over_tls(
    ingress: Ingress, settings: UpstreamSettings, annotations: AnnotationReader
) -> tuple[UpstreamProtocol, tuple[Problem, ...]]:
    secret = settings.secret
    if secret == UNREADABLE_SECRET:
        # The annotation reader has told the problem.
        return ProtocolRefused("proxy-ssl-secret names no Secret"), ()
    if secret is not None and secret.namespace != ingress.key.namespace:
        message = (
            f"proxy-ssl-secret: Secret {secret} is of another namespace than the Ingress;"
            " backends that are spoken to over TLS answer 503"
        )
        problem = _problem(ingress, annotations, "proxy-ssl-secret", Reason.INVALID_ANNOTATION, message)
        return ProtocolRefused("proxy-ssl-secret is of another namespace"), (problem,)
    return TlsDemand(settings.terms, secret), ()


def _problem(
    ingress: Ingress, annotations: AnnotationReader, name: str, reason: Reason, message: str
) -> Problem:
    key = ingress.key
    return Problem("Ingress", key.namespace, key.name, reason, message, annotations.field(name))
