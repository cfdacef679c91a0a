"""``ingressctl version``."""

from importlib.metadata import PackageNotFoundError, version

import click

from ingress.ctl.errors import Mistake
from ingress.ctl.terminal import say


@click.command("version")
def command() -> None:
    """Print the version."""
    try:
        say(f"txingress {version('txingress')}")
    except PackageNotFoundError:
        raise Mistake("txingress is not installed, so its version is unknown") from None
