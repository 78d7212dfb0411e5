"""What the state of a solve with resamples in a manifest looks like, and a line of their journal. The values are those
of a solve, and of `resamples` and `taken`."""

from extbnsl.core.claims import STATUSES
from extbnsl.files.manifest import Manifest
from extbnsl.files.shapes import by_name, every, maybe, number, one_of, record, text, whole
from extbnsl.proof import document as solve
from extbnsl.solver.resamples import MOST_RESAMPLES

RESAMPLE = record(
    {
        "resample": whole(1, MOST_RESAMPLES),
        "status": one_of(*STATUSES),
        "cost": number,
        "lower_bound": maybe(number),  # null where nothing is known
        "parents": by_name(every(text)),
    }
)
_FURTHER = {"kind": text, "scope": record({"bootstrap": whole(1, MOST_RESAMPLES)})}


def wrong_place(manifest: Manifest) -> str | None:
    """Where the state in a manifest is none that such a run may have written; None if it may have."""
    return solve.wrong_place(manifest, _FURTHER)
