"""Where reports go, and in which formats: what ``--output`` says."""

from collections.abc import Sequence

import click
from attrs import frozen

from ingress.ctl.errors import Mistake
from ingress.ctl.lint.accepted import meant
from ingress.ctl.lint.reports.formats import FORMATS, TABLE, machine_lines
from ingress.ctl.lint.reports.outcome import Outcome
from ingress.ctl.lint.reports.table import Detail, Look, table
from ingress.ctl.terminal import FILE_WIDTH, has_colour, print_lines, printable, width


@frozen
class Sink:
    """Where a report goes, in which format; *file* is empty for standard output."""

    format: str
    file: str = ""


class SinkType(click.ParamType[Sink]):
    """``FORMAT`` or ``FORMAT=FILE``."""

    name = "format"

    def convert(self, value: str | Sink, param: click.Parameter | None, ctx: click.Context | None) -> Sink:
        """Return the sink that *value* says."""
        if isinstance(value, Sink):
            return value
        name, has_file, file = value.partition("=")
        if name not in FORMATS:
            self.fail(f"{name!r} is none of {', '.join(FORMATS)}{meant(name, FORMATS)}", param, ctx)
        if has_file and not file:
            self.fail(f"{value} names no file", param, ctx)
        return Sink(name, file)


def chosen_sinks(sinks: Sequence[Sink], output_file: str | None) -> tuple[Sink, ...]:
    """Return *sinks*, at least one, with *output_file* for the one without a file; raises ``Mistake``."""
    sinks = tuple(sinks) or (Sink(TABLE),)
    printed = [sink for sink in sinks if not sink.file]
    if len(printed) > 1:
        raise Mistake("only one --output can go to standard output; name a file for the others, FORMAT=FILE")
    if output_file is None:
        return sinks
    if not printed:
        raise Mistake("each --output names a file already, so there is nothing for --output-file")
    return tuple(sink if sink.file else Sink(sink.format, output_file) for sink in sinks)


def print_to(outcome: Outcome, sink: Sink, detail: Detail, color: str) -> None:
    """Print *outcome* to *sink*; raises ``Mistake`` where a file cannot be written."""
    paints = sink.format == TABLE and not sink.file and has_colour(color)
    if sink.format == TABLE:
        lines = table(outcome, Look(FILE_WIDTH if sink.file else width(), paints, detail))
    else:
        lines = machine_lines(sink.format, outcome)
    if not sink.file:
        print_lines(lines, paints)
        return
    try:
        with open(sink.file, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise Mistake(f"{printable(sink.file)}: {error.strerror}") from None
