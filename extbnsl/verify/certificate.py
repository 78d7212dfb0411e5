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

Multipliers are whole units of 2^-36 nats, and the file says so: their sums are exact, see `units`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from extbnsl.errors import RunDirectoryError
from extbnsl.verify.units import MOST_UNITS, UNITS_PER_NAT
from extbnsl.verify.values import is_list, is_names, is_number, is_object, is_whole

CLUSTERS = "clusters"  # a proof that the certificate holds
SEARCH = "search"  # a proof that the certificate does not hold
PROOFS = (CLUSTERS, SEARCH)

Cut = tuple[tuple[str, ...], ...]  # the names of the clusters of a cut, one cluster or three


@dataclass(frozen=True)
class Pass:
    """Multipliers for the families that are left: cuts, and a multiplier of each, in units, above zero."""

    cuts: tuple[Cut, ...]
    multipliers: tuple[int, ...]


@dataclass(frozen=True)
class CertifiedComponent:
    """A part of the variables, by their names: no network has families of these children that together cost less than
    lower_bound, in nats.

    proof: 'clusters', by one pass or more, or 'search', by none; see `repeat` for what can be said of that. A pass
    without cuts says that every child has its cheapest family. least: for each of the variables the mu of the first
    pass, in units, or less; the closer, the less there is to count. Empty without passes.
    """

    variables: tuple[str, ...]
    lower_bound: float
    proof: str
    passes: tuple[Pass, ...] = ()
    least: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Certificate:
    """Components that hold each variable once."""

    components: tuple[CertifiedComponent, ...]

    def to_document(self) -> dict[str, Any]:
        """The certificate as a value that `json.dumps` takes; `read_certificate` takes it back."""
        return {
            "units_per_nat": UNITS_PER_NAT,
            "components": [_component_document(component) for component in self.components],
        }


def bound_of(one: Pass, least: Mapping[str, int]) -> int:
    """What the families of a network cost at least, in units, by the cuts of a pass and the mu of each variable."""
    needs = (multiplier * ((len(cut) + 1) // 2) for cut, multiplier in zip(one.cuts, one.multipliers, strict=True))
    return sum(needs) + sum(least.values())


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


def _component_document(component: CertifiedComponent) -> dict[str, Any]:
    return {
        "variables": list(component.variables),
        "lower_bound": component.lower_bound,
        "proof": component.proof,
        "least": dict(component.least),
        "passes": [
            {
                "cuts": [[list(cluster) for cluster in cut] for cut in one.cuts],
                "multipliers": list(one.multipliers),
            }
            for one in component.passes
        ],
    }


def _component(document: Any, variables: set[str]) -> CertifiedComponent:
    """One component; its names are checked, but not against those of other components."""
    names = tuple(_get(document, "variables", is_names, "a list of names"))
    unknown = [name for name in names if name not in variables]
    if unknown:
        raise _damaged(f"has the variable {unknown[0]!r}, which the result does not have")
    if not names:
        raise _damaged("has a component without variables")
    lower_bound = float(_get(document, "lower_bound", is_number, "a finite number"))
    proof = _get(document, "proof", lambda v: v in PROOFS, "one of " + ", ".join(map(repr, PROOFS)))
    passes = tuple(_pass(p, names) for p in _get(document, "passes", is_list, "a list"))
    if (proof == CLUSTERS) != bool(passes):
        raise _damaged(f"has a proof by {proof!r} of {names[0]!r} with {len(passes)} passes")
    least = _get(document, "least", _is_whole_by_name, "an object of whole numbers")
    if wrong := set(least) ^ set(names if passes else ()):
        raise _damaged(f"has a 'least' that is not of the variables of its component: see {min(wrong)!r}")
    return CertifiedComponent(names, lower_bound, proof, passes, least)


def _pass(document: Any, variables: Sequence[str]) -> Pass:
    """One pass of the component with these variables."""
    known = set(variables)
    cuts = _get(document, "cuts", lambda v: is_list(v) and all(map(_is_cut, v)), "a list of cuts, lists of clusters")
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
    multipliers = _get(document, "multipliers", _is_positives, "a list of whole numbers above 0")
    if len(multipliers) != len(cuts):
        raise _damaged(f"has {len(cuts)} cuts with {len(multipliers)} multipliers")
    if sum(multipliers) > MOST_UNITS:
        raise _damaged(f"has a pass with multipliers of more than {MOST_UNITS} units together")
    return Pass(tuple(tuple(tuple(cluster) for cluster in cut) for cut in cuts), tuple(multipliers))


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
