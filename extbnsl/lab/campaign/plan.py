"""From a campaign to its runs: the product of its axes, each run with a name and a command line."""

import glob
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from extbnsl.core.errors import InputError
from extbnsl.files.atomic import checksum
from extbnsl.files.yaml_file import Key, Problem
from extbnsl.formats.kinds import is_score_file
from extbnsl.lab.campaign.spec import AXES, Axis, Budget, Campaign, DataSet, Method, Options, Variant, Where
from extbnsl.machine.budgets import parse_duration

Check = Callable[[Sequence[str]], str | None]  # the sentence about a command line that cannot be, without the program
Able = Callable[[Sequence[str]], Collection[str]]  # sentences on what the method of a right command line cannot do
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)
_WILD = re.compile(r"[*?\[]")
_UNSAFE = re.compile(r"[^A-Za-z0-9.+=@-]+")
NOTHING = "-"  # what a run is called on an axis that the campaign does not have
DIGEST = 8  # hexadecimal digits in a run's name
DATA_NAMED = 8  # data sets that a sentence names
LONGEST = 100  # characters of a run's name before them


@dataclass(frozen=True)
class Run:
    """One run. names: its place on each axis, as tables call it. arguments: of the program, but for the run directory.
    seconds: its time limit, None without; kill_after: how much later it is killed."""

    name: str
    names: Mapping[Axis, str]
    arguments: tuple[str, ...]
    seconds: float | None
    kill_after: float
    truth: str | None

    @property
    def command(self) -> str:
        """Which of the program's commands it is."""
        return self.arguments[0]


@dataclass(frozen=True)
class Plan:
    """The runs in the order in which they are begun, the names on each axis, and what is wrong with the campaign."""

    runs: tuple[Run, ...]
    names: Mapping[Axis, Collection[str]]
    problems: tuple[Problem, ...]


class _Source(NamedTuple):
    """Options from one place of the file."""

    key: Key
    options: Options


class _Cell(NamedTuple):
    """One combination: for each axis the place in the file, and what is there."""

    data: tuple[int, DataSet]
    method: tuple[int, Method]
    variant: tuple[int, Variant]
    budget: tuple[int, Budget]
    seed: int | None

    @property
    def names(self) -> dict[Axis, str]:
        """What it is called on each axis."""
        return {
            "data": str(self.data[1].name),
            "method": self.method[1].name,
            "variant": self.variant[1].name,
            "budget": str(self.budget[1].name),
            "seed": NOTHING if self.seed is None else str(self.seed),
        }

    def sources(self, campaign: Campaign) -> list[_Source]:
        """Where its options come from; the later ones count."""
        (d, data), (m, method), (v, variant), (b, budget) = self[:4]
        return [
            _Source(("options",), campaign.options),
            _Source(("data", d, "options"), data.options),
            _Source(("methods", m, "options"), method.options),
            _Source(("variants", v, "options"), variant.options),
            _Source(("budgets", b), _budget_options(budget, method)),
            _Source(("seeds",), {} if self.seed is None else {"seed": self.seed}),
        ]


def planned(campaign: Campaign, folder: Path, check: Check, able: Able) -> Plan:
    """The runs of a campaign whose file is in `folder`; `check` knows the program's options, and `able` its methods."""
    problems: list[Problem] = []
    data = list(_data_sets(campaign, folder, problems))
    all_there = not problems
    problems += _repeated(campaign, data)
    runs, right, unable = [], dict[object, Sequence[_Source] | None](), _Unable(able)
    names: dict[Axis, dict[str, None]] = {axis: {} for axis in AXES}  # in their order
    for cell in _cells(campaign, data):
        for axis in AXES:
            names[axis][cell.names[axis]] = None
        if any(matches(where, cell.names) for where in campaign.exclude):
            continue
        sources = cell.sources(campaign)
        places = (cell.data[0] if cell.data[1].options else None, *(axis[0] for axis in cell[1:4]))
        if (kind := (places, cell.seed is None)) not in right:
            wrong, right[kind] = _wrong_options(cell.method[1].command, cell.data[1].file, sources, check)
            problems += [*wrong, *_said_twice(cell, sources)]
        runs.append(_run(cell, sources))
        if (own := right[kind]) is not None:
            unable.add(cell, _merged(own), kind)
    problems += unable.problems()
    if not runs and not problems:
        problems.append(Problem(("exclude",), "It leaves no run; take something out of it."))
    if not all_there:
        del names["data"]  # what a pattern stands for is not known
    return Plan(tuple(run for run in runs if run is not None), names, tuple(dict.fromkeys(problems)))


class _Unable:
    """What the methods of runs cannot do, with the data and the scores of which that is asked."""

    def __init__(self, able: Able) -> None:
        self._able = able
        self._known: dict[object, Collection[str]] = {}  # by kind of run: the data tell nothing but their format
        self._found: dict[tuple[int, str, str], tuple[dict[str, None], dict[str, None]]] = {}

    def add(self, cell: _Cell, options: Options, kind: object) -> None:
        """Ask whether a run with these options, which are right, can be, unless one of its kind was asked of before."""
        (_, data), (place, method) = cell[:2]
        kind = (kind, is_score_file(data.file))
        if kind not in self._known:
            self._known[kind] = self._able(_arguments(method.command, data.file, options))
        for sentence in self._known[kind]:
            names, scores = self._found.setdefault((place, method.name, sentence), ({}, {}))
            names[str(data.name)] = scores[str(options.get("score") or "mdl")] = None

    def problems(self) -> Iterator[Problem]:
        """A sentence for each method and each thing that it cannot do."""
        for (place, method, sentence), (data, scores) in self._found.items():
            others = f" and {len(data) - DATA_NAMED:,} others" if len(data) > DATA_NAMED else ""
            named = ", ".join([*data][:DATA_NAMED]) + others
            asked = f"{method!r} is asked that of {named} by the score {', '.join(scores)}"
            yield Problem(("methods", place), f"{sentence} {asked}: change that, or exclude it.")


def _cells(campaign: Campaign, data: Sequence[tuple[int, DataSet]]) -> Iterator[_Cell]:
    variants = campaign.variants or [Variant(name=NOTHING)]
    seeds: list[int | None] = [*campaign.seeds] or [None]
    for own in data:
        for method in enumerate(campaign.methods):
            for variant in enumerate(variants):
                for at, budget in enumerate(campaign.budgets):
                    for seed in seeds:
                        yield _Cell(own, method, variant, (at, _named(budget)), seed)


def _run(cell: _Cell, sources: Sequence[_Source]) -> Run | None:
    """The run of a combination; None if its options are wrong."""
    (_, data), (_, method), _, (_, budget) = cell[:4]
    options = _merged(sources)
    limit = options.get(_time_option(method))
    try:
        arguments = _arguments(method.command, data.file, options)
        seconds = None if limit is None or limit is False else parse_duration(limit)
    except InputError:  # told with the other problems
        return None
    return Run(_run_name(cell.names, arguments), cell.names, arguments, seconds, float(budget.kill_after), data.truth)


def matches(where: Where, names: Mapping[Axis, str]) -> bool:
    """Whether a run with these names is one of those that are meant."""
    return all(wanted is None or names[axis] in wanted for axis in AXES for wanted in (getattr(where, axis),))


def expanded(text: str) -> str:
    """The text with the values of the environment's variables in it; InputError for one that is not set."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in os.environ:
            raise InputError(f"The environment has no variable {name}; set it to the folder that is meant.")
        return os.environ[name]

    return _VARIABLE.sub(value, text)


def _data_sets(campaign: Campaign, folder: Path, problems: list[Problem]) -> Iterator[tuple[int, DataSet]]:
    """The data sets, each with its place in the file: those of a pattern in the order of their names, and those that
    are not there too, so that the rest of the file can be checked."""
    for at, given in enumerate(campaign.data):
        truth = None if given.truth is None else _file(("data", at, "truth"), given.truth, folder, problems)
        options = {
            name: _expanded_option(("data", at, "options", name), own, problems) for name, own in given.options.items()
        }
        given = given.model_copy(update={"options": options})
        found = _matching(given.file, folder) if given.name is None else []
        for one in found or [_file(("data", at, "file"), given.file, folder, problems)]:
            yield at, given.model_copy(update={"file": one, "truth": truth, "name": given.name or data_name(one)})


def _expanded_option(key: Key, value: Any, problems: list[Problem]) -> Any:
    """The value of an option, a text with what the environment says in it; a problem if that is not set."""
    try:
        return expanded(value) if isinstance(value, str) else value
    except InputError as error:
        problems.append(Problem(key, str(error)))
        return value


def _matching(text: str, folder: Path) -> list[str]:
    """The files that match a pattern, in order; none for the name of a file that is there."""
    try:
        pattern = expanded(text)
    except InputError:  # told when the file is looked for
        return []
    if not _WILD.search(pattern) or (folder / pattern).is_file():
        return []
    return [_operand(one) for one in sorted(glob.glob(pattern, root_dir=folder)) if (folder / one).is_file()]


def _file(key: Key, text: str, folder: Path, problems: list[Problem]) -> str:
    """A file of the user's as commands take it; a problem if it is not there."""
    try:
        file = expanded(text)
    except InputError as error:
        problems.append(Problem(key, str(error)))
        return text
    if not (folder / file).is_file():
        problems.append(Problem(key, f"There is no file {file}; say where it is."))
    return _operand(file)


def _operand(file: str) -> str:
    """A file as a command line has it, not as an option."""
    return f"./{file}" if file.startswith("-") else file


def data_name(file: str) -> str:
    """What a data set is called if it has no name: its file without folder and endings, as proper Unicode."""
    return Path(file.removesuffix(".gz")).stem.encode("utf-8", "backslashreplace").decode("utf-8")


def _named(budget: Budget) -> Budget:
    """The budget with a name: what it grants, if it has none."""
    granted = [str(value) for value in (budget.time_limit, budget.memory, budget.disk) if value is not None]
    return budget.model_copy(update={"name": budget.name or " ".join(granted) or NOTHING})


def _repeated(campaign: Campaign, data: Sequence[tuple[int, DataSet]]) -> Iterator[Problem]:
    """Names that stand for several things."""
    axes: list[tuple[str, list[tuple[int, str]]]] = [
        ("data", [(at, str(own.name)) for at, own in data]),
        ("methods", [(at, own.name) for at, own in enumerate(campaign.methods)]),
        ("variants", [(at, own.name) for at, own in enumerate(campaign.variants)]),
        ("budgets", [(at, str(_named(own).name)) for at, own in enumerate(campaign.budgets)]),
        ("seeds", [(at, str(own)) for at, own in enumerate(campaign.seeds)]),
    ]
    for axis, names in axes:
        counts = Counter(name for _, name in names)
        seen = set()
        for at, name in names:
            if counts[name] > 1 and name in seen:
                yield Problem((axis, at), f"{name!r} is the name of another one too; give it a name of its own.")
            seen.add(name)


def _said_twice(cell: _Cell, sources: Sequence[_Source]) -> Iterator[Problem]:
    """What both a budget and what a run is made of say, but for the options of all runs, which are for where nothing
    else is said: none of the two may be dropped without a word."""
    budget = {name: value for name, value in sources[-2].options.items() if value is not None}
    for source in sources[1:-2]:
        for name, value in source.options.items():
            if value is not None and name in budget and str(value) != str(budget[name]):
                sentence = f"The budget {cell.names['budget']!r} says {budget[name]} for it; leave one of the two out."
                yield Problem((*source.key, name), sentence)


def _budget_options(budget: Budget, method: Method) -> Options:
    """What a budget is called as options of a command; those that it does not have stay out."""
    found: dict[str, Any] = {_time_option(method): budget.time_limit, "memory": budget.memory}
    if method.command in ("solve", "kbest", "posterior"):
        found["disk"] = budget.disk
    return found


def _time_option(method: Method) -> str:
    return "time" if method.command == "approximate" else "time-limit"


def _merged(sources: Sequence[_Source]) -> dict[str, Any]:
    """The options of all sources; of one that is in several places, the last that is not null counts."""
    options: dict[str, Any] = {}
    for source in sources:
        for name, value in source.options.items():
            if value is not None or name not in options:
                options.pop(name, None)
                options[name] = value
    return options


def _arguments(command: str, file: str, options: Options) -> tuple[str, ...]:
    """The command line of a run."""
    return (command, file, *(text for name, value in options.items() for text in _option(name, value)))


def _option(name: str, value: Any) -> tuple[str, ...]:
    """An option as the command line has it: --NAME for true, --no-NAME for false, nothing for null."""
    if value is None:
        return ()
    dashed = f"--{name}" if len(name) > 1 else f"-{name}"
    if isinstance(value, bool):
        return (dashed if value else f"--no-{name}",)
    texts = value if isinstance(value, list) else [value]
    text = ",".join(expanded(each) if isinstance(each, str) else str(each) for each in texts)
    return (f"{dashed}={text}",) if len(name) > 1 else (dashed, text)


def _wrong_options(
    command: str, file: str, sources: Sequence[_Source], check: Check
) -> tuple[list[Problem], Sequence[_Source] | None]:
    """What is wrong with the options of a run, each with the place where it is given; and those that are right, None if
    that cannot be told."""
    problems: list[Problem] = []
    left = list(sources)
    while (sentence := _wrong(command, file, left, check)) is not None:
        at, name = _culprit(command, file, left, check, sentence)
        if name is None:
            return [*problems, Problem(left[at].key[:2], sentence)], None
        problems.append(Problem(_key(left[at].key, name), sentence))
        left[at] = left[at]._replace(options={own: v for own, v in left[at].options.items() if own != name})
    return problems, left


def _key(source: Key, name: str) -> Key:
    """Where the file has an option."""
    if source == ("seeds",):
        return source
    return (*source, "time-limit" if source[0] == "budgets" and name == "time" else name)


def _wrong(command: str, file: str, sources: Sequence[_Source], check: Check) -> str | None:
    try:
        return check(_arguments(command, file, _merged(sources)))
    except InputError as error:
        return str(error)


def _culprit(
    command: str, file: str, sources: Sequence[_Source], check: Check, sentence: str
) -> tuple[int, str | None]:
    """The number of the source, and the name of the option, without which the sentence would be another; the source of
    the method and None if there is no such option."""
    for at, source in enumerate(sources):
        for name in source.options:
            others = {own: value for own, value in source.options.items() if own != name}
            without = [*sources[:at], source._replace(options=others), *sources[at + 1 :]]
            if _wrong(command, file, without, check) != sentence:
                return at, name
    return 2, None


def _run_name(names: Mapping[Axis, str], arguments: Sequence[str]) -> str:
    """A name for files: what the run is called on each axis, in safe characters, and a digest of that and its command
    line."""
    whole = chr(0).join([*names.values(), *arguments])
    told = "--".join(_UNSAFE.sub("-", name).strip("-") for name in names.values() if name != NOTHING)
    return f"{told[:LONGEST]}--{checksum(whole.encode('utf-8', 'surrogateescape'))[:DIGEST]}"
