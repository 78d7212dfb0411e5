"""Rooms know only what stands left of them, and nothing heavy is loaded before it is needed."""

import ast
import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from runs import stopped

import extbnsl

PACKAGE = Path(extbnsl.__file__).parent
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "asia.csv"

# A room may import from its own floor and from lower ones: the ground comes first. Folders in a room belong to it.
FLOORS = (
    ("core",),
    ("kernels", "machine"),
    ("files", "bounds"),
    ("data",),
    ("scores",),
    ("parents", "networks"),
    ("orders", "formats", "search", "drawing", "em"),
    ("verify", "proof"),
    ("results", "kbest", "posteriors"),
    ("run", "solver"),
    ("report",),
    ("lab",),
    ("python", "cli"),
    ("__main__",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
LIGHT = (
    *("core.errors", "core.events", "core.claims", "core.knowledge", "core.compiling"),
    *("data", "networks.network", "formats.network_reader", "formats.bif_writer", "machine.budgets", "machine.cluster"),
    *("files.atomic", "files.store", "files.manifest", "run.directory", "run.progress", "cli"),
)
HEAVY = ("numba", "h5py", "distributed", "dask")


def sources():
    """Every module of the package but its front door, which imports inside its functions."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def room(path):
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported(tree):
    """Dotted names of all that a module imports, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@functools.cache
def names_imported(path):
    """What a module imports, by name."""
    return tuple(imported(ast.parse(path.read_text())))


def modules_imported(path):
    """The modules of the package that one of them imports, as paths."""
    for name in names_imported(path):
        parts = name.split(".")
        while parts[0] == "extbnsl" and len(parts) > 1:
            stem = PACKAGE.joinpath(*parts[1:])
            found = next((f for f in (stem.with_suffix(".py"), stem / "__init__.py") if f.is_file()), None)
            if found is not None:
                yield found
                break
            parts.pop()


def rooms_imported(path):
    return {room(other) for other in modules_imported(path)}


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_one_way(path):
    wrong = {other for other in rooms_imported(path) if FLOOR[other] > FLOOR[room(path)]}
    assert not wrong, f"{room(path)} imports {wrong}"


def test_every_room_has_a_floor():
    assert {room(path) for path in sources()} == set(FLOOR)


def without_circles(needs):
    """Whether the graph of what needs what has no circle."""
    left = set(needs)
    while ready := {name for name in left if not needs[name] & left}:
        left -= ready
    return not left


def test_neither_rooms_nor_modules_import_each_other_in_circles():
    rooms, modules = {}, {}
    for path in sources():
        modules[path] = set(modules_imported(path)) - {path}
        rooms.setdefault(room(path), set()).update(rooms_imported(path) - {room(path)})
    assert without_circles(rooms)
    assert without_circles(modules)


def test_psutil_is_for_budgets_and_systems_alone():
    users = {path.name for path in sources() if "psutil" in names_imported(path)}
    assert users == {"budgets.py", "system.py"}


def loaded_by(code):
    """Modules that a fresh interpreter has loaded after `code`."""
    shown = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split("\n"))


def test_light_rooms_load_nothing_heavy():
    code = f"import importlib\nfor name in {LIGHT!r}:\n    importlib.import_module(f'extbnsl.{{name}}')\n"
    assert not loaded_by(f"{code}    assert not {{*{HEAVY!r}}} & {{*sys.modules}}, name") & set(HEAVY)


def test_the_package_itself_loads_next_to_nothing():
    assert not loaded_by("import extbnsl; extbnsl.learn; extbnsl.__version__") & {*HEAVY, "numpy", "argparse"}


def test_a_network_is_exported_without_the_compiler(here):
    document = {"variables": ["a", "b"], "parents": {"a": [], "b": ["a"]}, "cost": 1.0}
    Path("r").mkdir()
    Path("r/result.json").write_text(json.dumps(document))
    tables = {"a": [0.5, 0.5], "b": [[0.5, 0.5], [0.25, 0.75]]}
    told = {"states": {"a": ["0", "1"], "b": ["0", "1"]}, "tables": tables, "arc_strengths": None}
    Path("r/network.json").write_text(json.dumps(document | told))
    assert not loaded_by("from extbnsl.cli import main\nassert main(['export', 'r', '-o', 'x.net']) == 0") & set(HEAVY)
    assert Path("x.net").exists()


@pytest.mark.slow
def test_the_process_of_a_command_loads_no_linear_algebra(tmp_path):
    """The compiler would, where scipy is installed, when it compiles the first kernel."""
    arguments = ["solve", str(EXAMPLE), "--run-dir", str(tmp_path / "run"), "--quiet"]
    code = (
        "import os\n"
        "os._exit = lambda code: print('ended', code)\n"
        f"sys.argv[1:] = {arguments!r}\n"
        "from extbnsl.__main__ import run\n"
        "run()\n"
        "import numba.np.linalg"
    )
    loaded = loaded_by(code)
    assert {"ended 0", "numba.np.linalg"} <= loaded
    assert "scipy.linalg" not in loaded


@pytest.mark.slow
def test_who_embeds_the_package_keeps_scipy(tmp_path):
    """Whether as a library or by the function of the command line."""
    code = (
        "import extbnsl\n"
        "from extbnsl.cli import main\n"
        f"extbnsl.learn(extbnsl.read_csv({str(EXAMPLE)!r}))\n"
        f"assert main(['solve', {str(EXAMPLE)!r}, '--run-dir', {str(tmp_path / 'run')!r}, '--quiet']) == 0\n"
        "assert sys.modules.get('scipy', extbnsl) is not None"
    )
    assert "extbnsl.python.api" in loaded_by(code)


LIGHT_COMMANDS = (
    *("--help", "--version", "solve --help", "", "solve", "solve x --threads none", "solve x --memory 1q"),
    *("estimate --help", "estimate", "export --help", "export", "export r -o x.gif", "export r -o x.csv --smoothing 1"),
    *("query --help", "query", "query r --smoothing -1", "query r --memory 1q", "query r -x"),
    *("campaign --help", "campaign x --cluster nonsense"),
    *("resume --help", "resume none", "status none", "status r", "status r --json", "clean r", "clean r --yes"),
)


def test_help_status_clean_and_usage_errors_load_only_the_standard_library(here):
    stopped(Path("r"))
    heavy = {*HEAVY, "numpy", "psutil", "pandas"}
    code = (
        "from extbnsl.cli import main\n"
        f"for arguments in {LIGHT_COMMANDS!r}:\n"
        "    try: main(arguments.split())\n"
        "    except SystemExit as end: print('ended', end.code)\n"
        f"    assert not {heavy!r} & {{*sys.modules}}, arguments"
    )
    assert not loaded_by(code) & heavy
