"""The directive `command-help`: a section for each command, with its `--help` as the parser writes it."""

import argparse
import os

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

COLUMNS = "88"


class CommandHelp(SphinxDirective):
    """All commands, in the order of the program's own help."""

    def run(self):
        self.env.note_dependency(__file__)
        return [self._section(name, text) for name, text in helps()]

    def _section(self, name, text):
        section = nodes.section("", nodes.title("", name), ids=[f"command-{name}"], names=[name])
        section += nodes.literal_block(text, text, language="text")
        self.state.document.note_explicit_target(section)
        return section


def helps():
    """(command, its help) of all commands, as wide in every build."""
    from extbnsl.cli.parser import command_parser

    os.environ["COLUMNS"] = COLUMNS
    os.environ["NO_COLOR"] = "1"  # later versions of Python colour their help
    (commands,) = (one for one in command_parser()._actions if isinstance(one, argparse._SubParsersAction))
    return [(name, parser.filled().format_help()) for name, parser in commands.choices.items()]


def setup(app):
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True}
