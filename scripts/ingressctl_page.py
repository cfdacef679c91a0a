"""Print a page that shows ``ingressctl`` with the output of its commands as it is now.

``python -m scripts.ingressctl_page docs/ingressctl.md`` runs each line that begins with ``$ ingressctl`` in a block of
the kind ``console``, and puts what it prints in place of the lines below; a test says when that is due.  A command may
take its input from a file (``< FILE``) and have its output cut to some lines (``| head -N``); ``$ echo $?`` shows the status of
the one before.  Commands run in the folder of the project, 100 columns wide, without a terminal.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

from click.testing import CliRunner

from ingress.ctl.main import commands

PROJECT = Path(__file__).parent.parent
PAGE = PROJECT / "docs" / "ingressctl.md"
PAGES = (PAGE, PROJECT / "README.md")
"""The pages that show output."""
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = "$ "
_ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1"}


def ingressctl_page(text: str) -> str:
    """Return *text*, a page, with the output of its commands as it is now."""
    return _BLOCK.sub(lambda block: f"```console\n{''.join(_pasted(block[1]))}```", text)


def _pasted(block: str) -> Iterator[str]:
    status = 0
    for line in block.splitlines():
        if not line.startswith(_PROMPT):
            continue
        yield f"{line}\n"
        command = line.removeprefix(_PROMPT)
        if command == "echo $?":
            yield f"{status}\n"
            continue
        status, output = _run(command)
        yield output


def _run(command: str) -> tuple[int, str]:
    """Run *command*; return its status, and what it prints."""
    command, _, cut = command.partition(" | head -")
    command, _, source = command.partition(" < ")
    program, *arguments = shlex.split(command)
    if program != "ingressctl":
        raise ValueError(f"only ingressctl is run for the page, and not {program}")
    with chdir(PROJECT):
        given = Path(source).read_bytes() if source else None
        result = CliRunner().invoke(
            commands,
            arguments,
            input=given,
            prog_name="ingressctl",
            env={**os.environ, **_ENVIRONMENT},
            catch_exceptions=False,
        )
    lines = [line.rstrip() for line in result.output.splitlines()]
    if cut and len(lines) > int(cut):
        lines = [*lines[: int(cut)], "…"]
    return result.exit_code, "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(ingressctl_page(Path(sys.argv[1]).read_text("utf-8")))
