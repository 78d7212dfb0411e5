"""Are the networks of a ranked list what its result claims? Each scored again, and what they say together; what is said
of those that are not listed, `others` checks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from extbnsl.core.errors import InputError
from extbnsl.data import Data
from extbnsl.scores.local import LocalScores
from extbnsl.verify.document import read_claims
from extbnsl.verify.listed import Listed, Sentences
from extbnsl.verify.summary import Summary, read_summary
from extbnsl.verify.together import findings_together, number_findings


@dataclass(frozen=True)
class ListCheck:
    """What became of a list of networks: findings, sentences, one for each claim that does not hold; summary: what is
    claimed of the networks together, None if that cannot be read; listed: the networks."""

    findings: tuple[str, ...]
    summary: Summary | None = None
    listed: Listed | None = None


def verify_networks(head: Mapping[str, Any], networks: Iterable[Any], problem: Data | LocalScores) -> ListCheck:
    """Check the networks of a result of which `verify` finds that all else holds.

    head: the document, of which 'networks' is not read; networks: its items, in their order. Of each: its variables,
    its parents, that there is no cycle, the parent limit, the knowledge and the recomputed cost. Of all: that costs
    never decrease, that no network is there twice, and every number that follows from them.

    There are at most MOST_SAID sentences about single networks, and one that says how many more there would be. Raises
    InputError as `verify` does. About 30 microseconds for each network of 20 variables besides the scoring; some 400
    bytes for each.
    """
    claim = read_claims(head)
    try:
        summary = read_summary(head, claim.variables)
    except InputError as error:
        return ListCheck((str(error),))
    if isinstance(networks, (str, Mapping)) or not isinstance(networks, Iterable):
        return ListCheck(("The 'networks' of the result are not a list.",))
    listed, said = Listed(claim, problem), Sentences("networks")
    for network in networks:
        said.add(listed.add(network))
    if said.first or not listed.costs:
        return ListCheck((*said.all(), *number_findings(listed, summary)), summary)
    return ListCheck(findings_together(listed, summary), summary, listed)
