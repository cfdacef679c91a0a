"""Which version of this program runs."""

from importlib.metadata import PackageNotFoundError, version


def running_version() -> str:
    """Return it; empty where the program runs from bare sources and is not installed."""
    try:
        return version("txingress")
    except PackageNotFoundError:
        return ""
