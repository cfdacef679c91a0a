"""The parameters that several commands have: which objects, and by which options they are translated."""

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar, cast

import click

from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.controller_options import names_beginning, options_from
from ingress.ctl.inputs.files.choices import How
from ingress.ctl.inputs.live.live_cluster import LiveCluster, SecretReading
from ingress.ctl.project_file import NAME, ProjectFile, find_project_file

F = TypeVar("F", bound=Callable[..., Any])
Source = LiveCluster | How
"""Where objects come from: a cluster, or files and how these are read."""

OPTION_HELP = "An option of the controller, as twistd ingress --NAME=VALUE has it; repeatable."


def complete_option(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the options of the controller that begin with *incomplete*, for a shell."""
    return names_beginning(incomplete)


_PROJECT_OPTIONS: Final = (
    click.option(
        "-o",
        "--option",
        "options",
        metavar="NAME[=VALUE]",
        multiple=True,
        help=OPTION_HELP,
        shell_complete=complete_option,
    ),
    click.option("--config", metavar="FILE", type=click.Path(), help=f"In the place of the nearest {NAME}."),
    click.option("--no-config", is_flag=True, help=f"Read no {NAME}."),
)


def project_parameters(command: F) -> F:
    """Give *command* the project file, as ``project``, and the options of the controller, as ``options``, a tuple of texts.

    Those of the project file are among them, where the command line does not say otherwise.
    """

    @wraps(command)
    def run(*, options: tuple[str, ...], config: str | None, no_config: bool, **others: Any) -> Any:
        if config is not None and no_config:
            raise Mistake("--config and --no-config contradict each other")
        project = ProjectFile() if no_config else find_project_file(os.getcwd(), config)
        return command(project=project, options=(*_options_of(project, options), *options), **others)

    given: Any = run
    for option in reversed(_PROJECT_OPTIONS):
        given = option(given)
    return cast("F", given)


def option_parameter(command: F) -> F:
    """Give *command* the options of the controller, those of the project file included, as ``options``, a tuple of texts."""

    @wraps(command)
    def run(*, project: ProjectFile, **others: Any) -> Any:
        return command(**others)

    return project_parameters(cast("F", run))


def _options_of(project: ProjectFile, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options of the controller that *project* says and *given* do not."""
    texts = project.option_texts(given)
    try:
        options_from(texts)
    except Mistake as mistake:
        raise Mistake(f"{project.prefix}[options]: {mistake.message}") from None
    return texts


def paths_parameter(command: F) -> F:
    """Give *command* the manifests that are meant, as ``paths``, a tuple of texts."""
    return click.argument("paths", nargs=-1, type=click.Path())(command)


def named_namespaces(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Return *names*; raises ``Mistake`` where one is empty, as of a variable that is not set: nothing would be looked at."""
    if "" in names:
        raise Mistake("--namespace is empty; leave it out to have all namespaces looked at")
    return names


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
        callback=named_namespaces,
        help="A namespace to look at, all where none is named (with --live: all that you may); repeatable. Objects of"
        " files that name no namespace are in the first.",
    ),
    click.option(
        "-A", "--all-namespaces", is_flag=True, help="All namespaces, which it is where none is named."
    ),
    click.option(
        "--like",
        metavar="NAMESPACE/NAME",
        help="Take the options of the controller that this Deployment or DaemonSet runs: of ingress-nginx among the files,"
        " or with --live of ours, too; -o comes before them.",
    ),
    click.option(
        "--secrets",
        type=click.Choice([one.value for one in SecretReading]),
        help="With --live: what to ask of the Secrets that are referred to: nothing, whether they exist (names,"
        " unless said otherwise), or the certificates in them (content).",
    ),
)


_FILE_OPTIONS: Final = (
    click.option(
        "--no-kustomize", is_flag=True, help="Have no kustomization built; read the files as they stand."
    ),
    click.option(
        "--allow-remote-bases",
        is_flag=True,
        help="Let kustomize fetch what kustomizations refer to and is not here.",
    ),
)


def live_parameters(command: F) -> F:
    """Give *command* the options that say how objects are read, as ``source``: a ``Source``."""

    @wraps(command)
    def run(
        *,
        live: bool,
        kubeconfig: str | None,
        context: str | None,
        server: str | None,
        namespaces: tuple[str, ...],
        all_namespaces: bool,
        secrets: str | None,
        like: str | None,
        no_kustomize: bool,
        allow_remote_bases: bool,
        **others: Any,
    ) -> Any:
        if all_namespaces and namespaces:
            raise Mistake("--all-namespaces or --namespace, not both")
        if not live:
            given = {
                "--kubeconfig": kubeconfig,
                "--context": context,
                "--server": server,
                "--secrets": secrets,
            }
            for name, value in given.items():
                if value:
                    raise Mistake(f"{name} is for a cluster: add --live")
            how = How(
                namespaces,
                all_namespaces=all_namespaces,
                builds=not no_kustomize,
                allows_remote=allow_remote_bases,
                like=like or "",
            )
            return command(source=how, **others)
        for name, is_given in (
            ("--no-kustomize", no_kustomize),
            ("--allow-remote-bases", allow_remote_bases),
        ):
            if is_given:
                raise Mistake(f"{name} is for files, and --live reads none")
        reading = SecretReading.NAMES if secrets is None else SecretReading(secrets)
        cluster = LiveCluster(
            kubeconfig, context, server, namespaces, reading, all_namespaces=all_namespaces, like=like or ""
        )
        return command(source=cluster, **others)

    given: Any = run
    for option in reversed((*_LIVE_OPTIONS, *_FILE_OPTIONS)):
        given = option(given)
    return cast("F", given)
