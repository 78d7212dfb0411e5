"""How Sphinx makes the site of these pages; CONTRIBUTING.md has the command."""

import sys
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_sphinx")]  # the package of this source, and our two extensions

from extbnsl.core.version import __version__  # noqa: E402

project = "extbnsl"
author = "the authors of extbnsl"
project_copyright = "the authors of extbnsl"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "site_pages", "command_help"]
exclude_patterns = ["_build", "_sphinx"]
html_theme = "furo"
html_title = f"extbnsl {release}"
html_theme_options = {"navigation_with_keys": True}
html_copy_source = False
html_show_sphinx = False

myst_heading_anchors = 4  # named as a git host names them, so that links work in both places

default_role = "py:obj"  # docstrings have names in single back quotes: links, where this page has them
smartquotes_action = "D"  # dashes alone: what stands in quotes is often a value

numpydoc_show_class_members = False  # autodoc has them
# Types are links where they are ours, and plain text where they are not: numpydoc's own links lead to other sites.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {name: name for name in DEFAULT_LINKS} | {
    path.rpartition(".")[2]: path
    for path in (
        "extbnsl.BayesianNetworkLearner",
        "extbnsl.Result",
        "extbnsl.data.Dataset",
        "extbnsl.core.errors.BudgetError",
        "extbnsl.core.errors.InputError",
        "extbnsl.core.errors.VerificationError",
        "extbnsl.core.knowledge.Knowledge",
        "extbnsl.networks.arcs.ArcStrength",
        "extbnsl.networks.network.Network",
        "extbnsl.results.bootstrap.Bootstrap",
        "extbnsl.results.ranked.KBestResult",
    )
}
numpydoc_validation_exclude = {r"\.(dataclass|Any|Sequence|Mention|Sentence)$"}  # which modules of ours import
# Every argument is described, in order and with its type; sections are known ones, in numpydoc's order.
numpydoc_validation_checks = {
    *(f"PR{number:02}" for number in range(1, 11)),
    *("RT02", "RT03", "RT04", "RT05"),
    *("GL03", "GL06", "GL07", "SS03"),
}
numpydoc_validation_overrides = {
    # A value that comes back has attributes and no parameters; a test holds them to its fields. Kinds of errors take
    # what ExtbnslError takes.
    "PR01": [r"(?ms)\A(?!.*^Parameters$).*^Attributes$", r"\(exit code \d+\)"],
}

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what an argument may be
maximum_signature_line_length = 88

html_static_path = ["_sphinx/static"]
html_css_files = ["tables.css"]
