"""The checks of the command line: whole commands with their options, in this process, on a file in a folder."""

import contextlib
import io
import json
import math
import re
import tempfile
from pathlib import Path

from extbnsl.cli import main
from extbnsl.core.claims import HEURISTIC, OPTIMAL
from extbnsl.formats.score_writer import write_scores
from extbnsl.proof.methods import LOWER_BOUNDS, PARENT_GRAPHS
from extbnsl.solver.methods import SEARCHES
from fuzz import truth
from fuzz.data_checks import Asked
from fuzz.made_scores import random_score_file
from fuzz.rules import hold
from fuzz.score_checks import pick
from fuzz.table import random_table

DONE, STOPPED, CLAIMED, NO_NETWORK, REFUSED = 0, 10, 11, 20, 30
UNITS = 1e6  # nats: far below what `verify` has whole units for
PROOF = 1e-9
DAMAGES = ("twice", "own parent", "unknown parent", "not a number", "infinite", "one line less", "one more")
SWITCHES = {
    "--no-fixing": [None],
    "--no-ancestral": [None],
    "--no-path-extension": [None],
    "--polish": [None],
    "--no-polish": [None],
    "--lower-bound": list(LOWER_BOUNDS),
    "--parent-graph": list(PARENT_GRAPHS),
    "--seed": ["0", "5", "4294967295"],
    "--threads": ["1", "2"],
    "--memory": ["16MiB", "64MiB"],
    "--disk": ["0", "1000", "1MiB"],
    "--max-parents": ["0", "1", "2"],
    "--time-limit": ["0.001", "0.05", "60"],
    "--json": [None],
    "--print": [None],
    "--quiet": [None],
}
PLAIN = ("--threads", "--memory", "--max-parents", "--quiet")
TOLD = (*PLAIN, "--json", "--print")
OWN = {
    "kbest": tuple(name for name in SWITCHES if name not in ("--no-ancestral", "--no-path-extension")),
    "approximate": (*TOLD, "--seed"),
    "baseline": (*TOLD, "--seed"),
    "order": TOLD,
    "score": PLAIN,
    "estimate": (*PLAIN[:3], "--lower-bound", "--no-fixing", "--polish", "--no-polish", "--parent-graph", "--seed"),
}  # the options of commands that do not have all of them
BASELINE = ("dp", "layered-dp", "astar", "dfbnb", "cycles", "ilp")


def draw_command(rng):
    """A command with some of its options, and what comes after it."""
    if rng.random() < 0.5:
        subject = random_table(rng, measured=bool(rng.random() < 0.3))
    else:
        subject = random_score_file(rng, int(rng.integers(1, 9)), int(rng.choice([2, 5, 20])), rng.random() > 0.1)
    commands = ["solve", "solve", "solve", "kbest", "approximate", "baseline", "estimate"]
    command = pick(rng, commands + ["order", "score", "bootstrap"] * (subject.ending == ".csv"))
    switches = {}
    for name, values in SWITCHES.items():
        if rng.random() < 0.2:
            switches[name] = pick(rng, values)
    if "--polish" in switches:
        switches.pop("--no-polish", None)
    options = {"command": command, "switches": switches}
    if subject.ending == ".jkl" and rng.random() < 0.1:
        options["damage"] = pick(rng, DAMAGES)
    elif subject.ending == ".jkl" and rng.random() < 0.2:
        options["format"] = pick(rng, [".pss", ".pss.gz", ".scores", ".jkl.gz"])
    return subject, options


def check_command(subject, options, rng):
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, contextlib.chdir(folder):
        _check_in_folder(subject, options)


def _check_in_folder(subject, options):
    file = f"x{subject.ending}"
    text = subject.text()
    if "damage" in options:
        text, options = damaged(text, options["damage"]), options | {"switches": {}}
    Path(file).write_text(text)
    if options.get("format") and subject.ending == ".jkl" and "damage" not in options and subject.feasible():
        file = f"x{options['format']}"
        write_scores(subject.scores(), file)
    Path("order.txt").write_text("\n".join(subject.names) + "\n")
    arguments = arguments_of(subject, options, file)
    limited = "--time-limit" in arguments or "--memory" in arguments or "--disk" in arguments
    code, out, err = run(arguments)
    if code == REFUSED:
        _check_refused(subject, options, out, err)
        return
    hold("damage" not in options, "damage taken", f"{options.get('damage')}: exit code {code}")
    hold(code in (DONE, STOPPED, NO_NETWORK), "exit code", f"{code}: {err[-500:]}")
    if code == NO_NETWORK:
        hold(limited, "no network", err[-500:])
        return
    if options.get("command") == "estimate":
        hold(code == DONE, "exit code", f"{code}: {err[-500:]}")
        return
    if options.get("command") == "score":
        code, out, err = run(["solve", "scores.jkl", "--run-dir", "r", "--memory", "256MiB"])
        hold(code == DONE, "solve of the scores", f"{code}: {err[-500:]}")
        _check_result(subject, options, json.loads(Path("r/result.json").read_text()), code)
        return
    if code == STOPPED and options.get("command", "solve") in ("solve", "kbest", "bootstrap"):
        code, out, err = run(["resume", "r", "--memory", "256MiB", "--disk", "256MiB"])
        hold(code == DONE, "resume", f"{code}: {err[-500:]}")
    result = json.loads(Path("r/result.json").read_text())
    _check_result(subject, options, result, code)
    after = (["verify", "r", file], ["status", "r"], ["export", "r", "-o", "n.dot"], ["report", "r"], ["clean", "r"])
    for command in after:
        code, out, err = run(command)
        expected = (DONE,) if command[0] != "verify" or _is_proof(subject, result) else (DONE, CLAIMED)
        hold(code in expected, f"{command[0]} after it", f"{code}: {out[-500:]} {err[-500:]}")


def _is_proof(subject, result):
    """Whether `verify` can check all that a result claims: it has a certificate, without figures beyond its units, and
    says nothing of resamples."""
    costs = [] if subject.ending == ".csv" else [abs(cost) for own in subject.families for _, cost in own]
    checkable = result["certificate"] is not None and "bootstrap" not in result
    return checkable and max(costs, default=0.0) < UNITS


def arguments_of(subject, options, file):
    """The words of the command."""
    command, switches = options.get("command", "solve"), dict(options.get("switches", {}))
    some, number = OWN.get(command, tuple(switches)), len(switches)
    switches = {name: value for name, value in switches.items() if name in some}
    words = {
        "solve": ["solve", file],
        "bootstrap": ["solve", file, "--bootstrap", "2"],
        "kbest": ["kbest", file, "-k", str(1 + 7 * number)],
        "approximate": ["approximate", file, "--time", "0.3", "--search", SEARCHES[number % len(SEARCHES)]],
        "baseline": ["solve", file, "--method", BASELINE[number % len(BASELINE)]],
        "order": ["order", file, "--order", "order.txt"],
        "score": ["score", file, "-o", "scores.jkl"],
        "estimate": ["estimate", file, "--effort", "1"],
    }[command]
    if command not in ("score", "estimate"):
        words += ["--run-dir", "r"]
    if subject.ending == ".csv" and subject.measured:
        words += ["--score", "gaussian-bic"]
    return words + [word for pair in switches.items() for word in pair if word is not None]


def run(arguments):
    """Exit code, standard output and standard error of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as end:
            code = end.code
    hold("Traceback" not in err.getvalue() and code != 40, "internal error", err.getvalue()[-1500:])
    return code, out.getvalue(), err.getvalue()


def _check_refused(subject, options, out, err):
    """It is refused for a reason, in one sentence, and nothing is written, but for what comes before resamples."""
    last = err.rstrip("\n").split("\n")[-1]
    hold(last.startswith("extbnsl"), "sentence", err[-500:])
    hold(last.endswith("."), "sentence", last)
    hold(not Path("r").exists() or "resample" in last, "written though refused", last)
    if "damage" in options:
        hold(re.search(r"x\.jkl|'[^']*'", last) is not None, "sentence names nothing", last)
        return
    if subject.ending == ".csv":
        hold(subject.measured and (subject.constant() or "resample" in last), "refused", last)
        return
    most = options.get("switches", {}).get("--max-parents")
    left = subject if most is None else subject.kept(lambda x, v: v.bit_count() <= int(most))
    hold(not left.feasible(), "refused", last)


def _check_result(subject, options, result, code):
    """The network of result.json costs what it says, and its bounds hold."""
    most = options.get("switches", {}).get("--max-parents")
    most = None if most is None else int(most)
    if subject.ending == ".csv":
        asked = Asked(subject, {} if most is None else {"max_parents": most})
        table, names, slack = asked.costs, subject.names, asked.slack
    else:
        table = (subject if most is None else subject.kept(lambda x, v: v.bit_count() <= most)).table()
        names, slack = result["variables"], 0.0
        table = _in_order(subject.names, names, table)
    place = {name: x for x, name in enumerate(names)}
    parents = [sum(1 << place[p] for p in result["parents"][name]) for name in names]
    costs = [float(table[x][varset]) for x, varset in enumerate(parents)]
    slack += 1e-12 * math.fsum(abs(c) for c in [*costs, *table.min(axis=1).tolist()]) + 1e-300
    least = truth.least_cost(table)
    tolerance = slack + 1.01 * math.fsum(PROOF * abs(c) + PROOF for c in costs)
    hold(abs(result["cost"] - math.fsum(costs)) <= slack, "cost said", f"{result['cost']!r} of {math.fsum(costs)!r}")
    hold(result["cost"] >= least - slack, "cost below the least", f"{result['cost']!r} of {least!r}")
    hold(result["lower_bound"] <= least + slack, "lower bound", f"{result['lower_bound']!r} above {least!r}")
    status = result["status"]
    if status == OPTIMAL:
        hold(result["cost"] <= least + tolerance, "not optimal", f"{result['cost']!r} proved, {least!r} is there")
    hold((status in (OPTIMAL, HEURISTIC)) == (code == DONE), "exit code", f"{code} of {status}")


def _in_order(own, names, table):
    """The table of costs with the variables in the order of `names`."""
    if tuple(names) == tuple(own):
        return table
    order = [own.index(name) for name in names]
    wanted = [[sum(1 << order[i] for i in range(len(order)) if v >> i & 1) for v in range(table.shape[1])]]
    return table[order][:, wanted[0]]


def damaged(text, damage):
    """A score file with one fault."""
    lines = text.splitlines()
    head, first = lines[1].split(), lines[2].split()
    if damage == "twice":
        lines[1] = f"{head[0]} {int(head[1]) + 1}"
        lines.insert(2, lines[2])
    if damage == "own parent":
        lines[2] = f"{first[0]} {int(first[1]) + 1} {' '.join([*first[2:], head[0]])}"
    if damage == "unknown parent":
        lines[2] = f"{first[0]} {int(first[1]) + 1} {' '.join([*first[2:], 'nobody'])}"
    if damage == "not a number":
        lines[2] = f"nan {' '.join(first[1:])}"
    if damage == "infinite":
        lines[2] = f"-inf {' '.join(first[1:])}"
    if damage == "one line less":
        lines.pop()
    if damage == "one more":
        lines.append("-1.0 0")
    return "\n".join(lines) + "\n"
