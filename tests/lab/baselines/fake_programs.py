"""Commands that talk as GOBNILP, URLearning, BLIP and bene do, written to a folder for a test.

Each refuses a command line or an input that the real program would not get, and then does what it is told to: the right
answer, by the naive dynamic program, or something that no program should do. The formats are those of the sources and
the manuals of the real programs.
"""

import stat
import sys
from pathlib import Path

HERE = Path(__file__).resolve()
TESTS = HERE.parents[2]

SCRIPT = """#!{python}
import sys
sys.path[:0] = {path!r}
from fake_programs import main
main({program!r}, {does!r})
"""


def install(folder, program, does="right", command=None):
    """A command that behaves as a program, and does this."""
    path = Path(folder, command or COMMANDS[program])
    text = SCRIPT.format(python=sys.executable, path=[str(HERE.parent), str(TESTS)], program=program, does=does)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def best_parents(families):
    """The parents in a network of greatest score, families[x] a list of (score, parents), by the naive program."""
    import naive

    n = len(families)
    table = naive.cost_table(n, [[(sum(1 << p for p in own), -score) for score, own in f] for f in families])
    best = naive.best_scores(table)
    dp, last = [0.0] + [float("inf")] * (2**n - 1), [None] * 2**n
    for varset in range(1, 2**n):
        for x in range(n):
            if varset >> x & 1 and dp[varset ^ 1 << x] + best[x][varset ^ 1 << x] < dp[varset]:
                dp[varset], last[varset] = dp[varset ^ 1 << x] + best[x][varset ^ 1 << x], x
    parents, varset = [[]] * n, 2**n - 1
    while varset:
        x = last[varset]
        varset ^= 1 << x
        allowed = [(score, own) for score, own in families[x] if all(varset >> p & 1 for p in own)]
        parents[x] = list(max(allowed, key=lambda family: family[0])[1])
    return parents


def read_jkl(name):
    lines = iter(Path(name).read_text().splitlines())
    families = []
    for x in range(int(next(lines))):
        child, count = next(lines).split()
        assert child == str(x)
        rows = [next(lines).split() for _ in range(int(count))]
        assert all(int(size) == len(own) for _, size, *own in rows)
        families.append([(float(score), tuple(map(int, own))) for score, _, *own in rows])
    assert not list(lines)
    return families


def read_pss(name):
    families = []
    for line in Path(name).read_text().splitlines():
        if line.startswith("VAR "):
            assert line == f"VAR {len(families)}"
            families.append([])
        elif not line.startswith("META "):
            score, *own = line.split()
            families[-1].append((float(score), tuple(map(int, own))))
    return families


def score_of(families, parents):
    return sum(
        next(score for score, own in families[x] if sorted(own) == sorted(given)) for x, given in enumerate(parents)
    )


def misbehave(does):
    """What no program should do, if that is what it is to do."""
    import os
    import signal
    import subprocess
    import time

    if does == "crash":
        print("assertion `x > 0' failed in lp.c", file=sys.stderr)
        os.kill(os.getpid(), signal.SIGSEGV)
    if does == "code":
        sys.exit("no licence\x1b[2J")
    if does == "hang":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(os.environ["FAKE_TELLS"]).write_text(f"{os.getpid()} {child.pid}")
        time.sleep(600)
    if does == "memory":
        held = bytearray(400 << 20)
        held[::4096] = b"x" * len(held[::4096])
        time.sleep(600)
    if does == "disk":
        with open("large", "wb") as file:
            while True:
                file.write(os.urandom(1 << 20))
    if does == "loud":
        for _ in range(300):
            sys.stdout.write("spam " * 20000 + "\n")
    if does == "silent":
        sys.exit(0)


def spoilt(does, parents):
    """The parents, unless something is to be wrong with them."""
    if does == "cycle":
        return [[1], [0], *parents[2:]]
    if does == "unknown":
        return [[len(parents) + 7], *parents[1:]]
    if does == "other":
        return [[], [0], *([] for _ in parents[2:])]
    return parents


def main(program, does):
    misbehave(does)
    PROGRAMS[program](does, sys.argv[1:])


def gobnilp(does, arguments):
    """`gobnilp -g=settings -f=jkl scores`, version 1.6.3."""
    settings, form, scores = arguments
    assert form == "-f=jkl"
    given = dict(line.split(" = ") for line in Path(settings.removeprefix("-g=")).read_text().splitlines())
    families = read_jkl(scores)
    parents = spoilt(does, best_parents(families))
    n, count = len(families), sum(map(len, families))
    assert given.keys() <= {"gobnilp/outputfile/adjacencymatrix", "limits/memory", "limits/time"}
    print("GOBNILP version 1.6.3 [GitHash: 61b5ea9 ]\nSolving the BN structure learning problem using SCIP.\n")
    print("SCIP version 3.2.1 [precision: 8 byte] [memory: block] [mode: optimized] [LP solver: SoPlex 2.2.1]\n")
    print(f"File name:\t\t{scores}\nProblem name:\t\tscores\nNumber of variables: {n}")
    print(f"Number of candidate parent sets: {count - (does == 'fewer')}\n")
    status = "time limit reached" if does == "late" else "optimal solution found"
    print(f"SCIP Status        : problem is solved [{status}]\nSolving Time (sec) : 0.02")
    matrix = [["1" if p in own else "0" for own in parents] for p in range(n + 8 * (does == "unknown"))]
    rows = "".join(" ".join(row) + "\n" for row in matrix)
    if does == "garbage":
        rows = rows.replace("0", "0.250000", 1)
    if does == "binary":
        Path("matrix.txt").write_bytes(b"\xff\xfe\x00")
    elif does == "large":
        with open("matrix.txt", "wb") as file:
            file.truncate(1 << 27)
    else:
        Path(given["gobnilp/outputfile/adjacencymatrix"].strip('"')).write_text(rows)
    if does in ("right", "late", "fewer", "lie"):
        score = score_of(families, parents) + (does == "lie")
        print(*(f"{x}<-{''.join(f'{p},' for p in own)} -1.000000" for x, own in enumerate(parents)), sep="\n")
        print(f"BN score is {score:.6f}")


def urlearning(does, arguments):
    """`astar scores -n network`."""
    scores, option, network = arguments
    assert option == "-n"
    families = read_pss(scores)
    parents = spoilt(does, best_parents(families))
    print(f"URLearning, A*\nDataset: '{scores}'\nReading score cache.")
    if does == "late":
        print("Out of time\nNo solution found.\nLower bound: 12.5")
        return
    print("Nodes expanded: 12, open list size: 3")
    cost = -score_of(families, parents) if does in ("right", "lie", "garbage") else 1.0
    print(f"Found solution: {cost * (2 if does == 'lie' else 1):f}")
    lines = ["net {}"]
    for x in range(len(families)):
        lines += [f"node {x} {{ ", ' states = ( "0" "1" );', "}"]
    for x, own in enumerate(parents):
        head = f"potential ( {x} | {''.join(f'{p} ' for p in own)} ) {{" if own else f"potential ( {x} ) {{"
        lines += [head.replace("|", "/") if does == "garbage" else head, " data = (0.50 0.50);", "}"]
    Path(network).write_text("\n".join(lines) + "\n")


def blip(does, arguments):
    """`blip solver.winasobs.adv -smp S [-d data] -j scores -r network -t N -b N -seed N`; failures end with code 0."""
    assert arguments[0] == "solver.winasobs.adv"
    given = dict(zip(arguments[1::2], arguments[2::2], strict=True))
    assert given.keys() - {"-d"} == {"-smp", "-j", "-r", "-t", "-b", "-seed"}
    assert (given["-smp"] == "ent") == ("-d" in given)
    assert int(given["-t"]) >= 1
    families = read_jkl(given["-j"])
    if "-d" in given:
        names, arities, *rows = (line.split() for line in Path(given["-d"]).read_text().splitlines())
        assert names == [str(x) for x in range(len(families))]
        assert all(int(code) < int(arity) for row in rows for code, arity in zip(row, arities, strict=True))
    if does == "late":
        print("Execution failed. Reason: \nno time")
        return
    parents = spoilt(does, best_parents(families))
    print("New improvement! -12.50000 (after 0.0 s.)")
    lines = [f"{x}: -1.00 {' (' + ','.join(map(str, own)) + ')' if own else ''}" for x, own in enumerate(parents)]
    lines += ["0: twice"] if does == "garbage" else []
    Path(given["-r"]).write_text("\n".join([*lines, "", "Score: -12.500 ", ""]))


def bene(does, arguments):
    """`data2net.sh values data score folder [-m N]`."""
    import naive
    import numpy as np

    values, data, score, folder, *limit = arguments
    assert score == "BIC"
    assert limit[:1] in ([], ["-m"])
    arities = [line.count("\t") for line in Path(values).read_text().splitlines()]
    codes = np.loadtxt(data, int, ndmin=2)
    assert (codes < arities).all()
    table = naive.all_local_scores(codes, arities)
    n, most = len(arities), int(limit[1]) if limit else len(arities)
    sets = [p for p in range(2**n) if p.bit_count() <= (n if does == "more" else most)]
    families = [[(-table[x, p], naive.members(p)) for p in sets if not p >> x & 1] for x in range(n)]
    parents = spoilt(does, best_parents(families))
    if does == "more":
        parents = [list(range(x)) for x in range(n)]
    Path(folder).mkdir()
    lines = [str(sum(1 << p for p in own)) for own in parents]
    lines += ["-3"] if does == "garbage" else []
    Path(folder, "net").write_text("".join(line + "\n" for line in lines))
    print("-12.500")


COMMANDS = {"gobnilp": "gobnilp", "urlearning": "astar", "blip": "blip", "bene": "data2net.sh"}
PROGRAMS = {"gobnilp": gobnilp, "urlearning": urlearning, "blip": blip, "bene": bene}
