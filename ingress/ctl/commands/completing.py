"""What a shell is offered for hosts and Services: those of the manifests that the line names.

Nothing is asked for but files, nothing is built, and whatever is wrong with them is for the command to say.
"""

import os
from datetime import UTC, datetime

import click

from ingress.ctl.inputs.files.choices import How
from ingress.ctl.inputs.files.texts import STANDARD_INPUT
from ingress.ctl.inputs.input import Input
from ingress.ctl.suggestions.close_names import CloseNames
from ingress.options.option import DEFAULTS
from ingress.translate.readers.ingress.objects import ingresses_of


def complete_url(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return what *incomplete*, a URL, may become: one for each host that begins so, or is close to it where none does."""
    scheme, is_there, rest = incomplete.rpartition("://")
    return [f"{scheme}{is_there}{host}/" for host in _begun(_hosts(context), rest, ".")]


def complete_service(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the Services, as ``NAMESPACE/NAME``, that *incomplete* may become."""
    given = _given(context)
    names = [] if given is None else [str(key) for one in given.layers for key in one.state.services]
    return _begun(names, incomplete, "-")


def _begun(names: list[str], incomplete: str, between: str) -> list[str]:
    begun = sorted({name for name in names if name.startswith(incomplete)})
    return begun or list(CloseNames(names, between).close_to(incomplete))


def _hosts(context: click.Context) -> list[str]:
    given = _given(context)
    if given is None:
        return []
    ingresses = [one for layer in given.layers for one in ingresses_of(layer.state).values()]
    hosts = {rule.host for one in ingresses for rule in one.rules}
    return [host for host in hosts if host and not host.startswith("*") and host.isprintable()]


def _given(context: click.Context) -> Input | None:
    """Return the manifests that the line names; None where it names none that can be read."""
    from ingress.ctl.inputs.files.manifests import read_manifests

    # Behind an option that waits for its value, arguments are not told apart yet.
    named = [*(context.params.get(name) or () for name in ("manifests", "paths")), context.args]
    paths = [path for some in named for path in some if path != STANDARD_INPUT and os.path.exists(path)]
    if not paths:
        return None
    try:
        return read_manifests(paths, DEFAULTS, datetime.now(UTC), How(builds=False))
    except click.ClickException:
        return None
