"""Which version of this is installed."""

from importlib.metadata import PackageNotFoundError, version

from ingress.ctl.errors import Mistake


def installed_version() -> str:
    """Return it; raises ``Mistake`` where the package is not installed, but only found."""
    try:
        return version("txingress")
    except PackageNotFoundError:
        raise Mistake("txingress is not installed, so its version is unknown") from None
