"""``ingressctl diff``."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import click
from attrs import evolve

from ingress.ctl.commands.input_parameters import complete_option, named_namespaces, option_parameter
from ingress.ctl.commands.reading_inputs import tell_unserved
from ingress.ctl.errors import FINE, FOUND, Mistake
from ingress.ctl.inputs.controller_options import GivenOptions, options_from
from ingress.ctl.inputs.files.choices import How
from ingress.ctl.inputs.files.manifests import read_manifests
from ingress.ctl.inputs.files.texts import STANDARD_INPUT
from ingress.ctl.inputs.input import Input
from ingress.ctl.inputs.live.live_cluster import LiveCluster, SecretReading
from ingress.ctl.inputs.operator_config_map import with_config_map
from ingress.ctl.served.differences import Comparison, compare
from ingress.ctl.served.holes import check_named, sides, without_unknown
from ingress.ctl.served.pairing import paired
from ingress.ctl.served.reports import as_json, as_markdown, as_text
from ingress.ctl.terminal import COLOR_CHOICES, has_colour, print_lines, printable, say, tell
from ingress.model.cluster.objects import ObjectId
from ingress.model.frozen import frozen
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
    callback=named_namespaces,
    help="A namespace to look at; of live, without any, those that the other side has Ingresses in; repeatable.",
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
    "--no-kustomize", is_flag=True, help="Have no kustomization built; read the files as they stand."
)
@click.option("--color", type=click.Choice(COLOR_CHOICES), default=COLOR_CHOICES[0], show_default=True)
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
    no_kustomize: bool,
    color: str,
) -> None:
    """Say what is served otherwise by NEW than by OLD.

    Each is a file, a folder, - for standard input, or live or live:CONTEXT for a cluster (a file of that name is
    ./live).  With OLD alone, the same objects are compared by other options of the controller.

    The exit status is 0 where the same is served, 1 where something is different, and 2 where something could not be done.
    """
    if new is None and not (old_options or new_options):
        raise Mistake("name two sides, or --new-option to compare one with itself by other options")
    if old == new == "-":
        raise Mistake("standard input can be one side alone")
    reading = _Reading(kubeconfig, namespaces, all_namespaces, SecretReading(secrets), not no_kustomize)
    first, second = reading.sides(
        old, new, _options_of_side(options, old_options), _options_of_side(options, new_options)
    )
    for side, given in ((old, first), (new or old, second)):
        check_named((side,), given)
    if not (_serves(first) or _serves(second)):
        # That nothing is different means nothing then.
        tell_unserved(second)
    roots = ("" if is_live(old) else old, "" if is_live(new or old) else new or old)
    known = sides(first, second, roots)
    layers = [
        (name, without_unknown(compare(one, other, endpoints=endpoints, roots=roots), *known))
        for name, one, other in paired(first, second, *roots)
    ]
    unread = (*_unread("OLD", first), *_unread("NEW", second))
    if unread:
        name, comparison = layers[0]
        layers[0] = name, evolve(comparison, not_compared=(*unread, *comparison.not_compared))
    if output == "json":
        say(as_json(layers))
    elif output == "markdown":
        say(as_markdown(layers))
    else:
        print_lines(_lines(layers, all_places=all_places), has_colour(color))
    raise SystemExit(FOUND if any(comparison.loud for _, comparison in layers) else FINE)


def _serves(given: Input) -> bool:
    return any(verdict.is_ours for layer in given.layers for _, verdict in layer.route_objects())


def is_live(side: str) -> bool:
    """Whether a side is a cluster: ``live``, or ``live:CONTEXT``."""
    return side == LIVE or side.startswith(f"{LIVE}:")


def _options_of_side(for_both: tuple[str, ...], own: tuple[str, ...]) -> GivenOptions:
    """Return the options of a side: what is said of it alone takes the place of what is said of both."""
    said = {_name_of(text) for text in own}
    return options_from((*(text for text in for_both if _name_of(text) not in said), *own))


def _name_of(text: str) -> str:
    return text.removeprefix("--").partition("=")[0]


@frozen
class _Reading:
    """How sides are read."""

    kubeconfig: str | None
    namespaces: tuple[str, ...]
    all_namespaces: bool
    secrets: SecretReading
    builds: bool

    def sides(
        self, old: str, new: str | None, old_given: GivenOptions, new_given: GivenOptions
    ) -> tuple[Input, Input]:
        """Read both sides, files before clusters; what is the same on both sides is read once where that is enough."""
        now = datetime.now(UTC)
        settings = old_given.settings, new_given.settings
        if new is None or new == old:
            is_same = settings[0].translate.annotations_prefix == settings[1].translate.annotations_prefix
            if is_same:
                first = self._read(old, settings[0], now)
                return _configured(first, old_given), _configured(_with(first, settings[1]), new_given)
            if old == STANDARD_INPUT:
                raise Mistake("standard input is read once: two annotations prefixes need a file")
            new = old
        if is_live(old) and not is_live(new):
            second = self._read(new, settings[1], now)
            first = self._read(old, settings[0], now, second)
        else:
            first = self._read(old, settings[0], now)
            second = self._read(new, settings[1], now, first)
        return _configured(first, old_given), _configured(second, new_given)

    def _read(self, side: str, settings: Settings, now: datetime, other: Input | None = None) -> Input:
        """Read one side; *other* is what it is compared with, where that is known."""
        if not is_live(side):
            return read_manifests((side,), settings, now, How(self.namespaces, builds=self.builds))
        from ingress.ctl.inputs.live.reading import read_live

        namespaces = self.namespaces
        if not namespaces and not self.all_namespaces and other is not None and other.options.from_manifests:
            namespaces = tuple(sorted({key.namespace for _, key in _route_objects(other)}))
            if not namespaces:
                raise Mistake(
                    "the files have no Ingress, so it is not clear which namespaces are meant: -n or -A"
                )
            tell(printable(f"of the cluster, namespace {', '.join(namespaces)} is read; -A reads all"))
        context = side.removeprefix(LIVE).removeprefix(":") or None
        cluster = LiveCluster(self.kubeconfig, context, None, namespaces, self.secrets)
        return read_live(cluster, settings, now)


def _route_objects(given: Input) -> Iterator[ObjectId]:
    for layer in given.layers:
        yield from (object_id for object_id, _ in layer.route_objects())


def _unread(side: str, given: Input) -> Iterator[str]:
    """Yield what was found of a side and not read."""
    yield from (f"{one.what} of {side}: {one.why}" for one in given.unread)


def _with(given: Input, settings: Settings) -> Input:
    """Return the same objects by other options."""
    translating = evolve(
        settings.translate,
        from_manifests=given.options.from_manifests,
        names_endpoint_option=given.options.names_endpoint_option,
    )
    # Of a cluster each Secret was asked for that is referred to: a selector hides none.
    selector = settings.secret_field_selector if given.options.from_manifests else ""
    own = evolve(settings, translate=translating, secret_field_selector=selector)
    return evolve(given, settings=own, others=tuple(evolve(one, settings=own) for one in given.others))


def _configured(given: Input, options: GivenOptions) -> Input:
    return with_config_map(given, options.names)


def _lines(layers: Iterable[tuple[str, Comparison]], *, all_places: bool) -> Iterator[str]:
    for name, comparison in layers:
        if name:
            yield click.style(printable(f"== {name}"), bold=True)
        for sign, line in as_text(comparison, all_places=all_places):
            yield click.style(line, bold=True) if sign == "#" else _colored(sign, line)


def _colored(sign: str, line: str) -> str:
    return click.style(line, fg=_COLORS[sign]) if sign in _COLORS else line
