"""How a command ends."""

from typing import Final

import click

FINE: Final = 0
"""Everything was done, and there is nothing to be concerned about."""
FOUND: Final = 1
"""Everything was done, and there is what was looked for: findings of the level asked about, differences, a request that nobody takes."""
MISTAKEN: Final = 2
"""Something could not be done: an option, a file, an address."""
INTERRUPTED: Final = 130
"""Somebody ended it by Ctrl-C: what shells make of that signal."""


STATUSES: Final = (
    (FINE, "Everything was done, and there is nothing to be concerned about."),
    (
        FOUND,
        "Everything was done, and there is what the command looks for: findings, differences, a request that nobody takes.",
    ),
    (
        MISTAKEN,
        "Something could not be done: an option, a file, an address; or ingressctl itself has failed.",
    ),
    (INTERRUPTED, "Somebody ended it by Ctrl-C."),
)
"""Each status and what it means, for help and manual pages."""


class Mistake(click.ClickException):
    """What somebody asked for cannot be done; *message* is one line, or a few, for people."""

    exit_code = MISTAKEN

    def __init__(self, message: str) -> None:
        super().__init__(message)
