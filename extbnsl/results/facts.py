"""What there is to say of a result, fact by fact, from the document that is in result.json.

Each fact is worded here and nowhere else; the terminal, the page of a run and a notebook show those that they have room
for.
"""

import html
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from extbnsl.core.claims import FINISHED, HEURISTIC, OPTIMAL, Claim, tolerance
from extbnsl.core.figures import (
    HELD,
    counted,
    format_cost,
    format_gap,
    format_share,
    format_size,
    held_of_all,
    in_full,
    stage_title,
)
from extbnsl.core.knowledge import NOTHING, Knowledge
from extbnsl.core.sentences import in_list
from extbnsl.scores.known import NAMES, score_claimed
from extbnsl.scores.score import titled

if TYPE_CHECKING:
    from extbnsl.networks.network import Network

Document = Mapping[str, Any]

EMPTY = "without arcs"
NOTEBOOK = (
    *("status", "cost", "bounds", EMPTY, "limit", "knowledge", "prices", "errors", "series"),
    *("network", "em", "networks", "shares", "bootstrap", "posterior", "exact", "estimated", "best"),
)
TERMINAL = (
    *("order", "gap", "classes", "arcs", "consensus", "features", "sampled"),
    *("seconds", "states", "trapped", "unfinished", "search"),
)
PAGE = ("time",)  # subjects for a page alone, as those before are for a terminal alone

INDENT = 13  # columns before the text of a fact
SHOWN = 10  # arcs on which all networks agree, and of those that are undecided
OLD = 0.5  # of the seconds: a network from before that is probably the best, or nearly so
LEAST_SECONDS = 0.05  # of a stage that is worth a word
MOST_NATS = 690.0  # of which the factor is told
MOST_DRAWN = 500  # variables in a notebook: larger drawings take long, and nobody can read them
BNLEARN = ("mdl", "aic", "bdeu", "bds", "k2")  # scores that R's bnlearn has, with this sign


@dataclass(frozen=True)
class Fact:
    """Something that there is to say of a result, or of a run.

    subject: what it is about, in a word or two.
    text: what there is to say, without a stop at its end; lines that belong apart have line ends between them, and
        blanks that are HELD are no places to break one at.
    """

    subject: str
    text: str

    @property
    def line(self) -> str:
        """It for a terminal, the text from column INDENT on."""
        return f"{self.subject:{INDENT - 1}} {self.text}"


def facts(document: Document) -> Iterator[Fact]:
    """All there is to say of the result, what was claimed first; KeyError, TypeError, ValueError or AttributeError
    where the document is no result."""
    effort = _effort(document.get("stats", {}))
    of_several = _of_networks(document), _of_resamples(document), _of_all(document)
    rows = _claimed(document), _of_rounds(document), *of_several, effort
    return (Fact(subject, text) for subject, text in chain.from_iterable(rows) if text)


def is_ranked(document: Document) -> bool:
    """Whether it is the document of a search for the k best networks."""
    return "count" in document


def has_resamples(document: Document) -> bool:
    """Whether it is the document of a result with resamples."""
    return "bootstrap" in document


def has_posterior(document: Document) -> bool:
    """Whether it is the document of a result that tells of all networks."""
    return "posterior" in document


def has_rounds(document: Document) -> bool:
    """Whether it is the document of a result that EM came to, which no bound is known of."""
    return "em" in document


def bound_told(document: Document) -> str:
    """What every network costs at least, as a clause."""
    if has_rounds(document):
        return "no lower bound"
    return f"lower bound {format_cost(document['lower_bound'], 6)}"


def knowledge_in(document: Document) -> Knowledge:
    """Which networks are allowed; Misfit if that is none."""
    return Knowledge.from_document(document["knowledge"]) if document.get("knowledge") else NOTHING


def class_knowledge_in(document: Document, network: "Network") -> Knowledge:
    """Under which the class of a network is told: with the targets, see `with_targets`."""
    from extbnsl.networks.network import with_targets

    return with_targets(network, knowledge_in(document), document.get("targets", ()))


def bounds_told(lower: float, upper: float) -> str:
    """Two bounds in nats and the gap between them."""
    return f"{format_cost(lower, 6)} to {format_cost(upper, 6)} (gap {format_gap(lower, upper)})"


def sizes_told(document: Document) -> str:
    """How many arcs the network has, and networks or resamples the result, such as '8 arcs, 17 of 200 resamples'."""
    told = [counted(sum(map(len, document["parents"].values())), "arc")]
    told += [listed(document)] if is_ranked(document) else []
    told += [_resamples_done(document)] if has_resamples(document) else []
    return ", ".join(told)


def listed(document: Document) -> str:
    """How many networks are listed, such as '100 networks'."""
    nouns = ("class", "classes") if _is_of_classes(document) else ("network", "networks")
    return in_full(document["count"]["listed"], *nouns)


def claim_told(document: Document) -> str:
    """What was proved, in a sentence or two."""
    if has_rounds(document):
        return _rounds_claimed(document)
    cost, lower = float(document["cost"]), float(document["lower_bound"])
    most, n, series = document.get("max_parents"), len(document["variables"]), document.get("time_series")
    n //= 1 if series is None else series["lags"] + 1
    scope = f"No network over these {n:,} variables" if n > 1 else "No network over this one variable"
    scope += "" if series is None else " and their past"
    scope += " that keeps to the knowledge" if document.get("knowledge") else ""
    scope += f", of at most {in_full(most, 'parent')} for each," if most is not None else ""
    bounds = f"{scope} costs less than {format_cost(lower, 3)} nats; this one costs {format_cost(cost, 3)}"
    gap = f"{bounds}, so that the gap is {format_gap(lower, cost)}."
    if document["status"] == OPTIMAL:
        return f"Proved: {scope[0].lower()}{scope[1:]} has a better score, but for 1e-9 of the score plus 1e-9 nats."
    if document.get("order_optimal"):
        return f"Proved: no network that keeps to the order costs less. {gap}"
    if document["status"] == HEURISTIC:
        return f"Not proved: the method does not try to prove that this network is the best. {gap}"
    return f"Not proved ({_status(document)}): there may be a better network. {gap}"


def _rounds_claimed(document: Document) -> str:
    """What was proved of the last network of EM, and what not."""
    if not document["em"]["settled"]:
        return (
            f"Not proved ({_status(document)}): the rounds of EM have not settled. Nothing says how much less another "
            "network costs by what is observed."
        )
    excess, cost = document["em"]["excess"], document["cost"]
    less = "less" if excess <= 4.0 * tolerance(cost) else f"less by more than {excess:.3g} nats"
    return (
        f"A local optimum: by the data as this network itself completes them, no network costs {less}, which is "
        "proved. By what is observed another network may cost less; nothing says how much."
    )


def shares_by_name(document: Document) -> dict[tuple[str, str], float]:
    """The shares of networks that have arcs, by names: of the k best, or of the resamples that join the two; empty if
    there is one network."""
    if has_posterior(document):
        return {(one["from"], one["to"]): float(one["probability"]) for one in document["posterior"]["arcs"]}
    if "arc_shares" in document:
        return {(p, x): float(own[p]) for x, own in document["arc_shares"].items() for p in own}
    pairs = document.get("bootstrap", {}).get("arcs", ())
    return {(one["from"], one["to"]): float(one["strength"]) for one in pairs}


def network_drawn(document: Document, network: "Network", costs: Mapping[tuple[str, str], float] | None = None) -> str:
    """The drawing of the network of a result as SVG, with the shares of several networks that have its arcs, and with
    what it costs more without each as far as that is known, in nats, by names. It takes as long as `network_svg`."""
    from extbnsl.drawing.network import OF_ALL, OF_FOUND, OF_RESAMPLES, network_svg

    shares, arcs = shares_by_name(document), [(network.names[p], network.names[x]) for p, x in network.arcs()]
    of_which = OF_ALL if has_posterior(document) else OF_FOUND if is_ranked(document) else OF_RESAMPLES
    drawn = {arc: shares.get(arc, 0.0) for arc in arcs} if shares else None
    lags = document["time_series"]["lags"] if "time_series" in document else 0
    return network_svg(network, costs, drawn, of_which, class_knowledge_in(document, network), lags)


def notebook_html(document: Document, network: "Network") -> str:
    """A piece of HTML that tells a result: a table of facts, and the drawing of its network if that is not too large;
    names are escaped."""
    told = [(fact.subject, fact.text) for fact in facts(document) if fact.subject in NOTEBOOK]
    rows = "".join(f"<tr><th>{html.escape(what)}</th><td>{html.escape(text)}</td></tr>" for what, text in told)
    drawing = network_drawn(document, network) if len(network.names) <= MOST_DRAWN else ""
    return f'<div class="extbnsl"><table>{rows}</table>{drawing}</div>'


def _claimed(document: Document) -> Iterator[tuple[str, str]]:
    """What was found, and what was asked for."""
    cost, most = document["cost"], document["max_parents"]
    claim = Claim.of_result(document)
    score = score_claimed(claim) if claim.score in NAMES else None
    yield "status", _status(document)
    yield "order", "no network that keeps to the order costs less" if document.get("order_optimal") else ""
    by = " by what is observed" if has_rounds(document) else ""
    yield "cost", f"{format_cost(cost, 6)} nats ({titled(score) if score else 'minus the given scores'}{by}, minimised)"
    if score and not by and score.penalty is None and not claim.charges and not document.get("resolution"):
        yield score.maximised, f"{format_cost(-cost, 6)} (minus the cost{', as in bnlearn' * (score.name in BNLEARN)})"
    yield "bounds", "" if by else bounds_told(document["lower_bound"], document["upper_bound"])
    yield EMPTY, _beside_empty(document)
    yield "gap", "" if document["status"] in FINISHED else _left_by(document)
    yield "limit", "" if most is None else f"at most {in_full(most, 'parent')} for each variable"
    yield "knowledge", str(claim.knowledge) if claim.knowledge else ""
    yield "prices", ", ".join(_charged(claim))
    yield "errors", _errors(document.get("resolution", {}))
    yield "series", "" if (series := document.get("time_series")) is None else _series(series)
    arcs = sum(map(len, document["parents"].values()))
    sizes = [in_full(len(document["variables"]), "variable"), in_full(arcs, "arc")]
    parameters = document.get("stats", {}).get("parameters")
    yield "network", ", ".join([*sizes, *([] if parameters is None else [in_full(parameters, "parameter")])])


def _charged(claim: Claim) -> Iterator[str]:
    """What every arc costs beside what the score says."""
    if claim.parent_cost:
        yield f"{claim.parent_cost:g} nats each"
    if claim.gamma:
        yield f"2 gamma ln n nats each of n variables, gamma {claim.gamma:g} (extended BIC)"


def _errors(resolution: Mapping[str, float]) -> str:
    """What numbers are said to be off."""
    told = dict[float, list[str]]()
    for name, error in resolution.items():
        told.setdefault(error, []).append(name)
    if len(told) == 1:
        return "".join(f"{error:g} in every column" for error in told)
    return "; ".join(f"{error:g} in {in_list(names)}" for error, names in told.items())


def _series(series: Mapping[str, Any]) -> str:
    """What the rows of a time series are made of."""
    back = "the step before" if series["lags"] == 1 else f"the {series['lags']:,} steps before"
    told = [f"each time of {series['time']!r} with {back}, in steps of {series['step']}"]
    told += [in_full(series["units"], "unit") + f" of {series['unit']!r}"] if series["unit"] else []
    told += [f"{in_full(series['rows'], 'row')}, {series['rows_left_out']:,} left out where times are missing"]
    return "; ".join(told + ([] if series["instant"] else ["no arcs within a time"]))


def _beside_empty(document: Document) -> str:
    """What a network without arcs costs, where there is a gap, whose share of the cost says little by itself; empty if
    that is not known."""
    empty, cost, lower = document.get("stats", {}).get("empty_cost"), document["cost"], document["lower_bound"]
    if empty is None or lower is None or cost - lower <= 2.0 * tolerance(cost):
        return ""
    saved, most = empty - cost, empty - lower
    arcs = f"the arcs of this network save {format_cost(saved)}, and those of the best one at most {format_cost(most)}"
    return f"{format_cost(empty, 6)} nats: {arcs}"


def _status(document: Document) -> str:
    return str(document["status"]).replace("_", " ")


def _left_by(document: Document) -> str:
    """Which of bound and network has moved last, so that more time may be worth it; empty if that is not known, or they
    have met."""
    stats, cost = document["stats"], document["cost"]
    if (improved := stats.get("improved")) is None or cost - document["lower_bound"] <= 2.0 * tolerance(cost):
        return ""
    since, seconds, risen = improved["seconds"], stats["seconds"], document["lower_bound"] - improved["lower_bound"]
    told = f"the network stands since second {since:.0f} of {seconds:.0f}, the bound rose by {format_cost(risen)} since"
    return f"left by {'both' if since > OLD * seconds else 'the bound'}, it seems: {told}"


def _of_networks(document: Document) -> Iterator[tuple[str, str]]:
    """Of the k best networks: how many there are, what shares are of, their classes, and on which arcs they agree."""
    if not is_ranked(document):
        return
    count, within, told, classes = document["count"], document["within"], listed(document), document["classes"]
    there, finished, of_classes = count["networks"], document["status"] in FINISHED, _is_of_classes(document)
    which = "the networks of these classes" if of_classes else "the listed networks alone"
    if there is None and not finished and within is None:
        found = f"{told}; others may cost as little"
    elif there is None:
        found = f"{told}, the best{'' if finished else _within(within)}"
    elif there > count["listed"]:
        found = f"{told}, the best of {there:,}{_within(within)}, with {format_share(count['share'])} of their weight"
        which = f"these {there:,} networks"
    else:
        found = f"{told}, all there are{_within(within)}"
    yield "networks", found
    yield "shares", f"of the weight of {which}; {held_of_all(count['of_all'])}"
    among = in_full(classes["listed"], "equivalence class", "equivalence classes")
    among += " under the knowledge" if document.get("knowledge") else ""
    best = f"the heaviest is class {classes['heaviest']:,}, with a share of {format_share(classes['share'])}"
    yield "classes", "" if of_classes else f"{among}; {best}"
    yield "arcs", "\n".join(filter(None, _arcs(document)))


def _is_of_classes(document: Document) -> bool:
    return bool(document["provenance"]["options"].get("classes"))


def _within(within: float | None) -> str:
    """Which networks are meant, if not all."""
    if within is None:
        return ""
    factor = f", a factor of {math.exp(within):.4g}" if within <= MOST_NATS else ""
    return f" within {within:.6g} nats of the best{factor}"


def _arcs(document: Document) -> Iterator[str]:
    """On how many arcs the networks agree, and those of which it is least clear whether they are there."""
    shared = {(parent, child) for parent, child in document["shared_arcs"]}
    found = [(parent, x, p) for x, own in document["arc_shares"].items() for parent, p in own.items()]
    open_ = sorted((arc for arc in found if arc[:2] not in shared), key=lambda arc: abs(arc[2] - 0.5))
    yield f"{in_full(len(shared), 'arc')} in all of them" + (":" if 0 < len(shared) <= SHOWN else "")
    yield _together(f"{a} -> {b}" for a, b in document["shared_arcs"]) if len(shared) <= SHOWN else ""
    ending = "; the least decided, with the shares that have them:" if open_ else ""
    yield f"{in_full(len(open_), 'arc')} in some{ending}"
    yield _together(f"{a} -> {b} {format_share(p)}" for a, b, p in open_[:SHOWN])


def _together(arcs: Iterable[str]) -> str:
    """A list that is broken between arcs alone."""
    return ", ".join(arc.replace(" ", HELD).replace("\n", " ") for arc in arcs)


def _of_rounds(document: Document) -> Iterator[tuple[str, str]]:
    """How many rounds EM made, whether they have settled, and how much was missing."""
    if not has_rounds(document):
        return
    em = document["em"]
    rounds = in_full(em["solved"], "round")
    settled = "a local optimum, which is no proof of the best" if em["settled"] else "not settled"
    missing = f"{em['missing']:,} of {in_full(em['values'], 'value')} missing ({em['missing'] / em['values']:.1%})"
    yield "em", f"{rounds}, {settled}; {missing}"


def _of_resamples(document: Document) -> Iterator[tuple[str, str]]:
    """How many resamples there are, and the arcs that most of them have."""
    if not has_resamples(document):
        return
    found = document["bootstrap"]
    unproved, agreed = found["done"] - found["proved"], found["consensus"]
    proved = f", {f'{unproved:,} not proved' if unproved else 'all proved'}" if found["done"] else ""
    yield "bootstrap", _resamples_done(document) + proved
    cut = f"; {agreed['left_out']:,} would close a cycle" if agreed["left_out"] else ""
    share = f"in at least {agreed['threshold']:g} of them"
    yield "consensus", f"{in_full(len(agreed['arcs']), 'arc')} {share}{cut}" if found["done"] else ""


def _resamples_done(document: Document) -> str:
    """How many resamples are done, such as '200 resamples' or '17 of 200 resamples'."""
    found = document["bootstrap"]
    some = "" if found["done"] == found["resamples"] else f"{found['done']:,} of "
    return some + in_full(found["resamples"], "resample")


def _of_all(document: Document) -> Iterator[tuple[str, str]]:
    """What was summed over all networks, and how exact it is."""
    if not has_posterior(document):
        return
    found = document["posterior"]
    prior = "all networks" if found["prior"] == "uniform" else "all orders of the variables"
    over = f"over {prior}, uniform before the data; log weight"
    own = found["network"]
    best = "" if own is None else f"this network has a probability of {format_share(own['probability'])}"
    if "estimate" in found:
        estimate = found["estimate"]
        error = f"+- {estimate['standard_error']:.3f}{' and what was not drawn' * (estimate['ignored_orders'] > 0.0)}"
        yield "posterior", f"{over} about {estimate['log_weight']:,.3f} nats ({error})"
        yield "estimated", f"from {_draws_told(estimate)}; nothing is proved"
        yield "best", f"{best} (+- {format_share(own['standard_error'])})"
    else:
        low, high = found["log_weight"]
        weight = format_cost(low, 6) if high - low < 1e-6 else f"{format_cost(low, 6)} to {format_cost(high, 6)}"
        yield "posterior", f"{over} {weight} nats"
        width = found["ignored"] / (1.0 + found["ignored"])
        asked = "" if found["reached"] else f", wider than the {found['within']:g} asked for"
        yield "exact", f"every probability within an interval of {format_share(width)}{asked}, and rounding"
        yield "best", best
    yield "sampled", in_full(found["sampled"], "network") if found["sampled"] else ""
    told = (f"{one['name']} {one['share']:.4f} (+- {one['standard_error']:.4f})" for one in found["features"])
    yield "features", "; ".join(told)


def _draws_told(estimate: Mapping[str, Any]) -> str:
    """How many networks were drawn, what they tell, and what could not be drawn."""
    drawn, share = estimate["draws"], estimate["ignored_orders"]
    told = f"{in_full(drawn, 'network')} drawn by orders and weighted, worth {estimate['effective']:,.0f} equal ones"
    return f"{told}; orders with up to {format_share(share)} of the weight of all could not be drawn" if share else told


def _effort(stats: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What it took, as far as that is known."""
    if {"seconds", "cpu_seconds"} <= stats.keys():
        yield "time", f"{stats['seconds']:,.1f} s, {stats['cpu_seconds']:,.1f} CPU s"
    if {"seconds", "stages"} <= stats.keys():
        spent = [(stage_title(stage), each["seconds"]) for stage, each in stats["stages"].items()]
        told = ", ".join(f"{name} {seconds:.1f}" for name, seconds in spent if seconds >= LEAST_SECONDS)
        yield "seconds", told or f"{stats['seconds']:.1f}"
    if "states" in stats:
        yield "states", f"{sum(stats['states'].values()):,}"
        yield "trapped", _trapped(stats)
        yield "unfinished", "" if not (open_ := stats["unfinished"]) else in_full(len(open_), "variable")
    if {"nodes_kept", "nodes_generated", "parent_sets"} <= stats.keys():
        nodes, edges = counted(stats["nodes_kept"], "node"), counted(stats["nodes_generated"], "edge")
        yield "search", f"{counted(stats['parent_sets'], 'parent set')}, {nodes}, {edges}"
    if {"peak_rss_bytes", "peak_disk_bytes"} <= stats.keys():
        memory, disk = format_size(stats["peak_rss_bytes"]), format_size(stats["peak_disk_bytes"])
        yield "at most", f"{memory} of memory, {disk} of disk"


def _trapped(stats: Mapping[str, Any]) -> str:
    """At how many of the variables of which that is known K3 was trapped; empty if it is of none, as after K3 alone."""
    if stats["trapped"] is None:
        return ""
    known = stats["states"].keys() - set(stats["unfinished"]) | set(stats["trapped"])
    return f"K3 at {len(stats['trapped'])} of {in_full(len(known), 'variable')}"
