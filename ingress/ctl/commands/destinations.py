"""Where reports go, and in which formats: what ``--output`` says."""

from collections.abc import Sequence
from typing import Any

import click

from ingress.ctl.errors import Mistake
from ingress.ctl.lint.reports.formats import FORMATS, TABLE, machine_lines
from ingress.ctl.lint.reports.results import Results
from ingress.ctl.lint.reports.table import Detail, Look, table
from ingress.ctl.suggestions.close_names import did_you_mean
from ingress.ctl.terminal import FILE_WIDTH, has_colour, print_lines, printable, width
from ingress.model.frozen import frozen


@frozen
class Destination:
    """Where a report goes, in which format; *file* is empty for standard output, which ``-`` is, too."""

    format: str
    file: str = ""


class DestinationType(click.ParamType[Destination]):
    """``FORMAT`` or ``FORMAT=FILE``."""

    name = "format"

    def convert(
        self, value: str | Destination, param: click.Parameter | None, ctx: click.Context | None
    ) -> Destination:
        """Return the destination that *value* says."""
        if isinstance(value, Destination):
            return value
        name, has_file, file = value.partition("=")
        if name not in FORMATS:
            self.fail(f"{name!r} is none of {', '.join(FORMATS)}{did_you_mean(name, FORMATS)}", param, ctx)
        if has_file and not file:
            self.fail(f"{value} names no file", param, ctx)
        return Destination(name, "" if file == "-" else file)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Return the formats that begin with *incomplete*, as items of click's."""
        from click.shell_completion import CompletionItem  # for shells alone

        return [CompletionItem(name) for name in FORMATS if name.startswith(incomplete)]


def chosen_destinations(
    destinations: Sequence[Destination], output_file: str | None
) -> tuple[Destination, ...]:
    """Return *destinations*, at least one, with *output_file* for the one without a file; raises ``Mistake``."""
    destinations = tuple(destinations) or (Destination(TABLE),)
    printed = [destination for destination in destinations if not destination.file]
    if len(printed) > 1:
        raise Mistake("only one --output can go to standard output; name a file for the others, FORMAT=FILE")
    if output_file in (None, "-"):
        return destinations
    if not printed:
        raise Mistake("each --output names a file already, so there is nothing for --output-file")
    return tuple(
        destination if destination.file else Destination(destination.format, output_file)
        for destination in destinations
    )


def print_to(results: Results, destination: Destination, detail: Detail, color: str) -> None:
    """Print *results* to *destination*; raises ``Mistake`` where it cannot be written."""
    paints = destination.format == TABLE and not destination.file and has_colour(color)
    if destination.format == TABLE:
        lines = table(results, Look(FILE_WIDTH if destination.file else width(), paints, detail))
    else:
        lines = machine_lines(destination.format, results)
    try:
        if not destination.file:
            print_lines(lines, paints)
            return
        with open(destination.file, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(f"{line}\n" for line in lines)
    except BrokenPipeError:
        raise  # whoever reads has enough, as in | head: click ends the command in silence
    except OSError as error:
        raise Mistake(f"{printable(destination.file or 'standard output')}: {error.strerror}") from None
