"""The command ``ingressctl``: which commands there are, and what becomes of a mistake.

A command is a module of ``ingress.ctl.commands`` and a row here.  It is imported when it is asked for: nobody who lints a
file waits for what talks to a cluster.
"""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import Any, Final, NoReturn

import click

from ingress.ctl.errors import FINE, FOUND, INTERRUPTED, MISTAKEN
from ingress.ctl.foreign_options import called_here, hint, instead_of_command
from ingress.ctl.suggestions.close_names import did_you_mean
from ingress.ctl.terminal import printable, tell

COMMANDS: Final = {
    "lint": "Say what becomes of each object, and what its owner should know.",
    "diff": "Say what is served otherwise: by other objects, in a cluster, by other options.",
    "migrate": "Write the report of a move from ingress-nginx: what works, what differs, what has to change.",
    "explain": "Say what becomes of a request, and why.",
    "top": "Show what happens at a running controller, for as long as somebody looks.",
    "render": "Print what is served in another form, such as objects of the Gateway API.",
    "completion": "Print what a shell reads to complete commands, options and paths.",
    "man": "Write manual pages.",
    "version": "Print the version.",
}
"""What stands beside each command in the help; its module has the same name."""


_OBJECTS_BETWEEN_WALKS: Final = 500_000
_ENDING: Final = (signal.SIGTERM, signal.SIGHUP)
_BY_SIGNAL: Final = 128
"""What shells add to the number of a signal that ended somebody."""


class Commands(click.Group):
    """The commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return their names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f"ingress.ctl.commands.{cmd_name}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that *args* begin with; say which one may be meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            meant = called_here(name) or did_you_mean(name, COMMANDS) or instead_of_command(name)
            ctx.fail(f"There is no command {name!r}{meant}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read *args* before the command; ``help`` and a command asks for its help."""
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise _explained(error, ctx.command_path, "options stand behind the command") from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; say of an option that it has not what is meant by it."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            # click would end with the status that says that something was found; what stands at a terminal is ^C.
            tell("\ninterrupted")
            raise SystemExit(INTERRUPTED) from None
        except click.NoSuchOption as error:
            command = error.ctx
            if command is None:
                raise
            from ingress.options.table import OPTIONS

            own = {name for parameter in command.command.params for name in parameter.opts}
            values = {name: option.value for name, option in OPTIONS.items()}
            told = hint(error.option_name, command.info_name or "", own, values)
            raise _explained(error, command.command_path, told) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _explained(error: click.NoSuchOption, path: str, told: str) -> click.UsageError:
    """Return what to say in the place of *error* where something can be *told* of the option that *path* has not."""
    if not told:
        return error
    return click.UsageError(f"{path} has no option {error.option_name}; {told}", error.ctx)


def _print_version(context: click.Context, parameter: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        context.invoke(import_module("ingress.ctl.commands.version").command)
        context.exit()


@click.group("ingressctl", cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help=COMMANDS["version"],
)
def commands() -> None:
    """Say what txingress would do with Ingress objects.

    To begin with, ingressctl lint FOLDER; ingressctl help COMMAND tells more of each.

    The objects are those of files, of a cluster, or of a running controller; nothing is served, and nothing is changed.

    The exit status is 0 where all is fine, 1 where there is what a command looks for, 2 where something could not be done, and
    130 where somebody ended it by Ctrl-C.
    """


def run() -> NoReturn:
    """Run the arguments of the process, and end it at once: to take everything apart takes a fifth of a short command's time."""
    status: object = FINE
    for number in _ENDING:
        # Whoever started it may have asked for one to be ignored, as nohup does.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
    try:
        main()
    except SystemExit as ended:
        status = ended.code
    except Exception:
        # What the interpreter says of it, but not its status, which says that something was found.
        sys.excepthook(*sys.exc_info())
        status = MISTAKEN
    if not isinstance(status, int):
        # None, or a text to be shown: the interpreter knows what to do with these.
        raise SystemExit(status)
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except BrokenPipeError:
        # Whoever read the answer has enough of it.
        status = status or FOUND
    except OSError as error:
        status = MISTAKEN
        with suppress(OSError):
            os.write(2, f"Error: standard output: {error.strerror or error}\n".encode())
    os._exit(status)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """End the command, with the programs that it has started, which do not get the signal *number*, and the terminal as it was.

    ``timeout`` sends its signal twice, and so comes the end of a terminal: the next one would end us before these.
    """
    for one in _ENDING:
        signal.signal(one, signal.SIG_IGN)
    raise SystemExit(_BY_SIGNAL + number)


def main(arguments: Sequence[str] | None = None) -> Any:
    """Run *arguments*, those of the process without any; raises ``SystemExit`` with a status."""
    # Nearly all that a command makes lives until it ends; to look for garbage among that takes a tenth of its time.
    gc.set_threshold(_OBJECTS_BETWEEN_WALKS)
    if sys.stdout is None:
        # What is printed would be lost, and the first file that is opened would stand in its place.
        raise _ended("standard output is closed; to have no answer, send it to /dev/null")
    try:
        return commands.main(args=arguments, prog_name="ingressctl")
    except RecursionError:
        raise _ended("what was read is nested too deeply") from None
    except OSError as error:
        # Commands tell of the files they open: what is left is an answer that found no room.
        where = "standard output" if error.filename is None else printable(str(error.filename))
        raise _ended(f"{where}: {error.strerror or error}") from None


def _ended(message: str) -> SystemExit:
    tell(f"Error: {message}")
    return SystemExit(MISTAKEN)
