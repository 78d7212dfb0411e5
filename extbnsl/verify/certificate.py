"""Certificates of optimality: what a checker needs to prove again, without a search, that no network is cheaper.

The variables fall into components. A family (X, P) counts for a cluster C if X is in C and P disjoint from C. The
first member of a cluster in an order has no parent inside it, so of a network's families at least one counts. A cut is
one cluster, with times(X, P) = 1 for families that count and needs = 1, or three, with times(X, P) = ceil(k / 2) for
families that count for k of them and needs = 2: the families of a network sum to at least (1 + 1 + 1) / 2, rounded up.
Cuts with multipliers lambda >= 0 give the reduced costs c'(X, P) = c(X, P) - sum of lambda times(X, P), and mu_X = min
over P of c'(X, P). So the component's families cost at least

    root = sum of lambda needs + sum of mu_X

in every network over all variables; parents may be anywhere, so the components need not be checked for anything, and
their bounds add up. A family with root + c'(X, P) - mu_X >= limit is in no network cheaper than the limit; the next
pass has multipliers for the families that are left. See extbnsl/bounds/fixing.py for how they are found.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.errors import RunDirectoryError
from extbnsl.kernels.varsets import unpack

CLUSTERS = "clusters"  # a proof that the certificate holds
SEARCH = "search"  # a proof that only another search can repeat
PROOFS = (CLUSTERS, SEARCH)
MOST = 1e100  # nats: no cost comes near it, and sums stay finite


@dataclass(frozen=True)
class Pass:
    """Multipliers for the families that are left: cuts, each of one cluster of names or three, multipliers > 0 of each
    and least, the mu of each of the component's variables; in nats."""

    cuts: tuple[tuple[tuple[str, ...], ...], ...]
    multipliers: tuple[float, ...]
    least: Mapping[str, float]

    @property
    def root(self) -> float:
        """What the pass claims that every network over the families left costs at least, in nats."""
        return bound_of(self, self.least)


@dataclass(frozen=True)
class CertifiedComponent:
    """A part of the variables, by their names, with the cost in nats of the network's families of these children.

    proof: 'clusters', by one pass or more, or 'search', by none. A pass without cuts says that every child has its
    cheapest family.
    """

    variables: tuple[str, ...]
    upper_bound: float
    proof: str
    passes: tuple[Pass, ...] = ()

    @property
    def limit(self) -> float:
        """No network has families of these children that cost less than this, in nats, if the proof holds."""
        return self.upper_bound - (1e-9 * abs(self.upper_bound) + 1e-9)


@dataclass(frozen=True)
class Certificate:
    """Components that hold each variable once."""

    components: tuple[CertifiedComponent, ...]

    def to_document(self) -> dict[str, Any]:
        """The certificate as a value that `json.dumps` takes; `read_certificate` takes it back."""
        return {"components": [_component_document(component) for component in self.components]}


def bound_of(one: Pass, least: Mapping[str, float]) -> float:
    """What the families of a network cost at least, in nats, by the cuts of a pass and the mu of each variable."""
    needs = [multiplier * ((len(cut) + 1) // 2) for cut, multiplier in zip(one.cuts, one.multipliers, strict=True)]
    return math.fsum((*needs, *least.values()))


def pass_of(
    names: Sequence[str], cuts: NDArray[np.uint64], multipliers: NDArray[np.float64], least: NDArray[np.float64]
) -> Pass:
    """The pass of cuts (k, 3, words) uint64, bit i for variable names[i], multipliers (k,) and least (n,) in nats.

    Cuts without a multiplier are left out.
    """
    used = [(cut, float(value)) for cut, value in zip(cuts, multipliers, strict=True) if value > 0.0]
    return Pass(
        tuple(tuple(tuple(names[i] for i in unpack(row)) for row in cut if row.any()) for cut, _ in used),
        tuple(value for _, value in used),
        {name: float(mu) for name, mu in zip(names, least, strict=True)},
    )


def read_certificate(document: Any, variables: Sequence[str]) -> Certificate:
    """The certificate that `to_document` wrote, of a result on these variables.

    Raises RunDirectoryError, with one sentence, for whatever is no such document: a key missing, an unknown name, a
    variable twice or in no component, a number that is none, a multiplier that is not above zero. Whether the claims
    hold is not looked at.
    """
    components = tuple(_component(c, set(variables)) for c in _get(document, "components", _is_list, "a list"))
    seen: set[str] = set()
    for name in (name for component in components for name in component.variables):
        if name in seen:
            raise _damaged(f"has the variable {name!r} twice")
        seen.add(name)
    missing = [name for name in variables if name not in seen]
    if missing:
        raise _damaged(f"has the variable {missing[0]!r} in no component")
    return Certificate(components)


def _component_document(component: CertifiedComponent) -> dict[str, Any]:
    return {
        "variables": list(component.variables),
        "upper_bound": component.upper_bound,
        "proof": component.proof,
        "passes": [
            {
                "cuts": [[list(cluster) for cluster in cut] for cut in one.cuts],
                "multipliers": list(one.multipliers),
                "least": dict(one.least),
            }
            for one in component.passes
        ],
    }


def _component(document: Any, variables: set[str]) -> CertifiedComponent:
    """One component; its names are checked, but not against those of other components."""
    names = tuple(_get(document, "variables", _is_names, "a list of names"))
    unknown = [name for name in names if name not in variables]
    if unknown:
        raise _damaged(f"has the variable {unknown[0]!r}, which the result does not have")
    if not names:
        raise _damaged("has a component without variables")
    upper_bound = float(_get(document, "upper_bound", _is_finite, "a finite number"))
    proof = _get(document, "proof", lambda v: v in PROOFS, "one of " + ", ".join(map(repr, PROOFS)))
    passes = tuple(_pass(p, names) for p in _get(document, "passes", _is_list, "a list"))
    if (proof == CLUSTERS) != bool(passes):
        raise _damaged(f"has a proof by {proof!r} of {names[0]!r} with {len(passes)} passes")
    return CertifiedComponent(names, upper_bound, proof, passes)


def _pass(document: Any, variables: Sequence[str]) -> Pass:
    """One pass of the component with these variables."""
    known = set(variables)
    cuts = _get(document, "cuts", lambda v: _is_list(v) and all(map(_is_cut, v)), "a list of cuts, lists of clusters")
    for cluster in (cluster for cut in cuts for cluster in cut):
        if not cluster:
            raise _damaged("has an empty cluster")
        if len(set(cluster)) < len(cluster):
            raise _damaged(f"has a cluster with a variable twice, that of {cluster[0]!r}")
        if not known.issuperset(cluster):
            stranger = next(name for name in cluster if name not in known)
            raise _damaged(f"has a cluster with {stranger!r}, which is not in its component")
    for cut in cuts:
        if len(cut) not in (1, 3):
            raise _damaged(f"has a cut of {len(cut)} clusters, not one or three")
    multipliers = _get(document, "multipliers", _is_positives, "a list of finite numbers above 0")
    if len(multipliers) != len(cuts):
        raise _damaged(f"has {len(cuts)} cuts with {len(multipliers)} multipliers")
    least = _get(document, "least", _is_numbers_by_name, "an object of finite numbers")
    if set(least) != known:
        wrong = min(set(least) ^ known)
        raise _damaged(f"has a pass whose 'least' is not of the variables of its component: see {wrong!r}")
    return Pass(
        tuple(tuple(tuple(cluster) for cluster in cut) for cut in cuts),
        tuple(float(value) for value in multipliers),
        {name: float(least[name]) for name in variables},
    )


def _get(document: Any, key: str, fits: Callable[[Any], bool], wanted: str) -> Any:
    """document[key]; raises RunDirectoryError if it is missing or does not fit."""
    if not isinstance(document, dict) or key not in document:
        raise _damaged(f"has no {key!r} where it should")
    if not fits(document[key]):
        raise _damaged(f"has a {key!r} that is not {wanted}")
    return document[key]


def _damaged(what: str) -> RunDirectoryError:
    return RunDirectoryError(f"The certificate of the result {what}; it is damaged.")


def _is_list(value: Any) -> bool:
    """Whether a JSON value is a list."""
    return isinstance(value, list)


def _is_names(value: Any) -> bool:
    """Whether a JSON value is a list of names."""
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_cut(value: Any) -> bool:
    """Whether a JSON value is a list of lists of names."""
    return isinstance(value, list) and all(map(_is_names, value))


def _is_finite(value: Any) -> bool:
    """Whether a JSON value is a number that can be a cost; nan and infinity are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MOST


def _is_positives(value: Any) -> bool:
    """Whether a JSON value is a list of finite numbers above zero."""
    return isinstance(value, list) and all(_is_finite(v) and v > 0 for v in value)


def _is_numbers_by_name(value: Any) -> bool:
    """Whether a JSON value maps names to finite numbers."""
    return isinstance(value, dict) and all(map(_is_finite, value.values()))
