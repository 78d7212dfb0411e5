"""What is said of a result that was checked: lines of a section and a sentence each, in a fixed order."""

from collections.abc import Iterable, Iterator, Sequence

from extbnsl.core.claims import (
    DISK_LIMIT,
    HEURISTIC,
    INTERRUPTED,
    MEMORY_LIMIT,
    NO_WORKERS,
    NOT_PROVED,
    OPTIMAL,
    TIME_LIMIT,
)
from extbnsl.core.figures import in_full, share_between
from extbnsl.verify.document import Asked, Summary
from extbnsl.verify.question import (
    COUNT,
    MISSING,
    OF_ALL,
    SHARES,
    Question,
    Unchecked,
    digest_of,
    knowledge_digest,
    shown,
)
from extbnsl.verify.recount import WAYS
from extbnsl.verify.statement import Statement

CLAIM, RECOMPUTED, PROOF, UNCHECKED = SECTIONS = ("claim", "recomputed", "proof", "not checked")
MOST_NAMES = 10  # that a sentence lists
MOST_PARTS = 40  # of one kind of knowledge that are told one by one
SAID = 1e-3  # nats: rounding that comes to more is told
NOTHING = "nothing"  # that a section has to say
ENDS = {
    HEURISTIC: "the method proves nothing of other networks",
    TIME_LIMIT: "the time was over",
    MEMORY_LIMIT: "the memory did not do",
    DISK_LIMIT: "the disk did not do",
    INTERRUPTED: "it was interrupted",
    NO_WORKERS: "the workers of its cluster were gone",
    NOT_PROVED: "there was no method to go on with",
}
# Parts of a question, in the order in which they are told.
OF_NETWORKS = (
    *("score", "ess", "penalty", "gamma", "parent-cost", "max-parents", "knowledge"),
    *("variables", "records", "weights", "data-options", "digest", "resamples", "prior", "within"),
)
OF_LISTS = ("k", "within-factor", "classes")

Line = tuple[str, str]


def lines_of(stated: Statement, source: str) -> Iterator[Line]:
    """All there is to say, as (section, sentence); source: what the data are called. Of a result that does not hold,
    what it claims."""
    yield from ((CLAIM, printable(sentence)) for sentence in claim_lines(stated))
    if stated.holds:
        unchecked = (_not_checked(one, stated.question) for one in stated.unchecked)
        parts = (_recomputed(stated, source), _proof(stated), unchecked)
        for section, sentences in zip(SECTIONS[1:], parts, strict=True):
            yield from ((section, printable(sentence)) for sentence in list(sentences) or [NOTHING])


def printable(sentence: str) -> str:
    """The sentence on one line: a name or an option that holds a line end begins no line of its own."""
    return "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in sentence)


def claim_lines(stated: Statement) -> Iterator[str]:
    """What the result claims: a sentence, and then all that changes what it means, each as KEY: VALUE."""
    question, claim = stated.question, stated.question.claim
    summary = None if stated.listed is None else stated.listed.summary
    yield _headline(question, summary)
    yield f"status: {claim.status}"
    yield f"cost: {claim.cost!r} nats, minimised"
    if claim.status != OPTIMAL:
        yield f"lower-bound: {claim.lower_bound!r} nats"
    arcs = sum(map(len, claim.parents.values()))
    digest = digest_of(sorted((child, sorted(own)) for child, own in claim.parents.items()))
    yield f"network: {in_full(arcs, 'arc')} (digest {digest})"
    if claim.order_optimal:
        yield f"order: {_listed(claim.order, MOST_PARTS)} (digest {digest_of(claim.order)})"
    told = question.parts() | {"knowledge": knowledge_told(question)}
    for key in (*OF_NETWORKS, *(OF_LISTS if question.asked is not None else ())):
        yield f"{key}: {shown(told[key])}"
    if summary is not None:
        within = "" if summary.within is None else f" within {summary.within!r} nats of the best"
        of = "" if summary.count.networks is None else f" of {summary.count.networks:,}"
        yield f"listed: {summary.count.listed:,}{of}{within}"
        of_all = summary.count.of_all
        yield f"found-of-all: {'none' if of_all is None else f'{of_all.at_least!r} to {of_all.at_most!r}'}"


def _headline(question: Question, summary: Summary | None) -> str:
    """What the network, or the list, is said to be."""
    which, status = _which(question), question.claim.status
    if question.asked is not None and summary is not None:
        so_far = "" if status == OPTIMAL else f", as far as it came: {ENDS.get(status, status)}"
        return f"{_several(question.asked, summary)}{which}{so_far}."
    if status == OPTIMAL:
        return f"The best network{which}."
    if question.claim.order_optimal:
        return f"The best network of its order{which}."
    return f"A network{which}, not claimed to be the best: {ENDS.get(status, status)}."


def _several(asked: Asked, summary: Summary) -> str:
    """Which networks are listed."""
    what = ("class", "classes") if asked.classes else ("network", "networks")
    listed, factor = summary.count.listed, asked.within_factor
    if factor is not None and summary.count.networks == listed:
        return f"All {in_full(listed, *what)} within a factor of {factor:g} of the best"
    return f"The {in_full(listed, 'best ' + what[0], 'best ' + what[1])}"


def _which(question: Question) -> str:
    """Among which networks, in words: the limits and the knowledge."""
    clauses = "; ".join(_clauses(question))
    return f" in which {clauses}" if clauses else f" over {in_full(len(question.claim.variables), 'variable')}"


def _clauses(question: Question) -> Iterator[str]:
    """What networks must be like to be among those that are meant, as clauses."""
    names, known, most = question.claim.variables, question.claim.knowledge, question.claim.max_parents
    limits = {number: [name for name, own in known.max_parents if own == number] for _, number in known.max_parents}
    rootless = set(names) if most == 0 else {*known.roots, *limits.pop(0, ())}
    if rootless:
        yield f"{_have(rootless, names)} no parents"
    if most:
        yield f"no variable has more than {in_full(most, 'parent')}"
    for number, own in sorted(limits.items()):
        yield f"{_have(own, names)} at most {in_full(number, 'parent')}"
    if known.leaves:
        yield f"{_have(known.leaves, names)} no children"
    if known.required:
        yield f"{_arcs(known.required, '->')} must be there"
    if known.forbidden:
        yield f"{_arcs(known.forbidden, '->')} must not be there"
    if known.allowed:
        yield f"arcs join {_arcs(known.allowed, '-')} alone"
    if known.tiers:
        yield f"no arc goes back in {in_full(len(known.tiers), 'tier')}"
    for group in known.apart[:MOST_NAMES]:
        yield f"no arc joins two of {_variables(group, names)}"
    if len(known.apart) > MOST_NAMES:
        yield f"no arc joins two of one of {len(known.apart) - MOST_NAMES:,} more sets"


def knowledge_told(question: Question) -> str | None:
    """All of the knowledge, or of what there is much the first parts, and a digest; None for nothing."""
    knowledge = question.claim.knowledge
    if not knowledge:
        return None
    limits = [f"{name}={most}" for name, most in knowledge.max_parents]
    told = {
        "required": _arcs(knowledge.required, "->", MOST_PARTS),
        "forbidden": _arcs(knowledge.forbidden, "->", MOST_PARTS),
        "allowed": _arcs(knowledge.allowed, "-", MOST_PARTS),
        "tiers": " < ".join(_listed(own, MOST_PARTS) for own in knowledge.tiers),
        "roots": _variables(knowledge.roots, question.claim.variables, MOST_PARTS),
        "leaves": _variables(knowledge.leaves, question.claim.variables, MOST_PARTS),
        "max_parents": _listed(limits, MOST_PARTS),
        "apart": _listed([f"({_listed(own, MOST_PARTS)})" for own in knowledge.apart], MOST_PARTS),
    }
    kinds = "; ".join(f"{kind} {text}" for kind, text in told.items() if text)
    return f"{kinds} (digest {knowledge_digest(knowledge)})"


def _recomputed(stated: Statement, source: str) -> Iterator[str]:
    """What was computed again, and is as the result says."""
    if stated.question.claim.provenance.data_digest is not None:
        yield f"the data: {source} has the digest of the run's"
    yield "the network: it has no cycle, its order has parents first, and it keeps limits and knowledge"
    yield f"the cost: {stated.cost:.6f} nats, from {source}"
    if stated.bounded:
        yield "the lower bound: no network costs less, since no variable does, even if all others explain it"
    if stated.posterior is not None and stated.posterior.checked:
        yield "the sum over all networks, each family scored again, and how likely arcs are"
    if stated.listed is None or stated.listed.summary is None or stated.listed.why:
        return
    summary, number = stated.listed.summary, stated.listed.summary.count.listed
    several = "its only network is" if number == 1 else f"its {number:,} networks are distinct,"
    yield f"the list: {several} acyclic, as demanded and as dear as it says, with the ranks, classes, shares and arcs"
    checked = () if stated.others is None else stated.others.checked
    if COUNT in checked and summary.count.networks is not None:
        yield f"how many networks there are: {summary.count.networks:,}"
    if SHARES in checked:
        yield "the shares of networks, classes and arcs, of all networks found"
    if OF_ALL in checked and summary.count.of_all is not None:
        held = share_between(summary.count.of_all.at_least, summary.count.of_all.at_most)
        yield f"what the networks found hold of all there are: {held}"


def _proof(stated: Statement) -> Iterator[str]:
    """What proves that nothing is better, and of what."""
    among, optimality = _among(stated.question), stated.optimality
    if optimality is not None and optimality.proved:
        where = "" if optimality.complete else f" in {_components(optimality.proved)}"
        by = ", ".join(way for way in WAYS if way in optimality.by)
        yield f"no network{among} costs less{where}: by {by}{_but(optimality.rounding)}"
    if stated.order is not None and not stated.order.why:
        but = _but(stated.order.rounding)
        yield f"no network of its order{among} costs less: all parents that come before were looked at again{but}"
    if stated.others is not None and MISSING in stated.others.checked:
        yield f"no network{among} that is not listed costs less than the last: all that cost as little were looked at"


def _among(question: Question) -> str:
    """Under which limits and knowledge a proof holds."""
    told = ["this limit of parents"] if question.claim.max_parents is not None else []
    told += ["this knowledge"] if question.claim.knowledge else []
    return f" under {' and '.join(told)}" if told else ""


def _but(rounding: float) -> str:
    """What a proof is exact but for."""
    more = f" and rounding, which may come to {rounding:.2g} nats" if rounding > SAID else ""
    return f" (but for 1e-9 of the cost, 1e-9 nats{more})"


def _not_checked(one: Unchecked, question: Question) -> str:
    """What is claimed, and why nobody checked it."""
    some = one.components and sum(map(len, one.components)) < len(question.claim.variables)
    where = f" in {_components(one.components)}" if some else ""
    why = "the time was over; give a longer --time-limit" if one.why == TIME_LIMIT else one.why
    return f"{one.what}{where}{f': {why}' if why else ''}"


def _components(components: Sequence[Sequence[str]]) -> str:
    """Components by their first variables."""
    one = len(components) == 1
    return f"the component{'' if one else 's'} with {_listed([names[0] for names in components])}"


def _have(some: Iterable[str], names: Sequence[str]) -> str:
    """Some of the variables, with a verb."""
    own = set(some)
    return f"{_variables(own, names)} {'has' if len(own) == 1 else 'have'}"


def _variables(some: Iterable[str], names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Some of the variables, or which are not, where these are fewer."""
    own = set(some)
    there, left = [name for name in names if name in own], [name for name in names if name not in own]
    if not left and len(there) > 1:
        return f"all {len(there):,} variables"
    return f"all variables but {_listed(left, most)}" if len(left) < len(there) else _listed(there, most)


def _arcs(pairs: Sequence[tuple[str, str]], between: str, most: int = MOST_NAMES) -> str:
    return _listed([f"{first} {between} {second}" for first, second in pairs], most)


def _listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """A few of the names."""
    shown_ = ", ".join(names[:most])
    return shown_ if len(names) <= most else f"{shown_} and {len(names) - most:,} more"
