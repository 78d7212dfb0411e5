"""Run directories for the tests, as a run leaves them, made without solving anything."""

from extbnsl.core.codec import decode, encode
from extbnsl.files import manifest as checkpoint
from extbnsl.files.arrays import StoredFile
from extbnsl.files.atomic import checksum
from extbnsl.files.manifest import Manifest, RunState
from extbnsl.files.store import Scratch, Store, make_scratch
from extbnsl.proof.methods import Methods
from extbnsl.proof.standing import Standing
from extbnsl.run import directory as directory_module

CLAIM = {"score": "mdl", "max_parents": 3}
METHODS = Methods("static", ancestral=False, path_extension=False, parent_graph="layered", seed=5).document()
OPTIONS = CLAIM | METHODS
DATA_OPTIONS = {"header": None, "delimiter": None, "missing": "refuse", "discretise": None, "states": None}
BUDGETS = {"memory": 1 << 30, "disk": None, "threads": 1, "compress": False}


def remembered(source="data.csv", **changes):
    """What solve is asked to remember of a run."""
    run = {
        "input": str(source),
        "data_options": DATA_OPTIONS,
        "budgets": BUDGETS,
        "command": f"extbnsl solve {source}",
        "version": "0.1.0",
        "plot": None,
    }
    return run | changes


STANDING = encode(Standing())


def state(**changes):
    """The state of a run that stopped in its search after 100 seconds, as a manifest has it; what is no part of it
    changes its standing."""
    spent = {"stages": {}, "seconds": 100.0, "cpu_seconds": 100.0, "peak_rss": 1 << 20, "peak_disk": 1 << 20}
    whole = {
        "kind": "solve",
        "digest": "0" * 64,
        "claim": CLAIM,
        "methods": METHODS,
        "scope": {},
        "run": remembered(),
        "status": "time_limit",
        "phase": "search",
        "upper_bound": 20.0,
        "lower_bound": 10.0,
        "seconds_left": None,
        "spent": spent | {key: changes[key] for key in changes if key in spent},
        "standing": STANDING | {key: changes[key] for key in changes if key in STANDING},
    }
    assert changes.keys() <= {*whole, *spent, *STANDING}, "names of a state"
    return whole | {key: changes[key] for key in changes if key in whole}


def commit(
    path, scratch=None, names=("scores.h5", "layers/c1-1-03-000000000000.h5", "runs/c1-1-04-000000000000.h5"), **changes
):
    """Put a checkpoint with files of these names into a run directory, or below it into its folder `scratch`."""
    place = path if scratch is None else scratch
    own = None if scratch is None else marked(scratch)
    files = []
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(name.encode())
        files.append(StoredFile(name, len(name), checksum(name.encode())))
    store = Store(place, 1 << 20)
    store.add(files)
    manifest = Manifest(decode(RunState, state(**changes)), tuple(files), own)
    checkpoint.commit(path, store, manifest)
    return manifest


def marked(scratch):
    """A scratch folder, made and with a mark that follows from its path."""
    scratch.parent.mkdir(exist_ok=True)
    own = Scratch(str(scratch), checksum(str(scratch).encode())[:32])
    make_scratch(own)
    return own


def stopped(path, scratch=None, **changes):
    """Make `path` a run directory with logs and a checkpoint, and no result yet."""
    with directory_module.create(path, "data.csv") as run:
        run.begin()
        run.append("solve.log", "a line")
        run.append("log.jsonl", "{}")
        commit(path, scratch, **changes)
    return path
