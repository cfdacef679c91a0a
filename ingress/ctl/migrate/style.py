"""The style sheet of a page: light and dark, on a phone, a screen and on paper."""

from typing import Final

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
