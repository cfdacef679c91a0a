"""What somebody leaves who leaves ingress-nginx: the objects, judged by the arguments that it was started with."""

from collections.abc import Collection
from operator import attrgetter
from typing import Final

from attrs import evolve

from ingress.ctl.commands.input_parameters import Source
from ingress.ctl.commands.reading_inputs import read_objects
from ingress.ctl.inputs.controller_options import GivenOptions, options_from
from ingress.ctl.inputs.files.choices import How
from ingress.ctl.inputs.ingress_nginx.taken_arguments import counting, judged_by, taken_arguments
from ingress.ctl.inputs.input import Input, Workload
from ingress.ctl.inputs.like import among
from ingress.ctl.inputs.live.live_cluster import LiveCluster
from ingress.ctl.inputs.operator_config_map import with_config_map, with_settings
from ingress.ctl.migrate.config_map import naming_config_map
from ingress.options.table import OPTIONS
from ingress.settings import Settings

USUAL_NAMESPACE: Final = "ingress-nginx"
"""Where it is looked for, too, where the whole cluster is forbidden."""
_READ_BY: Final = frozenset({"annotations-prefix", "namespace", "watch-namespace-selector"})
"""Options by which something else is read of files."""


def read_migration_input(paths: tuple[str, ...], options: tuple[str, ...], source: Source) -> Input:
    """Read what is meant; of ``Input.workloads`` the first is the one whose arguments count.  Raises ``Mistake``.

    What *options* and *source* say comes before the arguments, and these before the ConfigMap, which is the one that they name, else
    one with a usual name.
    """
    if isinstance(source, LiveCluster):
        given, said = _read_cluster(paths, options, source)
    else:
        given, said = _read_files(paths, options, source)
    return with_config_map(naming_config_map(given), said.names)


def _read_cluster(
    paths: tuple[str, ...], options: tuple[str, ...], source: LiveCluster
) -> tuple[Input, GivenOptions]:
    from ingress.ctl.inputs.live.reading import read_around, read_like, read_workloads

    said = options_from(options)
    if paths:
        return read_objects(paths, options, source)
    if source.like:
        named = read_like(source).workloads
        if not named:
            return read_objects((), options, source)
        found, source = read_around(source, named), evolve(source, like="")
    else:
        key = said.settings.config_map
        namespaces = (*(() if key is None else (key.namespace,)), USUAL_NAMESPACE, *source.namespaces)
        found = read_workloads(source, namespaces)
    workloads = counting(found.workloads, said.settings, said.names)
    texts = _texts(workloads, said.names, source)
    watched = tuple(one.removeprefix("namespace=") for one in texts if one.startswith("namespace="))
    source = evolve(source, namespaces=source.namespaces or watched)
    given, counted = read_objects((), (*texts, *options), source)
    unread = (*given.unread, *found.unread)
    return evolve(given, workloads=workloads, around=found.around, unread=unread), counted


def _read_files(paths: tuple[str, ...], options: tuple[str, ...], source: How) -> tuple[Input, GivenOptions]:
    like, source = source.like, evolve(source, like="")
    given, said = read_objects(paths, options, source)
    if like:
        workloads: tuple[Workload, ...] = (among(given.workloads, like),)
    else:
        workloads = counting(given.workloads, said.settings, said.names)
    texts = _texts(workloads, said.names, source)
    counted = options_from(texts, given.settings)
    if any(_is_other(name, given.settings, counted.settings) for name in _READ_BY & counted.names):
        held = {} if given.texts is None else given.texts.held
        given, said = read_objects(paths, (*texts, *options), evolve(source, held=held))
    else:
        given = with_settings(given, counted.settings)
        said = GivenOptions(counted.settings, said.names | counted.names)
    return evolve(given, workloads=workloads), said


def _is_other(name: str, settings: Settings, other: Settings) -> bool:
    """Whether the option *name* is another in *other*."""
    field = attrgetter(OPTIONS[name].to)
    return bool(field(settings) != field(other))


def _texts(workloads: tuple[Workload, ...], names: Collection[str], source: Source) -> tuple[str, ...]:
    """Return the options that the first of *workloads* says, and nobody else, by *names* or *source*."""
    if not workloads:
        return ()
    said = {*names, "namespace"} if source.namespaces or source.all_namespaces else names
    return tuple(judged_by(taken_arguments(workloads[0]), said))
