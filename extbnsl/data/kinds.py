"""The kinds of data: what the columns become, and who makes it of them.

What else differs by the kind has a line for it in a table of the room that does it: families in
`parents.exhaustive.source`, what networks cost and have for parameters in `networks.kinds`, the check in
`verify.rescoring`, answers about new records in `python.estimator.answers` and `cli.new_records`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from extbnsl.data.both import check_of_both, mixed
from extbnsl.data.dataset import Data, Dataset, Mixed, Numbers
from extbnsl.data.encode import Make, check_of_numbers, check_of_states, measured, prepare
from extbnsl.data.treatment import Treatment


class Kind(NamedTuple):
    """data: the class of its data; make: what makes these of columns; check: raises InputError for options that it does
    not take, whatever the columns hold, as `make` does."""

    data: type[Data]
    make: Make[Any]
    check: Callable[[Treatment], None]


_KINDS = (
    Kind(Dataset, prepare, check_of_states),
    Kind(Numbers, measured, check_of_numbers),
    Kind(Mixed, mixed, check_of_both),
)
KINDS: dict[str, Kind] = {kind.data.kind: kind for kind in _KINDS}
