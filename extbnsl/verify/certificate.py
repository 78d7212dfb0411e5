"""Certificates of optimality: what a checker needs to prove again that no network is cheaper.

The variables fall into components. A family (X, P) counts for a cluster C if X is in C and P disjoint from C. The
first member of a cluster in an order has no parent inside C, so of a network's families at least one counts. A cut is
one cluster, with times(X, P) = 1 for families that count and needs = 1, or three, with times(X, P) = ceil(k / 2) for
families that count for k of them and needs = 2: the families of a network sum to at least (1 + 1 + 1) / 2, rounded up.
Cuts with multipliers lambda >= 0 give the reduced costs c'(X, P) = c(X, P) - sum of lambda times(X, P), and mu_X = min
over P of c'(X, P). So the component's families cost at least

    root = sum of lambda needs + sum of mu_X

in every network over all variables; parents may be anywhere, so the components need not be checked for anything, and
their bounds add up. A family with root + c'(X, P) - mu_X >= limit is in no network cheaper than the limit; the next
step is about the families that are left. See extbnsl/bounds/fixing.py for how they are found.

A proof is a list of steps. A *pass* is cuts with multipliers over the variables that are not settled. Two others settle
some variables S: the families of S cost at least so much, whatever parents they have outside of S. So what is settled
and the root of a pass over the others add up. A *search* settles S by going through all orders of S that may cost less,
guided by cuts. *Branching* settles S by a tree: below each inner node X has the parent Y, or has it not; each node has
passes over the families that its answers leave, which hold for all nodes below it; and a node without children has no
network below the bound.

Multipliers are whole units of 2^-36 nats, and the file says so: no sum is rounded. Costs are rounded down to
units, once. Arrays hold units as int64: with the multipliers of a pass at most MOST_UNITS together, of which a family
may be taken twice as much, and costs within MOST_UNITS, no sum leaves the range. Sums over children are Python
integers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.codec import encode
from extbnsl.core.errors import RunDirectoryError
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.document import Names, Number, Things, Whole, Wholes, read_fields, value_of

MOST_UNITS = 1 << 61
BEYOND = f"it has figures beyond {MOST_UNITS // UNITS_PER_NAT:,} nats"


class TooMuch(Exception):
    """There are larger figures, or more families, than a check has room for; a clause that says so."""


def floor_units(nats: float) -> int:
    """The whole units in a finite number of nats."""
    return math.floor(Fraction(nats) * UNITS_PER_NAT)


def ceil_units(nats: float) -> int:
    """The least whole units that make up a finite number of nats."""
    return math.ceil(Fraction(nats) * UNITS_PER_NAT)


def nats_of(units: int) -> float:
    """Units in nats, rounded once."""
    return units / UNITS_PER_NAT


def floors_of(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The whole units in each of some costs in nats, at most MOST_UNITS; raises TooMuch below -MOST_UNITS."""
    most = nats_of(MOST_UNITS)
    if costs.min(initial=0.0) < -most:
        raise TooMuch(BEYOND)
    return np.floor(np.minimum(costs, most) * UNITS_PER_NAT).astype(np.int64)  # the product is exact: a power of two


Cut = tuple[tuple[str, ...], ...]  # the names of the clusters of a cut, one cluster or three


Cuts = Annotated[tuple[Cut, ...], "a list of cuts, lists of clusters"]
Multipliers = Annotated[Wholes, lambda own: min(own, default=1) > 0, "a list of whole numbers above 0"]
Above = Annotated[Whole, "the place of a node before"]
Answers = Annotated[tuple[str, str, bool] | None, "an answer"]
Places = Annotated[Wholes, "of cuts"]


@dataclass(frozen=True)
class Pass:
    """Multipliers for the families that are left. Without cuts it says that every child has its cheapest family."""

    cuts: Cuts
    multipliers: Multipliers  # of each cut, in units


NO_CUTS = Pass((), Wholes())


@dataclass(frozen=True)
class Search:
    """Some variables, whose families cost at least so much, as going through their orders shows."""

    variables: Names
    lower_bound: Number  # in nats
    guide: Pass  # the multipliers that bound what is left

    def document(self) -> dict[str, Any]:
        """As a JSON value, in which the guide is no part of its own."""
        return {"variables": list(self.variables), "lower_bound": self.lower_bound, **encode(self.guide)}


class Answer(NamedTuple):
    """Whether a variable, the child, has another one as a parent."""

    child: str
    parent: str
    has: bool

    def document(self) -> list[Any]:
        """As a JSON value."""
        return list(self)


class NodePass(NamedTuple):
    """A pass of a tree."""

    cuts: tuple[int, ...]  # by places in the cuts of the tree
    multipliers: Multipliers


@dataclass(frozen=True)
class TreeNode:
    """A node of branching."""

    above: int  # the place of the one above it, -1 for the first
    answer: Answer | None  # what is answered there, None for the first
    passes: tuple[NodePass, ...]


@dataclass(frozen=True)
class Branching:
    """Some variables, whose families cost at least so much, as a tree shows."""

    variables: Names
    lower_bound: Number  # in nats
    cuts: Cuts  # of all its passes
    nodes: tuple[TreeNode, ...]  # each after the one above it


Step = Pass | Search | Branching


@dataclass(frozen=True)
class CertifiedComponent:
    """A part of the variables: no network has families of these children that together cost less than a bound."""

    variables: Names
    lower_bound: Number  # in nats
    # for each variable the mu of the first pass, in units, or less; the closer, the less there is to count
    least: Annotated[dict[str, Whole], "an object of whole numbers"]
    steps: tuple[Step, ...]  # the proof, of which the first is a pass

    @property
    def first(self) -> Pass:
        """The pass that the proof begins with."""
        first = self.steps[0]
        assert isinstance(first, Pass), "the first step is a pass"
        return first


@dataclass(frozen=True)
class Certificate:
    """Components that hold each variable once."""

    components: tuple[CertifiedComponent, ...]

    def to_document(self) -> dict[str, Any]:
        """The certificate as a value that `json.dumps` takes; `read_certificate` takes it back."""
        return {"units_per_nat": UNITS_PER_NAT, **encode(self)}


def read_certificate(document: Any, variables: Sequence[str]) -> Certificate:
    """The certificate that `to_document` wrote, of a result on these variables.

    Raises RunDirectoryError, with one sentence, for whatever is no such document: another unit, a key missing, an
    unknown name, a variable twice or in no component, a number that is none, a multiplier that is not above zero, more
    multipliers than exact sums have room for. Whether the claims hold is not looked at.
    """
    if _get(document, "units_per_nat", Whole) != UNITS_PER_NAT:
        raise _damaged(f"has {document['units_per_nat']} units to the nat, not {UNITS_PER_NAT}")
    components = tuple(_component(one, set(variables)) for one in _get(document, "components", Things))
    seen: set[str] = set()
    for name in (name for component in components for name in component.variables):
        if name in seen:
            raise _damaged(f"has the variable {name!r} twice")
        seen.add(name)
    missing = [name for name in variables if name not in seen]
    if missing:
        raise _damaged(f"has the variable {missing[0]!r} in no component")
    return Certificate(components)


def _component(document: Any, variables: set[str]) -> CertifiedComponent:
    """One component; its names are checked, but not against those of other components."""
    left, steps = set(_names(document, variables, "which the result does not have")), list[Step]()
    names = set(left)
    for step in _get(document, "steps", Things):
        steps.append(_step(step, left))
        left -= set() if isinstance(steps[-1], Pass) else set(steps[-1].variables)
    found = read_fields(CertifiedComponent, document, _unfit, steps=tuple(steps))
    if not steps or not isinstance(steps[0], Pass):
        raise _damaged(f"has a proof of {found.variables[0]!r} that does not begin with a pass over all its variables")
    if wrong := set(found.least) ^ names:
        raise _damaged(f"has a 'least' that is not of the variables of its component: see {min(wrong)!r}")
    return found


def _names(document: Any, known: set[str], otherwise: str) -> tuple[str, ...]:
    """The 'variables' of a document, some of those known, each once."""
    names: tuple[str, ...] = _get(document, "variables", Names)
    for name in names:
        if name not in known:
            raise _damaged(f"has the variable {name!r}, {otherwise}")
    if not names or len(set(names)) < len(names):
        raise _damaged("has a list of variables that is empty, or has one of them twice")
    return names


def _step(document: Any, left: set[str]) -> Step:
    """One step, over variables that are left by the steps before it."""
    if not isinstance(document, dict) or "variables" not in document:
        return _pass(document, left)
    names = _names(document, left, "which is not left to be settled")
    if "nodes" not in document:
        return read_fields(Search, document, _unfit, guide=_pass(document, set(names)))
    found = read_fields(Branching, document, _unfit, nodes=())
    _check_cuts(found.cuts, set(names))
    nodes = enumerate(_get(document, "nodes", Things))
    read = tuple(_node(node, number, len(found.cuts), set(names)) for number, node in nodes)
    if not read:
        raise _damaged("has a tree without nodes")
    return replace(found, nodes=read)


def _pass(document: Any, known: set[str]) -> Pass:
    """Cuts over some of these variables, with their multipliers."""
    found = read_fields(Pass, document, _unfit)
    _check_cuts(found.cuts, known)
    _check_multipliers(found.multipliers, len(found.cuts))
    return found


def _check_cuts(cuts: Sequence[Cut], known: set[str]) -> None:
    """Refuse cuts unless they are of one cluster or three, over some of these variables."""
    for cluster in (cluster for cut in cuts for cluster in cut):
        if not cluster:
            raise _damaged("has an empty cluster")
        if len(set(cluster)) < len(cluster):
            raise _damaged(f"has a cluster with a variable twice, that of {cluster[0]!r}")
        if not known.issuperset(cluster):
            stranger = next(name for name in cluster if name not in known)
            raise _damaged(f"has a cluster with {stranger!r}, which its step is not about")
    for cut in cuts:
        if len(cut) not in (1, 3):
            raise _damaged(f"has a cut of {len(cut)} clusters, not one or three")


def _check_multipliers(multipliers: Sequence[int], cuts: int) -> None:
    """Refuse multipliers unless there are so many, and sums of them stay within range."""
    if len(multipliers) != cuts:
        raise _damaged(f"has {cuts} cuts with {len(multipliers)} multipliers")
    if sum(multipliers) > MOST_UNITS:
        raise _damaged(f"has a pass with multipliers of more than {MOST_UNITS} units together")


def _node(document: Any, number: int, cuts: int, known: set[str]) -> TreeNode:
    """The node of that number, of a tree with so many cuts over these variables."""
    above, answer = _get(document, "above", Above), _get(document, "answer", Answers)
    if not min(0, number - 1) <= above < max(number, 0):  # the first node has none above it
        raise _unfit("above", "the place of a node before")
    if (answer is None) != (number == 0) or (answer and (answer[0] == answer[1] or not known.issuperset(answer[:2]))):
        raise _unfit("answer", "an answer")
    passes = []
    for one in _get(document, "passes", Things):
        places = _get(one, "cuts", Places)
        if places and not 0 <= min(places) <= max(places) < cuts:
            raise _unfit("cuts", "of cuts")
        found = NodePass(places, _get(one, "multipliers", Multipliers))
        if len(set(found.cuts)) < len(found.cuts):
            raise _damaged("has a pass with a cut twice")
        _check_multipliers(found.multipliers, len(found.cuts))
        passes.append(found)
    return TreeNode(above, answer and Answer(*answer), tuple(passes))


def _get(document: Any, key: str, kind: Any) -> Any:
    """document[key]; raises RunDirectoryError if it is missing or not of this kind."""
    return value_of(document if isinstance(document, dict) else {}, key, kind, _unfit)


def _unfit(key: str, wanted: str | None) -> RunDirectoryError:
    return _damaged(f"has no {key!r} where it should" if wanted is None else f"has a {key!r} that is not {wanted}")


def _damaged(what: str) -> RunDirectoryError:
    return RunDirectoryError(f"The certificate of the result {what}; it is damaged.")
