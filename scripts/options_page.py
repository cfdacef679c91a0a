"""Print ``docs/options.md``, made from the table of options.

``python -m scripts.options_page > docs/options.md`` brings the page into step
after a change of the table; a test says when that is due.
"""

import sys
from collections.abc import Iterator

from ingress.options.help import ABOUT, INTRODUCTION
from ingress.options.option import Option
from ingress.options.table import GROUPS
from scripts.markdown import cell

_HEAD = """\
# Options

The options of `twistd ingress`, as `twistd ingress --help` shows them. This page is made by
`python -m scripts.options_page`; edit `ingress/options/table.py` instead.

A listener description is a Twisted endpoint description: `tcp:80` is port 80 of all IPv4 addresses,
`tcp:8080:interface=127.0.0.1` port 8080 of one of them, `tcp6:80` port 80 of all IPv6 addresses and of no
other, and `unix:/run/ingress.sock` a socket in the file system, which takes the place of one at which nobody listens any
more. `backlog=` says how many connections may wait to be accepted (`tcp:80:backlog=1024`): without it 4096, and 1024 at ports with pages, or as many as the
system allows. A wrong value ends the process with one line on standard error and status 1.
"""


def options_page() -> str:
    """Return the whole page, with a table for each group of options."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield _HEAD
    yield f"\n{INTRODUCTION}\n"
    for title, group in GROUPS:
        yield _title(title)
        yield from map(_row, group)
    yield _title("About")
    for name, meaning in ABOUT.items():
        yield f"| `--{name}` |  | {meaning} |\n"


def _title(title: str) -> str:
    return f"\n## {title}\n\n| Option | Default | Meaning |\n|---|---|---|\n"


def _row(option: Option) -> str:
    equals = f"={option.value}" if option.value else ""
    default = f"`{option.default}`" if option.default else ""
    repeatable = " Repeatable." if option.repeatable else ""
    meaning = cell(option.help)
    return f"| `--{option.name}{equals}` | {default} | {meaning}{repeatable} |\n"


if __name__ == "__main__":
    sys.stdout.write(options_page())
