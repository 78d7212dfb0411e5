"""Text in HTML and SVG, and the page that holds it: one style for all pages. A table of texts, with its columns."""

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from extbnsl.core.version import __version__

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5b6672; --line: #d5dbe1; --back: #ffffff; --band: #f4f6f8;
        --first: #1f6fb4; --second: #b3541e; --third: #3f8a3c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --soft: #9aa5b1; --line: #36404a; --back: #14181c; --band: #1d2329;
          --first: #6cb2eb; --second: #f0a06a; --third: #8fce8a; }
}
@media print {
  :root { color-scheme: light; --ink: #000000; --soft: #444444; --line: #bbbbbb; --back: #ffffff; --band: #f4f6f8;
          --first: #1f6fb4; --second: #b3541e; --third: #3f8a3c; }
}
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: var(--ink); background: var(--back);
       font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p.note, footer { color: var(--soft); font-size: 0.9em; }
p, li, dd, pre { overflow-wrap: anywhere; } pre span { display: inline-block; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
tbody tr:nth-child(even) { background: var(--band); }
figure { margin: 0; } figure svg { max-width: 100%; height: auto; }
.failures td { white-space: normal; text-align: left; }
@media print {
  body { margin: 0; max-width: none; } h2, summary { break-after: avoid; }
  table, svg, pre, dl { break-inside: avoid; } }
"""
_THIN = "iljtfrI.,:;|!'()[] "
_JOINERS = "\u200c\u200d"  # which words and emoji need
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # categories of characters that are no text, or turn its direction


def shown(text: str) -> str:
    """The text with what nobody sees, or what turns the direction of other text, spelled as in Python: \\u202e."""
    return "".join(_spelled(sign) if _is_unseen(sign) else sign for sign in text)


def escaped(text: str) -> str:
    """The text as HTML and XML have it, in an element or between double quotes: text and nothing else."""
    return html.escape(shown(text), quote=True)


def text_width(text: str, font: float) -> float:
    """About how wide a text is in a common font of this size without serifs."""
    return font * sum(map(_width, text))


def page(title: str, body: Sequence[str], head: str = "", style: str = "") -> str:
    """A page of HTML that needs no other file; title is a text, body are elements; head and style are further ones."""
    return (
        "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        f"{head}<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{escaped(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n{''.join(body)}"
        f"<footer><p>Made by extbnsl {escaped(__version__)}.</p></footer>\n</body>\n</html>\n"
    )


def _width(sign: str) -> float:
    """In sizes of the font."""
    if unicodedata.combining(sign):
        return 0.0
    if unicodedata.east_asian_width(sign) in "WF":
        return 1.0
    if sign in _THIN:
        return 0.33
    return 0.9 if sign in "mwMW@%<>=+~#^" else 0.7 if sign.isupper() else 0.6


def _is_unseen(sign: str) -> bool:
    no_character = ord(sign) & 0xFFFE == 0xFFFE
    return no_character or (unicodedata.category(sign) in _UNSEEN and sign not in _JOINERS)


def _spelled(sign: str) -> str:
    code = ord(sign)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@dataclass(frozen=True)
class Grid:
    """A table: a title, the heads of its columns, rows of as many texts, and a note on how to read it."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.head) for row in self.rows), "a text for each column"


def aligned(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """Rows of as many texts as lines with columns, so many of them to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [str.ljust] * left + [str.rjust] * (len(widths) - left)
    return [
        "  ".join(side(text, width) for side, text, width in zip(sides, row, widths, strict=True)).rstrip()
        for row in rows
    ]


def html_rows(grid: Grid) -> str:
    """The table and its note in HTML, without the title."""
    head = "".join(f"<th>{escaped(text)}</th>" for text in grid.head)
    rows = "".join(f"<tr>{''.join(f'<td>{escaped(text)}</td>' for text in row)}</tr>\n" for row in grid.rows)
    note = f"<p class='note'>{escaped(grid.note)}</p>\n" if grid.note else ""
    return f"<div class='wide'><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n{note}"
