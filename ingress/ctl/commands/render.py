"""``ingressctl render``."""

from enum import Enum

import click

from ingress.ctl.commands.asking import Source, live_parameters, option_parameter, paths_parameter, read_input
from ingress.ctl.inputs.input import Input
from ingress.ctl.terminal import printable, say, tell


class _Form(Enum):
    SERVED = "served"


@click.command("render")
@paths_parameter
@option_parameter
@live_parameters
@click.option(
    "--as",
    "form",
    type=click.Choice([one.value for one in _Form]),
    required=True,
    help="served: the normal form of what is served, which is the same where the same is served.",
)
@click.option(
    "--output",
    type=click.Choice(["yaml", "json"]),
    default="yaml",
    show_default=True,
    help="How it is written.",
)
@click.option("--endpoints", is_flag=True, help="With --as served: endpoints, too.")
@click.option("--full", is_flag=True, help="With --as served: also what is empty or as usual.")
def command(
    paths: tuple[str, ...],
    options: tuple[str, ...],
    source: Source,
    form: str,
    output: str,
    *,
    endpoints: bool,
    full: bool,
) -> None:
    """Print what is served in another form."""
    given = read_input(paths, options, source)
    for unread in given.unread:
        tell(printable(f"not read: {unread.what}: {unread.why}"))
    _print_served(given, output, endpoints=endpoints, full=full)


def _print_served(given: Input, output: str, *, endpoints: bool, full: bool) -> None:
    from ingress.ctl.served.rendering import as_json, as_yaml, rendered

    found = rendered(given, endpoints=endpoints, full=full)
    say(as_json(found) if output == "json" else as_yaml(found))
