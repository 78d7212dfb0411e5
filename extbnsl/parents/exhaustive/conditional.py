"""Data of both kinds as a source of families, child by child; see scores/conditional.py."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.claims import Claim
from extbnsl.core.errors import InputError
from extbnsl.core.sentences import Mention
from extbnsl.data import Mixed
from extbnsl.kernels.varsets import words
from extbnsl.parents.constraints import Constraints
from extbnsl.parents.exhaustive.children import Found
from extbnsl.parents.exhaustive.collected import FoundFamilies, Known, all_found
from extbnsl.parents.exhaustive.configurations import Columns, Divided, search_numbers, search_states
from extbnsl.parents.exhaustive.one_by_one import ChildSource
from extbnsl.parents.exhaustive.regressions import FLOOR, ROUNDING, Asked
from extbnsl.parents.pruning import undominated, with_rounding
from extbnsl.scores.cells import cells_of, numbered
from extbnsl.scores.conditional import Scaled, scaled
from extbnsl.scores.known import parameter_price

CUT = 8  # candidates of states, from which on a search is cut into parts


@dataclass(frozen=True)
class Conditional(ChildSource):
    """Data of both kinds as a source of families; price: of a parameter, in nats."""

    data: Mixed
    columns: Scaled
    price: float
    _firsts: dict[int, tuple[float, tuple[FoundFamilies, Known]]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, data: Mixed, claim: Claim, constraints: Constraints) -> "Conditional":
        """The source of data with the score of a claim. No arc leads from numbers to states; InputError if one must
        be."""
        columns = scaled(data)
        wrong = np.logical_not(columns.of_states)[:, None] & columns.of_states[None, :]
        against = np.argwhere(constraints.required & wrong)
        if against.size:
            parent, child = (data.names[v] for v in against[0].tolist())
            raise InputError(
                f"{data.source}: '{child}' has states, '{parent}' numbers, and the score cg-bic has no arc from "
                "numbers to states",
                names=[parent, child],
                advice=("leave this one out of ", Mention("required"), " and the knowledge"),
            )
        own = replace(constraints, allowed=constraints.allowed & ~wrong)
        return cls(data, claim, own, np.arange(data.variables), columns, parameter_price(claim, data.total))

    def __getstate__(self) -> dict[str, Any]:
        """What other processes get."""
        return vars(self) | {"_firsts": {}}

    def check(self) -> None:
        for child in np.flatnonzero(self.constraints.required.any(axis=0)).tolist():
            must = self.constraints.parents_required(child)
            if math.isinf(self.cost(child, must)):
                name, parents = self.data.names[child], [self.data.names[p] for p in must]
                raise InputError(
                    f"{self.data.source}: '{name}' must have {', '.join(map(repr, parents))} as parents, and then some "
                    "state has too few records, or columns determine each other there, so that no Gaussian fits the "
                    "family",
                    names=[name, *parents],
                    advice=("leave one of these arcs out of ", Mention("required"), " and the knowledge"),
                )

    def cost(self, child: int, parents: Sequence[int]) -> float:
        return self.columns.cost(child, parents, self.price)

    def least(self, child: int) -> float:
        """What all that may be parents leave, and the price of those that must be. Where they are singular in a
        configuration, LEAST_SHARE of the variance is left there, and a nat less for two records: configurations of a
        family that is allowed are unions of these. With w of the records of one in singular parts, V what it leaves in
        the mean, F the least there can be, and v_j in the others: the sum of w_j ln v_j over these and w ln F is at
        most ln V - (1 - w) ln(1 - w), by the inequality of Jensen, and so at most ln V + w."""
        must = self.constraints.parents_required(child)
        return self._misfits[child] + self.price * self.columns.parameters(child, must)

    @functools.cached_property
    def _misfits(self) -> list[float]:
        """What families of each child leave at least, in nats."""
        return list(map(self._least_misfit, range(self.data.variables)))

    def _least_misfit(self, child: int) -> float:
        possible = np.flatnonzero(self.constraints.allowed[:, child]).tolist()
        discrete, numbers = self.columns.split(possible)
        if self.columns.of_states[child]:
            misfit = cells_of(self.data, child, discrete).misfit
            return misfit - 8 * ROUNDING * self.data.records * math.log(self.data.records)
        which, many = numbered(self.data, discrete)
        counts = np.bincount(which, minlength=many)
        order, left = np.argsort(which, kind="stable"), 0.0
        ends = np.cumsum(counts[counts > 0])
        for rows in np.split(order, ends[:-1]):
            share = self.columns.left_in(rows, child, numbers)
            left += len(rows) / 2 * math.log(share) if share is not None else len(rows) * (FLOOR - 0.5)
        return self.columns.own(child) + self.data.each * left - 1e-9 * self.data.records

    def parts(self, child: int) -> int:
        """Of a child with many candidates of states: those without one, and those with each as the first."""
        many = len(self.columns.split(self.constraints.candidates(child).tolist())[0])
        return 1 if many < CUT else 1 + many

    def _is_constant(self, v: int) -> bool:
        """Whether a column of states has one alone in all records."""
        codes = self.data.codes[:, v]
        return bool(self.columns.of_states[v]) and bool((codes == codes[0]).all())

    def _candidates(self, child: int, slack: float = 0.0) -> tuple[list[int], list[int]]:
        """The candidates of states, those of few states first; and of numbers, first those that tell most of the child
        by themselves. Without slack, columns of states that never vary are none: they tell nothing."""
        discrete, numbers = self.columns.split(self.constraints.candidates(child).tolist())
        discrete = [v for v in discrete if slack > 0.0 or not self._is_constant(v)]
        told = np.abs(self.columns.columns[numbers] @ self.columns.columns[child])
        by_arity = sorted(discrete, key=lambda v: (int(self.data.arities[v]), v))
        return by_arity, [numbers[i] for i in np.argsort(-told, kind="stable").tolist()]

    def families_of(self, child: int, part: int, slack: float, halt: NDArray[np.uint8]) -> Found:
        must = list(self.constraints.parents_required(child))
        if slack == 0.0 and self._is_constant(child):
            return self.named(child, [], np.zeros((int(part == 0), 0), np.uint64), 1, halt)
        discrete, numbers = self._candidates(child, slack)
        own = discrete if self.columns.of_states[child] else [*numbers, *discrete]
        search = _Search(self, child, must, discrete, numbers, slack)
        if self.parts(child) == 1:
            found, _ = search.run((0, len(discrete), 1), halt)
        elif part == 0:
            found, _ = self._first(search, child, slack, halt)
        else:
            first = min(part - 1, len(discrete))  # there may be fewer than parts
            found, _ = search.run(
                (first, min(part, len(discrete)), 0), halt, self._first(search, child, slack, halt)[1]
            )
        count = int(found.counts[0])
        masks, costs, errors = found.masks[:count], found.costs[:count], found.errors[:count]
        if count > 1 and not halt[0]:
            sure = np.isfinite(errors)
            order = np.lexsort((*masks.T, costs))
            margin = 2.0 * float(errors[sure].max(initial=0.0)) + with_rounding(
                slack / self.data.each, float(np.abs(costs).max())
            )
            masks, sure = np.ascontiguousarray(masks[order]), sure[order]
            masks = masks[undominated(masks, costs[order], max(margin, 1e-12), halt=halt) | ~sure]
        return self.named(child, own, masks, int(found.counts[1]), halt)

    def _first(
        self, search: "_Search", child: int, slack: float, halt: NDArray[np.uint8]
    ) -> tuple[FoundFamilies, Known]:
        """What the first part of a search of several finds, and what is known then: all others begin with that."""
        before = self._firsts.get(child)
        if before is None or before[0] != slack:
            before = slack, search.run((0, 0, 1), halt)
            if not halt[0]:
                self._firsts[child] = before
        return before[1]


class _Search:
    """A search of the families of one child."""

    def __init__(
        self, source: Conditional, child: int, must: list[int], discrete: list[int], numbers: list[int], slack: float
    ) -> None:
        data, columns = source.data, source.columns
        base_states, base_numbers = columns.split(must)
        used, base = np.unique(numbered(data, base_states)[0], return_inverse=True)
        self._divided = Divided(
            codes=np.ascontiguousarray(data.codes[:, discrete].T),
            arities=data.arities[discrete],
            base=base.reshape(-1).astype(np.int32),
            bases=int(used.size),
            joint=float(math.prod(data.arities[base_states].tolist())),
        )
        self._of_states = bool(columns.of_states[child])
        limit = int(source.constraints.limits[child]) - len(must)
        self._words = words(len(discrete) + (0 if self._of_states else len(numbers)))
        wide = slack if math.isinf(slack) else with_rounding(slack, 1e3 * data.records)
        if self._of_states:
            own = cells_of(data, child, [*base_states, *discrete]).misfit
            self._codes, self._arity = np.ascontiguousarray(data.codes[:, child]), int(data.arities[child])
        else:
            own = columns.own(child)
            both = [*base_numbers, *numbers, child], [*base_numbers, child]
            rows, alone = (np.ascontiguousarray(columns.columns[chosen].T) for chosen in both)
            squares, squares_alone = (columns.errors[chosen] ** 2 for chosen in both)
            self._columns = Columns(rows, alone, squares, squares_alone, len(base_numbers))
        each = data.each  # the search counts rows
        self._asked = Asked(limit, source.price / each, source.arc / each, wide / each, own / each)

    def run(
        self, firsts: tuple[int, int, int], halt: NDArray[np.uint8], before: Known | None = None
    ) -> tuple[FoundFamilies, Known]:
        """The families of a part of the search, and the cheapest of them with those that were known before."""
        search = functools.partial(self._search, np.array(firsts))
        return all_found(search, self._words, halt, before)

    def _search(self, firsts: NDArray[np.int64], known: Known, found: FoundFamilies, halt: NDArray[np.uint8]) -> int:
        if self._of_states:
            given = self._codes, self._arity, self._asked, known, found, halt
            return int(search_states(firsts, self._divided, *given))
        return int(search_numbers(firsts, self._divided, self._columns, self._asked, known, found, halt))
