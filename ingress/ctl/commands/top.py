"""``ingressctl top``."""

import json
import sys
from typing import Final

import click

from ingress.ctl.admin_port import SILENT_SECONDS, USUAL, AdminPort, read_token
from ingress.ctl.errors import Mistake
from ingress.ctl.terminal import COLOR_CHOICES, has_colour, print_lines, say, width
from ingress.ctl.top.board import Board
from ingress.ctl.top.following import follow
from ingress.ctl.top.picture import printed
from ingress.ctl.top.spans import painted

_ALL: Final = 10_000
"""Columns that nothing is cut to."""


@click.command("top")
@click.option(
    "--admin",
    metavar="URL",
    default=USUAL,
    show_default=True,
    help="The admin port of the controller.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(),
    help="A file with the token that the admin port asks for (--admin-token-file of the controller).",
)
@click.option(
    "--once",
    is_flag=True,
    help="Print what there is as text, and end; so it is where no terminal reads the answer.",
)
@click.option(
    "--interval",
    metavar="SECONDS",
    type=click.FloatRange(0.2, 60),
    default=1.0,
    show_default=True,
    help="How often the screen is drawn at most.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, or with --once JSON.",
)
@click.option(
    "--color",
    type=click.Choice(COLOR_CHOICES),
    default="auto",
    show_default=True,
    help="Colors; auto has them where a terminal reads, unless NO_COLOR is set.",
)
def command(admin: str, token_file: str | None, once: bool, interval: float, output: str, color: str) -> None:
    """Show what happens at a running controller, as its page does: requests, failures, routes by trouble, changes.

    It is asked at its admin port, and asked nothing while nobody looks. Keys: 1 to 4 or arrows choose the table; t, r, p, n sort routes
    by trouble, requests, p99 or name; up, down, page up and page down move; q ends.
    """
    port = AdminPort(admin, read_token(token_file))
    if output == "json" and not once:
        raise Mistake("--output json is for --once: a screen is no JSON")
    if once or sys.stdin is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        board = port.within(SILENT_SECONDS, lambda: _seen_once(port))
        if output == "json":
            say(json.dumps(board.plain(), indent=2))
            return
        colours, columns = has_colour(color), width() if sys.stdout.isatty() else _ALL
        print_lines((painted(one, columns, colours).rstrip() for one in printed(board, columns)), colours)
        return
    _look(port, interval, has_colour=has_colour(color))


def _seen_once(port: AdminPort) -> Board:
    """Return what is known after two whole seconds: numbers of requests are differences."""
    board = Board()
    for event in follow(port):
        board.take(event.name, event.data, event.id)
        if board.is_known:
            break
        if board.why_ended:
            raise Mistake(f"{port.name} has ended its stream: {board.why_ended}")
    return board


def _look(port: AdminPort, interval: float, *, has_colour: bool) -> None:
    from ingress.ctl.top.main_loop import MainLoop
    from ingress.ctl.top.screen import Screen

    encoding = sys.stdout.encoding or "utf-8"
    keys = sys.stdin.fileno()
    screen = Screen(keys, sys.stdout.fileno(), encoding)
    MainLoop(
        lambda last_id: follow(port, last_id),
        screen,
        interval,
        has_colour=has_colour,
        has_bars=encoding.lower().replace("-", "") == "utf8",
    ).run(keys)
