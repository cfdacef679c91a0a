"""The parameters that several commands have: which objects, and by which options they are translated."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Final, TypeVar, cast

import click
from attrs import evolve

from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.controller_options import GivenOptions, names_beginning, options_from
from ingress.ctl.inputs.files.choices import How
from ingress.ctl.inputs.input import Input
from ingress.ctl.inputs.live.asked import LiveCluster, SecretReading
from ingress.ctl.progress import progress
from ingress.ctl.project_file import NAME, ProjectFile, find_project_file
from ingress.ctl.terminal import printable, tell
from ingress.model.objects import Kind
from ingress.model.problems import Reason

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


def read_input(paths: tuple[str, ...], options: tuple[str, ...], source: Source | None = None) -> Input:
    """Read what is meant, files or a cluster; raises ``Mistake``."""
    from ingress.ctl.inputs.operator_config_map import with_config_map

    found, given = read_objects(paths, options, source)
    return with_config_map(found, given.names)


def read_objects(
    paths: tuple[str, ...], options: tuple[str, ...], source: Source | None
) -> tuple[Input, GivenOptions]:
    """Read the same, and the options that count, without what the operator's ConfigMap says; raises ``Mistake``."""
    given = options_from(options)
    if "manifests" in given.names:
        raise Mistake("name files and folders without an option: PATH in the place of -o manifests=PATH")
    now = datetime.now(UTC)
    if isinstance(source, LiveCluster):
        if paths:
            raise Mistake("name files or --live, not both")
        found, given = _read_live(source, options, given, now)
    else:
        if not paths:
            raise Mistake(
                "name files or folders (. is the current one), - for standard input, or --live for a cluster"
            )
        with progress() as tell_progress:
            how = evolve(source or How(), progress=tell_progress)
            found, given = _read_files(paths, options, how, given, now)
    return found, given


def _read_files(
    paths: tuple[str, ...], options: tuple[str, ...], how: How, given: GivenOptions, now: datetime
) -> tuple[Input, GivenOptions]:
    """Read files, by *options* and those of the controller among them that *how* names."""
    from ingress.ctl.inputs.files.manifests import read_manifests

    found = read_manifests(paths, given.settings, now, how)
    if not how.like:
        return found, given
    from ingress.ctl.inputs.like import among, left_by, read_arguments, unsaid_by

    workload = among(found.workloads, how.like)
    like = read_arguments(workload.words, workload.key.namespace)
    given = options_from((*unsaid_by(like, given.names), *options))
    # What these decide may be how files are read.
    held = {} if found.texts is None else found.texts.held
    found = read_manifests(paths, given.settings, now, evolve(how, held=held))
    return evolve(found, unread=(*found.unread, *left_by(like, how.like))), given


def tell_unread(given: Input) -> None:
    """Say what was found and not read, for commands whose answer has no place for it."""
    malformed: list[str] = []
    others: list[str] = []
    for layer in given.layers:
        for problem in layer.state.problems:
            if problem.kind == Kind.MANIFEST:
                is_unread = problem.reason is Reason.MALFORMED_MANIFEST
                (malformed if is_unread else others).append(f"{problem.name}: {problem.message}")
    for what in dict.fromkeys((*(f"{one.what}: {one.why}" for one in given.unread), *malformed)):
        tell(printable(f"not read: {what}"))
    # Some of it is no object, of some is told how it is read.
    for what in dict.fromkeys(others):
        tell(printable(what))


def tell_unserved(given: Input) -> None:
    """Say why nothing is served of a layer, and which classes may be meant, for commands about what is served."""
    from ingress.annotations.values import quoted
    from ingress.ctl.meant_classes import MeantClasses
    from ingress.translate.readers.ingress.classes import class_named
    from ingress.translate.readers.ingress.nothing_served import why_nothing_is_served
    from ingress.translate.readers.ingress.objects import ingresses_of

    for layer in given.layers:
        if not ingresses_of(layer.state) or any(verdict.is_ours for _, verdict in layer.route_objects()):
            continue
        tell(printable(f"nothing is served: {why_nothing_is_served(layer.state, layer.options)}"))
        classes = MeantClasses(layer.state, layer.options)
        for name in sorted({class_named(one) for one in ingresses_of(layer.state).values()}):
            meant = classes.meant(name)
            if meant:
                tell(printable(f"class {quoted(name)}: {meant}"))


def _read_live(
    source: LiveCluster, options: tuple[str, ...], given: GivenOptions, now: datetime
) -> tuple[Input, GivenOptions]:
    """Read a cluster, by *options* and those of the controller that *source* names."""
    from ingress.ctl.inputs.like import left_by, unsaid_by
    from ingress.ctl.inputs.live.reading import read_like, read_live

    if not source.like:
        return read_live(source, given.settings, now), given
    like = read_like(source)
    given = options_from((*unsaid_by(like, given.names), *options))
    found = read_live(source, given.settings, now)
    return evolve(found, unread=(*found.unread, *left_by(like, source.like))), given
