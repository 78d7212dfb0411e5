"""The command line that asks about a file what a case did, as far as there are options for it."""

import shlex

from extbnsl.lab.baselines.methods import BN_GRAPH
from extbnsl.machine.budgets import MINIMUM_MEMORY
from fuzz.command_checks import arguments_of

VALUES = {
    "lower_bound": "--lower-bound",
    "parent_graph": "--parent-graph",
    "seed": "--seed",
    "threads": "--threads",
    "memory": "--memory",
    "disk": "--disk",
    "max_parents": "--max-parents",
    "k": "-k",
    "within_factor": "--within-factor",
    "search": "--search",
    "selection": "--selection",
    "method": "--method",
    "prior": "--prior",
    "within": "--within",
}
SWITCHES = {
    ("fixing", False): "--no-fixing",
    ("ancestral", False): "--no-ancestral",
    ("path_extension", False): "--no-path-extension",
    ("polish", True): "--polish",
    ("polish", False): "--no-polish",
    ("classes", True): "--classes",
}
HOW = ("lower_bound", "parent_graph", "seed", "threads", "memory", "disk", "max_parents", "fixing", "polish")
ONE = (*HOW, "ancestral", "path_extension")
OPTIONS = {
    "solve": ONE,
    "kbest": (*HOW, "k", "within_factor", "classes", "method"),
    "approximate": ("seed", "threads", "memory", "max_parents", "search", "selection"),
    "baseline": ("lower_bound", "seed", "threads", "memory", "max_parents", "method"),
    "order": ("threads", "memory", "max_parents"),
    "score": ("threads", "memory", "max_parents"),
    "bootstrap": ONE,
    "posterior": ("threads", "memory", "disk", "max_parents", "seed", "prior", "within"),
}  # of the commands; others are of the case alone
WORDS = {
    "baseline": ("solve", ()),
    "order": ("order", ("--order", "order.txt")),
    "score": ("score", ("-o", "scores.jkl")),
    "bootstrap": ("solve", ("--bootstrap", "3")),
}


def shell_line(trial, file):
    """A line such as 'extbnsl solve FILE --no-fixing', and what it leaves out of the options of the case."""
    if trial.kind == "command":
        return shlex.join(["extbnsl", *arguments_of(trial.subject, trial.options, str(file))])
    asked = trial.options.get("asked", trial.kind)
    command, more = WORDS.get(asked, (asked if asked in OPTIONS else "solve", ()))
    own = OPTIONS.get(asked, OPTIONS["solve"])
    words = ["extbnsl", command, str(file), *more]
    plain = getattr(trial.subject, "score", "")
    score, _, ess = trial.options.get("score", plain).partition(":")
    words += ["--score", score] * bool(score) + ["--ess", ess] * bool(ess)
    left = {}
    for name, value in trial.options.items():
        if name in own and (name, value) in SWITCHES:
            words.append(SWITCHES[name, value])
        elif name in own and name in VALUES and _can_be(asked, name, value):
            words += [VALUES[name], str(value)]
        elif name not in ("asked", "score"):
            left[name] = value
    return shlex.join(words) + (f"  (without {left})" if left else "")


def _can_be(asked, name, value):
    """Whether the command line takes this value of an option, which a case may have all the same."""
    if name == "memory":
        return value >= MINIMUM_MEMORY
    return name != "method" or (value == BN_GRAPH) == (asked == "kbest")
