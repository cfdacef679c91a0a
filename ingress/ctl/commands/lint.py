"""``ingressctl lint``."""

import os
from collections.abc import Callable

import click
from attrs import evolve

from ingress.ctl.commands.destinations import Destination, DestinationType, chosen_destinations, print_to
from ingress.ctl.commands.input_parameters import Source, live_parameters, paths_parameter, project_parameters
from ingress.ctl.commands.reading_inputs import read_input
from ingress.ctl.errors import FINE, FOUND, Mistake
from ingress.ctl.inputs.controller_options import options_from
from ingress.ctl.inputs.ingress_nginx.usual_config_map import find_config_map
from ingress.ctl.inputs.input import Input, Unread
from ingress.ctl.inputs.live.live_cluster import LiveCluster
from ingress.ctl.lint.accepted import accept, read_acceptances
from ingress.ctl.lint.finding import Level
from ingress.ctl.lint.linting import lint
from ingress.ctl.lint.placing import placed
from ingress.ctl.lint.reports.formats import FORMATS, TABLE
from ingress.ctl.lint.reports.results import Results
from ingress.ctl.lint.reports.table import Detail
from ingress.ctl.project_file import ProjectFile
from ingress.ctl.terminal import COLOR_CHOICES, printable, tell

NEVER = "never"
LEVELS = tuple(level.word for level in sorted(Level, reverse=True))


@click.command("lint")
@paths_parameter
@project_parameters
@live_parameters
@click.option(
    "--output",
    "destinations",
    type=DestinationType(),
    multiple=True,
    metavar="FORMAT[=FILE]",
    help=f"What is printed: {', '.join(FORMATS)}; with a file, it goes there. Repeatable.  [default: {TABLE}]",
)
@click.option("--output-file", metavar="FILE", help="Where the one --output goes that names no file.")
@click.option(
    "--fail-on",
    type=click.Choice([*LEVELS, NEVER]),
    help="From which level on a finding makes the exit status 1.  [default: error]",
)
@click.option("--show-accepted", is_flag=True, help="Show what is accepted, which is otherwise counted.")
@click.option("-q", "--quiet", is_flag=True, help="Only what makes the exit status 1, and the sum.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Every object and annotation, and nothing taken together."
)
@click.option(
    "--color",
    type=click.Choice(COLOR_CHOICES),
    default=COLOR_CHOICES[0],
    show_default=True,
    help="Colors in the table; auto is for a terminal, unless NO_COLOR is set.",
)
def command(
    paths: tuple[str, ...],
    options: tuple[str, ...],
    source: Source,
    project: ProjectFile,
    destinations: tuple[Destination, ...],
    output_file: str | None,
    fail_on: str | None,
    show_accepted: bool,
    quiet: bool,
    verbose: bool,
    color: str,
) -> None:
    """Say what becomes of each object, and what its owner should know.

    PATH is a file, a folder, or - for standard input.  The exit status is 1 if there is a finding of the level --fail-on or worse.
    """
    destinations = chosen_destinations(destinations, output_file)
    detail = _detail(quiet, verbose)
    folder = os.getcwd()
    acceptances = read_acceptances(project.tables.get("accept", ()), project.prefix)
    level = _level(fail_on, project)
    given = _telling_of_config_map(_telling_of_arguments(read_input(paths, options, source), source))
    report = placed(lint(given), given)
    relative = _relative_to(project.folder, folder)
    is_whole = _is_whole(paths, source, relative)
    accepting = accept(report, acceptances, given.now.date(), relative, is_whole)
    results = Results(accepting.report, accepting.accepted, show_accepted, level, folder)
    for destination in destinations:
        print_to(results, destination, detail, color)
    for sentence in accepting.told:
        tell(printable(f"{project.prefix}{sentence}"))
    raise SystemExit(FOUND if results.fails else FINE)


def _telling_of_arguments(given: Input, source: Source) -> Input:
    """Return *given* with word of each ingress-nginx in it that is started with what objects would be judged by, where none is named."""
    if source.like or not given.workloads:
        return given
    # For who has one among the files.
    from ingress.ctl.inputs.ingress_nginx.taken_arguments import judged_by, taken_arguments

    unread = list(given.unread)
    for workload in given.workloads:
        counting = tuple(judged_by(taken_arguments(workload)))
        if options_from(counting, given.settings).settings != given.settings:
            why = f"ingress-nginx goes by them; here they count with --like {workload.key}"
            unread.append(Unread(f"arguments of {workload}", why))
    return evolve(given, unread=tuple(unread))


def _telling_of_config_map(given: Input) -> Input:
    """Return *given* with word of the ConfigMap that is ingress-nginx's by its name, where no option names one."""
    found = None if given.settings.config_map is not None else find_config_map(given)
    if found is None:
        return given
    why = f"ingress-nginx mostly goes by one of that name; here it counts with -o configmap={found.key}"
    return evolve(given, unread=(*given.unread, Unread(f"ConfigMap {found.key}", why)))


def _detail(quiet: bool, verbose: bool) -> Detail:
    if quiet and verbose:
        raise Mistake("--quiet and --verbose contradict each other")
    return Detail.LITTLE if quiet else Detail.MUCH if verbose else Detail.USUAL


def _level(fail_on: str | None, project: ProjectFile) -> Level | None:
    asked = fail_on if fail_on is not None else project.tables.get("fail-on", Level.ERROR.word)
    if asked == NEVER:
        return None
    if asked not in LEVELS:
        raise Mistake(f"{project.prefix}fail-on is one of {', '.join([*LEVELS, NEVER])}")
    return Level[asked.upper()]


def _is_whole(paths: tuple[str, ...], source: Source, relative: Callable[[str], str]) -> bool:
    """Whether all is read that a project file may be about: its folder, or a cluster."""
    if source.namespaces:
        return False
    return isinstance(source, LiveCluster) or any(
        set(relative(path).split(os.sep)) <= {".", ".."} for path in paths
    )


def _relative_to(folder: str, current: str) -> Callable[[str], str]:
    """Return what makes of a file, as it was given in *current*, a path from *folder*."""

    def relative(file: str) -> str:
        return (
            os.path.relpath(os.path.join(current, file), folder) if file not in ("", "-") and folder else file
        )

    return relative
