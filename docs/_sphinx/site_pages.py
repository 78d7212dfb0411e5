"""What the site has that the same pages on a git host have not: directives, and pages from outside of its folder.

- What stands in a comment that begins with a line `<!-- only on the site` is a part of the page on the site.
- A page with the comment `<!-- on the site: ../FILE.md -->` has there the text of that file, such as CONTRIBUTING.md.
  What it says besides is for readers on a git host. Links to such a file lead to the page, on all pages.
"""

import os
import re
from pathlib import Path

ONLY_HERE = re.compile(r"^<!-- only on the site\n(.*?)^-->$", re.MULTILINE | re.DOTALL)
STANDS_FOR = re.compile(r"<!-- on the site: (\S+) -->")
LINK = re.compile(r"\]\((?!https?:|#)([^)\s#]+)")


def setup(app):
    app.connect("source-read", make_source)
    return {"parallel_read_safe": True}


def make_source(app, name, source):
    """Make the text of a page what it is on the site."""
    folder, page = Path(app.srcdir), Path(app.env.doc2path(name))
    text = ONLY_HERE.sub(r"\1", source[0])
    found = STANDS_FOR.search(text)
    if found:
        page = folder / found[1]
        text = page.read_text(encoding="utf-8")
        app.env.note_dependency(str(page))
    pages = pages_outside(folder)
    source[0] = LINK.sub(lambda link: f"]({target_inside(link[1], page.parent, folder, pages)}", text)


def pages_outside(folder):
    """{file outside: the name of the page that stands for it}; the README is the landing page."""
    marks = {page: STANDS_FOR.search(page.read_text(encoding="utf-8")) for page in folder.glob("*.md")}
    named = {(folder / mark[1]).resolve(): page.name for page, mark in marks.items() if mark}
    return {(folder.parent / "README.md").resolve(): "index.md", **named}


def target_inside(target, home, folder, pages):
    """Where a link of a page in the folder `home` leads on the site."""
    file = (home / target).resolve()
    return pages.get(file) or Path(os.path.relpath(file, folder)).as_posix()
