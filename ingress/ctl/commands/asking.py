"""The parameters that several commands have: which objects, and by which options they are translated."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Final, TypeVar, cast

import click

from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.controller_options import names_beginning, settings_from
from ingress.ctl.inputs.input import Input
from ingress.ctl.inputs.live.asked import LiveCluster, SecretReading

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


_LIVE_OPTIONS: Final = (
    click.option(
        "--live", is_flag=True, help="Read the cluster that kubectl would speak to, with your rights."
    ),
    click.option(
        "--kubeconfig", metavar="FILE", type=click.Path(), help="With --live: the kubeconfig to use."
    ),
    click.option("--context", metavar="NAME", help="With --live: the context of the kubeconfig."),
    click.option(
        "--server", metavar="URL", help="With --live: the API server, in the place of that of the context."
    ),
    click.option(
        "-n",
        "--namespace",
        "namespaces",
        metavar="NAME",
        multiple=True,
        help="With --live: a namespace to read, all that you may where none is named; repeatable.",
    ),
    click.option(
        "--secrets",
        type=click.Choice([one.value for one in SecretReading]),
        help="With --live: what to ask of the Secrets that are referred to: nothing, whether they exist (names,"
        " unless said otherwise), or the certificates in them (content).",
    ),
)


def live_parameters(command: F) -> F:
    """Give *command* the options that name a cluster, as ``cluster``: a ``LiveCluster``, None without ``--live``."""

    @wraps(command)
    def run(
        *,
        live: bool,
        kubeconfig: str | None,
        context: str | None,
        server: str | None,
        namespaces: tuple[str, ...],
        secrets: str | None,
        **others: Any,
    ) -> Any:
        if not live:
            given = {
                "--kubeconfig": kubeconfig,
                "--context": context,
                "--server": server,
                "--namespace": namespaces,
                "--secrets": secrets,
            }
            for name, value in given.items():
                if value:
                    raise Mistake(f"{name} is for a cluster: add --live")
            return command(cluster=None, **others)
        reading = SecretReading.NAMES if secrets is None else SecretReading(secrets)
        return command(cluster=LiveCluster(kubeconfig, context, server, namespaces, reading), **others)

    given: Any = run
    for option in reversed(_LIVE_OPTIONS):
        given = option(given)
    return cast("F", given)


def read_input(paths: tuple[str, ...], options: tuple[str, ...], cluster: LiveCluster | None = None) -> Input:
    """Read what is meant, files or a cluster; raises ``Mistake``."""
    if cluster is not None:
        from ingress.ctl.inputs.live.reading import read_live

        if paths:
            raise Mistake("name files or --live, not both")
        return read_live(cluster, settings_from(options), datetime.now(UTC))
    from ingress.ctl.inputs.manifests import read_manifests

    if not paths:
        raise Mistake("name a file, a directory, - for standard input, or --live for a cluster")
    return read_manifests(paths, settings_from(options), datetime.now(UTC))
