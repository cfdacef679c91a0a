"""``ingressctl completion``."""

import click
from click.shell_completion import get_completion_class

from ingress.ctl.errors import Mistake
from ingress.ctl.terminal import say

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print what a shell reads to complete commands, options and paths.

    \b
    bash: source <(ingressctl completion bash)
    zsh:  source <(ingressctl completion zsh)
    fish: ingressctl completion fish | source
    """
    made_by = get_completion_class(shell)
    if made_by is None:
        raise Mistake(f"this installation of click completes nothing for {shell}")
    root = context.find_root().command
    say(made_by(root, {}, "ingressctl", "_INGRESSCTL_COMPLETE").source())
