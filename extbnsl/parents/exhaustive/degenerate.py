"""Data of both kinds of which each variable is a block of Gaussian columns, as a source of families, child by child;
see scores/degenerate.py."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention
from extbnsl.data import Mixed
from extbnsl.kernels.varsets import words
from extbnsl.parents.constraints import Constraints
from extbnsl.parents.exhaustive.blocks import FLOOR, ROUNDING, BlockChild, least_left, search_blocks
from extbnsl.parents.exhaustive.children import Found
from extbnsl.parents.exhaustive.collected import FoundFamilies, Known, all_found
from extbnsl.parents.exhaustive.one_by_one import ChildSource
from extbnsl.parents.pruning import undominated, with_rounding
from extbnsl.scores.degenerate import Blocks, blocks_of
from extbnsl.scores.known import check_averaged, parameter_price
from extbnsl.scores.records import ByRecords

CUT = 16  # candidates, from which on a search is cut into parts


@dataclass(frozen=True)
class Degenerate(ChildSource):
    """Data of both kinds as a source of families; price: of a parameter, in nats."""

    data: Mixed
    columns: ByRecords[Blocks]
    price: float

    @classmethod
    def of(cls, data: Mixed, claim: Claim, constraints: Constraints) -> "Degenerate":
        """The source of data with the score of a claim. InputError where values are missing."""
        if data.gaps:
            check_averaged(claim)
        price = parameter_price(claim, data.total)
        return cls(data, claim, constraints, np.arange(data.variables), blocks_of(data), price)

    def check(self) -> None:
        for child in np.flatnonzero(self.constraints.required.any(axis=0)).tolist():
            must = self.constraints.parents_required(child)
            if math.isinf(self.cost(child, must)):
                name, parents = self.data.names[child], [self.data.names[p] for p in must]
                raise InputError(
                    f"{self.data.source}: '{name}' must have {', '.join(map(repr, parents))} as parents, and then "
                    "columns determine each other, so that no Gaussian fits the family",
                    names=[name, *parents],
                    advice=("leave one of these arcs out of ", Mention("required"), " and the knowledge"),
                )

    def cost(self, child: int, parents: Sequence[int]) -> float:
        return self.columns.cost(child, parents, self.price)

    def over(self, child: int) -> Blocks:
        """The columns in the records in which a child was not set from outside."""
        found = self.columns.of(child, ())
        assert found is not None, "there are some"
        return found

    def least(self, child: int) -> float:
        """What all that may be parents leave, and the price of those that must be."""
        return self._least_of_all[child]

    @functools.cached_property
    def _least_of_all(self) -> list[float]:
        """`least` of each child."""
        return [0.0 if child in self.data.given else self._least(child) for child in range(self.data.variables)]

    def _least(self, child: int) -> float:
        own = self._asked(child, self.constraints.candidates(child).tolist(), math.inf)
        return own.own + float(least_left(own)) - own.margin

    def parts(self, child: int) -> int:
        """Of a child with many candidates: the family of those that must be, and those with each as the first."""
        many = len(self.constraints.candidates(child))
        return 1 if many < CUT else 1 + many

    def _candidates(self, child: int, slack: float) -> list[int]:
        """The candidates, first those that tell most of the child by themselves; without those that are singular with
        it. Without slack, those without columns are none: they tell nothing."""
        blocks, must = self.over(child), self.constraints.parents_required(child)
        candidates = [v for v in self.constraints.candidates(child).tolist() if slack > 0.0 or blocks.sizes[v]]
        told = {v: blocks.misfit(child, (*must, v)) for v in candidates}
        return sorted((v for v in candidates if told[v] < math.inf), key=lambda v: (told[v], v))

    def _asked(self, child: int, candidates: list[int], slack: float) -> BlockChild:
        """What a search takes of a child; slack: as `families_of` has it."""
        blocks, must = self.over(child), self.constraints.parents_required(child)
        chosen, own = blocks.columns((*candidates, child)), int(blocks.sizes[child])
        vectors = blocks.coordinates[chosen]
        if must:
            basis = np.linalg.qr(blocks.coordinates[blocks.columns(must)].T)[0]
            for _ in range(2):  # what is left of what was all but taken out
                vectors = vectors - (vectors @ basis) @ basis.T
        sizes = blocks.sizes[[*candidates, child]]
        records, width = blocks.total, len(blocks.coordinates)
        base = blocks.own(child) + self.price * blocks.parameters(child, must)
        widest = int(sizes.max())
        margin = records * widest * ROUNDING * width * width / FLOOR + 1e-12 * (1.0 + records + abs(base))
        return BlockChild(
            vectors=np.ascontiguousarray(vectors),
            starts=np.concatenate(([0], np.cumsum(sizes))),
            prices=self.price * own * sizes[:-1].astype(np.float64) + self.arc,
            own=base,
            half=records / 2,
            limit=int(self.constraints.limits[child]) - len(must),
            slack=slack if math.isinf(slack) else with_rounding(slack, 1e3 * records),
            margin=margin,
        )

    def families_of(self, child: int, part: int, slack: float, halt: NDArray[np.uint8]) -> Found:
        if child in self.data.given or (slack == 0.0 and not self.over(child).sizes[child]):
            return self.named(child, [], np.zeros((int(part == 0), 0), np.uint64), 1, halt)
        candidates = self._candidates(child, slack)
        firsts = (0, len(candidates), 1)
        if self.parts(child) > 1:
            firsts = (max(0, part - 1), part, 0) if part else (0, 0, 1)
        if firsts[1] > len(candidates):  # there may be fewer than parts
            return self.named(child, [], np.zeros((0, 0), np.uint64), 0, halt)
        asked = self._asked(child, candidates, slack)
        search = functools.partial(_search, np.array(firsts), asked)
        found, _ = all_found(search, words(len(candidates)), halt)
        count = int(found.counts[0])
        masks, costs = found.masks[:count], found.costs[:count]
        if count > 1 and not halt[0]:
            order = np.lexsort((*masks.T, costs))
            masks, costs = np.ascontiguousarray(masks[order]), costs[order]
            masks = masks[undominated(masks, costs, 2.0 * asked.margin + asked.slack, halt=halt)]
        return self.named(child, candidates, masks, int(found.counts[1]), halt)


def _search(
    firsts: NDArray[np.int64], asked: BlockChild, known: Known, found: FoundFamilies, halt: NDArray[np.uint8]
) -> int:
    return int(search_blocks(firsts, asked, known, found, halt))
