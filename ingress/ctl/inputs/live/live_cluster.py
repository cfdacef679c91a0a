"""Which cluster is meant, and how much of it may be read; plain values, for whoever has not read anything yet."""

from enum import Enum

from ingress.model.frozen import frozen


class SecretReading(Enum):
    """What is asked of the Secrets that Ingresses refer to, by the word of ``--secrets``."""

    NONE = "none"
    """Nothing: no request names a Secret."""
    NAMES = "names"
    """Whether they exist.  No content leaves the API server, and neither do annotations, which may quote it."""
    CONTENT = "content"
    """The keys that are needed of them, such as certificates with their private keys."""


@frozen
class LiveCluster:
    """An API server as the options of ``kubectl`` name it; None leaves it to the environment.

    Without *namespaces* all are read that may be.
    """

    kubeconfig: str | None = None
    context: str | None = None
    server: str | None = None
    namespaces: tuple[str, ...] = ()
    secrets: SecretReading = SecretReading.NAMES
    all_namespaces: bool = False
    """Whether somebody has asked for all of them in so many words."""
    like: str = ""
    """``NAMESPACE/NAME`` of the Deployment or DaemonSet whose controller's options count; empty for none."""
