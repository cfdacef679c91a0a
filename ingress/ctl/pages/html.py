"""A document as one HTML file: nothing is asked for from outside, nothing runs, and it reads well on paper and by ear.

Its Content-Security-Policy allows the one style sheet that it brings, by its hash, and nothing else.
"""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from typing import Final

from ingress.ctl.pages.document import (
    Block,
    Code,
    Document,
    Heading,
    Line,
    Listing,
    Paragraph,
    Part,
    Points,
    Strong,
    Table,
)
from ingress.ctl.terminal import printable, printable_lines

STYLE: Final = """
:root {
  color-scheme: light dark;
  --ink: #1b1f24; --paper: #ffffff; --soft: #57606a; --line: #d0d7de; --shade: #f3f5f7;
  --link: #0a53be; --added: #116329; --removed: #a40e26;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6edf3; --paper: #0f1419; --soft: #9aa5b1; --line: #3a444e; --shade: #1a2129;
    --link: #7ab7ff; --added: #6fdd8b; --removed: #ff9a94;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
main, nav { max-width: 62rem; margin: 0 auto; padding: 0 1.25rem; }
main { padding-bottom: 4rem; }
nav { padding-top: 1rem; font-size: .9rem; }
nav ul { list-style: none; margin: 0; padding: 0 0 .75rem; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem;
  border-bottom: 1px solid var(--line); }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 1.75rem 0 1rem; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 2.75rem 0 .75rem; }
h3 { font-size: 1.05rem; line-height: 1.4; margin: 2rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h1 + p { font-size: 1.2rem; }
p, ul, ol { margin: .6rem 0; }
li { margin: .3rem 0; }
a { color: var(--link); text-underline-offset: .15em; }
a:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
h1, h2, h3, p, li, td, th { overflow-wrap: anywhere; }
code { font: .9em/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
p code, li code, td code, th code { background: var(--shade); border-radius: 3px; padding: .1em .3em; }
pre { background: var(--shade); border: 1px solid var(--line); border-radius: 6px; padding: .75rem 1rem; overflow-x: auto; margin: .75rem 0; }
.added { color: var(--added); }
.removed { color: var(--removed); }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .94rem; }
caption { text-align: left; color: var(--soft); padding-bottom: .4rem; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .8rem .4rem 0; text-align: left; vertical-align: top; font-weight: normal; }
td, tbody th { min-width: 6rem; }
thead th { color: var(--soft); font-weight: 600; }
.number { text-align: right; min-width: 3.5rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
@media print {
  :root { --ink: #000; --paper: #fff; --soft: #333; --line: #999; --shade: #fff; --link: #000; --added: #000; --removed: #000; }
  nav { display: none; }
  main { max-width: none; padding: 0; }
  body { font-size: 10pt; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .wide { overflow: visible; }
  h2, h3 { break-after: avoid; }
  tr, li, pre { break-inside: avoid; }
  thead { display: table-header-group; }
}
"""
"""No rule of it names anything outside of the page."""


_HASH: Final = b64encode(sha256(STYLE.encode()).digest()).decode("ascii")
_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"


def as_html(document: Document) -> str:
    """Return *document* as the text of one file."""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{_text(document.title)}</title>",
        f"<style>{STYLE}</style>",
        "</head>",
        "<body>",
        *_contents(document),
        '<main id="page">',
        f"<h1>{_text(document.title)}</h1>",
    ]
    for number, block in enumerate(document.blocks):
        parts.extend(_block(block, number))
    parts += ["</main>", "</body>", "</html>", ""]
    return "\n".join(parts)


def _contents(document: Document) -> Iterator[str]:
    yield '<nav aria-label="Parts of this page">'
    yield "<ul>"
    for block in document.blocks:
        if isinstance(block, Heading) and block.level == 2 and block.anchor:
            yield f'<li><a href="#{block.anchor}">{_line(block.line)}</a></li>'
    yield "</ul>"
    yield "</nav>"


def _block(block: Block, number: int) -> Iterator[str]:
    match block:
        case Heading(level, line, anchor):
            name = f' id="{anchor}"' if anchor else ""
            yield f"<h{level}{name}>{_line(line)}</h{level}>"
        case Paragraph(line):
            yield f"<p>{_line(line)}</p>"
        case Points(items, numbered):
            kind = "ol" if numbered else "ul"
            yield f"<{kind}>"
            for item in items:
                yield f"<li>{_line(item)}</li>"
            yield f"</{kind}>"
        case Table():
            yield from _table(block, f"table{number}")
        case Listing(text, language):
            shown = printable_lines(text)
            what = {"diff": "Patch", "sh": "Command"}.get(language, "Listing")
            inner = "\n".join(map(_diff_line, shown.split("\n"))) if language == "diff" else escape(shown)
            # It can be scrolled, so the keyboard has to get there.
            yield f'<pre tabindex="0" role="region" aria-label="{what}"><code>{inner}</code></pre>'


def _table(table: Table, name: str) -> Iterator[str]:
    yield f'<div class="wide" role="region" tabindex="0" aria-labelledby="{name}">'
    yield "<table>"
    yield f'<caption id="{name}">{_text(table.caption)}</caption>'
    cells = (
        f'<th scope="col"{_number(table, column)}>{_text(title)}</th>'
        for column, title in enumerate(table.columns)
    )
    yield f"<thead><tr>{''.join(cells)}</tr></thead>"
    yield "<tbody>"
    for first, *others in table.rows:
        row = [f'<th scope="row">{_line(first)}</th>']
        row += [f"<td{_number(table, column)}>{_line(cell)}</td>" for column, cell in enumerate(others, 1)]
        yield f"<tr>{''.join(row)}</tr>"
    yield "</tbody>"
    yield "</table>"
    yield "</div>"


def _number(table: Table, column: int) -> str:
    return ' class="number"' if column in table.numbers else ""


def _diff_line(line: str) -> str:
    # What is added and what is removed shows by its first character; the color comes on top.
    kind = None if line.startswith(("--- ", "+++ ")) else {"+": "added", "-": "removed"}.get(line[:1])
    return f'<span class="{kind}">{escape(line)}</span>' if kind else escape(line)


def _line(line: Line) -> str:
    return "".join(map(_part, line))


def _part(part: Part) -> str:
    match part:
        case str():
            return _text(part)
        case Code(text):
            return f"<code>{_text(text)}</code>" if text else "<em>(nothing)</em>"
        case Strong(text):
            return f"<strong>{_text(text)}</strong>"
        case _:
            return f'<a href="#{part.anchor}">{_text(part.text)}</a>'


def _text(text: str) -> str:
    """Return *text*, on one line, for where text stands between tags or in quotes."""
    return escape(printable(text))
