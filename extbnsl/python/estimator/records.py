"""Records that come after `fit`, in the columns that it had, and records that go back to the caller as those came."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extbnsl.core.arguments import plain
from extbnsl.core.data_options import Texts
from extbnsl.core.errors import InputError
from extbnsl.data.column import clean_name, listed
from extbnsl.data.given import Given, given


@dataclass(frozen=True, eq=False)
class Reader:
    """How records are read as those of `fit` were.

    keys, names, framed: of the columns of X in `fit`, as in `Given`. missing, na: as for `learn`, of `fit` too. who:
    what its sentences call the estimator.
    """

    keys: tuple[Any, ...]
    names: tuple[str, ...]
    framed: bool
    missing: str
    na: Texts | None
    who: str

    @property
    def rules(self) -> dict[str, Any]:
        """What to make of missing values; to drop a record would leave it without an answer."""
        return {"missing": "refuse" if self.missing == "drop" else self.missing, "na": self.na}

    def others(self, unseen: int | None) -> list[int]:
        """All columns but one, by number; all if that is None."""
        return [j for j in range(len(self.names)) if j != unseen]

    def new(self, X: Any, unseen: int | None) -> Given:
        """New records in the columns that `fit` had, in their order, without the column `unseen`."""
        return given(X).in_order(self.names, self.who, None if unseen is None else self.names[unseen])

    def position(self, target: Any) -> int:
        """The place of the column that is called so; InputError if there is none."""
        if target is None:
            raise InputError("target: say which column to predict, as predict(X, target) or by the parameter target.")
        number = plain(target)
        if not self.framed and isinstance(number, int) and 0 <= number < len(self.names):
            return number
        if target in self.keys:
            return self.keys.index(target)
        if isinstance(target, str) and clean_name(target) in self.names:
            return self.names.index(clean_name(target))
        raise InputError(f"target: {target!r} is no column of the network; it has {listed(self.names)}.")

    def returned(self, columns: Sequence[NDArray[Any]]) -> Any:
        """Columns as what X was in `fit`: a data frame or an array."""
        if not self.framed:
            return np.column_stack(columns)
        frame = pandas_frame(dict(enumerate(columns)))
        frame.columns = list(self.keys)
        return frame


def pandas_frame(data: Any, index: Any = None, columns: Any = None) -> Any:
    """A data frame of pandas; InputError if that is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise InputError("What is a data frame for a data frame needs pandas: pip install pandas.") from error
    return pandas.DataFrame(data, index=index, columns=columns)
