"""Data as a value that is easy to change: rows of whole numbers, or of floats."""

from dataclasses import dataclass, replace

import naive
import numpy as np

from extbnsl.core.data_options import DataOptions
from extbnsl.data import measured, prepare
from extbnsl.data.given import given

NEW = 7  # what stands in the place of a value that is made simpler


@dataclass(frozen=True)
class Table:
    """names of the columns, and rows of as many numbers; measured: whether they are numbers, and not states."""

    names: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    measured: bool = False

    ending = ".csv"

    @property
    def variables(self):
        return len(self.names)

    @property
    def score(self):
        """The score where none is given."""
        return "gaussian-bic" if self.measured else "mdl"

    @property
    def size(self):
        return len(self.rows) * len(self.names)

    def data(self):
        """The same for the solver; raises InputError as it does."""
        make, kind = (measured, float) if self.measured else (prepare, int)
        return given(np.array(self.rows, kind), list(self.names)).made(make, DataOptions())

    def text(self):
        """The file in CSV."""
        lines = [",".join(self.names), *(",".join(map(repr, row)) for row in self.rows)]
        return "\n".join(lines) + "\n"

    def costs(self, score, max_parents=None):
        """The table of costs by a score, as tests/naive.py has it, (n, 2^n)."""
        values = np.array(self.rows)
        if self.measured:
            most = self.variables if max_parents is None else max_parents
            return naive.all_gaussian_costs(values, lambda child, varset: varset.bit_count() <= most)
        states = [np.unique(column, return_inverse=True) for column in values.T]
        codes = np.stack([code for _, code in states], axis=1)
        return naive.all_local_scores(codes, [len(distinct) for distinct, _ in states], max_parents, score)

    def constant(self):
        """Whether a column never varies."""
        values = np.array(self.rows)
        return bool((values == values[0]).all(axis=0).any())

    def reductions(self):
        """Ways to make it smaller, as those of a score file."""
        return (
            (lambda table: list(range(table.variables)), _without_columns),
            (lambda table: list(range(len(table.rows))), _without_rows),
            (lambda table: list(range(table.variables)), _simpler),
        )

    def document(self):
        """The value as JSON; `table_from` takes it back."""
        return {"names": list(self.names), "rows": [list(row) for row in self.rows], "measured": self.measured}


def table_from(document):
    return Table(tuple(document["names"]), tuple(map(tuple, document["rows"])), document["measured"])


def _without_columns(table, gone):
    left = [j for j in range(table.variables) if j not in set(gone)]
    rows = tuple(tuple(row[j] for j in left) for row in table.rows)
    return Table(tuple(table.names[j] for j in left), rows, table.measured) if left else None


def _without_rows(table, gone):
    lost = set(gone)
    rows = tuple(row for i, row in enumerate(table.rows) if i not in lost)
    return replace(table, rows=rows) if rows else None


def _simpler(table, columns):
    """Numbers with two digits, states that are 0, 1, 2; None if nothing changes."""
    rows = np.array(table.rows)
    for j in columns:
        simple = rows[:, j].round(2) if table.measured else np.unique(rows[:, j], return_inverse=True)[1]
        rows[:, j] = simple
    changed = tuple(map(tuple, rows.tolist()))
    return None if changed == table.rows else replace(table, rows=changed)


def random_table(rng, measured):
    """Three to five columns, now and then fewer, many of them noisy functions of others; some equal, some constant."""
    n = int(rng.choice([1, 2, 3, 3, 4, 4, 5, 5]))
    records = int(rng.choice([3, 5, 12, 40, 100, 200]))
    columns = _numbers(rng, n, records) if measured else _states(rng, n, records)
    rows = np.stack([columns[j] for j in rng.permutation(n)], axis=1)
    if rng.random() < 0.2:
        rows = rows[rng.integers(0, max(2, records // 4), records)]  # few distinct ones
    return Table(tuple(f"v{j}" for j in range(n)), tuple(map(tuple, rows.tolist())), measured)


def _states(rng, n, records):
    columns = []
    for _ in range(n):
        arity = int(rng.integers(1, 5))
        column = rng.integers(0, arity, records)
        if columns and rng.random() < 0.6:
            parents = [columns[i] for i in rng.choice(len(columns), int(rng.integers(1, 3)))]
            column = np.where(rng.random(records) < rng.choice([0.0, 0.1, 0.4]), column, sum(parents) % arity)
        if columns and rng.random() < 0.1:
            column = columns[-1]
        columns.append(column)
    return columns


def _numbers(rng, n, records):
    columns = []
    for _ in range(n):
        column = rng.normal(size=records)
        for other in columns:
            if rng.random() < 0.5:
                column = column + float(rng.choice([-1.0, 0.3, 2.0])) * other
        if rng.random() < 0.15:
            column = column.round(int(rng.integers(0, 2)))
        columns.append(column)
    if rng.random() < 0.3:  # some determine each other
        j, k = rng.integers(0, n, 2)
        columns[-1] = [np.full(records, 3.0), columns[j], columns[j] - 2.0 * columns[k]][
            rng.choice(3, p=[0.1, 0.4, 0.5])
        ]
    scale = 10.0 ** float(rng.integers(-3, 4))
    return [column * scale + float(rng.integers(-1000, 1000)) for column in columns]
