"""The certificates that listeners name: which of them are of a kind that can be, and permitted.

Whether a Secret is there, and what is in it, is for those who read Secrets.

Source: ``ListenerTLSConfig.certificateRefs`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Sequence
from typing import Final

from ingress.model.cluster.objects import Kind, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.translate.readers.gateway.objects.names import GROUP
from ingress.translate.readers.gateway.topology.attachments import ListenerCertificate
from ingress.translate.readers.gateway.topology.listener_checks import CheckedListener
from ingress.translate.readers.gateway.topology.permissions import Permissions

MOST_CERTIFICATES: Final = 64
"""How many certificates a listener may name (``MaxItems`` of the API); further ones are not shown."""

Certificates = tuple[tuple[ListenerCertificate, ...], ...]


def certificates_of(
    owner: Owner, checked: Sequence[CheckedListener], permissions: Permissions
) -> tuple[Certificates, tuple[Problem, ...]]:
    """Return the certificates that each of the *checked* listeners of *owner* may show, and why it may not show others."""
    found: list[tuple[ListenerCertificate, ...]] = []
    problems: list[Problem] = []
    for one in checked:
        tls = one.listener.tls
        of_listener: list[ListenerCertificate] = []
        if one.listener.protocol == "HTTPS" if tls is None else tls.mode == "Terminate":
            field = f"{one.listener.field}.tls.certificateRefs"
            references = () if tls is None else tls.certificates
            if not references:
                problems.append(owner.problem(Reason.INVALID_CERTIFICATE_REF, "names no certificate", field))
            for at, reference in enumerate(references[:MOST_CERTIFICATES]):
                secret = reference.key(owner.key)
                here = f"{field}[{at}]"
                if reference.group or reference.kind != Kind.SECRET:
                    message = f"{reference} is no Secret"
                    problems.append(owner.problem(Reason.INVALID_CERTIFICATE_REF, message, here))
                elif not permissions.permits(GROUP, owner.kind, owner.key.namespace, "", Kind.SECRET, secret):
                    message = f"no ReferenceGrant of the namespace {secret.namespace} permits a reference to Secret {secret}"
                    problems.append(owner.problem(Reason.REFERENCE_NOT_PERMITTED, message, here))
                else:
                    of_listener.append(ListenerCertificate(secret, here))
            if len(references) > MOST_CERTIFICATES:
                message = f"names more than {MOST_CERTIFICATES} certificates; further ones are not shown"
                problems.append(owner.problem(Reason.INVALID_CERTIFICATE_REF, message, field))
        found.append(tuple(of_listener))
    return tuple(found), tuple(problems)
