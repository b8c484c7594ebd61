"""The style of our HTML pages: light, dark, on a phone and on paper."""

from __future__ import annotations

# Text has a contrast of at least 7 : 1 to its ground, in the light and in the dark.
STYLE = """\
:root {
  color-scheme: light dark;
  --ground: #ffffff; --ink: #1c1c1c; --muted: #4a4a4a; --rule: #c9c9c9; --stripe: #f5f6f7; --mark: #004f7c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15181b; --ink: #ececec; --muted: #bcc1c6; --rule: #454b51; --stripe: #1d2125; --mark: #8ccbf2;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  overflow-wrap: break-word; -webkit-text-size-adjust: 100%;
}
main, footer { max-width: 72rem; margin: 0 auto; padding: 0 1rem; }
main { padding-top: 1.5rem; }
h1, h2, h3, h4 { line-height: 1.25; margin: 2rem 0 .75rem; }
h1 { font-size: 1.75rem; margin-top: 0; }
h2 { font-size: 1.3rem; border-bottom: 1px solid var(--rule); padding-bottom: .3rem; }
h3 { font-size: 1.1rem; }
p { max-width: 42rem; margin: .75rem 0; }
.note { border-left: .25rem solid var(--mark); padding: .35rem .75rem; background: var(--stripe); }
.scroll { overflow-x: auto; margin: 1rem 0 1.5rem; }
.scroll:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .94rem; }
caption { text-align: left; font-weight: 600; padding: .25rem 0 .5rem; }
th, td { padding: .35rem .5rem; text-align: left; vertical-align: top; }
th:first-child, td:first-child { padding-left: .4rem; }
thead th { border-bottom: 2px solid var(--muted); vertical-align: bottom; }
tbody th { font-weight: 400; overflow-wrap: anywhere; min-width: 7rem; max-width: 24rem; }
tbody tr { border-bottom: 1px solid var(--rule); }
tbody tr:nth-child(even) { background: var(--stripe); }
.r { text-align: right; }
td.r, td.n { white-space: nowrap; }
.pictures {
  display: grid; gap: 1rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 27rem), 1fr));
}
figure {
  margin: 0; padding: .5rem; border: 1px solid var(--rule); border-radius: .4rem;
  background: #ffffff; color: #1c1c1c; /* also in the dark: pictures are drawn on white */
}
figure svg { display: block; width: 100%; max-width: 36rem; height: auto; margin: 0 auto; }
figcaption { font-size: .875rem; line-height: 1.4; padding: .4rem .3rem 0; }
code {
  font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .9em; overflow-wrap: anywhere;
}
footer { color: var(--muted); font-size: .875rem; margin-top: 2.5rem; padding-bottom: 1.5rem; }
footer p { border-top: 1px solid var(--rule); max-width: none; padding-top: .75rem; }
@media (max-width: 30rem) {
  main, footer { padding-left: .75rem; padding-right: .75rem; }
  th, td { padding: .3rem .45rem; }
  figure { padding: .25rem; }
}
@page { margin: 15mm; }
@media print {
  :root { --ground: #ffffff; --ink: #000000; --muted: #333333; --rule: #999999; --stripe: #ffffff; --mark: #000000; }
  body { font-size: 10pt; }
  main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  .scroll { overflow: visible; }
  h2, h3, caption { break-after: avoid; }
  figure, tr, .note { break-inside: avoid; }
  thead { display: table-header-group; }
  .pictures { grid-template-columns: 1fr 1fr; }
}
"""
