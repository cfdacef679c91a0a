"""Reads the input that the parameters of a command name, and says what was not read of it, or why nothing is served."""

from datetime import UTC, datetime
from typing import Final

from attrs import evolve

from ingress.cluster.manifests.manifest_listing import SUFFIXES, display_name
from ingress.ctl.commands.input_parameters import Source
from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.controller_options import GivenOptions, options_from
from ingress.ctl.inputs.files.choices import How
from ingress.ctl.inputs.input import Input
from ingress.ctl.inputs.live.live_cluster import LiveCluster
from ingress.ctl.progress import progress
from ingress.ctl.terminal import printable, tell
from ingress.model.cluster.objects import Kind
from ingress.model.cluster.problems import Reason
from ingress.model.stepwise import finished
from ingress.wording import first_of

_MOST_NAMED: Final = 4


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
    _tell_nothing_there(paths, found)
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


def _tell_nothing_there(paths: tuple[str, ...], found: Input) -> None:
    """Say so where folders have no file that may be read: whoever meant other ones learns of it, though nothing is wrong with that."""
    if found.has_files:
        return
    below = first_of([display_name(path) for path in paths], _MOST_NAMED)
    tell(
        printable(
            f"nothing was read: no file below {below} ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        )
    )


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
    from ingress.annotations.contract.values import quoted
    from ingress.ctl.suggestions.suggested_classes import SuggestedClasses
    from ingress.translate.readers.ingress.classes import class_named
    from ingress.translate.readers.ingress.nothing_served import why_nothing_is_served
    from ingress.translate.readers.ingress.objects import ingresses_of

    for layer in given.layers:
        if not ingresses_of(layer.state) or any(verdict.is_ours for _, verdict in layer.route_objects()):
            continue
        why = finished(why_nothing_is_served(layer.state, layer.options))
        tell(printable(f"nothing is served: {why}"))
        classes = SuggestedClasses(layer.state, layer.options)
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
