"""What to say of a Secret that is named and not there: it may be missing, hidden, or forbidden.  Pure."""

from collections.abc import Mapping
from typing import Final

from ingress.identity.certificates import CertificateError
from ingress.model.cluster.objects import Kind, ObjectKey, Secret
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.state import ClusterState

FORBIDDEN_REASONS: Final[Mapping[Kind, Reason]] = {
    Kind.SECRET: Reason.SECRET_FORBIDDEN,
    Kind.CONFIG_MAP: Reason.CONFIG_MAP_FORBIDDEN,
}
"""What is said of an object that may not be read, by its kind."""
FORBIDDEN: Final = "the controller has no right to read it, which is for its operator to grant"


def secret_in(state: ClusterState, key: ObjectKey) -> Secret | None:
    """Return the Secret *key*, or None where there is none.

    Raises ``CertificateError`` where that is not known, since we may not read it.
    """
    secret = state.secrets.get(key)
    if secret is None and forbidden_by(state, Kind.SECRET, key):
        raise CertificateError(FORBIDDEN, Reason.SECRET_FORBIDDEN)
    return secret


def forbidden_by(state: ClusterState, kind: Kind, key: ObjectKey) -> bool:
    """Whether the object *key* of *kind*, a Secret or a ConfigMap, may not be read, as far as is known."""
    return any(
        problem.reason in FORBIDDEN_REASONS.values() for problem in state.problems_of.get((kind, key), ())
    )


def hidden_by(selector: str) -> CertificateError:
    """Return what to say of a Secret that the watch does not show, where *selector* hides some."""
    return CertificateError(
        f"there is no such Secret. One that --secret-field-selector ({selector}) leaves out is looked for "
        "after 2, 4, 8 seconds and so on, at last every five minutes, and when the Ingress changes",
        Reason.SECRET_NOT_FOUND,
    )
