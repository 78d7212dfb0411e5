"""A table of texts, and how Markdown, LaTeX, CSV, HTML and a terminal have it."""

from collections.abc import Sequence
from dataclasses import dataclass

from extbnsl.report.markup import escaped

_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # behind the end of a row it would be the beginning of an option
    "*": "{*}",
}


@dataclass(frozen=True)
class Grid:
    """A table: a title, the heads of its columns, rows of as many texts, and a note on how to read it."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.head) for row in self.rows), "a text for each column"


def plain(grid: Grid) -> str:
    """For a terminal: the first column to the left, the others to the right."""
    lines = [grid.title, "", *_aligned([grid.head, *grid.rows]), *(["", grid.note] if grid.note else [])]
    return "\n".join(lines)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if place else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def markdown(grid: Grid) -> str:
    """A section of Markdown."""
    rows = [[in_markdown(text) for text in row] for row in (grid.head, *grid.rows)]
    rule = ["---", *["---:"] * (len(grid.head) - 1)]
    lines = [f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:])]
    note = ["", in_markdown(grid.note)] if grid.note else []
    return "\n".join([f"## {in_markdown(grid.title)}", "", *lines, *note, ""])


def in_markdown(text: str) -> str:
    """The text without anything that Markdown takes for more than text."""
    return "".join(f"\\{sign}" if sign in "\\|*_<`[]&$~" else sign for sign in " ".join(text.split()))


def latex(grid: Grid) -> str:
    """A LaTeX table that needs the package booktabs."""
    rows = [" & ".join(map(in_latex, row)) + r" \\" for row in (grid.head, *grid.rows)]
    caption = in_latex(f"{grid.title}. {grid.note}".strip() if grid.note else grid.title)
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(grid.head) - 1)}}}",
            r"\toprule",
            rows[0],
            r"\midrule",
            *rows[1:],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def in_latex(text: str) -> str:
    """The text without anything that LaTeX takes for more than text."""
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


def html_table(grid: Grid) -> str:
    """A section of HTML."""
    return f"<section>\n<h2>{escaped(grid.title)}</h2>\n{html_rows(grid)}</section>\n"


def html_rows(grid: Grid) -> str:
    """The table and its note in HTML, without the title."""
    head = "".join(f"<th>{escaped(text)}</th>" for text in grid.head)
    rows = "".join(f"<tr>{''.join(f'<td>{escaped(text)}</td>' for text in row)}</tr>\n" for row in grid.rows)
    note = f"<p class='note'>{escaped(grid.note)}</p>\n" if grid.note else ""
    return f"<div class='wide'><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n{note}"
