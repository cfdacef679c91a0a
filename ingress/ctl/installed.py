"""Which version of this is installed."""

from ingress.ctl.errors import Mistake
from ingress.process.version import running_version


def installed_version() -> str:
    """Return it; raises ``Mistake`` where the package is not installed, but only found."""
    found = running_version()
    if not found:
        raise Mistake("txingress is not installed, so its version is unknown")
    return found
