"""The parameters that several commands have: which objects, and by which options they are translated."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.controller_options import names_beginning, settings_from
from ingress.ctl.inputs.input import Input

F = TypeVar("F", bound=Callable[..., Any])

OPTION_HELP = "An option of the controller, as twistd ingress --NAME=VALUE has it; repeatable."


def complete_option(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the options of the controller that begin with *incomplete*, for a shell."""
    return names_beginning(incomplete)


def option_parameter(command: F) -> F:
    """Give *command* the options of the controller, as ``options``, a tuple of texts."""
    return click.option(
        "-o",
        "--option",
        "options",
        metavar="NAME[=VALUE]",
        multiple=True,
        help=OPTION_HELP,
        shell_complete=complete_option,
    )(command)


def paths_parameter(command: F) -> F:
    """Give *command* the manifests that are meant, as ``paths``, a tuple of texts."""
    return click.argument("paths", nargs=-1, type=click.Path())(command)


def read_input(paths: tuple[str, ...], options: tuple[str, ...]) -> Input:
    """Read what is meant; raises ``Mistake``."""
    from ingress.ctl.inputs.manifests import read_manifests

    if not paths:
        raise Mistake("name a file, a directory, or - for standard input")
    return read_manifests(paths, settings_from(options), datetime.now(UTC))
