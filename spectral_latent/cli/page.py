"""Write the pieces of a page of HTML that needs no network, and suits keyboards, screen readers and dark screens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spectral_latent.drawing import escaped, scrolled

__all__ = ["bars", "fold", "page", "section", "spectrum", "table"]

# The page loads nothing, and runs only its own script.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_STYLE = """
:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--faint:#f1f3f5;--line:#8a9097;--link:#0b57a4}
@media(prefers-color-scheme:dark){
:root{--ink:#e8e8e8;--paper:#16181a;--faint:#23272b;--line:#7d848b;--link:#8cc4ff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:75rem;padding:1rem;font:1rem/1.5 system-ui,sans-serif}
body,input{color:var(--ink);background:var(--paper)}
a{color:var(--link)}:focus-visible{outline:3px solid var(--link)}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem}
nav ul{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;padding:0;list-style:none}
h2{margin-top:2.5rem;border-bottom:1px solid var(--line)}
table{border-collapse:collapse;margin:.5rem 0}caption{text-align:left;font-weight:600}
th,td{padding:.15rem .6rem;text-align:left;vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}
table:not(.sl-heat) tbody tr:nth-child(even){background:var(--faint)}
.bars{white-space:nowrap}.bar{display:inline-block;height:.7rem;background:#0072b2;vertical-align:middle}
details{margin:.3rem 0}summary{cursor:pointer}details>*:not(summary){margin-left:1rem}
input{font:inherit;padding:.3rem .5rem;width:min(100%,24rem);border:1px solid var(--line)}
"""
# Hide the rows of a table without the words in the search field, and show the number of rows that are left.
_SCRIPT = """
for(const field of document.querySelectorAll('input[data-of]')){
const rows=[...document.querySelectorAll('#'+field.dataset.of+' tbody tr')];
const told=document.getElementById(field.dataset.of+'-count');
field.addEventListener('input',()=>{const words=field.value.toLowerCase().split(/\\s+/);let n=0;
for(const row of rows){const text=row.textContent.toLowerCase();
const shown=words.every(word=>text.includes(word));row.hidden=!shown;n+=shown}
told.textContent=n+' of '+rows.length+' shown'})}
"""


def _cell(value: str | float) -> str:
    """Write a cell: a text, or a number to the right."""
    if isinstance(value, str):
        return f"<td>{escaped(value)}</td>"
    return f'<td class="n">{value:.4g}</td>'


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str | float]], name: str = "") -> str:
    """Write a table whose first column names its rows.

    caption: the title of the table.
    columns: the names of the columns.
    rows: the cells of each row, texts and numbers.
    name: the identifier of the table in the page; with an identifier, a search field stands above the rows.

    >>> table("Words", ["word", "p"], [("<b>", 0.5)]).count("&lt;b&gt;")
    1
    """
    head = "".join(f'<th scope="col">{escaped(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{escaped(str(first))}</th>{"".join(map(_cell, rest))}</tr>' for first, *rest in rows
    )
    search = (
        f'<p><label>Search: <input type="search" data-of="{name}"></label> '
        f'<span id="{name}-count" role="status"></span></p>'
        if name
        else ""
    )
    named = f' id="{name}"' if name else ""
    return search + scrolled(
        caption,
        f"<table{named}><caption>{escaped(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>",
    )


def bars(shares: Iterable[float]) -> str:
    """Draw shares as bars side by side, which screen readers leave out.

    shares: the lengths of the bars, between 0 and 1.

    >>> bars([0.5, 0.5]).count("<span")
    3
    """
    drawn = "".join(
        f'<span class="bar" style="width:{12 * share:.2f}rem;opacity:{1 if at % 2 else 0.6}"></span>'
        for at, share in enumerate(shares)
    )
    return f'<span class="bars" aria-hidden="true">{drawn}</span>'


def spectrum(values: Sequence[float], used: int) -> str:
    """Draw singular values as upright bars; the bars of values that are not used are pale.

    values: the singular values, the largest first; none for no drawing.
    used: the number of values that are used.

    >>> spectrum([2.0, 1.0, 0.5], 2).count("height:1.50rem"), spectrum([2.0, 1.0, 0.5], 2).count("opacity:.3")
    (1, 1)
    >>> spectrum([], 2)
    ''
    """
    if not values:
        return ""
    drawn = "".join(
        f'<span class="bar" style="width:.3rem;margin-right:1px;vertical-align:bottom;'
        f'height:{1.5 * value / values[0]:.2f}rem{"" if at < used else ";opacity:.3"}"></span>'
        for at, value in enumerate(values)
    )
    told = f"singular values {', '.join(f'{value:.2f}' for value in values)}"
    return f'<span class="bars" role="img" aria-label="{told}" title="{told}">{drawn}</span>'


def fold(summary: str, *parts: str) -> str:
    """Hide parts behind a line; a click on the line shows them.

    summary: the line, as HTML.
    parts: pieces of HTML.

    >>> fold("NP", "<p>24 states</p>")
    '<details><summary>NP</summary><p>24 states</p></details>'
    """
    return f"<details><summary>{summary}</summary>{''.join(parts)}</details>"


def section(name: str, title: str, *parts: str) -> tuple[str, str, str]:
    """Make a section of a page: its identifier, its title and its HTML.

    name: the identifier of the section in the page.
    title: the title in the page.
    parts: pieces of HTML.

    >>> section("rules", "Rules", "<p>None</p>")
    ('rules', 'Rules', '<p>None</p>')
    """
    return name, title, "".join(parts)


def page(title: str, sections: Iterable[tuple[str, str, str]]) -> str:
    """Write a page with links to its sections.

    title: the title in the page.
    sections: the sections that `section` has made.

    >>> page("wsj", [section("rules", "Rules", "<p>None</p>")]).count('href="#rules"')
    1
    """
    listed = list(sections)
    links = "".join(f'<li><a href="#{name}">{escaped(heading)}</a></li>' for name, heading, _ in listed)
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{escaped(heading)}</h2>{html}</section>'
        for name, heading, html in listed
    )
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escaped(title)}</title>'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><style>{_STYLE}</style></head>'
        f'<body><a class="skip" href="#main">To the content</a><header><h1>{escaped(title)}</h1>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></header><main id="main">{body}</main>'
        f"<script>{_SCRIPT}</script></body></html>\n"
    )
