"""The pages of the project, and what tests want of them: blocks of code, links, headings, rows of tables."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / folder / "README.md" for folder in ("examples", "bench")),
)

_BLOCK = re.compile(
    r"(?P<mark><!-- not run: [^\n]* -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind, as bash or python; its text; whether the page says that it is not run."""

    kind: str
    text: str
    skipped: bool

    @property
    def commands(self):
        """The lines that a reader would type into a shell."""
        lines = self.text.splitlines()
        return [line.removeprefix("$ ") for line in lines if self.kind == "bash" or line.startswith("$ ")]


def blocks(page):
    """The fenced blocks of a page, in order."""
    found = _BLOCK.finditer(page.read_text())
    return [Block(block["kind"], block["text"], block["mark"] is not None) for block in found]


def prose(page):
    """The text of a page without its blocks."""
    return _BLOCK.sub("", page.read_text())


def links(page):
    """What the page links to in the project: (file, heading), the heading empty if the link has none."""
    for target in _LINK.findall(prose(page)):
        path, _, heading = target.partition("#")
        yield (page.parent / path).resolve() if path else page, heading


def anchors(page):
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows(text):
    """The cells of the rows of all tables in a text, without their heads."""
    tables = re.findall(r"(?:^\|.*\n)+", text + "\n", re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for t in tables for row in t.splitlines()[2:]]
