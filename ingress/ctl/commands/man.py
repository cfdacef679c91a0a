"""``ingressctl man``."""

from pathlib import Path

import click

from ingress.ctl.errors import STATUSES, Mistake
from ingress.ctl.man_pages import man_page, page_name
from ingress.ctl.terminal import printable, tell


@click.command("man")
@click.argument("directory", type=click.Path(path_type=Path))
@click.pass_context
def command(context: click.Context, directory: Path) -> None:
    """Write a manual page for each command into DIRECTORY, such as ~/.local/share/man/man1."""
    root = context.find_root()
    pages = _pages(root)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for one in pages:
            name = page_name(one)
            others = tuple(sorted(page_name(other) for other in pages if other is not one))
            (directory / f"{name}.1").write_text(man_page(one, STATUSES, others), "utf-8")
    except OSError as error:
        raise Mistake(f"{directory}: {error.strerror or error}") from None
    tell(printable(f"wrote {len(pages)} pages into {directory}"))


def _pages(root: click.Context) -> list[click.Context]:
    """Return a context for *root*, and one for each of its commands."""
    group, found = root.command, [root]
    if isinstance(group, click.Group):
        for name in group.list_commands(root):
            one = group.get_command(root, name)
            if one is not None and not one.hidden:
                found.append(click.Context(one, info_name=name, parent=root))
    return found
