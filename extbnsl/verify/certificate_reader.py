"""Certificates read back from the document of a result, which may come from anyone."""

from collections.abc import Sequence
from typing import Annotated, Any

from extbnsl.core.errors import RunDirectoryError
from extbnsl.verify import UNITS_PER_NAT
from extbnsl.verify.branching import Answer, Branching, NodePass, TreeNode
from extbnsl.verify.certificate import MOST_UNITS, Certificate, CertifiedComponent
from extbnsl.verify.document import Names, Number, Things, Whole, value_of
from extbnsl.verify.steps import Cut, Pass, Search, Wholes

Cuts = Annotated[tuple[Cut, ...], "a list of cuts, lists of clusters"]
Multipliers = Annotated[Wholes, lambda own: min(own, default=1) > 0, "a list of whole numbers above 0"]
Least = Annotated[dict[str, Whole], "an object of whole numbers"]
Above = Annotated[Whole, "the place of a node before"]
Answers = Annotated[tuple[str, str, bool] | None, "an answer"]
Places = Annotated[Wholes, "of cuts"]
Step = Pass | Search | Branching


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
    names, steps = _names(document, variables, "which the result does not have"), list[Step]()
    left = set(names)
    for step in _get(document, "steps", Things):
        steps.append(_step(step, left))
        left -= set() if isinstance(steps[-1], Pass) else set(steps[-1].variables)
    bound, least = _get(document, "lower_bound", Number), _get(document, "least", Least)
    if not steps or not isinstance(steps[0], Pass):
        raise _damaged(f"has a proof of {names[0]!r} that does not begin with a pass over all its variables")
    if wrong := set(least) ^ set(names):
        raise _damaged(f"has a 'least' that is not of the variables of its component: see {min(wrong)!r}")
    return CertifiedComponent(names, bound, least, tuple(steps))


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
        guide = _pass(document, set(names))
        return Search(names, _get(document, "lower_bound", Number), guide)
    bound, cuts = _get(document, "lower_bound", Number), _get(document, "cuts", Cuts)
    _check_cuts(cuts, set(names))
    nodes = enumerate(_get(document, "nodes", Things))
    read = tuple(_node(node, number, len(cuts), set(names)) for number, node in nodes)
    if not read:
        raise _damaged("has a tree without nodes")
    return Branching(names, bound, cuts, read)


def _pass(document: Any, known: set[str]) -> Pass:
    """Cuts over some of these variables, with their multipliers."""
    found = Pass(_get(document, "cuts", Cuts), _get(document, "multipliers", Multipliers))
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
