"""``ingressctl lint``."""

import click

from ingress.ctl.commands.asking import live_parameters, option_parameter, paths_parameter, read_input
from ingress.ctl.errors import FINE, FOUND
from ingress.ctl.inputs.live.asked import LiveCluster
from ingress.ctl.lint.finding import Level
from ingress.ctl.lint.linting import lint
from ingress.ctl.terminal import printable, say


@click.command("lint")
@paths_parameter
@option_parameter
@live_parameters
def command(paths: tuple[str, ...], options: tuple[str, ...], cluster: LiveCluster | None) -> None:
    """Say what becomes of each object, and what its owner should know."""
    report = lint(read_input(paths, options, cluster))
    for finding in report.findings:
        kind, key = finding.object_id
        where = f"{finding.place}: " if finding.place.file else ""
        say(printable(f"{where}{finding.level.word}: {kind} {key}: {finding.message} ({finding.rule})"))
    for sentence in report.not_checked:
        say(printable(f"not checked: {sentence}"))
    raise SystemExit(FOUND if any(one.level is Level.ERROR for one in report.findings) else FINE)
