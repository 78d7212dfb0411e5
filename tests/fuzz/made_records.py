"""Records as a value: of states, numbers or both, with variables set from outside or values missing. They are made from
a seed, so that a case says all of them in few words."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from cases import EVERY_SCORE, PRICED
from cases_of_records import (
    all_costs,
    cost_of,
    degenerate_cost_of,
    gaussian_cost_of,
    mixed_cost_of,
    mixed_with_gaps,
    mixed_with_targets,
    numbers_with_gaps,
    numbers_with_targets,
    with_gaps,
    with_targets,
)


@dataclass(frozen=True)
class Way:
    """make(seed, n, records) gives the data; costs: by each score that they may have, what a family costs."""

    make: Callable
    costs: dict[str, Callable]


BY_STATES = {score: partial(cost_of, score=score) for score in EVERY_SCORE}
BY_NUMBERS = {"gaussian-bic": gaussian_cost_of}
BY_BOTH = {"cg-bic": mixed_cost_of}
WAYS = {
    "states, some set": Way(with_targets, BY_STATES),
    "states, some missing": Way(partial(with_gaps, targets=True), {score: BY_STATES[score] for score in PRICED}),
    "numbers, some set": Way(numbers_with_targets, BY_NUMBERS),
    "numbers, some missing": Way(partial(numbers_with_gaps, targets=True), BY_NUMBERS),
    "both, some set": Way(mixed_with_targets, BY_BOTH | {"dg-bic": degenerate_cost_of}),
    "both, some missing": Way(partial(mixed_with_gaps, targets=True), BY_BOTH),
}


@dataclass(frozen=True)
class Made:
    """What the way of this name makes of a seed: so many variables and records."""

    way: str
    seed: int
    variables: int
    records: int

    ending = ".txt"

    @property
    def size(self):
        return self.variables * self.records

    @property
    def score(self):
        """The score where none is given."""
        return next(iter(WAYS[self.way].costs))

    @property
    def names(self):
        return tuple(f"v{j}" for j in range(self.variables))

    def data(self):
        """The same for the solver."""
        return WAYS[self.way].make(self.seed, self.variables, self.records)

    def costs(self, score, max_parents=None):
        """What each family costs, as obvious code has it, (n, 2^n)."""
        return all_costs(self.data(), WAYS[self.way].costs[score], max_parents)

    def text(self):
        return f"{self.way}: seed {self.seed}, {self.variables} variables, {self.records} records\n"

    def reductions(self):
        """Ways to make it smaller, as those of a table; what is made of fewer is something else."""
        return (
            (lambda made: list(range(made.variables)), lambda made, gone: _fewer(made, "variables", gone)),
            (lambda made: list(range(made.records)), lambda made, gone: _fewer(made, "records", gone)),
        )

    def document(self):
        """The value as JSON; `made_from` takes it back."""
        return {"way": self.way, "seed": self.seed, "variables": self.variables, "records": self.records}


def made_from(document):
    return Made(**{name: document[name] for name in ("way", "seed", "variables", "records")})


def random_made(rng):
    """Up to five variables, and records from fewer than a family needs to some hundred."""
    way = list(WAYS)[int(rng.integers(len(WAYS)))]
    n, records = int(rng.choice([1, 2, 3, 3, 4, 4, 5])), int(rng.choice([4, 12, 40, 100, 200]))
    return Made(way, int(rng.integers(1 << 30)), n, records)


def _fewer(made, what, gone):
    left = getattr(made, what) - len(gone)
    return replace(made, **{what: left}) if left else None
