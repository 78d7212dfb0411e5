"""The shape of knowledge as JSON values, as manifests and results have it."""

from extbnsl.files.shapes import Shape, by_name, every, exactly, some_of, text, whole

_ARCS = every(exactly(2, text))
SHAPE: Shape = some_of(
    {
        **dict.fromkeys(("required", "forbidden", "allowed"), _ARCS),
        "tiers": every(every(text)),
        **dict.fromkeys(("roots", "leaves"), every(text)),
        "max_parents": by_name(whole()),
    }
)
