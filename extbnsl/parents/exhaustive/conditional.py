"""Data of both kinds as a source of families, child by child; see scores/conditional.py.

Where values are missing families are costed over records of their own (scores/records.py), and nothing is known of what
more parents leave. But of parents of which the same lack values the records are the same, so that all holds that holds
of complete data. So each set M of parents that lack values has a search of its own, whose candidates are complete; a
record counts w times there, so a parameter is taken to cost 1 / w of its price. What is known of subsets of M beats
families there too, whatever records it goes by. M is left out with all its supersets if no record tells of it, or if
the least misfit that there can be and the price of M come to no less than what the parents that must be cost alone.
"""

import functools
import math
from collections.abc import Iterator, Sequence
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
from extbnsl.parents.exhaustive.regressions import FLOOR, ROUNDING, Asked, everything
from extbnsl.parents.exhaustive.whole_records import least_of_numbers
from extbnsl.parents.pruning import undominated, with_rounding
from extbnsl.scores.cells import cells_of, numbered
from extbnsl.scores.conditional import Scaled, scaled
from extbnsl.scores.known import parameter_price
from extbnsl.scores.records import ByRecords

CUT = 8  # candidates that have states, or lack values, from which on a search is cut into parts
Firsts = tuple[int, int, int]  # of states: the first that may be the first parent, the end of these; 1: and none


@dataclass(frozen=True)
class Conditional(ChildSource):
    """Data of both kinds as a source of families; price: of a parameter, in nats."""

    data: Mixed
    columns: ByRecords[Scaled]
    price: float
    _firsts: dict[int, tuple[float, tuple[Found, Known]]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, data: Mixed, claim: Claim, constraints: Constraints) -> "Conditional":
        """The source of data with the score of a claim. No arc leads from numbers to states; InputError if one must
        be."""
        columns = scaled(data)
        wrong = np.logical_not(data.of_states)[:, None] & data.of_states[None, :]
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
        most ln V - (1 - w) ln(1 - w), by the inequality of Jensen, and so at most ln V + w.

        Where some of these lack values, that is 0 of states, and of numbers what `least_of_numbers` says."""
        if child in self.data.given:
            return 0.0
        must = self.constraints.parents_required(child)
        return self.misfits[child] + self.price * self.columns.parameters(child, must)

    @functools.cached_property
    def misfits(self) -> list[float]:
        """What families of each child leave at least, in nats."""
        return [0.0 if child in self.data.given else self._least_misfit(child) for child in range(self.data.variables)]

    def _least_misfit(self, child: int) -> float:
        possible, data = np.flatnonzero(self.constraints.allowed[:, child]).tolist(), self.data
        if data.incomplete[[child, *possible]].any():
            return 0.0 if data.states[child] else least_of_numbers(data, child, data.values[:, child])
        columns = self.over(child, possible)
        discrete, numbers = columns.split(possible)
        if columns.of_states[child]:
            misfit = columns.weight * cells_of(columns.data, child, discrete).misfit
            return misfit - 8 * ROUNDING * data.records * math.log(data.records)
        which, many = numbered(columns.data, discrete)
        counts = np.bincount(which, minlength=many)
        order, left = np.argsort(which, kind="stable"), 0.0
        ends = np.cumsum(counts[counts > 0])
        for rows in np.split(order, ends[:-1]):
            share = columns.left_in(rows, child, numbers)
            left += len(rows) / 2 * math.log(share) if share is not None else len(rows) * (FLOOR - 0.5)
        return columns.weight * (columns.own(child) + left) - 1e-9 * data.records

    def over(self, child: int, parents: Sequence[int]) -> Scaled:
        """The records of a family of which there are some."""
        found = self.columns.of(child, parents)
        assert found is not None, "there are some"
        return found

    def parts(self, child: int) -> int:
        """Of a child with many candidates that have states, or lack values: the families without such; those with each
        of states as the first one, and none that lacks values; those with each of these as the first one."""
        many = int((self.data.of_states | self.data.incomplete)[self.constraints.candidates(child)].sum())
        return 1 if many < CUT else 1 + many

    def is_constant(self, v: int) -> bool:
        """Whether a column of states has one alone in all records."""
        codes = self.data.codes[:, v]
        return bool(self.data.states[v]) and not self.data.incomplete[v] and bool((codes == codes[0]).all())

    def families_of(self, child: int, part: int, slack: float, halt: NDArray[np.uint8]) -> Found:
        if child in self.data.given or (slack == 0.0 and self.is_constant(child)):
            return self.named(child, [], np.zeros((int(part == 0), 0), np.uint64), 1, halt)
        begun, found = _Begun.of(self, child, slack, halt), [Found(*self._nothing, 0)]
        if self.parts(child) == 1:
            found += begun.from_set((), None)
        elif part == 0:
            found.append(self._first(begun)[0])
        else:
            found += begun.in_part(part - 1, self._first(begun)[1])
        return Found(
            np.concatenate([own.varsets for own in found]),
            np.concatenate([own.costs for own in found]),
            sum(own.counted for own in found),
        )

    @property
    def _nothing(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """No families."""
        return np.zeros((0, words(self.data.variables)), np.uint64), np.zeros(0)

    def _first(self, begun: "_Begun") -> tuple[Found, Known]:
        """What the first part of a search of several finds, and what is known then: all others begin with that."""
        before = self._firsts.get(begun.child)
        if before is None or before[0] != begun.slack:
            before = begun.slack, begun.searched((), (0, 0, 1), None)
            if not begun.halt[0]:
                self._firsts[begun.child] = before
        return before[1]


@dataclass(frozen=True)
class _Begun:
    """A search of the families of one child.

    Candidates: complete ones of states, those of few states first; complete ones of numbers, first those that tell most
    of the child by themselves; and those that lack values. alone: what the family of the required parents costs.
    """

    source: Conditional
    child: int
    slack: float
    halt: NDArray[np.uint8]
    must: list[int]
    states: list[int]
    numbers: list[int]
    gaps: list[int]
    alone: float

    @classmethod
    def of(cls, source: Conditional, child: int, slack: float, halt: NDArray[np.uint8]) -> "_Begun":
        """The search. Without slack, columns of states that never vary are no candidates: they tell nothing."""
        data, must, candidates = source.data, source.constraints.parents_required(child), source.constraints.candidates
        lack = data.incomplete[candidates(child)]
        complete, gaps = candidates(child)[~lack].tolist(), candidates(child)[lack].tolist()
        columns = source.over(child, must)
        states, numbers = columns.split(complete)
        states = sorted(
            (v for v in states if slack > 0.0 or not source.is_constant(v)), key=lambda v: (int(data.arities[v]), v)
        )
        told = np.abs(columns.columns[numbers] @ columns.columns[child])
        numbers = [numbers[i] for i in np.argsort(-told, kind="stable").tolist()]
        return cls(source, child, slack, halt, list(must), states, numbers, gaps, source.cost(child, must))

    def in_part(self, number: int, known: Known) -> Iterator[Found]:
        """The families of a part behind the first one."""
        states = self.source.parts(self.child) - 1 - len(self.gaps)
        if number >= states:
            yield from self.from_set((self.gaps[number - states],), known)
        else:  # there may be fewer of states than parts
            yield self.searched((), (min(number, len(self.states)), min(number + 1, len(self.states)), 0), known)[0]

    def from_set(self, own: tuple[int, ...], known: Known | None) -> Iterator[Found]:
        """The families with these parents that lack values, and perhaps more of such behind them."""
        if self.halt[0] or not self._may_be(own):
            return
        found, known = self.searched(own, (0, len(self.states), 1), known)
        yield found
        for v in self.gaps:
            if not own or v > own[-1]:
                yield from self.from_set((*own, v), known)

    def _may_be(self, own: tuple[int, ...]) -> bool:
        """Whether records tell of these parents that lack values, and their price leaves hope."""
        source, family = self.source, [*self.must, *own]
        if not own:
            return True
        if len(family) > source.constraints.limits[self.child] or source.columns.of(self.child, family) is None:
            return False
        price = source.price * source.columns.parameters(self.child, family) + source.arc * len(own)
        return source.misfits[self.child] + price < self.alone + with_rounding(self.slack, abs(self.alone))

    def searched(self, own: tuple[int, ...], firsts: Firsts, known: Known | None) -> tuple[Found, Known]:
        """The families with these parents that lack values and complete ones; and the cheapest of them with those that
        were known before, by their complete ones."""
        source, slack = self.source, self.slack
        search = _Search(self, own)
        found, known = search.run(firsts, self.halt, known)
        count = int(found.counts[0])
        masks, costs, errors = found.masks[:count], found.costs[:count], found.errors[:count]
        if count > 1 and not self.halt[0]:
            sure = np.isfinite(errors)
            order = np.lexsort((*masks.T, costs))
            margin = 2.0 * float(errors[sure].max(initial=0.0)) + search.within(slack, float(np.abs(costs).max()))
            masks, sure = np.ascontiguousarray(masks[order]), sure[order]
            masks = masks[undominated(masks, costs[order], max(margin, 1e-12), halt=self.halt) | ~sure]
        return source.named(self.child, self.complete, masks, int(found.counts[1]), self.halt, own), known

    @property
    def complete(self) -> list[int]:
        """The complete candidates, as masks have them."""
        return self.states if self.source.data.states[self.child] else [*self.numbers, *self.states]


class _Search:
    """A search of the families of one child that have some parents which lack values, and no others of these."""

    def __init__(self, begun: _Begun, own: tuple[int, ...]) -> None:
        source, child = begun.source, begun.child
        must, states, numbers = [*begun.must, *own], begun.states, begun.numbers
        columns = source.over(child, must)
        data, weight = columns.data, columns.weight
        base_states, base_numbers = columns.split(must)
        used, base = np.unique(numbered(data, base_states)[0], return_inverse=True)
        self._divided = Divided(
            codes=np.ascontiguousarray(data.codes[:, states].T),
            arities=data.arities[states],
            base=base.reshape(-1).astype(np.int32),
            bases=int(used.size),
            joint=float(math.prod(data.arities[base_states].tolist())),
        )
        self._of_states = bool(columns.of_states[child])
        limit = int(source.constraints.limits[child]) - len(must)
        self._words = words(len(begun.complete))
        if self._of_states:
            least = cells_of(data, child, [*base_states, *states]).misfit
            self._codes, self._arity = np.ascontiguousarray(data.codes[:, child]), int(data.arities[child])
        else:
            least = columns.own(child)
            both = [*base_numbers, *numbers, child], [*base_numbers, child]
            rows, alone = (np.ascontiguousarray(columns.columns[chosen].T) for chosen in both)
            squares, squares_alone = (columns.errors[chosen] ** 2 for chosen in both)
            self._columns = Columns(rows, alone, squares, squares_alone, len(base_numbers))
        self._weight = weight
        self._beside = source.arc * len(columns.split(own)[0])  # regressions count the arcs of those of numbers
        wide = self.within(begun.slack, 1e3 * data.records)
        self._asked = Asked(limit, source.price / weight, source.arc / weight, wide, least)

    def within(self, slack: float, costs: float) -> float:
        """The slack of costs of this size, for records that count once."""
        return slack if math.isinf(slack) else with_rounding(slack / self._weight, costs)

    def run(self, firsts: Firsts, halt: NDArray[np.uint8], known: Known | None = None) -> tuple[FoundFamilies, Known]:
        """The families of a part of the search, what they cost if records count once; and the cheapest of them with
        those that were known before."""
        before = None if known is None else self._once(known)
        found, after = all_found(functools.partial(self._search, np.array(firsts)), self._words, halt, before)
        return found, after._replace(costs=after.costs * self._weight + self._beside)

    def _once(self, known: Known) -> Known:
        """What is known, as costs of records that count once, without what the parents beside cost."""
        return known._replace(costs=(known.costs - self._beside) / self._weight)

    def _search(self, firsts: NDArray[np.int64], known: Known, found: FoundFamilies, halt: NDArray[np.uint8]) -> int:
        if self._of_states:
            given = self._codes, self._arity, self._asked, known, found, halt
            return int(search_states(firsts, self._divided, *given))
        return int(search_numbers(firsts, self._divided, self._columns, self._asked, everything(), known, found, halt))
