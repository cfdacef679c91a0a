"""The values that are kept of BackendTLSPolicies, as they were written.

Source: ``BackendTLSPolicy`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Mapping
from typing import cast

from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.translate.readers.gateway.objects.names import BACKEND_TLS_POLICY, ObjectReference


@frozen(weakref_slot=False)
class PolicyTarget:
    """An entry of ``spec.targetRefs``: a Service, or (*section*) one of its ports by name."""

    target: ObjectReference
    section: str = ""


@frozen(weakref_slot=False)
class AlternativeName:
    """An entry of ``subjectAltNames``."""

    type: str
    """``Hostname`` or ``URI``, or whatever else was written."""
    value: str


@frozen(weakref_slot=False)
class BackendTLSPolicy:
    """A BackendTLSPolicy: how TLS to the endpoints of Services is spoken, and what is asked of their certificates."""

    key: ObjectKey
    created: str = ""
    targets: tuple[PolicyTarget, ...] = ()
    authorities: tuple[ObjectReference, ...] = ()
    """``validation.caCertificateRefs``."""
    well_known: str = ""
    """``validation.wellKnownCACertificates``: ``System``, or whatever else was written."""
    hostname: str = ""
    """What goes into the handshake (SNI), and what the certificate must be for unless *names* are there."""
    names: tuple[AlternativeName, ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    @property
    def owner(self) -> Owner:
        """What stands for it in what it asks for."""
        return Owner(BACKEND_TLS_POLICY, self.key, self.created)


def policies_of(state: ClusterState) -> Mapping[ObjectKey, BackendTLSPolicy]:
    """Return the BackendTLSPolicies of *state*."""
    return cast("Mapping[ObjectKey, BackendTLSPolicy]", state.of(BACKEND_TLS_POLICY))
