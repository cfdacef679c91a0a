"""``ingressctl explain``."""

import json
import os
from collections.abc import Collection
from typing import Any

import click
from click.core import ParameterSource

from ingress.annotations.contract.values import quoted
from ingress.ctl.admin_port import AdminPort, read_token
from ingress.ctl.commands.completing import complete_service, complete_url
from ingress.ctl.commands.input_parameters import Source, live_parameters, option_parameter
from ingress.ctl.commands.reading_inputs import read_input, tell_unread
from ingress.ctl.errors import FINE, FOUND, Mistake
from ingress.ctl.explained.expected import read_expected
from ingress.ctl.explained.text import text_of
from ingress.ctl.inputs.input import Input
from ingress.ctl.inputs.live.live_cluster import LiveCluster
from ingress.ctl.suggestions.suggested_classes import SuggestedClasses
from ingress.ctl.suggestions.suggested_names import SuggestedNames
from ingress.ctl.terminal import print_lines, printable, say, tell, width
from ingress.explain.asked_request import USUAL_CLIENT, Asked, AskedStream, read_asked_of_any
from ingress.explain.explaining import explain
from ingress.explain.explanation import Explanation
from ingress.explain.plain_data import plain
from ingress.explain.served import Served, served_by
from ingress.explain.urls import UrlRefused
from ingress.translate.readers.ingress.classes import class_named
from ingress.translate.readers.ingress.objects import ingresses_of


@click.command("explain")
@click.argument("url", shell_complete=complete_url)
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "-m",
    "--manifests",
    "manifests",
    metavar="PATH",
    multiple=True,
    type=click.Path(),
    help="A file or a folder of manifests, or - for standard input; repeatable.",
)
@live_parameters
@click.option("--admin", metavar="URL", help="Ask a running controller, at its admin port.")
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(),
    help="With --admin: a file with the token that the admin port asks for (--admin-token-file of the controller).",
)
@click.option("-X", "--method", default="GET", show_default=True, help="The method of the request.")
@click.option(
    "-H", "--header", "headers", metavar="'NAME: VALUE'", multiple=True, help="A header field; repeatable."
)
@click.option(
    "--client",
    metavar="ADDRESS",
    default=USUAL_CLIENT,
    show_default=True,
    help="The address that the request comes from.",
)
@option_parameter
@click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, or JSON.",
)
@click.option(
    "--expect-service",
    metavar="NAMESPACE/NAME[:PORT]",
    shell_complete=complete_service,
    help="Status 1 unless this Service gets the request.",
)
@click.option(
    "--expect-status",
    metavar="STATUS",
    type=click.IntRange(100, 599),
    help="Status 1 unless the request is answered with this status, and by no endpoint; also for one that nobody takes.",
)
def command(
    url: str,
    paths: tuple[str, ...],
    manifests: tuple[str, ...],
    source: Source,
    admin: str | None,
    token_file: str | None,
    method: str,
    headers: tuple[str, ...],
    client: str,
    options: tuple[str, ...],
    output: str,
    expect_service: str | None,
    expect_status: int | None,
) -> None:
    """Say what becomes of a request for URL, and why: object, route, filters, Service, endpoints, certificate.

    Of tcp://:PORT, udp://:PORT and tls://HOST:PORT it says where connections or datagrams go of which no request is read.

    The objects are those of manifests, of a cluster (--live), or of a running controller (--admin).
    The exit status is 1 where nothing takes the request: 404, 421, 503, or one that the proxy refuses; or nothing takes the stream.
    """
    swapped = next((path for path in paths if "://" in path), None)
    if swapped is not None and os.path.exists(url):
        raise Mistake(printable(f"the URL comes first: ingressctl explain {swapped} {url}"))
    expected = read_expected(expect_service, expect_status)
    try:
        asked = read_asked_of_any(url, method, headers, client)
    except UrlRefused as refused:
        raise Mistake(printable(str(refused))) from None
    files = (*paths, *manifests)
    if admin is not None:
        # Options of the project file are for objects that are read here.
        has_options = (
            click.get_current_context().get_parameter_source("options") is ParameterSource.COMMANDLINE
        )
        if files or isinstance(source, LiveCluster) or has_options:
            raise Mistake(
                "--admin asks a controller about its own objects: leave out manifests, --live and -o"
            )
        from ingress.ctl.explained.asking import ask_controller

        data = ask_controller(AdminPort(admin, read_token(token_file)), url, method, headers, client)
    else:
        if token_file is not None:
            raise Mistake("--token-file is for a running controller: add --admin URL")
        if not files and not isinstance(source, LiveCluster):
            if os.path.exists(url):
                raise Mistake(
                    printable(f"{url} is a path; name the URL before: ingressctl explain URL {url}")
                )
            raise Mistake(
                "name what to explain it by: files or folders of manifests behind the URL (. is the current one), --live for a"
                " cluster, or --admin URL for a running controller"
            )
        given = read_input(files, options, source)
        tell_unread(given)
        data = plain(_explained(asked, given))
        if isinstance(asked, Asked) and not data["outcome"]["isTaken"]:
            _tell_meant_host(asked, given)
            _tell_meant_classes({one["host"] for one in data["hosts"]}, given)
    _show(data, output, admin)
    differences = [] if expected is None else list(expected.differences(data))
    for difference in differences:
        tell(printable(difference))
    if expect_service is None and expect_status is None:
        raise SystemExit(FINE if data["outcome"]["isTaken"] else FOUND)
    raise SystemExit(FOUND if differences else FINE)


def _explained(asked: Asked | AskedStream, given: Input) -> Explanation:
    """Return what the first layer of *given* says that takes *asked*; else one that has it, or names its host; else the first of all."""
    layers = given.layers
    if len(layers) > 1:
        tell(
            f"{printable(given.why_layers)}, so there are {len(layers)} sets, as of overlays;"
            " this is by the first that takes the request, or else knows of it"
        )
    found: list[Explanation] = []
    for layer in layers:
        found.append(explain(asked, _served(layer)))
        if found[-1].outcome.is_taken:
            return found[-1]
    return max(found, key=lambda one: (one.route is not None, bool(one.unserved)))


def _tell_meant_host(asked: Asked, given: Input) -> None:
    """Say which host may be meant, where no rule names the one that is asked for."""
    host = asked.url.host
    meant = [SuggestedNames(layer.state) for layer in given.layers]
    if any(one.has_host(host) for one in meant):
        return
    for sentence in (one.host(host) for one in meant):
        if sentence:
            tell(printable(f"no rule names {host}; {sentence}"))
            return


def _tell_meant_classes(hosts: Collection[str], given: Input) -> None:
    """Say which classes may be meant, where Ingresses with rules for *hosts* are of classes that are not served."""
    for layer in given.layers:
        meant = SuggestedClasses(layer.state, layer.options)
        names = {
            class_named(one)
            for one in ingresses_of(layer.state).values()
            if any(rule.host.lower() in hosts for rule in one.rules)
        }
        told = {name: sentence for name in sorted(names) if (sentence := meant.meant(name))}
        for name, sentence in told.items():
            tell(printable(f"the class {quoted(name)} is not served; {sentence}"))
        if told:
            return


def _served(layer: Input) -> Served:
    return served_by(layer.settings, layer.state, layer.now, layer.coverage)


def _show(data: dict[str, Any], output: str, admin: str | None) -> None:
    if output == "json":
        say(json.dumps(data, indent=2))
        return
    try:
        lines = list(text_of(data, width()))
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        if admin is None:
            raise
        raise Mistake(
            f"{admin} explains in a form that is not understood; it may be of another version"
        ) from None
    print_lines(lines)
