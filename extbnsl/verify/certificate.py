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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.errors import RunDirectoryError
from extbnsl.verify.document import is_list, is_names, is_number, is_object, is_whole

UNITS_PER_NAT = 1 << 36
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


@dataclass(frozen=True)
class Pass:
    """Multipliers for the families that are left: cuts, and a multiplier of each, in units, above zero."""

    cuts: tuple[Cut, ...]
    multipliers: tuple[int, ...]


@dataclass(frozen=True)
class Search:
    """Some variables, by their names, whose families cost at least lower_bound, in nats, as going through their orders
    shows; guide: the multipliers that bound what is left."""

    variables: tuple[str, ...]
    lower_bound: float
    guide: Pass


class Answer(NamedTuple):
    """Whether a variable, the child, has another one as a parent."""

    child: str
    parent: str
    has: bool


@dataclass(frozen=True)
class TreeNode:
    """A node of branching: the place of the one above it, -1 for the first; what is answered there, None for the
    first; and its passes, by places in the cuts of the tree and multipliers in units, above zero."""

    above: int
    answer: Answer | None
    passes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]


@dataclass(frozen=True)
class Branching:
    """Some variables, by their names, whose families cost at least lower_bound, in nats, as a tree shows: the cuts of
    all its passes, and its nodes, each after the one above it."""

    variables: tuple[str, ...]
    lower_bound: float
    cuts: tuple[Cut, ...]
    nodes: tuple[TreeNode, ...]


Step = Pass | Search | Branching


@dataclass(frozen=True)
class CertifiedComponent:
    """A part of the variables, by their names: no network has families of these children that together cost less than
    lower_bound, in nats.

    steps: the proof, of which the first is a pass. A pass without cuts says that every child has its cheapest family.
    least: for each of the variables the mu of the first pass, in units, or less; the closer, the less there is to
    count.
    """

    variables: tuple[str, ...]
    lower_bound: float
    steps: tuple[Step, ...]
    least: Mapping[str, int]

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
        return {
            "units_per_nat": UNITS_PER_NAT,
            "components": [
                {
                    "variables": list(one.variables),
                    "lower_bound": one.lower_bound,
                    "least": dict(one.least),
                    "steps": list(map(_step_document, one.steps)),
                }
                for one in self.components
            ],
        }


def bound_of(one: Pass, least: Mapping[str, int]) -> int:
    """What the families of a network cost at least, in units, by the cuts of a pass and the mu of each variable."""
    return needed(one.cuts, one.multipliers) + sum(least.values())


def needed(cuts: Sequence[Cut], multipliers: Sequence[int]) -> int:
    """What the cuts add to a bound, in units: each multiplier as often as its cut needs."""
    return sum(multiplier * ((len(cut) + 1) // 2) for cut, multiplier in zip(cuts, multipliers, strict=True))


def read_certificate(document: Any, variables: Sequence[str]) -> Certificate:
    """The certificate that `to_document` wrote, of a result on these variables.

    Raises RunDirectoryError, with one sentence, for whatever is no such document: another unit, a key missing, an
    unknown name, a variable twice or in no component, a number that is none, a multiplier that is not above zero, more
    multipliers than exact sums have room for. Whether the claims hold is not looked at.
    """
    if _get(document, "units_per_nat", is_whole, "a whole number") != UNITS_PER_NAT:
        raise _damaged(f"has {document['units_per_nat']} units to the nat, not {UNITS_PER_NAT}")
    components = tuple(_component(c, set(variables)) for c in _get(document, "components", is_list, "a list"))
    seen: set[str] = set()
    for name in (name for component in components for name in component.variables):
        if name in seen:
            raise _damaged(f"has the variable {name!r} twice")
        seen.add(name)
    missing = [name for name in variables if name not in seen]
    if missing:
        raise _damaged(f"has the variable {missing[0]!r} in no component")
    return Certificate(components)


def _step_document(step: Step) -> dict[str, Any]:
    if isinstance(step, Pass):
        return {"cuts": _listed(step.cuts), "multipliers": list(step.multipliers)}
    settled = {"variables": list(step.variables), "lower_bound": step.lower_bound}
    if isinstance(step, Search):
        return {**settled, **_step_document(step.guide)}
    nodes = [
        {
            "above": node.above,
            "answer": node.answer and list(node.answer),
            "passes": [{"cuts": list(cuts), "multipliers": list(multipliers)} for cuts, multipliers in node.passes],
        }
        for node in step.nodes
    ]
    return {**settled, "cuts": _listed(step.cuts), "nodes": nodes}


def _listed(cuts: tuple[Cut, ...]) -> list[list[list[str]]]:
    return [[list(cluster) for cluster in cut] for cut in cuts]


def _component(document: Any, variables: set[str]) -> CertifiedComponent:
    """One component; its names are checked, but not against those of other components."""
    names = _names(document, variables, "which the result does not have")
    lower_bound = float(_get(document, "lower_bound", is_number, "a finite number"))
    left, steps = set(names), []
    for step in _get(document, "steps", is_list, "a list"):
        steps.append(_step(step, left))
        left -= set() if isinstance(steps[-1], Pass) else set(steps[-1].variables)
    if not steps or not isinstance(steps[0], Pass):
        raise _damaged(f"has a proof of {names[0]!r} that does not begin with a pass over all its variables")
    least = _get(document, "least", _is_whole_by_name, "an object of whole numbers")
    if wrong := set(least) ^ set(names):
        raise _damaged(f"has a 'least' that is not of the variables of its component: see {min(wrong)!r}")
    return CertifiedComponent(names, lower_bound, tuple(steps), least)


def _names(document: Any, known: set[str], otherwise: str) -> tuple[str, ...]:
    """The 'variables' of a document, some of those known, each once."""
    names = tuple(_get(document, "variables", is_names, "a list of names"))
    for name in names:
        if name not in known:
            raise _damaged(f"has the variable {name!r}, {otherwise}")
    if not names or len(set(names)) < len(names):
        raise _damaged("has a list of variables that is empty, or has one of them twice")
    return names


def _step(document: Any, left: set[str]) -> Step:
    """One step, over variables that are left by the steps before it."""
    if not is_object(document) or "variables" not in document:
        return _pass(document, left)
    names = _names(document, left, "which is not left to be settled")
    lower_bound = float(_get(document, "lower_bound", is_number, "a finite number"))
    if "nodes" not in document:
        return Search(names, lower_bound, _pass(document, set(names)))
    cuts = _cuts(document, set(names))
    nodes = _get(document, "nodes", is_list, "a list")
    read = tuple(_node(node, number, len(cuts), set(names)) for number, node in enumerate(nodes))
    if not read:
        raise _damaged("has a tree without nodes")
    return Branching(names, lower_bound, cuts, read)


def _pass(document: Any, known: set[str]) -> Pass:
    """Cuts over some of these variables, with their multipliers."""
    cuts = _cuts(document, known)
    return Pass(cuts, _multipliers(document, len(cuts)))


def _cuts(document: Any, known: set[str]) -> tuple[Cut, ...]:
    """Cuts over some of these variables."""
    cuts = _get(document, "cuts", lambda v: is_list(v) and all(map(_is_cut, v)), "a list of cuts, lists of clusters")
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
    return tuple(tuple(tuple(cluster) for cluster in cut) for cut in cuts)


def _multipliers(document: Any, cuts: int) -> tuple[int, ...]:
    """The multipliers of so many cuts."""
    multipliers = _get(document, "multipliers", _is_positives, "a list of whole numbers above 0")
    if len(multipliers) != cuts:
        raise _damaged(f"has {cuts} cuts with {len(multipliers)} multipliers")
    if sum(multipliers) > MOST_UNITS:
        raise _damaged(f"has a pass with multipliers of more than {MOST_UNITS} units together")
    return tuple(multipliers)


def _node(document: Any, number: int, cuts: int, known: set[str]) -> TreeNode:
    """The node of that number, of a tree with so many cuts over these variables."""
    least = min(0, number - 1)  # the first node has none above it
    above = _get(document, "above", lambda v: is_whole(v) and least <= v < max(number, 0), "the place of a node before")
    answer = _get(document, "answer", lambda v: _is_answer(v, known) if number else v is None, "an answer")
    passes = []
    for one in _get(document, "passes", is_list, "a list"):
        places = _get(one, "cuts", lambda v: is_list(v) and all(is_whole(i) and 0 <= i < cuts for i in v), "of cuts")
        if len(set(places)) < len(places):
            raise _damaged("has a pass with a cut twice")
        passes.append((tuple(places), _multipliers(one, len(places))))
    return TreeNode(above, answer and Answer(*answer), tuple(passes))


def _is_answer(value: Any, known: set[str]) -> bool:
    """Whether a JSON value is a child, another variable and a truth value."""
    if not (is_list(value) and len(value) == 3 and is_names(value[:2]) and isinstance(value[2], bool)):
        return False
    return value[0] != value[1] and known.issuperset(value[:2])


def _get(document: Any, key: str, fits: Callable[[Any], bool], wanted: str) -> Any:
    """document[key]; raises RunDirectoryError if it is missing or does not fit."""
    if not is_object(document) or key not in document:
        raise _damaged(f"has no {key!r} where it should")
    if not fits(document[key]):
        raise _damaged(f"has a {key!r} that is not {wanted}")
    return document[key]


def _damaged(what: str) -> RunDirectoryError:
    return RunDirectoryError(f"The certificate of the result {what}; it is damaged.")


def _is_cut(value: Any) -> bool:
    """Whether a JSON value is a list of lists of names."""
    return is_list(value) and all(map(is_names, value))


def _is_positives(value: Any) -> bool:
    """Whether a JSON value is a list of whole numbers above zero."""
    return is_list(value) and all(is_whole(v) and v > 0 for v in value)


def _is_whole_by_name(value: Any) -> bool:
    """Whether a JSON value maps names to whole numbers."""
    return is_object(value) and all(map(is_whole, value.values()))
