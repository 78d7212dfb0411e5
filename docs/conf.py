"""How Sphinx makes the site of these pages; CONTRIBUTING.md has the command."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_sphinx")]  # the package of this source, and our two extensions

from extbnsl.version import __version__  # noqa: E402

project = "extbnsl"
author = "the authors of extbnsl"
project_copyright = "the authors of extbnsl"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "site_pages", "command_help"]
exclude_patterns = ["_build", "_sphinx"]
html_theme = "furo"
html_title = f"extbnsl {release}"
html_theme_options = {"navigation_with_keys": True}
html_copy_source = False
html_show_sphinx = False

myst_heading_anchors = 4  # named as a git host names them, so that links work in both places

default_role = "py:obj"  # docstrings have names in single back quotes: links, where this page has them
smartquotes_action = "D"  # dashes alone: what stands in quotes is often a value
napoleon_use_ivar = True  # the attributes of a class as one list
napoleon_attr_annotations = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"  # the docstrings say what an argument may be
maximum_signature_line_length = 88

html_static_path = ["_sphinx/static"]
html_css_files = ["tables.css"]
