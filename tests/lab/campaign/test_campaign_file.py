"""The YAML file of a campaign: what is wrong with it is told at once, with lines and keys, and nothing runs."""

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from pretended import EXAMPLES

from extbnsl.cli.campaign import _unable
from extbnsl.cli.parser import usage_error
from extbnsl.files.yaml_file import MOST_BYTES, FileError, read_yaml
from extbnsl.lab.campaign.reading import read_campaign

able = partial(_unable, Path(), True)
GOOD = "title: x\ndata: [a.csv]\n"
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefg", "bcdefgh", strict=True)
)
MERGED_LAUGHS = "a: &a {}\n" + "".join(
    f"{new}: &{new} {{<<: [{', '.join([f'*{old}'] * 9)}]}}\n" for old, new in zip("abcdefghi", "bcdefghij", strict=True)
)

BROKEN = {
    "duplicate key": ("title: x\ndata: [a.csv]\ntitle: y\n", ["3: title: It is there already"]),
    "duplicate in a list": (GOOD + "methods:\n- name: m\n  name: n\n", ["5: methods.1.name: It is there already"]),
    "tab": ("title: x\n\tdata: [a.csv]\n", ["2: while scanning"]),
    "not closed": ("title: x\ndata: [a.csv\n", ["3: while parsing"]),
    "unknown alias": ("title: x\ndata: *nobody\n", ["2: found undefined alias"]),
    "python object": ("title: !!python/name:os.system\ndata: [a.csv]\n", ["1: could not determine a constructor"]),
    "wrong type": ("title: 5\ndata: [a.csv]\n", ["1: title: It should be a valid string, and is 5."]),
    "bool as a name": (GOOD + "methods: [{name: yes}]\n", ["3: methods.1.name: It should be a valid string"]),
    "unknown key": (GOOD + "colour: blue\n", ["3: colour: There is no such key"]),
    "unknown key within": (GOOD + "budgets:\n- memory: 1GiB\n  hours: 3\n", ["5: budgets.1.hours: There is no such"]),
    "missing key": ("data: [a.csv]\n", ["1: title: It is missing."]),
    "empty list": ("title: x\ndata: []\n", ["2: data: It should have at least 1 item"]),
    "unknown option": (GOOD + "options:\n  colour: blue\n", ["4: options.colour: unrecognised: --colour=blue"]),
    "wrong value": (GOOD + "methods:\n- name: m\n  options: {lower-bound: x}\n", ["5: methods.1.options.lower-bound"]),
    "option of options": (GOOD + "options: {k: {a: 1}}\n", ["3: options.k: It should be a valid boolean or "]),
    "wrong time": (GOOD + "budgets: [{time-limit: 1 parsec}]\n", ["3: budgets.1.time-limit: "]),
    "time that is no number": (GOOD + "budgets: [{kill-after: .nan}]\n", ["3: budgets.1.kill-after: "]),
    "unknown command": (GOOD + "methods: [{name: m, command: fly}]\n", ["3: methods.1.command: It should be 'solve'"]),
    "negative seed": (GOOD + "seeds: [1, -1]\n", ["3: seeds.2: It should be greater than or equal to 0, and is -1."]),
    "5,000 digits": (GOOD + f"seeds: [{'9' * 5000}]\n", ["3: seeds.1: It cannot be read: Exceeds the limit"]),
    "month 13": ("title: 2020-13-45\ndata: [a.csv]\n", ["1: title: It cannot be read: month must be in 1..12."]),
    "no file": ("title: x\ndata:\n- a.csv\n- b.csv\n", ["4: data.2.file: There is no file b.csv"]),
    "no match": ("title: x\ndata: ['b*.csv']\n", ["2: data.1.file: There is no file b*.csv"]),
    "no truth": ("title: x\ndata: [{file: a.csv, truth: t.bif}]\n", ["2: data.1.truth: There is no file t.bif"]),
    "zero in a name": ('title: x\ndata: ["a\\0b", "a\\0*"]\n', ["2: data.1.file: ", "2: data.2.file: "]),
    "half a character": ('title: x\ndata: [{file: a.csv, name: "\\uD800"}]\n', ["2: data.1.name: "]),
    "no environment in an option": (
        "title: x\ndata: [{file: a.csv, options: {allowed: $NOPE/a.txt}}]\n",
        ["2: data.1.options.allowed: The environment has no variable NOPE"],
    ),
    "no environment": ("title: x\ndata: ['$NOPE/a.csv']\n", ["2: data.1.file: The environment has no variable NOPE"]),
    "no environment of an option": (GOOD + "options: {order: '${NOPE}'}\n", ["3: options.order: The environment has"]),
    "name twice": (GOOD + "methods:\n- {name: m}\n- {name: m}\n", ["5: methods.2: 'm' is the name of another one too"]),
    "data set twice": ("title: x\ndata:\n- a.csv\n- a.csv\n", ["4: data.2: 'a' is the name of another one too"]),
    "nothing left": (GOOD + "exclude: [{data: a}]\n", ["3: exclude: It leaves no run"]),
    "exclude of nobody": (GOOD + "exclude: [{method: nobody}]\n", ["3: exclude.1.method: 'nobody' is no method"]),
    "column of nobody": (
        GOOD + "tables:\n- title: t\n  columns:\n  - label: c\n    where: {variant: v}\n    published: {b: 3}\n",
        ["7: tables.1.columns.1.where.variant: 'v' is no", "8: tables.1.columns.1.published.b: 'b' is no data"],
    ),
    "pair of nobody": (GOOD + "comparisons: [{title: t, pairs: [[bfbnb, x]]}]\n", ["3: comparisons.1.pairs.1.2: 'x'"]),
    "no figure": (GOOD + "plots: [{title: t, kind: bars, figure: cots}]\n", ["3: plots.1.figure: There is no"]),
    "first of no states": (
        GOOD + "tables: [{title: t, columns: [{label: c, first: 3}]}]\n",
        ["3: tables.1.columns.1.first: It is for the figure 'states' alone"],
    ),
    "merge of a text": (GOOD + "options: {<<: x}\n", ["3: options.<<: It merges mappings alone."]),
    "alias of itself": ("title: x\ndata: &a [*a]\n", ["2: data.1: It holds itself."]),
    "merge of itself": ("title: x\noptions: &a {<<: *a}\n", ["2: options: It holds itself."]),
    "billion laughs": (LAUGHS, ["1: "]),
    "billion laughs by merging": (MERGED_LAUGHS, ["1: "]),
    "very deep": (GOOD + f"options: {'[' * 5000}{']' * 5000}\n", ["It has more levels"]),
    "deep": (GOOD + f"options: {'[' * 50}{']' * 50}\n", ["3: options.1.1"]),
    "empty": ("", ["It holds no campaign"]),
    "a text": ("hello\n", ["It holds no campaign"]),
    "two documents": (GOOD + "---\n" + GOOD, ["3: expected a single document"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_wrong_is_told_with_file_line_and_key(kind, run, here):
    text, wanted = BROKEN[kind]
    (here / "a.csv").write_text("a,b\n0,1\n1,0\n")
    (here / "c.yaml").write_text(text)
    before = sorted(os.listdir())
    code, out, err = run("c.yaml")
    assert (code, out) == (30, "")
    found = err.splitlines()
    for sentence in wanted:
        where = f"extbnsl: c.yaml{':' if sentence[0].isdigit() else ': '}{sentence}"
        assert any(line.startswith(where) for line in found), err
    assert sorted(os.listdir()) == before


def test_all_of_it_is_told_at_once_and_in_order(run, here):
    (here / "c.yaml").write_text(
        "title: 5\n"
        "title: x\n"
        "data: [{file: nowhere.csv}, {fil: 3}]\n"
        "methods:\n"
        "- {name: m, options: {lower-bound: nonsense, colour: 3}}\n"
        "- {name: m, command: fly}\n"
        "colour: blue\n"
        "seeds: [-1]\n"
    )
    code, _, err = run("c.yaml")
    assert code == 30
    keys = ("title", "data.1.file", "data.2.file", "data.2.fil", "methods.1.options.lower-bound")
    keys += ("methods.1.options.colour", "methods.2.command", "colour", "seeds.1")
    assert all(f": {key}: " in err for key in keys), err
    lines = [int(line.split(":")[2]) for line in err.splitlines()]
    assert lines == sorted(lines)
    assert len(lines) == len(keys)


def test_options_are_checked_though_the_data_are_missing(run, here):
    (here / "c.yaml").write_text("title: x\ndata: [nowhere.csv]\noptions: {colour: 3}\n")
    assert "options.colour: unrecognised" in run("c.yaml")[2]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\x00\x01\xff\xfe" * 100, "c.yaml: It is no YAML"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "c.yaml: It is no YAML"),
        (b"#" * (MOST_BYTES + 1), "c.yaml has more than 4.0MiB: is it the right file?"),
        (None, "c.yaml is a folder: give a file."),
    ],
)
def test_files_that_are_no_text(content, sentence, run, here):
    file = here / "c.yaml"
    file.mkdir() if content is None else file.write_bytes(content)
    code, out, err = run("c.yaml")
    assert (code, out) == (30, "")
    assert err.startswith(f"extbnsl: {sentence}")
    assert os.listdir() == ["c.yaml"]


def test_no_file_at_all(run, here):
    said = "extbnsl: c.yaml cannot be read (No such file or directory): check the name and the permissions.\n"
    assert run("c.yaml") == (30, "", said)
    assert run()[0] == 30


def test_merging_as_yaml_has_it(tmp_path):
    text = b"a: &a {x: 1, y: 2}\nb: &b {x: 3, z: 4}\nc:\n  y: 5\n  <<: [*a, *b]\n"
    (tmp_path / "c.yaml").write_bytes(text)
    located = read_yaml(tmp_path / "c.yaml")
    assert located.value["c"] == {"x": 1, "y": 5, "z": 4}
    assert [located.line(("c", key)) for key in "xyz"] == [1, 4, 2]
    assert not located.problems


def names_and_files(folder, text):
    """What the data sets of a campaign are called, and the files that commands get."""
    (folder / "c.yaml").write_text(text, encoding="utf-8")
    return [(run.names["data"], run.arguments[1]) for run in read_campaign(folder / "c.yaml", usage_error, able).runs]


def test_names_of_data_of_all_kinds(here, monkeypatch):
    (here / "sub").mkdir()
    for name in (
        "two words.csv",
        "naïve 中.csv",
        'it\'s "q".csv',
        "-dash.csv",
        "a[1].csv",
        "sub/b.csv.gz",
        "sub/c.csv",
    ):
        (here / name).write_text("a\n")
    monkeypatch.setenv("WHERE", "sub")
    found = names_and_files(
        here,
        "title: x\ndata: ['two words.csv', 'naïve 中.csv', 'it''s \"q\".csv', '-dash.csv', 'a[1].csv', "
        "'$WHERE/b.csv.gz', '${WHERE}/*.csv', {file: two words.csv, name: $WHERE}]\n",
    )
    assert found == [
        ("two words", "two words.csv"),
        ("naïve 中", "naïve 中.csv"),
        ('it\'s "q"', 'it\'s "q".csv'),
        ("-dash", "./-dash.csv"),
        ("a[1]", "a[1].csv"),
        ("b", "sub/b.csv.gz"),
        ("c", "sub/c.csv"),
        ("$WHERE", "two words.csv"),
    ]


def test_patterns_give_files_in_order_and_no_folders(here):
    (here / "d.csv").mkdir()
    for name in ("b.csv", "a.csv", "-c.csv"):
        (here / name).write_text("a\n")
    assert names_and_files(here, "title: x\ndata: ['*.csv']\n") == [("-c", "./-c.csv"), ("a", "a.csv"), ("b", "b.csv")]


def test_runs_have_names_of_their_own_even_where_only_signs_differ(here):
    (here / "a.csv").write_text("a\n")
    (here / "c.yaml").write_text("title: x\ndata: [a.csv]\nmethods: [{name: a b}, {name: a-b}, {name: α}, {name: β}]\n")
    runs = read_campaign(here / "c.yaml", usage_error, able).runs
    assert len({run.arguments for run in runs}) == 1
    assert len({run.name for run in runs}) == 4
    assert all(set(run.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for run in runs)


@pytest.mark.parametrize(
    ("options", "budget", "seconds", "arguments"),
    [
        ("{}", "{time-limit: 1m}", 60.0, ("--time-limit=1m",)),
        ("{}", "{time-limit: 90}", 90.0, ("--time-limit=90",)),
        ("{time-limit: 2m}", "{}", 120.0, ("--time-limit=2m",)),
        ("{time-limit: null}", "{}", None, ()),
        ("{polish: false, header: true}", "{}", None, ("--no-polish", "--header")),
        ("{time-limit: 60}", "{time-limit: 60}", 60.0, ("--time-limit=60",)),
        ("{no-polish: true, threads: 1}", "{}", None, ("--no-polish", "--threads=1")),
        ("{no-polish: null, drop: [a, 1]}", "{}", None, ("--drop=a,1",)),
    ],
)
def test_options_as_the_command_line_has_them(options, budget, seconds, arguments, here):
    (here / "a.csv").write_text("a\n")
    (here / "c.yaml").write_text(
        f"title: x\ndata: [a.csv]\nmethods: [{{name: m, options: {options}}}]\nbudgets: [{budget}]\n"
    )
    (run,) = read_campaign(here / "c.yaml", usage_error, able).runs
    assert (run.seconds, run.arguments[2:]) == (seconds, arguments)


@pytest.mark.parametrize(
    ("where", "key"),
    [
        ("methods: [{name: m, command: approximate, options: {time: 10s}}]\n", "methods.1.options.time"),
        ("methods: [{name: m, options: {time-limit: 2m}}]\n", "methods.1.options.time-limit"),
        ("variants: [{name: v, options: {memory: 2GiB}}]\n", "variants.1.options.memory"),
        ("data: [{file: a.csv, options: {disk: 1GB}}]\n", "data.1.options.disk"),
    ],
)
def test_what_a_budget_and_something_else_say_is_refused(where, key, run, here):
    (here / "a.csv").write_text("a\n")
    data = "" if where.startswith("data") else "data: [a.csv]\n"
    budget = "budgets: [{name: small, time-limit: 1m, memory: 1GiB, disk: 2GB}]\n"
    (here / "c.yaml").write_text(f"title: x\n{data}{where}{budget}")
    code, _, err = run("c.yaml", "--dry-run")
    assert (code, len(err.splitlines())) == (30, 1)
    assert f": {key}: The budget 'small' says" in err
    (here / "c.yaml").write_text(f"title: x\n{data}{where}")
    assert run("c.yaml", "--dry-run")[0] == 0


def test_the_options_of_the_campaign_are_for_where_no_budget_says_more(here):
    (here / "a.csv").write_text("a\n")
    text = "title: x\ndata: [a.csv]\noptions: {memory: 1GiB}\nbudgets: [{time-limit: 1m}, {memory: 2GiB}]\n"
    (here / "c.yaml").write_text(text)
    found = [run.arguments[2:] for run in read_campaign(here / "c.yaml", usage_error, able).runs]
    assert found == [("--memory=1GiB", "--time-limit=1m"), ("--memory=2GiB",)]


UNABLE = """\
title: x
data: [a.csv, b.csv, c.jkl]
methods:
- {name: climb, options: {method: pgmpy}}
- {name: k, command: kbest, options: {method: bn-graph, within-factor: 3}}
- {name: o, command: order, options: {method: k3, order: o.txt}}
- {name: d, options: {method: dp, polish: false}}
- {name: b, options: {method: dp, bootstrap: 5}}
- {name: g, options: {method: gobnilp}}
- {name: own}
variants: [{name: v, options: {score: bdeu}}, {name: w, options: {score: gaussian-bic, roots: a}}]
exclude: [{data: c, variant: w}]
"""
SAID = {  # each by the method and the data and scores that it names
    "methods.1: method: 'pgmpy' needs the package pgmpy; install": "of a, b, c by the score bdeu, gaussian-bic:",
    "methods.1: score: the method 'pgmpy' has 'mdl' or 'aic' alone, not 'bdeu'": "of a, b by the score bdeu:",
    "methods.1: method: 'pgmpy' learns from states, and numbers": "of a, b by the score gaussian-bic:",
    "methods.1: method: 'pgmpy' learns from data, and local scores": "of c by the score bdeu:",
    "methods.1: knowledge: the method 'pgmpy' cannot be told it": "of a, b by the score gaussian-bic:",
    "methods.2: method: 'bn-graph' finds the k best networks alone": "of a, b, c by the score bdeu, gaussian-bic:",
    "methods.2: score: parent limits of the k best networks need a price": "of a, b by the score bdeu:",
    "methods.3: method: 'k3' cannot be where the claim has the score 'bdeu'": "of a, b by the score bdeu:",
    "methods.3: method: 'k3' cannot be where the claim has the score 'gaussian-bic'": "of a, b by the score gaussian",
    "methods.3: c.jkl holds local scores": "of c by the score bdeu:",
    "methods.4: polish: the method 'dp' has no use for it": "of a, b, c by the score bdeu, gaussian-bic:",
    "methods.5: bootstrap: the published methods solve no resamples": "of a, b by the score bdeu, gaussian-bic:",
    "methods.5: bootstrap: local scores have no records": "of c by the score bdeu:",
    "methods.6: method: 'gobnilp' needs the command 'gobnilp'": "of a, b, c by the score bdeu, gaussian-bic:",
}


def test_what_methods_cannot_do_is_told_at_once_before_anything_runs(run, here, monkeypatch):
    for name in ("a.csv", "b.csv", "c.jkl"):
        (here / name).write_text("nobody reads it")
    (here / "c.yaml").write_text(UNABLE)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    code, out, err = run("c.yaml")
    assert (code, out) == (30, "")
    found = err.splitlines()
    for sentence, asked in SAID.items():
        told = [line for line in found if f": {sentence}" in line]
        assert len(told) == 1, sentence
        assert f" is asked that of {asked.partition('of ')[2]}" in told[0]
    assert len(found) == len(SAID)
    assert not os.path.lexists("c.campaign")


def test_of_many_data_sets_some_are_named(run, here):
    for number in range(20):
        (here / f"d{number:02}.csv").write_text("nobody reads it")
    (here / "c.yaml").write_text(
        "title: x\ndata: ['d*.csv']\nmethods: [{name: b, options: {method: dp, polish: false}}]\n"
    )
    (line,) = run("c.yaml")[2].splitlines()
    assert "is asked that of d00, d01, d02, d03, d04, d05, d06, d07 and 12 others by the score mdl:" in line


def test_programs_may_be_on_other_machines(run, here, monkeypatch):
    """On those of a cluster; and a report runs nothing."""
    (here / "a.csv").write_text("nobody reads it")
    monkeypatch.setenv("PATH", "")
    (here / "c.yaml").write_text(GOOD + "methods: [gobnilp, {name: b, options: {method: bene, score: k2}}]\n")
    told = run("c.yaml", "--dry-run", "--cluster", "local:1")[2].splitlines()
    assert len(told) == 1
    assert "score: the method 'bene' has 'mdl' or 'aic' alone" in told[0]
    assert "--report: c.campaign holds no campaign" in run("c.yaml", "--report")[2]
    assert len(run("c.yaml", "--dry-run")[2].splitlines()) == 3


def test_knowledge_lies_beside_the_file_of_the_campaign(run, here):
    (here / "sub").mkdir()
    (here / "sub" / "a.csv").write_text("a,b\n0,1\n")
    text = "title: x\ndata: [a.csv]\noptions: {knowledge: k.yaml}\n"
    (here / "sub" / "c.yaml").write_text(text)
    code, _, err = run("sub/c.yaml", "--dry-run")
    assert code == 30
    assert "k.yaml" in err
    (here / "sub" / "k.yaml").write_text("roots: [a]\n")
    assert run("sub/c.yaml", "--dry-run")[0] == 0


def test_the_product_and_what_is_excluded(run, here):
    shutil.copy(EXAMPLES / "asia.csv", "a.csv")
    shutil.copy(EXAMPLES / "wine.csv", "b.csv")
    (here / "c.yaml").write_text(
        "title: x\ndata: [a.csv, b.csv]\n"
        "methods: [{name: m, command: approximate}, {name: n, command: approximate, options: {search: obs}}]\n"
        "variants: [{name: 1}, {name: 2, options: {threads: 2}}]\nbudgets: [{time-limit: 1m}, {time-limit: 2m}]\n"
        "seeds: [0, 7]\nexclude: [{method: m, data: a}, {seed: 7, budget: 1m}]\n"
    )
    before = sorted(os.listdir())
    code, out, _ = run("c.yaml", "--dry-run")
    lines = out.splitlines()
    assert (code, lines[-1]) == (0, "18 runs")
    assert len(set(lines)) == 19
    assert lines[0] == "extbnsl approximate a.csv --search=obs --time=1m --seed=0"
    assert sorted(os.listdir()) == before


def test_the_configurations_of_the_package_are_right(shared_data, monkeypatch, tmp_path):
    made = [sys.executable, str(EXAMPLES.parent / "tools" / "make_micodag.py"), str(shared_data / "gaussian")]
    subprocess.run([*made, str(tmp_path)], check=True, stdout=subprocess.DEVNULL)
    monkeypatch.setenv("MICODAG", str(tmp_path))
    monkeypatch.setenv("EXTBNSL_DATA", str(shared_data))
    files = sorted((EXAMPLES.parent / "configs").glob("*.yaml"))
    assert len(files) >= 3
    assert all(read_campaign(file, usage_error, able).runs for file in files)


def test_the_schema_knows_all_keys(run):
    code, out, _ = run("--schema")
    assert code == 0
    assert all(f'"{key}"' in out for key in ("methods", "time-limit", "kill-after", "published", "exclude"))


def test_an_error_is_one_of_input(tmp_path):
    (tmp_path / "x.yaml").write_bytes(b"a: [")
    with pytest.raises(FileError) as caught:
        read_yaml(tmp_path / "x.yaml")
    assert caught.value.exit_code == 30
