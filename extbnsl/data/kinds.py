"""The kinds of data: what the columns become, and who makes it of them.

What else differs by the kind has a line for it in a table of the room that does it: families in
`parents.exhaustive.source`, what networks cost and have for parameters in `networks.kinds`, the check in
`verify.rescoring`, answers about new records in `python.estimator.answers` and `cli.new_records`.
"""

from typing import Any, NamedTuple

from extbnsl.data.both import mixed
from extbnsl.data.dataset import Data, Dataset, Mixed, Numbers
from extbnsl.data.encode import Make, measured, prepare


class Kind(NamedTuple):
    """data: the class of its data; make: what makes these of columns."""

    data: type[Data]
    make: Make[Any]


_KINDS = Kind(Dataset, prepare), Kind(Numbers, measured), Kind(Mixed, mixed)
KINDS: dict[str, Kind] = {kind.data.kind: kind for kind in _KINDS}
