"""Every name in a run directory and in a scratch folder: minted here, and parsed here.

    manifest.json  lock  status.json  log.jsonl  solve.log  layers.png  ranks.png  arcs.png
    report.html  network.svg                the page about the run, and the drawing of its network
    result.json  network.bif  network.json  network.dot
    networks.csv  arcs.csv  network-R.bif  network-R.json  network-R.dot
                                            of a search for the k best networks; R, from 2, is a network's place
    bootstrap.csv  bootstrap.jsonl          how sure arcs are, and the networks of resamples
    rounds.jsonl                            the rounds of EM, with their networks and parameters
    posterior.csv  families.csv  samples.jsonl
                                            of all networks: how likely arcs and families are, and networks drawn
    scores[-N].h5                           local scores
    bounds-K-S-V.h5  bounds-K-S-V-P[-N].h5  what guides search S of component K, and the families of its pieces P
    pieces-K-S-V.h5  pieces-K-S-V-P[-N].h5  the same before that search; V counts what was written
    families-K-S[-N].h5                     the score cache of layered parent graphs
    explored-V.h5  orders-V.h5              what is known of some children, and the orders, of an approximation
    within-V[-N].h5  ranking-V.h5           families within a slack, and what is found of the k best networks
    sums-V.h5                               a part of what is summed over all networks
    layers/cK-S-L-H[-N].h5                  varsets and leaves of some nodes of layer L, from the high part H on
    runs/cK-S-L-H[-N].h5                    their costs
    runs/counting-L-WHAT-V-N[-R].h5         of an enumeration of parent sets: what belongs to size L, in version V,
                                            and R rows of it
    .NAME.PROCESS.tmp                       what is to become NAME, for those that are written whole
    RUN-X/  and in it  extbnsl-scratch      a scratch folder with the arrays of RUN, and its mark

N numbers files that were cut, from 1. Whoever deletes asks here whether a name is one of these.
"""

import re

MANIFEST = "manifest.json"
LOCK = "lock"
STATUS = "status.json"
EVENTS_LOG, TEXT_LOG = LOGS = ("log.jsonl", "solve.log")
DRAWING = "layers.png"
RANKS_DRAWING = "ranks.png"
ARCS_DRAWING = "arcs.png"
NETWORK_DRAWING = "network.svg"
DRAWN = ".svg"  # the ending of drawings of networks
PAGE = "report.html"
RESULT = "result.json"
BIF, DOCUMENT, DOT = NETWORKS = ("network.bif", "network.json", "network.dot")
OUTPUTS = (RESULT, *NETWORKS)
RANKED, ARCS = TABLES = ("networks.csv", "arcs.csv")  # of the k best networks
ARC_FREQUENCIES, RESAMPLES = BOOTSTRAP = ("bootstrap.csv", "bootstrap.jsonl")  # of resamples
ROUNDS = "rounds.jsonl"  # of EM
# of all networks
POSTERIOR_ARCS, POSTERIOR_FAMILIES, SAMPLES = OF_ALL = ("posterior.csv", "families.csv", "samples.jsonl")
FOLDERS = LAYERS, RUNS = ("layers", "runs")  # of arrays, in the folder of a run's store

MARK = "extbnsl-scratch"  # in a scratch folder

SCORES = "scores"

_DRAWINGS = (DRAWING, RANKS_DRAWING, ARCS_DRAWING, NETWORK_DRAWING)
_WHOLE = (MANIFEST, STATUS, *_DRAWINGS, PAGE, *OUTPUTS, *TABLES, *BOOTSTRAP, ROUNDS, *OF_ALL)
_FURTHER = r"network-([2-9]|[1-9]\d+)\.(bif|json|dot)"
_FURTHER_NETWORKS = re.compile(_FURTHER, re.ASCII)
_NODES = r"c\d+-\d+-\d{2,}-[0-9a-f]{12,16}(-[0-9a-f]{8})?(-\d+)?"
_ARRAYS = re.compile(
    rf"({SCORES}(-\d+)?|(bounds|pieces)-\d+-\d+-\d+(-\d+){{0,2}}|families-\d+-\d+(-\d+)?"
    r"|(explored|orders|ranking|sums)-\d+|within-\d+(-\d+)?"
    rf"|{LAYERS}/{_NODES}|{RUNS}/{_NODES}|{RUNS}/counting-\d{{2,}}-[a-z]+-\d+-\d+(-\d+)?)\.h5",
    re.ASCII,
)
_TEMPORARY = re.compile(rf"\.({'|'.join(map(re.escape, (*_WHOLE, MARK)))}|{_FURTHER})\.\d+\.tmp", re.ASCII)
_SCRATCH = re.compile(r".+-[0-9a-f]{8}", re.ASCII | re.DOTALL)


def of_network(place: int) -> tuple[str, str, str]:
    """What NETWORKS are called for the network at this place among the best, counted from 1: the best has the plain
    names."""
    if place == 1:
        return NETWORKS
    bif, document, dot = (name.replace(".", f"-{place}.") for name in NETWORKS)
    return bif, document, dot


def is_of_some(name: str) -> bool:
    """Whether only some results name a file so: those of several networks, and those with resamples."""
    return name in (*TABLES, *BOOTSTRAP, ROUNDS, *OF_ALL) or _FURTHER_NETWORKS.fullmatch(name) is not None


# What stems and files are called. No version is written twice; `of` is what `search` says.
search = "{}-{}".format  # component, number: what is in the names of the files of a component's search, both from 1
bounds = "bounds-{}-{}".format  # of, version: the stem for what guides a search
pieces = "pieces-{}-{}".format  # of, version: the stem for what is left of a component before a search
piece = "{}-{}".format  # stem, number: the stem for the families of a piece, below the stem of all pieces
families = "families-{}".format  # of: the stem of the score cache of a search
explored = "explored-{}.h5".format  # version: the file for what an exploration knows of some children
orders = "orders-{}.h5".format  # version: the file for the orders of an approximation
families_within = "within-{}".format  # version: the stem for the families within a slack
ranking = "ranking-{}.h5".format  # version: the file for a part of what is found of the k best networks
sums = "sums-{}.h5".format  # version: the file for a part of what is summed over all networks
layer = "c{}-{:02}".format  # of, size: the stem for the nodes of a layer of a search
nodes = "{}-{:012x}".format  # layer, high: the stem for nodes of a layer from the high part `high` on
apart = "{}-{}".format  # stem, token: the stem for what one of several makes that do a task; 8 hexadecimal digits
part = "{}-{}".format  # stem, number: the stem for a part of what a task has made
varsets_file = (LAYERS + "/{}.h5").format  # stem: the file for the varsets and leaves of nodes
costs_file = (RUNS + "/{}.h5").format  # stem: the file for the costs of nodes
temporary = ".{}.{}.tmp".format  # name, process: what a file is called while a process writes it
scratch = "{}-{}".format  # run, token: the scratch folder of a run directory; the token is of 8 hexadecimal digits


def counting(what: str, version: int, *numbers: int) -> str:
    """The file for a piece of what an enumeration has found; `what` begins with a size of two digits or more."""
    return f"{RUNS}/counting-{'-'.join(map(str, (what, version, *numbers)))}.h5"


def numbered(stem: str, number: int) -> str:
    """The file for one of several pieces of arrays, counted from 0."""
    return f"{stem}-{number}.h5" if number else f"{stem}.h5"


def is_arrays(name: str) -> bool:
    """Whether a run names a file of arrays so, relative to the folder of its store."""
    return _ARRAYS.fullmatch(name) is not None


def seen(process: int) -> str:
    """The file by which other machines see that they have a folder; temporary."""
    return f".{MARK}.{process}.tmp"


def is_temporary(name: str) -> bool:
    """Whether a run names a file so while it is being written."""
    return _TEMPORARY.fullmatch(name) is not None


def is_in_store(name: str) -> bool:
    """Whether a run names so what it has directly in the folder of its arrays, but for the mark."""
    return name in FOLDERS or is_arrays(name) or is_temporary(name)


def is_scratch_path(path: str) -> bool:
    """Whether a scratch folder may have this absolute path."""
    folder, _, name = path.rpartition("/")
    plain = path.startswith("/") and "\0" not in path and not {"", ".", ".."} & set(folder.split("/")[1:])
    return plain and _SCRATCH.fullmatch(name) is not None


def is_drawing_path(path: str) -> bool:
    """Whether a run may remember this absolute path of a drawing of its network."""
    return path.startswith("/") and "\0" not in path and path.lower().endswith(DRAWN)


def is_own(name: str) -> bool:
    """Whether a run names any file so, but for the lock."""
    whole = name in _WHOLE or _FURTHER_NETWORKS.fullmatch(name) is not None
    return whole or name in LOGS or is_arrays(name) or is_temporary(name)
