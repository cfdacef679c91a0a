"""``ingressctl diff``."""

from datetime import UTC, datetime

import click
from attrs import evolve, frozen

from ingress.ctl.commands.asking import complete_option, option_parameter
from ingress.ctl.errors import FINE, FOUND, Mistake
from ingress.ctl.inputs.controller_options import settings_from
from ingress.ctl.inputs.input import Input
from ingress.ctl.inputs.live.asked import LiveCluster, SecretReading
from ingress.ctl.inputs.manifests import read_manifests
from ingress.ctl.served.differences import compare
from ingress.ctl.served.pairing import paired
from ingress.ctl.served.reports import as_json, as_markdown, as_text
from ingress.ctl.terminal import printable, say
from ingress.settings import Settings

LIVE = "live"
_COLORS = {"-": "red", "+": "green", "~": "yellow"}


@click.command("diff")
@click.argument("old", type=click.Path())
@click.argument("new", type=click.Path(), required=False)
@option_parameter
@click.option(
    "--old-option",
    "old_options",
    metavar="NAME[=VALUE]",
    multiple=True,
    shell_complete=complete_option,
    help="An option of the controller for OLD alone; repeatable.",
)
@click.option(
    "--new-option",
    "new_options",
    metavar="NAME[=VALUE]",
    multiple=True,
    shell_complete=complete_option,
    help="An option of the controller for NEW alone; repeatable.",
)
@click.option("--kubeconfig", metavar="FILE", type=click.Path(), help="Of live: the kubeconfig to use.")
@click.option(
    "-n",
    "--namespace",
    "namespaces",
    metavar="NAME",
    multiple=True,
    help="Of live: a namespace to read, those that the other side has Ingresses in where none is named; repeatable.",
)
@click.option("-A", "--all-namespaces", is_flag=True, help="Of live: read all namespaces.")
@click.option(
    "--secrets",
    type=click.Choice([one.value for one in SecretReading]),
    default=SecretReading.NAMES.value,
    show_default=True,
    help="Of live: what to ask of the Secrets that are referred to: nothing, whether they exist, or their content.",
)
@click.option("--endpoints", is_flag=True, help="Compare endpoints, too, which come and go in a cluster.")
@click.option("--all", "all_places", is_flag=True, help="Name every place at which the same is different.")
@click.option(
    "--output",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="What to print; Markdown is for a comment on a pull request.",
)
def command(
    old: str,
    new: str | None,
    options: tuple[str, ...],
    old_options: tuple[str, ...],
    new_options: tuple[str, ...],
    endpoints: bool,
    all_places: bool,
    output: str,
    kubeconfig: str | None,
    namespaces: tuple[str, ...],
    all_namespaces: bool,
    secrets: str,
) -> None:
    """Say what is served otherwise by NEW than by OLD.

    Each is a file, a directory, - for standard input, or live or live:CONTEXT for a cluster (a file of that name is
    ./live).  With OLD alone, the same objects are compared by other options of the controller.

    The exit status is 0 where the same is served, 1 where something is different, and 2 where something could not be done.
    """
    if new is None and not (old_options or new_options):
        raise Mistake("name two sides, or --new-option to compare one with itself by other options")
    if old == new == "-":
        raise Mistake("standard input can be one side alone")
    cluster = _Cluster(kubeconfig, namespaces, all_namespaces, SecretReading(secrets))
    first, second = _sides(old, new, (*options, *old_options), (*options, *new_options), cluster)
    roots = ("" if is_live(old) else old, "" if new is not None and is_live(new) else new or old)
    layers = [
        (name, compare(one, other, endpoints=endpoints, roots=roots))
        for name, one, other in paired(first, second, *roots)
    ]
    if output == "json":
        say(as_json(layers))
    elif output == "markdown":
        say(as_markdown(layers))
    else:
        for name, comparison in layers:
            if name:
                say(printable(f"== {name}"))
            for sign, line in as_text(comparison, all_places=all_places):
                say(_colored(sign, line))
    raise SystemExit(FOUND if any(comparison.loud for _, comparison in layers) else FINE)


@frozen
class _Cluster:
    """How a side is read that is a cluster."""

    kubeconfig: str | None
    namespaces: tuple[str, ...]
    all_namespaces: bool
    secrets: SecretReading

    def read(self, side: str, settings: Settings, now: datetime, other: Input | None) -> Input:
        """Read the cluster that *side* names; *other* is what it is compared with."""
        from ingress.ctl.inputs.live.reading import read_live

        namespaces = self.namespaces
        if not namespaces and not self.all_namespaces and other is not None:
            namespaces = tuple(
                sorted({key.namespace for one in other.layers for (_, key), _ in one.route_objects()})
            )
        context = side.removeprefix(LIVE).removeprefix(":") or None
        return read_live(LiveCluster(self.kubeconfig, context, None, namespaces, self.secrets), settings, now)


def is_live(side: str) -> bool:
    """Whether a side is a cluster: ``live``, or ``live:CONTEXT``."""
    return side == LIVE or side.startswith(f"{LIVE}:")


def _sides(
    old: str, new: str | None, old_options: tuple[str, ...], new_options: tuple[str, ...], cluster: _Cluster
) -> tuple[Input, Input]:
    """Read both sides, files before clusters; what is the same on both sides is read once where that is enough."""
    now = datetime.now(UTC)
    settings = settings_from(old_options), settings_from(new_options)
    if new is None or new == old:
        same_prefix = settings[0].translate.annotations_prefix == settings[1].translate.annotations_prefix
        if same_prefix or old == "-":
            if not same_prefix:
                raise Mistake(
                    "standard input is read once: write it to a file to compare two annotations prefixes"
                )
            first = _read(old, settings[0], now, cluster, None)
            return first, _with_options(first, settings[1])
        new = old
    if is_live(old) and not is_live(new):
        second = _read(new, settings[1], now, cluster, None)
        return _read(old, settings[0], now, cluster, second), second
    first = _read(old, settings[0], now, cluster, None)
    return first, _read(new, settings[1], now, cluster, None if is_live(old) else first)


def _read(side: str, settings: Settings, now: datetime, cluster: _Cluster, other: Input | None) -> Input:
    if is_live(side):
        return cluster.read(side, settings, now, other)
    return read_manifests((side,), settings, now)


def _with_options(given: Input, settings: Settings) -> Input:
    """Return the same objects by other options."""
    translating = evolve(settings.translate, from_manifests=given.options.from_manifests)
    own = evolve(settings, translate=translating)
    return evolve(given, settings=own, others=tuple(evolve(one, settings=own) for one in given.others))


def _colored(sign: str, line: str) -> str:
    if sign == "#":
        return click.style(line, bold=True)
    return click.style(line, fg=_COLORS[sign]) if sign in _COLORS else line
