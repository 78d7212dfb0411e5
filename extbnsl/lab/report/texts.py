"""A table of texts as a terminal, Markdown, LaTeX and HTML have it."""

from extbnsl.drawing.markup import Grid, aligned, escaped, html_rows

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


def plain(grid: Grid) -> str:
    """For a terminal: the first column to the left, the others to the right."""
    lines = [grid.title, "", *aligned([grid.head, *grid.rows], 1), *(["", grid.note] if grid.note else [])]
    return "\n".join(lines)


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
