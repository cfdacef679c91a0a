"""``ingressctl render``."""

from enum import Enum
from typing import Any

import click
from click.core import ParameterSource

from ingress.ctl.commands.input_parameters import Source, live_parameters, option_parameter, paths_parameter
from ingress.ctl.commands.reading_inputs import read_input, tell_unread, tell_unserved
from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.input import Input
from ingress.ctl.terminal import printable, say, tell
from ingress.model.cluster.objects import ObjectKey


class _Form(Enum):
    SERVED = "served"
    GATEWAY = "gateway"


_OF_FORM = {
    "endpoints": _Form.SERVED,
    "full": _Form.SERVED,
    "gateway": _Form.GATEWAY,
    "gateway_class": _Form.GATEWAY,
    "experimental": _Form.GATEWAY,
    "unguarded": _Form.GATEWAY,
}
"""The parameters that one form has, and the others have not."""


@click.command("render")
@paths_parameter
@option_parameter
@live_parameters
@click.option(
    "--as",
    "form",
    type=click.Choice([one.value for one in _Form]),
    required=True,
    help="served: the normal form of what is served, which is the same where the same is served."
    " gateway: objects of the Gateway API, for all that can be said in them.",
)
@click.option(
    "--output",
    type=click.Choice(["yaml", "json"]),
    default="yaml",
    show_default=True,
    help="How it is written; with --as gateway, what cannot be said is comments and on standard error, or in the JSON.",
)
@click.option("--endpoints", is_flag=True, help="With --as served: endpoints, too.")
@click.option("--full", is_flag=True, help="With --as served: also what is empty or as usual.")
@click.option(
    "--gateway",
    metavar="NAMESPACE/NAME",
    default="default/ingress",
    show_default=True,
    help="With --as gateway: what the Gateway is called.",
)
@click.option(
    "--gateway-class",
    metavar="NAME",
    default="example",
    show_default=True,
    help="With --as gateway: its class.",
)
@click.option(
    "--experimental", is_flag=True, help="With --as gateway: use fields of the experimental channel, too."
)
@click.option(
    "--unguarded",
    is_flag=True,
    help="With --as gateway: leave rules open whose passwords, address ranges or other guards cannot be said.",
)
@click.pass_context
def command(
    context: click.Context,
    /,
    paths: tuple[str, ...],
    options: tuple[str, ...],
    source: Source,
    form: str,
    output: str,
    **particulars: Any,
) -> None:
    """Print what is served in another form.

    PATH is a file, a folder, or - for standard input.
    """
    for name, its_form in _OF_FORM.items():
        if form != its_form.value and context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise Mistake(f"--{name.replace('_', '-')} is for --as {its_form.value}")
    from ingress.ctl.served.holes import check_named

    given = read_input(paths, options, source)
    check_named(paths, given)
    tell_unread(given)
    tell_unserved(given)
    chosen = {name: value for name, value in particulars.items() if _OF_FORM[name].value == form}
    if form == _Form.SERVED.value:
        _print_served(given, output, **chosen)
    else:
        _print_gateway(given, output, **chosen)


def _print_served(given: Input, output: str, *, endpoints: bool, full: bool) -> None:
    from ingress.ctl.served.rendering import as_json, as_yaml, rendered

    found = rendered(given, endpoints=endpoints, full=full)
    say(as_json(found) if output == "json" else as_yaml(found))


def _print_gateway(
    given: Input, output: str, *, gateway: str, gateway_class: str, experimental: bool, unguarded: bool
) -> None:
    from ingress.ctl.gateway.rendering import render_gateway
    from ingress.ctl.gateway.rendering_values import GatewayOptions
    from ingress.ctl.gateway.text import json_of, line_of, summary_of, yaml_of

    if given.others:
        raise Mistake(
            f"{printable(given.why_layers)}, so there are {len(given.layers)} sets that cannot be applied together,"
            " as of overlays; name the folder or the files of one"
        )
    options = GatewayOptions(_key(gateway), gateway_class, experimental, unguarded)
    rendering = render_gateway(given, options)
    if output == "json":
        say(json_of(rendering))
    else:
        say(yaml_of(rendering).rstrip("\n"))
    for one in rendering.unsaid:
        tell(line_of(one))
    tell(summary_of(rendering))


def _key(text: str) -> ObjectKey:
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise Mistake(f"--gateway {text!r} is not of the form NAMESPACE/NAME")
    return ObjectKey(namespace, name)
