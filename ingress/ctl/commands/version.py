"""``ingressctl version``."""

import click

from ingress.ctl.installed import installed_version
from ingress.ctl.terminal import say
from ingress.process.version import running_code


@click.command("version")
def command() -> None:
    """Print the version."""
    say(f"txingress {installed_version()} ({running_code()})")
