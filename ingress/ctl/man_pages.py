"""Manual pages of the commands, made of the same parameters as their help.  Pure.

The language is that of ``man(7)``.  A page has no date, so that the same program has the same page.
"""

import re
from collections.abc import Iterator

import click

_SECTION = 1
_SOURCE = "txingress"
_MANUAL = "ingressctl"
_UNWRAPPED = "\b"


def man_page(context: click.Context, statuses: tuple[tuple[int, str], ...], others: tuple[str, ...]) -> str:
    """Return the manual page of the command of *context*.

    *statuses* are its exit statuses with what they mean, *others* the names of the pages that it refers to.
    """
    return "".join(f"{line}\n" for line in _lines(context, statuses, others))


def page_name(context: click.Context) -> str:
    """Return what the page is called, without its section: ``ingressctl-lint``."""
    return context.command_path.replace(" ", "-")


def _lines(
    context: click.Context, statuses: tuple[tuple[int, str], ...], others: tuple[str, ...]
) -> Iterator[str]:
    name, command = page_name(context), context.command
    yield f'.TH "{_text(name.upper())}" "{_SECTION}" "" "{_SOURCE}" "{_MANUAL}"'
    yield ".SH NAME"
    yield f"{_text(name)} \\- {_text(command.get_short_help_str(limit=200).rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield f".B {_text(context.command_path)}"
    yield _text(" ".join(command.collect_usage_pieces(context)))
    yield ".SH DESCRIPTION"
    yield from _paragraphs(command.help or "")
    if isinstance(command, click.Group):
        yield ".SH COMMANDS"
        for one in command.list_commands(context):
            found = command.get_command(context, one)
            if found is not None and not found.hidden:
                yield from _term(f"\\fB{_text(one)}\\fR", found.get_short_help_str(limit=200))
    yield ".SH OPTIONS"
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:
            yield from _term(f"\\fB{_text(record[0])}\\fR", record[1])
    yield ".SH EXIT STATUS"
    for status, meaning in statuses:
        yield from _term(str(status), meaning)
    if others:
        yield ".SH SEE ALSO"
        yield ", ".join(f"\\fB{_text(one)}\\fR({_SECTION})" for one in others)


def _term(term: str, meaning: str) -> Iterator[str]:
    yield ".TP"
    yield term
    yield _text(" ".join(meaning.split()))


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            yield ".PP"
        if _UNWRAPPED in paragraph:
            yield ".nf"
            yield from (_text(line) for line in paragraph.replace(_UNWRAPPED, "").strip("\n").splitlines())
            yield ".fi"
        else:
            yield _text(" ".join(paragraph.split()))


def _text(text: str) -> str:
    """Return *text* as ``man`` shows it, and does not obey it."""
    escaped = text.replace("\\", "\\(rs").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
